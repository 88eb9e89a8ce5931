"""Sample sizes that several subpackages share. This module does not import NumPy."""

from __future__ import annotations

MOST_COUNT = 100_000_000
"""Largest number of draws, pairs or entities; a larger number is a typing error."""
N_QUERIES = 400
"""Number of neighbour lists that a measure of a side compares."""
