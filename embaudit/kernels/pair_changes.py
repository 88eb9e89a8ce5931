"""How the cosines of pairs changed: of all pairs, or of some drawn without replacement, then with 95 % intervals.

Of N pairs n drawn without replacement say as much as `n (N − 1)/(N − n)` independent draws (Cochran, Sampling
Techniques, 1977, chapter 2). That pairs share rows plays no part: the target is the figure over these N pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import Floats, Indices
from embaudit.kernels.intervals import Z95, independent_draws, mean_interval, quantile_interval, wilson_interval
from embaudit.kernels.nearest import TIE

BINS = 2048
"""Bins of |Δ| from 0 to 2."""
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

    Examples
    --------
    >>> changes = PairChanges(np.array([0.5, -0.5]), np.array([0.25, 0.5]), 2)
    >>> changes.mean_abs, changes.sign_flips, changes.mean_abs_interval
    (0.625, 0.5, (0.625, 0.625))
    """

    before: Floats
    after: Floats
    total: int

    @cached_property
    def sizes(self) -> Floats:
        """(n,) |Δ| in order."""
        return np.sort(np.abs(self.after - self.before))

    @property
    def draws(self) -> float:
        """Independent draws that would say as much; infinitely many where these are all pairs."""
        return independent_draws(len(self.before), self.total)

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
        return float(self.sizes[-1])

    @property
    def histogram(self) -> NDArray[np.int64]:
        """Counts of |Δ|."""
        return np.bincount((self.sizes * ((BINS - 1) / 2)).astype(np.intp), minlength=BINS)[:BINS]

    @property
    def sign_flips(self) -> float:
        """Share of pairs whose cosine changed sign."""
        return float(np.count_nonzero(self.before * self.after < -ROUNDING) / len(self.before))

    @property
    def spearman(self) -> float:
        """Correlation of mid-ranks; NaN where one side has one rank only."""
        return self._ranked[0]

    def quantiles(self, levels: tuple[float, ...]) -> dict[float, float]:
        """Quantiles of |Δ|, interpolated between two of them."""
        places = np.multiply(levels, len(self.sizes) - 1)
        return dict(zip(levels, np.interp(places, np.arange(len(self.sizes)), self.sizes).tolist(), strict=True))

    def intervals(self, levels: tuple[float, ...]) -> dict[str, tuple[float, float]]:
        """Intervals of the sign flips, of Spearman's correlation and of quantiles; none where these are all pairs."""
        if np.isinf(self.draws):
            return {}
        correlation, error = self._ranked
        ends = np.clip([correlation - Z95 * error, correlation + Z95 * error], -1, 1).tolist()
        return {
            "sign_flips": wilson_interval(self.sign_flips, self.draws),
            "spearman": (ends[0], ends[1]),
            **{f"{level:g}": quantile_interval(self.sizes, level, self.draws) for level in levels},
        }

    @cached_property
    def _ranked(self) -> tuple[float, float]:
        """Spearman's correlation, and its standard error.

        A pair counts by the product of its own ranks and by what it adds to the ranks of the pairs above it: the
        influence function of the correlation (Croux & Dehon, Statistical Methods & Applications 19, 2010).
        """
        (one, x), (other, y) = _ranks(self.before), _ranks(self.after)
        scale = np.sqrt((x @ x) * (y @ y)) / len(x)
        if scale == 0:
            return float("nan"), float("nan")
        influence = x * y + _above(one, y) + _above(other, x)
        return float(x @ y / len(x) / scale), float(influence.std() / scale / np.sqrt(self.draws))


def _ranks(cosines: Floats) -> tuple[Indices, Floats]:
    """Cells of cosines over their range, and mid-ranks from -½ to ½."""
    lowest, width = float(cosines.min()), float(np.ptp(cosines))
    # Cosines that differ by rounding only have one rank.
    # Half a cell up, or rounding would decide whether the highest one is in the last cell or in the one before.
    cells = ((cosines - lowest) * ((CELLS - 1) / width if width > TIE else 0.0) + 0.5).astype(np.intp)
    counts = np.bincount(cells, minlength=CELLS)
    return cells, ((np.cumsum(counts) - counts / 2) / len(cosines) - 0.5)[cells]


def _above(cells: Indices, values: Floats) -> Floats:
    """Sum for each pair the values of the pairs in higher cells, over n; those of its own cell count half."""
    sums = np.bincount(cells, values, minlength=CELLS)
    return np.asarray(((sums.sum() - np.cumsum(sums) + sums / 2) / len(cells))[cells])
