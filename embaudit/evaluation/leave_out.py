"""What a query's measures would be without some of the candidates: the replicates of an interval.

Queries share candidates, so they are no independent draws, and a bootstrap of queries promises too much. Leaving out a
twentieth of the entities at a time, as queries and as candidates, counts what they share (delete-a-group jackknife;
Efron & Stein, Annals of Statistics 9, 1981: such a variance is never too small on average).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUPS = 20
"""Parts of the entities that are left out in turn."""


def draw_groups(n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Assign each candidate to one of `GROUPS` parts of equal size."""
    return rng.permutation(n_rows) % min(GROUPS, n_rows)


def left_out(
    scores: NDArray[np.float64], gains: NDArray[np.float32], groups: NDArray[np.intp], n: int, n_groups: int
) -> NDArray[np.float64]:
    """Measure one query without each group of candidates in turn.

    Parameters
    ----------
    scores, gains : array of shape (m,)
        Of the candidates; a candidate of positive gain is related.
    groups : array of shape (m,)
        The group of each.
    n : int
        Length of the list.
    n_groups : int
        Number of groups.

    Returns
    -------
    array of shape (n_groups, 3)
        Precision, AUC and NDCG; NaN where what remains is all related or all unrelated.

    Examples
    --------
    >>> scores, gains = np.array([3.0, 2.0, 1.0]), np.array([1, 0, 0], dtype=np.float32)
    >>> left_out(scores, gains, np.array([0, 1, 2]), 1, 3)
    array([[nan, nan, nan],
           [ 1.,  1.,  1.],
           [ 1.,  1.,  1.]])
    """
    related = gains > 0
    counts = np.stack([np.bincount(groups[related == kind], minlength=n_groups) for kind in (True, False)])
    remaining = counts.sum(axis=1, keepdims=True) - counts
    found = np.empty((n_groups, 3))
    found[:, 0], gained = _best(scores, gains, groups, n, n_groups)
    _, ideal = _best(gains, gains, groups, n, n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        found[:, 2] = gained / ideal
        found[:, 1] = _concordance(scores, related, groups, n_groups) / remaining.prod(axis=0)
    found[(remaining == 0).any(axis=0)] = np.nan
    return found


def _best(
    scores: NDArray[np.floating], gains: NDArray[np.float32], groups: NDArray[np.intp], n: int, n_groups: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of related candidates and discounted gain among the `n` best of each remainder, ties by position."""
    order = np.argsort(-scores, kind="stable")
    # Beyond this many, every remainder has had its n: a group takes at most its own size away.
    order = order[: n + int(np.bincount(groups).max())]
    kept = groups[order] != np.arange(n_groups)[:, None]
    place = np.cumsum(kept, axis=1)
    listed = kept & (place <= n)
    discounts = np.where(listed, 1 / np.log2(place + 1.0, where=place > 0, out=np.ones(place.shape)), 0)
    share = (listed * (gains[order] > 0)).sum(axis=1) / np.maximum(listed.sum(axis=1), 1)
    return share, discounts @ gains[order].astype(np.float64)


def _concordance(
    scores: NDArray[np.float64], related: NDArray[np.bool_], groups: NDArray[np.intp], n_groups: int
) -> NDArray[np.float64]:
    """Count the pairs (related, unrelated) in order, ties as one half, that remain without each group.

    All pairs, less those with one member in the group; the pairs within it were then taken away twice.
    """
    places = np.unique(scores, return_inverse=True)[1]
    everywhere = _in_order(places, related, np.zeros(len(scores), dtype=np.intp))
    within = _in_order(places, related, groups)
    touched = np.bincount(groups, everywhere, minlength=n_groups)
    inside = np.bincount(groups, np.where(related, within, 0), minlength=n_groups)
    total: NDArray[np.float64] = everywhere[related].sum() - touched + inside
    return total


def _in_order(places: NDArray[np.intp], related: NDArray[np.bool_], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """For each candidate, count those of the other kind in its group that it forms an ordered pair with."""
    size = int(places.max()) + 1
    keys = groups * size + places
    counts = np.empty(len(keys))
    for kind in (True, False):
        own, others = related == kind, np.sort(keys[related != kind])
        below = np.searchsorted(others, keys[own], side="left").astype(np.float64)
        equal = np.searchsorted(others, keys[own], side="right") - below
        start = np.searchsorted(others, groups[own] * size)
        end = np.searchsorted(others, (groups[own] + 1) * size)
        counts[own] = (below - start if kind else end - below - equal) + equal / 2
    return counts
