"""The audit of a model: what was measured, what follows from it, and how far.

Import from its modules, because this package imports none of them: the help of the
command line reads the options of an audit, and must not import the code that measures.
"""
