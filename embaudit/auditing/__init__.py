"""The audit of a model: what was measured, what follows from it, and how far.

Import from its modules: options of an audit are read by the help of the command line,
which must not import what an audit needs.
"""
