"""How far the cosines between rows of one side move in another model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Matrix
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import draw_pairs

PAIRS = 20_000
"""Largest number of pairs of a side that movements are taken from."""


@dataclass(frozen=True)
class Moved:
    """Movement of the cosines between rows of one side in an equivalent model."""

    mean_abs: float
    """Mean ``|Δcos|``."""
    max_abs: float
    """Largest ``|Δcos|``."""
    n_pairs: int
    """Number of pairs."""


def moved_cosines(before: Matrix, after: Matrix) -> Moved:
    """Measure how the cosines of drawn pairs of rows differ between two tables.

    Examples
    --------
    >>> moved_cosines(np.eye(2), np.array([[1.0, 0.0], [1.0, 0.0]]))
    Moved(mean_abs=1.0, max_abs=1.0, n_pairs=1)
    """
    n = len(before)
    if n < 2:
        return Moved(0.0, 0.0, 0)
    pairs = draw_pairs(n, PAIRS, rng=0)
    cosines_before = pair_cosines(before, before, pairs)
    cosines_after = pair_cosines(after, after, pairs)
    change = np.abs(cosines_after - cosines_before)
    # Pairs with a zero row have no cosine.
    change = change[~np.isnan(change)]
    if len(change) == 0:
        return Moved(0.0, 0.0, 0)
    return Moved(float(change.mean()), float(change.max()), len(change))
