"""Stores of vectors: databases that are read in place and never changed by reading.

To add a store, write a module of this package with a reader that is registered with its
address (`embaudit.io.formats.register`). The reader returns `VectorTable.contents` of
`vector_table`. If the tables of the store have columns with types of Arrow, it returns
`ColumnTable.contents` of `tabular` instead.
"""
