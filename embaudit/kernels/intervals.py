"""95 % intervals: of a share among independent draws, and of resampled values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Z95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations."""
TAILS = (0.025, 0.975)


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share among n independent draws (Wilson, JASA 22, 1927).

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    spread = Z95**2 / n
    middle = (share + spread / 2) / (1 + spread)
    half = Z95 / (1 + spread) * np.sqrt(share * (1 - share) / n + spread / (4 * n))
    return float(middle - half), float(middle + half)


def percentile_interval(values: NDArray[np.float64]) -> tuple[float, float]:
    """Interval that holds the middle 95 % of resampled values, as a percentile bootstrap takes it.

    Examples
    --------
    >>> percentile_interval(np.arange(0.0, 81.0))
    (2.0, 78.0)
    """
    low, high = np.quantile(values, TAILS)
    return float(low), float(high)
