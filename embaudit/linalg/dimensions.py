"""Dimensions that the directions of rows use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import RNG, Matrix, as_generator
from embaudit.core.tolerances import ROUNDING
from embaudit.linalg.rows import float64_blocks, sample_rows, unit_rows

LENGTH_SHARE = 0.999
"""Share of the squared length of unit rows that the used dimensions hold."""
LEAST_USABLE = 8
"""Rows that could use fewer dimensions are not collapsed.

It is a bound for the number of columns and for the number of rows, because n rows use
at most n dimensions."""
MOST_ROWS = 100_000
"""Number of rows up to which all rows are summed up.

From a larger table, this many rows are drawn."""


@dataclass(frozen=True)
class Dimensions:
    """Number of dimensions that unit rows use."""

    width: int
    """Dimensions k of the rows."""
    used: int
    """Fewest dimensions that hold 99.9 % of the squared length of the unit rows.
    Without the others, a cosine moves by at most 0.001 on average, because two rows
    with shares a and b of their squared lengths there have a product of at most
    `√(ab)`.
    """
    effective_rank: float
    """`(tr S)² / tr(S²)` for the second moments S of the unit rows. It equals 1 divided
    by the mean squared cosine of all pairs of rows, where each row is also paired with
    itself: d for rows spread evenly over d dimensions, 1 for rows on a line."""
    n_rows: int
    """Number of rows with a direction that were summed up."""
    n_all_rows: int
    """Number of all rows with a direction."""

    @property
    def usable(self) -> int:
        """Largest number of dimensions that so many rows and columns can use."""
        return min(self.width, self.n_rows)

    @property
    def collapsed(self) -> bool:
        """True if at most half of the dimensions that the rows could use are used."""
        return self.usable >= LEAST_USABLE and 2 * self.used <= self.usable


def dimensions_of(x: Matrix, directed: np.ndarray, rng: RNG = 0) -> Dimensions:
    """Count the dimensions that the directions of rows use.

    Parameters
    ----------
    x : array of shape (n, k)
        Rows of any length; may lie on disk.
    directed : array of int
        Numbers of the rows that have a direction; at least one.
    rng : numpy Generator or int
        Draws the rows if there are more than 100,000.

    Examples
    --------
    >>> plane = np.array([[3.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> rows = np.column_stack([plane, np.zeros(4)])
    >>> found = dimensions_of(rows, np.arange(4))
    >>> found.used, found.effective_rank
    (2, 2.0)
    """
    drawn = sample_rows(directed, MOST_ROWS, as_generator(rng))
    rows = x if len(drawn) == len(x) else x[drawn]
    if len(drawn) < x.shape[1]:
        # The smaller Gram matrix of the rows has the same eigenvalues except for zeros.
        units = unit_rows(np.asarray(rows, dtype=np.float64), none=0)
        moments = units @ units.T
    else:
        moments = np.zeros((x.shape[1], x.shape[1]))
        for _, block in float64_blocks(rows):
            units = unit_rows(block, none=0)
            moments += units.T @ units
    moments /= np.trace(moments)
    variances = np.linalg.eigvalsh(moments)[::-1]
    # The margin prevents rounding of the sum from adding one more dimension.
    used = 1 + int(np.argmax(np.cumsum(variances) >= LENGTH_SHARE - ROUNDING))
    return Dimensions(
        width=x.shape[1],
        used=used,
        effective_rank=float(1 / np.square(moments).sum()),
        n_rows=len(drawn),
        n_all_rows=len(directed),
    )
