"""Tables of ids, titles, labels, counts and interactions next to a model."""
