"""Facts about the head of a checkpoint beside its numbers: the final norm, scales, the names of tokens."""
