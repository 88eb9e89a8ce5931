"""Dimensions that the directions of rows use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import RNG, Matrix, as_generator
from embaudit.linalg.rows import float64_blocks, sample_rows, unit_rows

HELD = 0.999
"""Share of the squared length of unit rows that the used dimensions hold."""
MIN_WIDTH = 8
"""Dimensions from which on it is told that rows use few of them."""
MOST_ROWS = 100_000
"""Rows looked at; as many are drawn where there are more."""


@dataclass(frozen=True)
class Dimensions:
    """Number of dimensions that unit rows use."""

    width: int
    """Dimensions k of the rows."""
    used: int
    """Fewest dimensions that hold 99.9 % of the squared length of the unit rows. Without the others a cosine moves by
    0.001 on average at most, because two rows with shares a and b outside have `√(ab)` of their product there."""
    effective_rank: float
    """`(tr S)² / tr(S²)` for the second moments S of the unit rows, which is 1 over the mean squared cosine of two
    rows if each row also pairs with itself: d for rows spread evenly over d dimensions, 1 for rows on a line."""
    n_rows: int
    """Rows with a direction that were looked at."""
    n_all_rows: int
    """All rows with a direction."""

    @property
    def collapsed(self) -> bool:
        """True if half of the dimensions, or more, are not used, though there are rows enough to use them."""
        return self.width >= MIN_WIDTH and 2 * self.used <= min(self.width, self.n_rows)


def dimensions_of(x: Matrix, directed: np.ndarray, rng: RNG = 0) -> Dimensions:
    """Count the dimensions that the directions of rows use.

    Parameters
    ----------
    x : array of shape (n, k)
        Rows of any length; may lie on disk.
    directed : array of int
        The rows that have a direction, one at least.
    rng : numpy Generator or int
        Draws rows where there are more than 100,000.

    Examples
    --------
    >>> rows = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    >>> found = dimensions_of(rows, np.arange(4))
    >>> found.used, found.effective_rank
    (2, 2.0)
    """
    drawn = sample_rows(directed, MOST_ROWS, as_generator(rng))
    rows = x if len(drawn) == len(x) else x[drawn]
    if len(drawn) < x.shape[1]:
        # The products of all pairs of rows have the same eigenvalues, but for zeros.
        units = unit_rows(np.asarray(rows, dtype=np.float64), none=0)
        moments = units @ units.T
    else:
        moments = np.zeros((x.shape[1], x.shape[1]))
        for _, block in float64_blocks(rows):
            units = unit_rows(block, none=0)
            moments += units.T @ units
    moments /= np.trace(moments)
    variances = np.linalg.eigvalsh(moments)[::-1]
    # As many leave a thousandth at most; rounding must not ask for one more.
    used = 1 + int(np.argmax(np.cumsum(variances) >= HELD - 1e-12))
    return Dimensions(
        width=x.shape[1],
        used=used,
        effective_rank=float(1 / np.square(moments).sum()),
        n_rows=len(drawn),
        n_all_rows=len(directed),
    )
