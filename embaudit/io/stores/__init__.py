"""One module per store of vectors: a database that is read in place, never changed."""
