"""Ranks of values, and tests of some values against others by them."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats


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
