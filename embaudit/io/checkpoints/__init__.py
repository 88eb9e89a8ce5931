"""What a checkpoint says of its head beside the numbers: the final norm, scales, the names of tokens."""
