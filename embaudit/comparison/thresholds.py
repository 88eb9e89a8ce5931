"""Thresholds on a cosine that are carried over from one model to another.

A user who calls two items alike from a cosine of 0.80 on keeps as many pairs after a
change of models if the threshold is raised or lowered with the distribution of the
cosines. The pairs above a threshold are a small share of all, so they are counted among
all pairs unless there are more than `MAX_COUNTED`. This module also counts rows that
swapped vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import TIE
from embaudit.linalg.intervals import independent_draws, quantile_ranks
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import draw_pairs, n_pairs
from embaudit.linalg.rows import unit_rows

COSINES = tuple(i / 20 for i in range(10, 20))
"""Thresholds in the first model, 0.50 to 0.95."""
MAX_COUNTED = 100_000_000
"""Number of pairs up to which all of them are counted."""
SAMPLED_PAIRS = 200_000
"""Number of pairs that are drawn if there are more than `MAX_COUNTED`."""
MIN_PAIRS = 20
"""Number of pairs that must lie above a threshold, and below it."""
BINS = 2**21
"""Number of bins of equal width from -1 to 1; their width is 1e-6."""
MAX_COUNT_ERROR = 0.01
"""Largest relative error of the number of pairs above a carried threshold.

It is larger if many pairs have the same cosine, which no threshold can part."""


@dataclass(frozen=True)
class CarriedThreshold:
    """Thresholds in the first and in the second model that as many pairs exceed."""

    before: float
    """Threshold in the first model."""
    share: float
    """Share of the pairs that lie above it there."""
    after: float
    """Cosine above which the same share of the pairs lies in the second model."""
    low: float
    """Lower end of its 95 % interval; `after` itself if all pairs were counted."""
    high: float
    """Upper end of its 95 % interval; `after` itself if all pairs were counted."""
    n_pairs: int
    """Number of pairs that were counted."""

    def __str__(self) -> str:
        decimals = _decimals_below_one((self.low, self.after, self.high))
        after = f"{self.after:.{decimals}f}"
        low, high = f"{self.low:.{decimals}f}", f"{self.high:.{decimals}f}"
        if low == after == high:
            return after
        return f"{after} (95 %: {low} to {high})"


def _decimals_below_one(cosines: tuple[float, ...]) -> int:
    """Return the fewest decimals, from 2 to 6, that write no cosine below 1 as 1.

    A threshold of 1.00 would let no pair pass.

    Examples
    --------
    >>> _decimals_below_one((0.8, 1.0)), _decimals_below_one((0.8, 0.9981))
    (2, 3)
    """
    for decimals in range(2, 6):
        if all(cosine >= 1 or round(cosine, decimals) < 1 for cosine in cosines):
            return decimals
    return 6


def thresholds(
    before: Floats,
    after: Floats,
    rng: np.random.Generator,
    *,
    queries: Floats | None = None,
) -> tuple[CarriedThreshold, ...]:
    """Carry thresholds over from the first model to the second.

    Of N pairs, r have a cosine of at least the threshold in the first model. The
    carried threshold lies half way between the r-th and the next largest cosine of the
    second model, to the width of a bin (1e-6).

    Parameters
    ----------
    before, after : array of shape (m, k) and (m, k')
        Rows of the same entities in either model. Rows that are zero in one of them
        have no cosines.
    rng : numpy Generator
        Draws the pairs, without replacement, if there are more than `MAX_COUNTED`.
    queries : array of shape (m, k'), optional
        Rows of the same entities that are compared with `after` in the second model,
        if these are not the rows of `after` themselves. Of a pair, the query is the
        entity with the smaller row number.

    Returns
    -------
    tuple of CarriedThreshold
        For 0.50 to 0.95 in steps of 0.05, if at least 20 pairs lie above the threshold
        and 20 below it, and a cosine parts as many of the second model's pairs.

    Notes
    -----
    Pairs drawn from all pairs without replacement give the 95 % interval of a quantile
    by ranks (Woodruff, JASA 47, 1952). It is about the pairs of these rows.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((600, 3))
    >>> carried = thresholds(x, x, np.random.default_rng(0))
    >>> carried[6].before, str(carried[6]), carried[6].n_pairs
    (0.8, '0.80', 179700)
    """
    if queries is None:
        queries = after
    has_cosine = before.any(axis=1) & after.any(axis=1) & queries.any(axis=1)
    if has_cosine.sum() < 2:
        return ()
    unit_before = unit_rows(before[has_cosine])
    unit_after = unit_rows(after[has_cosine])
    unit_queries = unit_after
    if queries is not after:
        unit_queries = unit_rows(queries[has_cosine])
    n_above = np.zeros(len(COSINES), dtype=np.int64)
    counts = np.zeros(BINS + 1, dtype=np.int64)
    for old, new in _cosine_blocks(unit_before, unit_queries, unit_after, rng):
        n_above += _count_above(old)
        counts += np.bincount(_bins(new), minlength=BINS + 1)
    n_counted = int(counts.sum())
    draws = independent_draws(n_counted, n_pairs(len(unit_before)))

    carried = []
    for cosine, count in zip(COSINES, n_above.tolist(), strict=True):
        if min(count, n_counted - count) < MIN_PAIRS:
            continue
        threshold = _exceeded_by(counts, count)
        if threshold is None:
            continue
        low = high = threshold
        if np.isfinite(draws):
            # Ranks are counted from the smallest cosine.
            level = 1 - count / n_counted
            first, last = quantile_ranks(n_counted, level, draws)
            low = _ranked(counts, max(first, 1))
            high = _ranked(counts, min(last, n_counted))
        share = count / n_counted
        carried.append(CarriedThreshold(cosine, share, threshold, low, high, n_counted))
    return tuple(carried)


def _cosine_blocks(
    before: Floats, queries: Floats, after: Floats, rng: np.random.Generator
) -> Iterator[tuple[Floats, Floats]]:
    """Yield the cosines of the same pairs of unit rows in both models, in blocks.

    In the second model, a row of `queries` is compared with a row of `after`.
    """
    n_rows = len(before)
    if n_pairs(n_rows) > MAX_COUNTED:
        pairs = draw_pairs(n_rows, SAMPLED_PAIRS, rng=rng)
        yield pair_cosines(before, before, pairs), pair_cosines(queries, after, pairs)
        return
    for block in row_blocks(n_rows, n_rows):
        # Pairs within the block, and those of its rows with the rows behind it.
        within = np.triu_indices(block.stop - block.start, 1)
        old, new = before[block], queries[block]
        yield (old @ old.T)[within], (new @ after[block].T)[within]
        behind = slice(block.stop, None)
        yield (old @ before[behind].T).ravel(), (new @ after[behind].T).ravel()


def _count_above(cosines: Floats) -> NDArray[np.int64]:
    """Count the cosines that reach each threshold, up to rounding."""
    tail = np.sort(cosines[cosines >= COSINES[0] - TIE])
    return len(tail) - np.searchsorted(tail, np.array(COSINES) - TIE)


def _bins(cosines: Floats) -> NDArray[np.intp]:
    """Return the bin of each cosine.

    A cosine at the edge of two bins, such as 0.5, counts to the upper one in spite of
    rounding. A cosine of 1 has a bin of its own.
    """
    places = cosines + (1 + TIE)
    places *= BINS / 2
    return places.astype(np.intp)


def _edge(number: int) -> float:
    """Return the lower edge of a bin."""
    return 2 * number / BINS - 1


def _ranked(counts: NDArray[np.int64], rank: int) -> float:
    """Return the cosine with a rank, counted from 1 for the smallest, to one bin."""
    return _edge(int(np.searchsorted(np.cumsum(counts), rank)))


def _exceeded_by(counts: NDArray[np.int64], n_above: int) -> float | None:
    """Return the cosine that as many pairs exceed, half way to the next pair below.

    None if too many pairs share one bin, such as the pairs of duplicate rows.
    """
    filled = np.flatnonzero(counts)
    n_from = np.cumsum(counts[filled][::-1])[::-1]
    # n_from[i] pairs lie in the filled bin i or above it.
    place = int(np.argmin(np.abs(n_from - n_above)))
    error = abs(int(n_from[place]) - n_above)
    if place == 0 or error > MAX_COUNT_ERROR * n_above:
        return None
    return (_edge(int(filled[place])) + _edge(int(filled[place - 1]) + 1)) / 2


def n_displaced(before: Floats, after: Floats) -> int:
    """Count the rows that have the vector of another row of the first model.

    A vector that two rows of a model share does not count.

    Examples
    --------
    >>> x = np.arange(12.0).reshape(4, 3)
    >>> n_displaced(x, x), n_displaced(x, x[[1, 0, 2, 3]]), n_displaced(x, 2 * x)
    (0, 2, 0)
    """
    if before.shape[1] != after.shape[1]:
        return 0
    # Equal vectors of both models get one number. If it occurs twice and a row of the
    # first model has it, it belongs to one row in each model.
    _, numbers, counts = np.unique(
        np.vstack([before, after]), axis=0, return_inverse=True, return_counts=True
    )
    first, second = np.split(numbers.ravel(), [len(before)])
    owners = np.full(len(counts), -1)
    owners[first] = np.arange(len(first))
    is_single = (counts[second] == 2) & (owners[second] >= 0)
    is_moved = owners[second] != np.arange(len(second))
    return int((is_single & is_moved).sum())
