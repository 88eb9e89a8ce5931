"""Changes of the cosines of pairs, and sums of cosines over all pairs.

Figures are those of all pairs, or of pairs drawn without replacement, with 95 %
intervals. Of N pairs, n pairs drawn without replacement are worth
`n (N − 1)/(N − n)` independent draws (Cochran, Sampling Techniques, 1977, chapter 2).
It does not matter that pairs share rows, because the target is the figure over these N
pairs.

The sums over all pairs need no pair to be formed. With unit rows B (before) and C
(after), `Σ s = ½(‖Σ rows‖² − p)`, `Σ s² = ½(‖BᵀB‖² − p)` and `Σ s s' = ½(‖BᵀC‖² − p)`
over the pairs of one side, in the Frobenius norm. Over the pairs of two sides they are
inner products of the sums and of the Gram matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.tolerances import SIGN_CHANGE, TIE
from embaudit.linalg.intervals import (
    Z95,
    independent_draws,
    mean_interval,
    quantile_ranks,
    wilson_interval,
)
from embaudit.linalg.pairs import n_pairs
from embaudit.linalg.rows import float64_blocks


@dataclass(frozen=True, eq=False)
class CosineSums:
    """Sums over all pairs of the cosines s before and s' after."""

    total: float
    """Number of pairs."""
    before: float
    """Σ s."""
    after: float
    """Σ s'."""
    before_squared: float
    """Σ s²."""
    after_squared: float
    """Σ s'²."""
    product: float
    """Σ s s'."""


@dataclass(frozen=True, eq=False)
class RowSums:
    """Number, sum and Gram matrix of unit rows; rows without direction count as 0."""

    count: int
    """Number of rows that have a direction."""
    total: Floats
    """(k,) sum of the rows."""
    gram: Floats
    """(k, k) Gram matrix of the rows."""

    @classmethod
    def from_unit_rows(cls, unit: Matrix) -> RowSums:
        """Sum up unit rows in one streamed pass; rows without direction are NaN."""
        k = unit.shape[1]
        count = 0
        total = np.zeros(k)
        gram = np.zeros((k, k))
        for _, block in float64_blocks(unit):
            rows = _with_zeros(block)
            count += int(np.count_nonzero(rows.any(axis=1)))
            total += rows.sum(axis=0)
            gram += rows.T @ rows
        return cls(count, total, gram)


def _with_zeros(unit: Floats) -> Floats:
    """Replace rows without direction, all of whose entries are NaN, by zeros."""
    has_no_direction = np.isnan(unit[:, 0])
    if not has_no_direction.any():
        return unit
    return np.where(has_no_direction[:, None], 0.0, unit)


def pair_sums(
    before: Sequence[RowSums], after: Sequence[RowSums], cross: Sequence[Floats]
) -> CosineSums:
    """Sum the cosines over the pairs i < j of one side, or over all pairs of two sides.

    Parameters
    ----------
    before, after : sequence of RowSums
        Sums of one side or of two sides in the two models.
    cross : sequence of arrays of shape (k, k)
        `BᵀC` of each side.

    Examples
    --------
    >>> unit = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> sums = RowSums.from_unit_rows(unit)
    >>> round(pair_sums([sums], [sums], [unit.T @ unit]).before, 6)
    1.4
    """
    if len(before) == 1:
        count = before[0].count
        return CosineSums(
            total=n_pairs(count),
            before=_sum_within(before[0].total, count),
            after=_sum_within(after[0].total, count),
            before_squared=_sum_within(before[0].gram, count),
            after_squared=_sum_within(after[0].gram, count),
            product=_sum_within(cross[0], count),
        )
    left_before, right_before = before
    left_after, right_after = after
    return CosineSums(
        total=left_before.count * right_before.count,
        before=float(left_before.total @ right_before.total),
        after=float(left_after.total @ right_after.total),
        before_squared=float((left_before.gram * right_before.gram).sum()),
        after_squared=float((left_after.gram * right_after.gram).sum()),
        product=float((cross[0] * cross[1]).sum()),
    )


def _sum_within(sums: Floats, count: int) -> float:
    """Return a sum over the pairs i < j of one side from a sum or product of its rows.

    The squared norm counts each pair twice, and each row with itself, which adds 1.
    """
    return (float(np.square(sums).sum()) - count) / 2


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Levels of the quantiles of |Δ| that are reported."""
CELLS = 2**16
"""Number of cells over the range of the cosines. Cosines of one cell share a rank."""


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes Δ of the cosines of n pairs.

    Parameters
    ----------
    before, after : array of shape (n,)
        Cosines of the same pairs in two models.
    total : int
        Number N of all pairs; n if these are all.
    ranks : pair of arrays of shape (n,), optional
        `cell_ranks` of the cosines before, if they are known.

    Examples
    --------
    >>> changes = PairChanges(np.array([0.5, -0.5]), np.array([0.25, 0.5]), 2)
    >>> changes.mean_abs, changes.sign_flips, changes.mean_abs_interval
    (0.625, 0.5, (0.625, 0.625))
    """

    before: Floats
    after: Floats
    total: int
    ranks: tuple[Indices, Floats] | None = None

    @cached_property
    def changes(self) -> Floats:
        """(n,) Δ."""
        return self.after - self.before

    @cached_property
    def sizes(self) -> Floats:
        """(n,) |Δ|."""
        return np.abs(self.changes)

    @property
    def draws(self) -> float:
        """Number of equivalent independent draws; infinite if these are all pairs."""
        return independent_draws(len(self.before), self.total)

    @property
    def mean(self) -> float:
        """Mean of Δ."""
        return float(self.changes.mean())

    @property
    def rms(self) -> float:
        """Root mean square of Δ."""
        return float(np.sqrt(np.mean(self.changes**2)))

    @property
    def mean_abs(self) -> float:
        """Mean of |Δ|."""
        return float(self.sizes.mean())

    @property
    def mean_abs_interval(self) -> tuple[float, float]:
        """Interval of `mean_abs`."""
        low, high = mean_interval(self.sizes, self.draws)
        return max(0.0, low), min(2.0, high)

    @property
    def max_abs(self) -> float:
        """Largest |Δ| of these pairs."""
        return float(self.sizes.max())

    @property
    def pearson(self) -> float:
        """Correlation of the cosines before and after; NaN if one side is constant."""
        return self._pearson_and_error[0]

    @property
    def sign_flips(self) -> float:
        """Share of pairs whose cosine changed sign."""
        n_flips = np.count_nonzero(self.before * self.after < -SIGN_CHANGE)
        return float(n_flips / len(self.before))

    @property
    def spearman(self) -> float:
        """Correlation of mid-ranks; NaN if one side has one rank only."""
        return self._spearman_and_error[0]

    @property
    def quantiles(self) -> dict[float, float]:
        """Quantiles of |Δ| by level, interpolated between two values of |Δ|."""
        return {
            level: value for level, (value, _, _) in self._quantiles_and_ends.items()
        }

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Intervals of all figures except the largest |Δ|; empty for all pairs.

        The keys are names of figures, and levels of quantiles.
        """
        if np.isinf(self.draws):
            return {}
        mean_low, mean_high = mean_interval(self.changes, self.draws)
        square_low, square_high = mean_interval(self.changes**2, self.draws)
        intervals = {
            "mean": (max(-2.0, mean_low), min(2.0, mean_high)),
            "rms": (math.sqrt(max(0.0, square_low)), min(2.0, math.sqrt(square_high))),
            "pearson": _correlation_interval(*self._pearson_and_error),
            "spearman": _correlation_interval(*self._spearman_and_error),
            "sign_flips": wilson_interval(self.sign_flips, self.draws),
        }
        for level, (_, low, high) in self._quantiles_and_ends.items():
            intervals[f"{level:g}"] = (low, high)
        return intervals

    @cached_property
    def _pearson_and_error(self) -> tuple[float, float]:
        """Pearson's correlation r, and its standard error.

        With standard scores x and y, the influence of a pair on r is
        `x y − r (x² + y²)/2` (Devlin, Gnanadesikan & Kettenring, Biometrika 62, 1975).
        """
        # Cosines that differ by rounding only do not vary.
        if min(np.ptp(self.before), np.ptp(self.after)) <= TIE:
            return float("nan"), float("nan")
        x = (self.before - self.before.mean()) / self.before.std()
        y = (self.after - self.after.mean()) / self.after.std()
        correlation = float(np.clip(np.mean(x * y), -1, 1))
        influence = x * y - correlation * (x * x + y * y) / 2
        return correlation, float(influence.std() / np.sqrt(self.draws))

    @cached_property
    def _quantiles_and_ends(self) -> dict[float, tuple[float, float, float]]:
        """Each quantile with the ends of its interval.

        A quantile lies between two order statistics, as in `numpy.quantile`, and the
        ends of its interval are order statistics. If there are too few pairs for an
        end, it is 0 or 2.
        """
        n = len(self.sizes)
        ranks = {level: quantile_ranks(n, level, self.draws) for level in LEVELS}
        needed = []
        for level, (low_rank, high_rank) in ranks.items():
            place = level * (n - 1)
            needed += [int(place), math.ceil(place), low_rank - 1, high_rank - 1]
        # Only these few places need to be in order.
        ordered = np.partition(self.sizes, np.unique(np.clip(needed, 0, n - 1)))
        result = {}
        for level, (low_rank, high_rank) in ranks.items():
            place = level * (n - 1)
            lower, upper = ordered[int(place)], ordered[math.ceil(place)]
            value = lower + (place - int(place)) * (upper - lower)
            low = ordered[low_rank - 1] if low_rank >= 1 else 0.0
            high = ordered[high_rank - 1] if high_rank <= n else 2.0
            result[level] = (float(value), float(low), float(high))
        return result

    @cached_property
    def _spearman_and_error(self) -> tuple[float, float]:
        """Spearman's correlation, and its standard error.

        A pair counts by the product of its own ranks and by its effect on the ranks of
        the pairs above it: the influence function of the correlation (Croux & Dehon,
        Statistical Methods & Applications 19, 2010).
        """
        cells_before, x = self.ranks or cell_ranks(self.before)
        cells_after, y = cell_ranks(self.after)
        scale = np.sqrt((x @ x) * (y @ y)) / len(x)
        if scale == 0:
            return float("nan"), float("nan")
        correlation = x @ y / len(x) / scale
        influence = x * y + _above(cells_before, y) + _above(cells_after, x)
        error = influence.std() / scale / np.sqrt(self.draws)
        return float(correlation), float(error)


def _correlation_interval(correlation: float, error: float) -> tuple[float, float]:
    """Return the 95 % interval of a correlation with this standard error."""
    if math.isnan(error):
        return math.nan, math.nan
    return max(-1.0, correlation - Z95 * error), min(1.0, correlation + Z95 * error)


def cell_ranks(cosines: Floats) -> tuple[Indices, Floats]:
    """Sort cosines into cells over their range; return cells and mid-ranks, −½ to ½.

    Cosines that differ by rounding only are in one cell.
    """
    lowest, width = float(cosines.min()), float(np.ptp(cosines))
    cells_per_unit = (CELLS - 1) / width if width > TIE else 0.0
    # Half a cell is added, so that rounding does not decide whether the highest cosine
    # is in the last cell or in the one before.
    cells = ((cosines - lowest) * cells_per_unit + 0.5).astype(np.intp)
    if len(cells) < CELLS // 4:
        # Most cells of few pairs are empty, and numbering the others anew saves time.
        cells = np.unique(cells, return_inverse=True)[1]
    counts = np.bincount(cells)
    mid_ranks = (np.cumsum(counts) - counts / 2) / len(cosines) - 0.5
    return cells, mid_ranks[cells]


def _above(cells: Indices, values: Floats) -> Floats:
    """Sum for each pair the values of the pairs in higher cells, over n.

    The values of its own cell count half.
    """
    sums = np.bincount(cells, values)
    above = (sums.sum() - np.cumsum(sums) + sums / 2) / len(cells)
    return np.asarray(above[cells])
