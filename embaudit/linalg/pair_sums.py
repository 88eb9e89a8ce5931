"""Sums of the cosines of all pairs, from k×k matrices: no pair is formed.

With unit rows B (before) and C (after), `Σ s = ½(‖Σ rows‖² − p)`, `Σ s² = ½(‖BᵀB‖² − p)` and
`Σ s s' = ½(‖BᵀC‖² − p)` over the pairs of one side, in the Frobenius norm; over the pairs of two sides they are inner
products of the sums and of the Gram matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.linalg.pairs import n_pairs
from embaudit.linalg.passes import float64_blocks


@dataclass(frozen=True, eq=False)
class CosineSums:
    """Sums of cosines over all pairs, before and after."""

    total: float
    before: float
    after: float
    before_squared: float
    after_squared: float
    product: float

    @property
    def mean(self) -> float:
        """Mean of Δ."""
        return (self.after - self.before) / self.total

    @property
    def rms(self) -> float:
        """Root mean square of Δ."""
        return float(np.sqrt(max(0.0, self.before_squared - 2 * self.product + self.after_squared) / self.total))

    @property
    def pearson(self) -> float:
        """Correlation of before and after."""
        n = self.total
        variances = (self.before_squared - self.before**2 / n) * (self.after_squared - self.after**2 / n)
        covariance = self.product - self.before * self.after / n
        # Below this the variance is the rounding of its own subtraction.
        floor = abs((64 * np.finfo(float).eps * self.before_squared) * self.after_squared)
        return float(np.clip(covariance / np.sqrt(variances), -1, 1)) if variances > floor else float("nan")


def table_sums(before: Floats, after: Floats, *, symmetric: bool) -> CosineSums:
    """Sum tables of cosines, over the pairs i < j where they are of one side.

    Examples
    --------
    >>> table_sums(np.eye(3), np.ones((3, 3)), symmetric=True).mean
    1.0
    """
    # Over ordered pairs; each row with itself adds 1 to every term, whatever the model.
    terms = before.sum(), after.sum(), np.vdot(before, before), np.vdot(after, after), np.vdot(before, after)
    p, sums = len(before), [float(term) for term in terms]
    return CosineSums(n_pairs(p), *((x - p) / 2 for x in sums)) if symmetric else CosineSums(before.size, *sums)


@dataclass(frozen=True, eq=False)
class RowSums:
    """Number, sum and Gram matrix of unit rows, those without direction counting as zero."""

    count: int
    total: Floats
    gram: Floats

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(self.count + other.count, self.total + other.total, self.gram + other.gram)

    @classmethod
    def of(cls, unit: Matrix) -> RowSums:
        """Sum up unit rows, NaN for none, in one streamed pass."""
        k = unit.shape[1]
        count, total, square = 0, np.zeros(k), np.zeros((k, k))
        for _, block in float64_blocks(unit):
            units = _known(block)
            count += int(np.count_nonzero(units.any(axis=1)))
            total += units.sum(axis=0)
            square += units.T @ units
        return cls(count, total, square)


def _known(unit: Floats) -> Floats:
    """Put zeros for rows without direction, all of whose entries are NaN."""
    none = np.isnan(unit[:, 0])
    return np.where(none[:, None], 0.0, unit) if none.any() else unit


def cross_gram(before: Matrix, after: Matrix) -> Floats:
    """Compute `BᵀC` of unit rows, those without direction counting as zero."""
    square = np.zeros((before.shape[1], after.shape[1]))
    for rows in row_blocks(len(before), square.size // len(square) + len(square)):
        b, c = (_known(np.asarray(unit[rows], dtype=np.float64)) for unit in (before, after))
        square += b.T @ c
    return square


def pair_sums(before: Sequence[RowSums], after: Sequence[RowSums], cross: Sequence[Floats]) -> CosineSums:
    """Sum the cosines over the pairs i < j of one side, or over all pairs of two sides.

    The sums are those of one side or of two, in the two models; `cross` is the (k, k) `BᵀC` of each side.

    Examples
    --------
    >>> unit = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> round(pair_sums([RowSums.of(unit)], [RowSums.of(unit)], [unit.T @ unit]).before, 6)
    1.4
    """
    b, c = before, after
    if len(b) == 1:
        # Over ordered pairs Σ b_i·b_j = ‖Σ b‖², Σ (b_i·b_j)² = ‖BᵀB‖² and Σ (b_i·b_j)(c_i·c_j) = ‖BᵀC‖². Each counts
        # pairs twice and adds p ones, a row with itself.
        p = b[0].count
        doubles = [float(np.square(x).sum()) for x in (b[0].total, c[0].total, b[0].gram, c[0].gram, cross[0])]
        return CosineSums(n_pairs(p), *((value - p) / 2 for value in doubles))
    return CosineSums(
        b[0].count * b[1].count,
        float(b[0].total @ b[1].total),
        float(c[0].total @ c[1].total),
        *(float((x * y).sum()) for x, y in ((b[0].gram, b[1].gram), (c[0].gram, c[1].gram), (cross[0], cross[1]))),
    )
