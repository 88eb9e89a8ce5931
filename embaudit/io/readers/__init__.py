"""One reader a library's or tool's way to lay out a model in files."""
