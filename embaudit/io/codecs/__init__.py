"""One codec a file format: names, shapes and dtypes without the numbers, numbers in pieces, rows written in blocks."""
