"""Permutation p-values, many permutations at a time, and their adjustment for looking many times.

A p-value is `(1 + #{permutations at least as extreme}) / (1 + #permutations)` (Phipson & Smyth 2010): never zero.
Above `LARGE` rows sums over permutations are drawn from their normal limit, with the mean and variance that the
permutations have exactly (Wald & Wolfowitz 1944): shuffling a million rows a thousand times would tell nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats
from embaudit.reversals.grouped import GroupedRows, correlation

Correction: TypeAlias = Literal["bh", "holm"]
WORK = 2**21
"""Permuted entries held at a time."""
LARGE = 5_000
"""Rows above which the normal limit stands for shuffling."""
TIE = 1e-12
"""Permutations this close to the data count as equal to it: they differ by the order of summation."""


def _batches(n: int, n_permutations: int) -> Iterator[int]:
    step = max(1, WORK // max(1, n))
    for start in range(0, n_permutations, step):
        yield min(step, n_permutations - start)


def _p(extreme: ArrayLike, n_permutations: int) -> Floats:
    return np.asarray((1 + np.asarray(extreme)) / (1 + n_permutations))


def _shuffled_products(x: Floats, y: Floats, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Draw `Σ x_i y_π(i)` of centred x and y for random permutations π."""
    n = len(x)
    if n > LARGE:
        return np.asarray(np.sqrt((x @ x) * (y @ y) / (n - 1)) * rng.standard_normal(n_permutations))
    parts = [rng.permuted(np.broadcast_to(y, (size, n)), axis=1) @ x for size in _batches(n, n_permutations)]
    return np.asarray(np.concatenate(parts))


def _dealt_sums(
    pairs: Floats, starts: NDArray[np.intp], counts: NDArray[np.intp], size: int, rng: np.random.Generator
) -> Floats:
    """Draw group sums (2, size, G) of centred x and y for rows dealt out to the groups at random."""
    n = pairs.shape[1]
    if n <= LARGE:
        order = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        return np.asarray(np.add.reduceat(pairs[:, order], starts, axis=2))
    # The sums have covariance (n_g δ_gh − n_g n_h / n) × the covariance of a row.
    free = rng.standard_normal((2, size, len(counts))) * np.sqrt(counts)
    free -= free.sum(axis=2, keepdims=True) * counts / n
    values, vectors = np.linalg.eigh(pairs @ pairs.T / (n - 1))
    return np.asarray(np.einsum("ij,jsg->isg", vectors * np.sqrt(np.maximum(values, 0)), free))


def within_p_values(rows: GroupedRows, n_permutations: int, rng: np.random.Generator) -> tuple[Floats, float]:
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
    for g, part in enumerate(rows.slices()):
        sums = _shuffled_products(x[part], y[part], n_permutations, rng)
        extreme[g] = np.count_nonzero(np.abs(sums) >= abs(moments.sxy[g]) * (1 - TIE))
        total += sums
    together = np.count_nonzero(np.abs(total) >= abs(moments.within[2]) * (1 - TIE))
    p_groups = np.where(np.isnan(moments.r), np.nan, _p(extreme, n_permutations))
    return p_groups, float(_p(together, n_permutations)) if moments.within[0] * moments.within[1] > 0 else np.nan


def grouping_p_value(rows: GroupedRows, n_permutations: int, rng: np.random.Generator) -> float:
    """Deal the rows out to groups of the same sizes at random: does this grouping change the correlation that much?

    Return the two-sided p-value of `r pooled − r within`; NaN where nothing varies within groups.
    """
    moments = rows.moments()
    sxx, syy, sxy = moments.total
    pooled = correlation(sxx, syy, sxy)
    observed = float(np.abs(pooled - correlation(*moments.within)))
    if np.isnan(observed):
        return np.nan
    single = GroupedRows(rows.x, rows.y, np.zeros(1, dtype=np.intp))
    pairs = np.stack(single.centred())
    extreme = 0
    for size in _batches(2 * max(min(len(rows.x), LARGE), len(rows.starts)), n_permutations):
        sums = _dealt_sums(pairs, rows.starts, rows.counts, size, rng)
        bx, by, bxy = ((a * b / rows.counts).sum(axis=1) for a, b in ((sums[0],) * 2, (sums[1],) * 2, sums))
        within = correlation(np.maximum(sxx - bx, 0), np.maximum(syy - by, 0), sxy - bxy)
        extreme += int(np.count_nonzero(np.nan_to_num(np.abs(pooled - within)) >= observed * (1 - TIE)))
    return float(_p(extreme, n_permutations))


def adjusted(p_values: Floats, correction: Correction) -> Floats:
    """Adjust p-values for multiplicity, leaving NaN aside.

    Parameters
    ----------
    p_values : array
        NaN where there was no test.
    correction : {"bh", "holm"}
        Benjamini–Hochberg holds the share of false findings, Holm the chance of any.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, np.nan, 0.03]), "holm").tolist()
    [0.03, 0.06, nan, 0.06]
    >>> adjusted(np.array([0.01, 0.04, np.nan, 0.03]), "bh").tolist()
    [0.03, 0.04, nan, 0.04]
    """
    if correction not in ("bh", "holm"):
        raise must_be("correction", 'one of "bh", "holm"', repr(correction))
    result = np.array(p_values, dtype=np.float64)
    tested = np.flatnonzero(~np.isnan(result))
    if not len(tested):
        return result
    if correction == "bh":
        from scipy.stats import false_discovery_control

        result[tested] = false_discovery_control(result[tested])
        return result
    order = tested[np.argsort(result[tested], kind="stable")]
    steps = np.maximum.accumulate(result[order] * np.arange(len(order), 0, -1))
    result[order] = np.minimum(steps, 1)
    return result
