"""Facts about the head of a checkpoint next to its numbers: the final norm, scales, the names of tokens."""
