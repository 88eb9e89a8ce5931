"""Rows sorted by group: the split of a covariance into within and between, and permutation p-values.

    Σ(x − x̄)(y − ȳ) = Σ_g Σ_{i∈g} (x_i − x̄_g)(y_i − ȳ_g) + Σ_g n_g (x̄_g − x̄)(ȳ_g − ȳ)

A pooled sign can oppose the sign in every group only if the second term opposes and outweighs the first.

A p-value is `(1 + #{permutations at least as extreme}) / (1 + #permutations)` (Phipson & Smyth 2010): never zero.
Above `LARGE` rows sums over permutations are drawn from their normal limit, with the mean and variance that the
permutations have exactly (Wald & Wolfowitz 1944): shuffling a million rows a thousand times would add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.ties import TIE

WORK = 2**21
"""Permuted entries held at a time."""
LARGE = 5_000
"""Rows above which the normal limit stands for shuffling."""


def correlation(
    sxx: Floats | float, syy: Floats | float, sxy: Floats | float
) -> Floats:
    """Compute Pearson's r from centred sums, NaN where a side is constant.

    Examples
    --------
    >>> correlation(4.0, 1.0, -1.0).item(), correlation(0.0, 1.0, 0.0).item()
    (-0.5, nan)
    """
    x, y, xy = (np.asarray(value, dtype=np.float64) for value in (sxx, syy, sxy))
    # Roots first: the product of two sums of squares may leave the range of float64.
    scale = np.sqrt(x) * np.sqrt(y)
    r: Floats = np.divide(xy, scale, out=np.full(xy.shape, np.nan), where=scale > 0)
    return np.clip(r, -1, 1)


@dataclass(frozen=True)
class Association:
    """The association of x and y over some rows; a number is NaN where it does not exist."""

    n: int
    """Number of rows."""
    r: float
    """Pearson's correlation, the cosine after centring."""
    slope: float
    """Least-squares change of y for one unit of x."""
    spearman: float = math.nan
    """Rank correlation."""
    p: float = math.nan
    """Permutation p-value of r, two-sided."""


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
        slope: Floats = np.divide(
            self.sxy, self.sxx, out=np.full(len(self.sxx), np.nan), where=self.sxx > 0
        )
        return slope

    @cached_property
    def within(self) -> Floats:
        """`Σ_g` of sxx, syy and sxy."""
        # Added exactly: terms of both signs may cancel, and the sign of the sum is the answer.
        return np.array([math.fsum(sums) for sums in (self.sxx, self.syy, self.sxy)])

    @cached_property
    def shifts(self) -> tuple[Floats, Floats]:
        """Group means less the mean of all rows."""
        # From one of them: large means that differ little keep their digits.
        x, y = (mean - mean[0] for mean in (self.mean_x, self.mean_y))
        n = self.n.sum()
        return x - math.fsum(self.n * x) / n, y - math.fsum(self.n * y) / n

    @cached_property
    def between(self) -> Floats:
        """`Σ_g n_g` of the squared and multiplied shifts."""
        # A group counts as if all its rows stood at its mean.
        dx, dy = self.shifts
        return np.array(
            [math.fsum(self.n * product) for product in (dx * dx, dy * dy, dx * dy)]
        )

    @property
    def total(self) -> Floats:
        """Centred sums over all rows, within plus between."""
        return self.within + self.between

    def association(self, sums: Floats, **more: float) -> Association:
        """Turn centred sums into a correlation and a slope."""
        sxx, _, sxy = sums.tolist()
        return Association(
            int(self.n.sum()),
            float(correlation(*sums)),
            sxy / sxx if sxx > 0 else math.nan,
            **more,
        )


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
        # Rows of a group keep their order, so that one seed gives one set of permutations.
        order = np.argsort(codes, kind="stable")
        return cls(
            x[order], y[order], np.concatenate([[0], np.bincount(codes).cumsum()[:-1]])
        )

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
        low, high = (
            extreme.reduceat(values, self.starts)
            for extreme in (np.minimum, np.maximum)
        )
        # Centred at one of its own values first: a mean of large numbers that differ little keeps its digits.
        shifted = values - np.repeat(low, self.counts)
        means = np.add.reduceat(shifted, self.starts) / self.counts
        # Rounding must not make a constant group vary: it has no correlation, rather than one of noise.
        means[low == high] = 0
        return low + means, shifted - np.repeat(means, self.counts)

    def centred(self) -> tuple[Floats, Floats]:
        """Return the rows less the means of their groups."""
        return self._centred(self.x)[1], self._centred(self.y)[1]

    def moments(self) -> GroupMoments:
        """Sum up every group, in two passes."""
        # Means first, then squares of what is left: Σx² − n x̄² would cancel.
        mean_x, dx = self._centred(self.x)
        mean_y, dy = self._centred(self.y)
        sums = (
            np.add.reduceat(product, self.starts)
            for product in (dx * dx, dy * dy, dx * dy)
        )
        return GroupMoments(self.counts.astype(np.float64), mean_x, mean_y, *sums)

    def spearman(self) -> Floats:
        """Rank correlation within each group, ties at their mean rank."""
        from scipy.stats import rankdata

        # Pearson's r of the ranks, which are those within the group.
        x, y = (
            np.concatenate([rankdata(side[group]) for group in self.slices()])
            for side in (self.x, self.y)
        )
        return GroupedRows(x, y, self.starts).moments().r


def _batches(n: int, n_permutations: int) -> Iterator[int]:
    step = max(1, WORK // max(1, n))
    for start in range(0, n_permutations, step):
        yield min(step, n_permutations - start)


def _shuffled_products(
    x: Floats, y: Floats, n_permutations: int, rng: np.random.Generator
) -> Floats:
    """Draw `Σ x_i y_π(i)` of centred x and y for random permutations π."""
    n = len(x)
    if n > LARGE:
        # Of very many rows the permutation distribution is normal with mean 0 and this variance, which permutations
        # have exactly (Hoeffding 1951).
        return np.asarray(
            np.sqrt((x @ x) * (y @ y) / (n - 1)) * rng.standard_normal(n_permutations)
        )
    parts = [
        rng.permuted(np.broadcast_to(y, (size, n)), axis=1) @ x
        for size in _batches(n, n_permutations)
    ]
    return np.asarray(np.concatenate(parts))


def _dealt_sums(
    pairs: Floats, rows: GroupedRows, size: int, rng: np.random.Generator
) -> Floats:
    """Draw group sums (2, size, G) of centred x and y for rows dealt out to the groups at random."""
    n, counts = pairs.shape[1], rows.counts
    if n <= LARGE:
        order = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        return np.asarray(np.add.reduceat(pairs[:, order], rows.starts, axis=2))
    # Rows drawn without replacement: their group sums have covariance (n_g δ_gh − n_g n_h / n) × that of a row. Normal
    # numbers of variance n_g, less each group's share of their sum, have the first factor; a root of the 2×2 covariance
    # of a row gives x and y the second.
    free = rng.standard_normal((2, size, len(counts))) * np.sqrt(counts)
    free -= free.sum(axis=2, keepdims=True) * counts / n
    values, vectors = np.linalg.eigh(pairs @ pairs.T / (n - 1))
    return np.asarray(
        np.einsum("ij,jsg->isg", vectors * np.sqrt(np.maximum(values, 0)), free)
    )


def within_p_values(
    rows: GroupedRows, n_permutations: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Permute y within every group: is there an association in the group, and over all groups together?

    One group of all rows gives the pooled p-value.

    Returns
    -------
    p_groups : array of shape (G,)
        Two-sided, of each group's correlation; NaN where a side is constant.
    p_within : float
        Two-sided, of the correlation within groups taken together; NaN where no group varies.
    """
    moments, (x, y) = rows.moments(), rows.centred()
    extreme, total = np.zeros(len(rows.starts), dtype=np.intp), np.zeros(n_permutations)
    # |Σxy| alone decides: Σx² and Σy² of a group are the same in every permutation of it.
    for g, group in enumerate(rows.slices()):
        sums = _shuffled_products(x[group], y[group], n_permutations, rng)
        extreme[g] = np.count_nonzero(np.abs(sums) >= abs(moments.sxy[g]) * (1 - TIE))
        total += sums
    together = int(
        np.count_nonzero(np.abs(total) >= abs(moments.within[2]) * (1 - TIE))
    )
    p_groups = np.where(
        np.isnan(moments.r), np.nan, (1 + extreme) / (1 + n_permutations)
    )
    varies = moments.within[0] * moments.within[1] > 0
    return p_groups, (1 + together) / (1 + n_permutations) if varies else math.nan


def grouping_p_value(
    rows: GroupedRows, n_permutations: int, rng: np.random.Generator
) -> float:
    """Deal the rows out to groups of the same sizes at random: does this grouping change the correlation that much?

    Return the two-sided p-value of `r pooled − r within`; NaN where nothing varies within groups.
    """
    moments = rows.moments()
    sxx, syy, sxy = moments.total
    pooled = correlation(sxx, syy, sxy)
    observed = float(np.abs(pooled - correlation(*moments.within)))
    if np.isnan(observed):
        return math.nan
    # Σx², Σy² and Σxy over all rows stay, however rows are dealt. Between groups they follow from the sum of each
    # group, and within groups they are the rest: only group sums are drawn.
    pairs = np.stack(GroupedRows(rows.x, rows.y, np.zeros(1, dtype=np.intp)).centred())
    extreme = 0
    for size in _batches(
        2 * max(min(len(rows.x), LARGE), len(rows.starts)), n_permutations
    ):
        sums = _dealt_sums(pairs, rows, size, rng)
        bx, by, bxy = (
            (a * b / rows.counts).sum(axis=1)
            for a, b in ((sums[0],) * 2, (sums[1],) * 2, sums)
        )
        # A draw may leave nothing within groups, where the rest is but rounding.
        within = correlation(
            np.maximum(sxx - bx, 0), np.maximum(syy - by, 0), sxy - bxy
        )
        extreme += int(
            np.count_nonzero(
                np.nan_to_num(np.abs(pooled - within)) >= observed * (1 - TIE)
            )
        )
    return (1 + extreme) / (1 + n_permutations)


def adjusted(p_values: Floats) -> Floats:
    """Adjust p-values to hold the share of false findings (Benjamini and Hochberg), leaving NaN aside.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    from scipy.stats import false_discovery_control

    result = np.array(p_values, dtype=np.float64)
    tested = ~np.isnan(result)
    result[tested] = false_discovery_control(result[tested]) if tested.any() else np.nan
    return result
