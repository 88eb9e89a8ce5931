"""Whether some values rank above others, and whether two orders agree."""

from __future__ import annotations

import numpy as np

from embaudit.foundation.checked import Flags, Floats


def area_under_curve(values: Floats, positive: Flags) -> float:
    """Compute the probability that a positive value exceeds a negative one, ties counted half (Mann-Whitney).

    Examples
    --------
    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.8]), np.array([False, True, False, True]))
    0.875
    """
    negatives = np.sort(values[~positive])
    positives = np.sort(values[positive])
    below = np.searchsorted(negatives, positives, side="left").astype(np.float64)
    below += np.searchsorted(negatives, positives, side="right")
    return float(below.mean() / (2 * len(negatives)))


def mid_ranks(values: Floats) -> Floats:
    """Rank values from 1 on; equals share the middle of their ranks.

    Examples
    --------
    >>> mid_ranks(np.array([3.0, 1.0, 3.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[which])


def rank_correlation(x: Floats, y: Floats) -> float:
    """Compute Spearman's correlation of two orders, from -1 to 1; NaN where one of them has a single value.

    Examples
    --------
    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 9.0, 4.0])), 3)
    0.5
    """
    a, b = (mid_ranks(values) - (len(values) + 1) / 2 for values in (x, y))
    scale = np.sqrt((a @ a) * (b @ b))
    return float(np.clip(a @ b / scale, -1, 1)) if scale > 0 else float("nan")
