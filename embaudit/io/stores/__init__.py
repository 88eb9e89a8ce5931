"""One module per store of vectors: a database whose collections are read in place and never changed."""
