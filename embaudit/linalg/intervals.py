"""95 % intervals of means, shares and quantiles, and of means over pairs of entities.

Values of pairs share entities, so they are not independent draws, and a bootstrap of
them gives intervals that are too narrow. The delete-a-group jackknife leaves out a
twentieth of the entities at a time, so its variance includes the effect of shared
entities. On average, this variance is never too small (Efron & Stein, Annals of
Statistics 9, 1981).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats

Z95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations."""
TAIL = 0.025
"""Probability of a value below a 95 % interval, and of a value above it."""
GROUPS = 20
"""Number of parts of the entities; each one is left out in turn."""


def independent_draws(n: int, total: int) -> float:
    """Count the independent draws that n draws without replacement are worth.

    It is infinite if all values of the total were drawn.

    Examples
    --------
    >>> independent_draws(50, 99), independent_draws(3, 3)
    (100.0, inf)
    """
    if n >= total:
        return math.inf
    return n * (total - 1) / (total - n)


def mean_interval(values: Floats, draws: float) -> tuple[float, float]:
    """Compute the 95 % interval of the mean of values by Student's t distribution.

    Parameters
    ----------
    values : array of shape (n,)
        The drawn values.
    draws : float
        Number of independent draws that the values are worth.

    Examples
    --------
    >>> mean_interval(np.array([1.0, 3.0]), math.inf)
    (2.0, 2.0)
    >>> mean_interval(np.array([1.0]), 1.0)
    (-inf, inf)
    """
    from scipy.special import stdtrit

    mean, n = float(values.mean()), len(values)
    if math.isinf(draws):
        return mean, mean
    if n == 1:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, 1 - TAIL) * values.std(ddof=1)) / math.sqrt(draws)
    return mean - half, mean + half


def mean_share_interval(shares: Floats) -> tuple[float, float]:
    """Compute the 95 % interval of the mean of independent shares between 0 and 1.

    It is the interval of Student's t distribution after a share of 0 and a share of 1
    were added, as Agresti and Coull (The American Statistician 52, 1998) add successes
    and failures. Without them, the interval would have no width if all shares are 1,
    even if there are only ten of them.

    Parameters
    ----------
    shares : array of shape (n,)

    Examples
    --------
    >>> low, high = mean_share_interval(np.ones(60))
    >>> round(low, 3), high
    (0.952, 1.0)
    """
    extended = np.concatenate([shares, [0.0, 1.0]])
    low, high = mean_interval(extended, len(extended))
    return max(low, 0.0), min(high, 1.0)


def quantile_ranks(n: int, level: float, draws: float) -> tuple[int, int]:
    """Return the ranks, from 1 on, of the ends of the 95 % interval of a quantile.

    The ranks depend only on the level and the numbers of values and draws (Woodruff,
    JASA 47, 1952). If a rank is below 1 or above n, the interval is unbounded at that
    end.

    Examples
    --------
    >>> quantile_ranks(100, 0.5, 100.0), quantile_ranks(5, 0.99, 5.0)
    ((40, 60), (4, 6))
    """
    half = Z95 * math.sqrt(level * (1 - level) / draws)
    return math.floor(n * (level - half)), math.ceil(n * (level + half))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """Compute the 95 % interval of a share of n independent draws.

    Source: Wilson, JASA 22, 1927.

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


def share_interval(
    share: float, error: float, n_clusters: int, *, tail: float = TAIL
) -> tuple[float, float]:
    """Compute the 95 % interval of a share whose cases come in clusters.

    It is Wilson's interval for the number of independent draws that have the standard
    error of the share, with the quantile of Student's t distribution. If the error is
    0, for example because the share is 0, each cluster counts as one draw.

    Parameters
    ----------
    share : float
        Share of the cases.
    error : float
        Its standard error, which allows for the clusters.
    n_clusters : int
        Number of clusters.
    tail : float
        Probability of a value below the interval, and of a value above it.

    Source: Dean & Pagano, Communications in Statistics 44, 2015 (Wilson's interval for
    clusters).

    Examples
    --------
    >>> low, high = share_interval(0.5, 0.05, 1_000_000)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    >>> share_interval(1.0, 0.0, 1)
    (0.0, 1.0)
    """
    from scipy.special import stdtrit

    if math.isnan(share):
        return math.nan, math.nan
    if n_clusters < 2:
        return 0.0, 1.0
    draws = float(n_clusters)
    if error > 0 and 0 < share < 1:
        draws = share * (1 - share) / error**2
    quantile = float(stdtrit(n_clusters - 1, 1 - tail))
    spread = quantile**2 / draws
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)


class PairErrors:
    """Standard errors of means over pairs that share entities.

    With residuals e of the values, the variance of the mean of m pairs is
    `Σ e_a e_b / m²` over all pairs a and b that share an entity. The sum is computed
    from the sums of residuals by entity: these count twice a pair of pairs that share
    both entities, so it is subtracted once.

    Source: Fafchamps & Gubert, Journal of Development Economics 83, 2007; Aronow, Samii
    & Assenova, Political Analysis 23, 2015.

    Parameters
    ----------
    ends : array of int (m, 2)
        The two entities of each pair, which differ.

    Examples
    --------
    >>> errors = PairErrors(np.array([[0, 1], [2, 3]]))
    >>> round(errors.of_mean(np.array([1.0, 3.0])), 3)  # two independent values
    0.707
    >>> errors.n_entities
    4
    """

    def __init__(self, ends: NDArray[np.integer]) -> None:
        entities, codes = np.unique(ends, return_inverse=True)
        self.n_entities = len(entities)
        self._first, self._second = codes.reshape(ends.shape).T
        low = np.minimum(self._first, self._second)
        high = np.maximum(self._first, self._second)
        cells = low * np.int64(self.n_entities) + high
        self._order = np.argsort(cells, kind="stable")
        is_new = np.diff(cells[self._order], prepend=-1) != 0
        self._cell_starts = np.flatnonzero(is_new)

    def of_mean(self, values: Floats) -> float:
        """Return the standard error of the mean of one value per pair.

        It is at least that of independent pairs of entities, because an estimate can be
        smaller, or even negative, by chance.
        """
        whole, of_cells = self._squares(values)
        return math.sqrt(max(whole, of_cells)) / len(values)

    def variance(self, values: Floats) -> float:
        """Return the estimated variance of the mean, which can be negative."""
        whole, _ = self._squares(values)
        return whole / len(values) ** 2

    def _squares(self, values: Floats) -> tuple[float, float]:
        """Sum `e_a e_b` over pairs that share an entity, and that share both."""
        residuals = values - values.mean()
        sums = np.bincount(self._first, residuals, self.n_entities)
        sums += np.bincount(self._second, residuals, self.n_entities)
        cell_sums = np.add.reduceat(residuals[self._order], self._cell_starts)
        of_cells = float((cell_sums**2).sum())
        return float((sums**2).sum()) - of_cells, of_cells


def draw_groups(n_rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Assign each entity to one of at most `GROUPS` non-empty parts of equal size."""
    # NumPy sorts bytes by counting them, which is faster than sorting wider integers.
    return (rng.permutation(n_rows) % min(GROUPS, n_rows)).astype(np.uint8)


def standard_error(draws: Floats) -> float:
    """Compute the standard error of the mean of independent draws.

    It is 0 for one draw.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.array([2.0]))
    (1.0, 0.0)
    """
    if len(draws) <= 1:
        return 0.0
    return float(draws.std(ddof=1) / np.sqrt(len(draws)))


def jackknife_margin(
    replicates: Floats, n_intervals: int = 1, *, other_error: float = 0.0
) -> Floats:
    """Compute half the width of a 95 % interval by the delete-a-group jackknife.

    Parameters
    ----------
    replicates : array of shape (groups, ...)
        The estimate without each group of entities in turn. NaN if nothing remains
        without a group; the width is infinite then.
    n_intervals : int
        Number of intervals that hold together (Bonferroni).
    other_error : float
        Standard error of an independent source, such as other draws.

    Examples
    --------
    >>> jackknife_margin(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, np.nan]])).round(2)
    array([ 0., inf])
    """
    from scipy.special import stdtrit

    n_groups = len(replicates)
    # The variance is `(g − 1)/g Σ (θ_i − θ̄)²`.
    error = np.sqrt((n_groups - 1) * replicates.var(axis=0) + other_error**2)
    n_errors = float(stdtrit(n_groups - 1, 1 - TAIL / n_intervals))
    return np.asarray(np.nan_to_num(error * n_errors, nan=np.inf))


def leave_out_means(
    values: Floats, ends: NDArray[np.integer], groups: NDArray[np.integer]
) -> Floats:
    """Average values of pairs without each group of entities in turn.

    A pair is left out if either of its entities is in the group. The mean is NaN if no
    pair remains.

    Parameters
    ----------
    values : array of shape (m,)
        NaN for a pair without a value.
    ends : array of shape (m, 2)
        The two entities of each pair.
    groups : array of shape (n,)
        The group of each entity, from 0 up.

    Examples
    --------
    >>> values, ends = np.array([1.0, 2.0, 6.0]), np.array([[0, 1], [0, 2], [1, 2]])
    >>> leave_out_means(values, ends, np.array([0, 1, 2]))
    array([6., 2., 1.])
    """
    defined = np.isfinite(values)
    n_groups = int(groups.max()) + 1
    first, second = groups[ends[defined]].astype(np.intp).T
    cells = first * n_groups + second
    sums = _without_each_group(np.bincount(cells, values[defined], n_groups**2))
    counts = _without_each_group(np.bincount(cells, minlength=n_groups**2))
    means = np.full(n_groups, np.nan)
    return np.asarray(np.divide(sums, counts, out=means, where=counts > 0))


def _without_each_group(cell_sums: NDArray[Any]) -> Floats:
    """Return sums over pairs without each group, from sums by the groups of both ends.

    From the sum of all cells, subtract the row and the column of the group. The cell in
    both of them was subtracted twice, so add it once.
    """
    n_groups = math.isqrt(len(cell_sums))
    table = cell_sums.reshape(n_groups, n_groups)
    in_group = table.sum(axis=0) + table.sum(axis=1) - table.diagonal()
    return np.asarray(table.sum() - in_group, dtype=np.float64)
