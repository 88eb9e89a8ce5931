"""Rows brought together by group, the sums of each group, and the split of a covariance into within and between.

    Σ(x − x̄)(y − ȳ) = Σ_g Σ_{i∈g} (x_i − x̄_g)(y_i − ȳ_g) + Σ_g n_g (x̄_g − x̄)(ȳ_g − ȳ)

A pooled sign can oppose the sign in every group only if the second term opposes and outweighs the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import Floats


def correlation(sxx: Floats | float, syy: Floats | float, sxy: Floats | float) -> Floats:
    """Compute Pearson's r from centred sums, NaN where a side is constant.

    Examples
    --------
    >>> correlation(4.0, 1.0, -1.0).item(), correlation(0.0, 1.0, 0.0).item()
    (-0.5, nan)
    """
    x, y, xy = (np.asarray(value, dtype=np.float64) for value in (sxx, syy, sxy))
    scale = np.sqrt(x) * np.sqrt(y)
    r: Floats = np.divide(xy, scale, out=np.full(xy.shape, np.nan), where=scale > 0)
    return np.clip(r, -1, 1)


@dataclass(frozen=True)
class Association:
    """How y goes with x over some rows; a number is NaN where it does not exist."""

    n: int
    """Rows (or pairs)."""
    r: float
    """Pearson's correlation, the cosine after centring."""
    slope: float
    """Least-squares change of y for one unit of x."""
    spearman: float = math.nan
    """Rank correlation."""
    p: float = math.nan
    """Permutation p-value of r, two-sided."""

    def to_dict(self) -> dict[str, float | int | None]:
        """Return plain values, None for what does not exist."""
        return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in self.__dict__.items()}


@dataclass(frozen=True, eq=False)
class GroupMoments:
    """Size, means and centred sums of each group: all that the decomposition needs."""

    n: Floats
    """(G,) rows."""
    mean_x: Floats
    mean_y: Floats
    sxx: Floats
    """(G,) `Σ(x − x̄_g)²`, exactly 0 where x is constant."""
    syy: Floats
    sxy: Floats
    """(G,) `Σ(x − x̄_g)(y − ȳ_g)`."""

    @property
    def r(self) -> Floats:
        """Correlation within each group."""
        return correlation(self.sxx, self.syy, self.sxy)

    @property
    def slope(self) -> Floats:
        """Slope within each group."""
        slope: Floats = np.divide(self.sxy, self.sxx, out=np.full(len(self.sxx), np.nan), where=self.sxx > 0)
        return slope

    @cached_property
    def within(self) -> tuple[float, float, float]:
        """`Σ_g` of sxx, syy and sxy."""
        return math.fsum(self.sxx), math.fsum(self.syy), math.fsum(self.sxy)

    @cached_property
    def shifts(self) -> tuple[Floats, Floats]:
        """Group means less the mean of all rows."""
        total = self.n.sum()
        dx: Floats = self.mean_x - math.fsum(self.n * (self.mean_x - self.mean_x[0])) / total - self.mean_x[0]
        dy: Floats = self.mean_y - math.fsum(self.n * (self.mean_y - self.mean_y[0])) / total - self.mean_y[0]
        return dx, dy

    @cached_property
    def between(self) -> tuple[float, float, float]:
        """`Σ_g n_g` of the squared and multiplied shifts."""
        dx, dy = self.shifts
        return math.fsum(self.n * dx * dx), math.fsum(self.n * dy * dy), math.fsum(self.n * dx * dy)

    @cached_property
    def total(self) -> tuple[float, float, float]:
        """Centred sums over all rows, within plus between."""
        (wx, wy, wxy), (bx, by, bxy) = self.within, self.between
        return wx + bx, wy + by, wxy + bxy

    def association(self, sums: tuple[float, float, float]) -> Association:
        """Turn centred sums into a correlation and a slope."""
        sxx, _, sxy = sums
        return Association(int(self.n.sum()), float(correlation(*sums)), sxy / sxx if sxx > 0 else math.nan)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows sorted by group."""

    x: Floats
    y: Floats
    starts: NDArray[np.intp]
    """(G,) where each group begins."""

    @classmethod
    def sort(cls, x: Floats, y: Floats, codes: NDArray[np.intp]) -> GroupedRows:
        """Bring the rows of each group together; codes are 0 … G−1 and every group has a row."""
        order = np.argsort(codes, kind="stable")
        counts = np.bincount(codes)
        return cls(x[order], y[order], np.concatenate([[0], counts.cumsum()[:-1]]))

    @property
    def counts(self) -> NDArray[np.intp]:
        """(G,) rows of each group."""
        return np.diff(np.append(self.starts, len(self.x)))

    def slices(self) -> Iterator[slice]:
        """Yield where each group lies."""
        for start, count in zip(self.starts, self.counts, strict=True):
            yield slice(int(start), int(start + count))

    def _centred(self, values: Floats) -> tuple[Floats, Floats]:
        """Return group means and the rows less the mean of their group, exactly 0 in a constant group."""
        low, high = (extreme.reduceat(values, self.starts) for extreme in (np.minimum, np.maximum))
        # Centred at one of its own values first: a mean of large numbers that differ little keeps its digits.
        shifted = values - np.repeat(low, self.counts)
        means = np.add.reduceat(shifted, self.starts) / self.counts
        means[low == high] = 0
        return low + means, shifted - np.repeat(means, self.counts)

    def moments(self) -> GroupMoments:
        """Sum up every group, in two passes."""
        mean_x, dx = self._centred(self.x)
        mean_y, dy = self._centred(self.y)
        sums = (np.add.reduceat(product, self.starts) for product in (dx * dx, dy * dy, dx * dy))
        return GroupMoments(self.counts.astype(np.float64), mean_x, mean_y, *sums)

    def spearman(self) -> Floats:
        """Rank correlation within each group, ties at their mean rank."""
        from scipy.stats import rankdata

        ranks = [np.concatenate([rankdata(side[part]) for part in self.slices()]) for side in (self.x, self.y)]
        return GroupedRows(ranks[0], ranks[1], self.starts).moments().r

    def centred(self) -> tuple[Floats, Floats]:
        """Return the rows less the means of their groups."""
        return self._centred(self.x)[1], self._centred(self.y)[1]
