"""Changes of the cosines of pairs, and sums of cosines over all pairs, which need none formed.

Figures are those of all pairs, or of some drawn without replacement, then with 95 % intervals. Of N pairs n drawn
without replacement say as much as `n (N − 1)/(N − n)` independent draws (Cochran, Sampling Techniques, 1977, chapter
2). That pairs share rows plays no part: the target is the figure over these N pairs.

With unit rows B (before) and C (after), `Σ s = ½(‖Σ rows‖² − p)`, `Σ s² = ½(‖BᵀB‖² − p)` and `Σ s s' = ½(‖BᵀC‖² − p)`
over the pairs of one side, in the Frobenius norm; over the pairs of two sides they are inner products of the sums and
of the Gram matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.ties import TIE
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
    """Sums of cosines over all pairs, before and after."""

    total: float
    before: float
    after: float
    before_squared: float
    after_squared: float
    product: float


@dataclass(frozen=True, eq=False)
class RowSums:
    """Number, sum and Gram matrix of unit rows, those without direction counting as zero."""

    count: int
    total: Floats
    gram: Floats

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


def pair_sums(
    before: Sequence[RowSums], after: Sequence[RowSums], cross: Sequence[Floats]
) -> CosineSums:
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
        doubles = [
            float(np.square(x).sum())
            for x in (b[0].total, c[0].total, b[0].gram, c[0].gram, cross[0])
        ]
        return CosineSums(n_pairs(p), *((value - p) / 2 for value in doubles))
    return CosineSums(
        b[0].count * b[1].count,
        float(b[0].total @ b[1].total),
        float(c[0].total @ c[1].total),
        *(
            float((x * y).sum())
            for x, y in (
                (b[0].gram, b[1].gram),
                (c[0].gram, c[1].gram),
                (cross[0], cross[1]),
            )
        ),
    )


LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles of |Δ| that are told."""
CELLS = 2**16
"""Cells over the range of the cosines: those of one cell share their rank."""
ROUNDING = 1e-12
"""A sign flip counts where the product of the two cosines is below minus this."""


@dataclass(frozen=True, eq=False)
class PairChanges:
    """Changes Δ of the cosines of n pairs.

    Parameters
    ----------
    before, after : array of shape (n,)
        Cosines of the same pairs in two models.
    total : int
        How many pairs there are, N; all are here where this is n.
    ranks : pair of arrays of shape (n,), optional
        `cell_ranks` of the cosines before, where they are known.

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
        """Independent draws that would say as much; infinitely many where these are all pairs."""
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
        """Interval of that."""
        low, high = mean_interval(self.sizes, self.draws)
        return max(0.0, low), min(2.0, high)

    @property
    def max_abs(self) -> float:
        """Largest |Δ| of these pairs."""
        return float(self.sizes.max())

    @property
    def pearson(self) -> float:
        """Correlation of the cosines before and after; NaN where one side does not vary."""
        return self._correlated[0]

    @property
    def sign_flips(self) -> float:
        """Share of pairs whose cosine changed sign."""
        return float(
            np.count_nonzero(self.before * self.after < -ROUNDING) / len(self.before)
        )

    @property
    def spearman(self) -> float:
        """Correlation of mid-ranks; NaN where one side has one rank only."""
        return self._ranked[0]

    @property
    def quantiles(self) -> dict[float, float]:
        """Quantiles of |Δ|, interpolated between two of them."""
        return {level: value for level, (value, _, _) in self._quantiles.items()}

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Intervals of all figures but the largest |Δ|, quantiles by level; none where these are all pairs."""
        if np.isinf(self.draws):
            return {}
        mean_low, mean_high = mean_interval(self.changes, self.draws)
        square_low, square_high = mean_interval(self.changes**2, self.draws)
        intervals = {
            "mean": (max(-2.0, mean_low), min(2.0, mean_high)),
            "rms": (math.sqrt(max(0.0, square_low)), min(2.0, math.sqrt(square_high))),
            "pearson": _correlation_interval(*self._correlated),
            "spearman": _correlation_interval(*self._ranked),
            "sign_flips": wilson_interval(self.sign_flips, self.draws),
        }
        for level, (_, low, high) in self._quantiles.items():
            intervals[f"{level:g}"] = (low, high)
        return intervals

    @cached_property
    def _correlated(self) -> tuple[float, float]:
        """Pearson's correlation r, and its standard error.

        With standard scores x and y, the influence of a pair on r is `x y − r (x² + y²)/2` (Devlin, Gnanadesikan &
        Kettenring, Biometrika 62, 1975).
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
    def _quantiles(self) -> dict[float, tuple[float, float, float]]:
        """Each quantile with the ends of its interval, which are 0 or 2 where pairs are too few."""
        n = len(self.sizes)
        # Between two order statistics, as numpy.quantile does; the ends of the interval are order statistics, too.
        places = {
            level: (level * (n - 1), *quantile_ranks(n, level, self.draws))
            for level in LEVELS
        }
        needed = [
            place
            for at, low, high in places.values()
            for place in (int(at), math.ceil(at), low - 1, high - 1)
        ]
        # Only these few places need to be in order.
        ordered = np.partition(self.sizes, np.unique(np.clip(needed, 0, n - 1)))
        result = {}
        for level, (at, low, high) in places.items():
            here, beyond = ordered[int(at)], ordered[math.ceil(at)]
            ends = (
                float(ordered[low - 1]) if low >= 1 else 0.0,
                float(ordered[high - 1]) if high <= n else 2.0,
            )
            result[level] = (float(here + (at - int(at)) * (beyond - here)), *ends)
        return result

    @cached_property
    def _ranked(self) -> tuple[float, float]:
        """Spearman's correlation, and its standard error.

        A pair counts by the product of its own ranks and by what it adds to the ranks of the pairs above it: the
        influence function of the correlation (Croux & Dehon, Statistical Methods & Applications 19, 2010).
        """
        (cells_before, x), (other, y) = (
            self.ranks or cell_ranks(self.before),
            cell_ranks(self.after),
        )
        scale = np.sqrt((x @ x) * (y @ y)) / len(x)
        if scale == 0:
            return float("nan"), float("nan")
        influence = x * y + _above(cells_before, y) + _above(other, x)
        return float(x @ y / len(x) / scale), float(
            influence.std() / scale / np.sqrt(self.draws)
        )


def _correlation_interval(correlation: float, error: float) -> tuple[float, float]:
    """Return the 95 % interval of a correlation with this standard error."""
    low, high = np.clip(
        [correlation - Z95 * error, correlation + Z95 * error], -1, 1
    ).tolist()
    return low, high


def cell_ranks(cosines: Floats) -> tuple[Indices, Floats]:
    """Cells of cosines over their range, and their mid-ranks from -½ to ½."""
    lowest, width = float(cosines.min()), float(np.ptp(cosines))
    # Cosines that differ by rounding only have one rank.
    # Half a cell up, or rounding would decide whether the highest one is in the last cell or in the one before.
    cells = (
        (cosines - lowest) * ((CELLS - 1) / width if width > TIE else 0.0) + 0.5
    ).astype(np.intp)
    # Of few pairs most cells are empty; numbered anew, those that are not take less time.
    cells = (
        np.unique(cells, return_inverse=True)[1] if len(cells) < CELLS // 4 else cells
    )
    counts = np.bincount(cells)
    return cells, ((np.cumsum(counts) - counts / 2) / len(cosines) - 0.5)[cells]


def _above(cells: Indices, values: Floats) -> Floats:
    """Sum for each pair the values of the pairs in higher cells, over n; those of its own cell count half."""
    sums = np.bincount(cells, values)
    return np.asarray(((sums.sum() - np.cumsum(sums) + sums / 2) / len(cells))[cells])
