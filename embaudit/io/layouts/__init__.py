"""Layouts: which named array is what, by the names that libraries give to their arrays."""
