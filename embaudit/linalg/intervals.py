"""95 % intervals: of means, shares and quantiles of draws, and of means over pairs of entities.

Values of pairs share entities, so they are no independent draws, and a bootstrap of them promises too much. Leaving out
a twentieth of the entities at a time counts what they share (delete-a-group jackknife; Efron & Stein, Annals of
Statistics 9, 1981: such a variance is never too small on average).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats

Z95 = 1.959963984540054
"""95 % of a normal distribution lie within this many standard deviations."""
TAIL = 0.025
"""Probability that such an interval leaves out at either end."""
GROUPS = 20
"""Parts of the entities that are left out in turn."""


def independent_draws(n: int, total: int) -> float:
    """Count the independent draws that say as much as n of a total drawn without replacement; infinitely many for all.

    Examples
    --------
    >>> independent_draws(50, 99), independent_draws(3, 3)
    (100.0, inf)
    """
    return n * (total - 1) / (total - n) if n < total else math.inf


def mean_interval(values: Floats, draws: float) -> tuple[float, float]:
    """95 % interval of the mean of values that say as much as so many independent draws (Student's t).

    Examples
    --------
    >>> mean_interval(np.array([1.0, 3.0]), math.inf), mean_interval(np.array([1.0]), 1.0)
    ((2.0, 2.0), (-inf, inf))
    """
    from scipy.special import stdtrit

    mean, n = float(values.mean()), len(values)
    if math.isinf(draws):
        return mean, mean
    half = (
        float(stdtrit(n - 1, 1 - TAIL) * values.std(ddof=1)) / math.sqrt(draws)
        if n > 1
        else math.inf
    )
    return mean - half, mean + half


def quantile_ranks(n: int, level: float, draws: float) -> tuple[int, int]:
    """Ranks, from 1 on, between which a quantile of n values lies: a 95 % interval; below 1 or above n for none.

    Which ranks these are is a matter of a share alone (Woodruff, JASA 47, 1952).

    Examples
    --------
    >>> quantile_ranks(100, 0.5, 100.0), quantile_ranks(5, 0.99, 5.0)
    ((40, 60), (4, 6))
    """
    half = Z95 * math.sqrt(level * (1 - level) / draws)
    return math.floor(n * (level - half)), math.ceil(n * (level + half))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
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


def draw_groups(n_rows: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Assign each entity to one of at most `GROUPS` parts of equal size, none of them empty."""
    # A byte each: numpy sorts bytes by counting them.
    return (rng.permutation(n_rows) % min(GROUPS, n_rows)).astype(np.uint8)


def standard_error(draws: Floats) -> float:
    """Compute the standard error of the mean of independent draws; of a single one it cannot be known, and is 0.

    Examples
    --------
    >>> standard_error(np.array([1.0, 3.0])), standard_error(np.array([2.0]))
    (1.0, 0.0)
    """
    return float(draws.std(ddof=1) / np.sqrt(len(draws))) if len(draws) > 1 else 0.0


def jackknife_margin(
    replicates: Floats, n_intervals: int = 1, *, beside: float = 0.0
) -> Floats:
    """Compute half the width of a 95 % interval from what an estimate is without each group of entities in turn.

    Parameters
    ----------
    replicates : array of shape (groups, ...)
        NaN where nothing remains to be measured without a group: then no width is wide enough.
    n_intervals : int
        How many intervals are to hold together (Bonferroni).
    beside : float
        Standard error from what else was drawn.

    Examples
    --------
    >>> jackknife_margin(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, np.nan]])).round(2)
    array([ 0., inf])
    """
    from scipy.special import stdtrit

    n_groups = len(replicates)
    # Delete-a-group jackknife: `(g − 1)/g Σ (θ_i − θ̄)²`; what else was drawn is independent and adds its variance.
    error = np.sqrt((n_groups - 1) * replicates.var(axis=0) + beside**2)
    return np.asarray(
        np.nan_to_num(
            error * float(stdtrit(n_groups - 1, 1 - TAIL / n_intervals)), nan=np.inf
        )
    )


def leave_out_means(
    values: Floats, ends: NDArray[np.integer], groups: NDArray[np.integer]
) -> Floats:
    """Average values of pairs without each group of entities in turn, at either end; NaN where no pair remains.

    Parameters
    ----------
    values : array of shape (m,)
        NaN where a pair has none.
    ends : array of shape (m, 2)
        The two entities of each pair.
    groups : array of shape (n,)
        The group of each entity, from 0 up.

    Examples
    --------
    >>> leave_out_means(np.array([1.0, 2.0, 6.0]), np.array([[0, 1], [0, 2], [1, 2]]), np.array([0, 1, 2]))
    array([6., 2., 1.])
    """
    defined = np.isfinite(values)
    n_groups = int(groups.max()) + 1
    first, second = groups[ends[defined]].astype(np.intp).T
    cells = first * n_groups + second
    # Summed by the groups of both ends. A pair goes with the group of either end: all, less a row, less a column, plus
    # the cell that both took away.
    sums, counts = (
        table.sum() - table.sum(axis=0) - table.sum(axis=1) + table.diagonal()
        for weights in (values[defined], None)
        for table in [
            np.bincount(cells, weights, minlength=n_groups**2).reshape(
                n_groups, n_groups
            )
        ]
    )
    return np.asarray(
        np.divide(sums, counts, out=np.full(n_groups, np.nan), where=counts > 0)
    )
