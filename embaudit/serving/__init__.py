"""Serving: what an index, a retrained model or another run does to served lists."""
