"""Precision, AUC and NDCG of queries: how well a similarity ranks related rows first.

A candidate is related to a query if they share a label. Each measure is also taken
without each group of candidates in turn, which gives the replicates of an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.progress import track
from embaudit.core.ties import level_ties
from embaudit.evaluation.truth import Truth
from embaudit.linalg.nearest import TopK

Version: TypeAlias = tuple[Floats, Floats]
"""Vectors of rows as queries, and as candidates; their product is the similarity."""
LABEL_MEASURES = ("precision", "auc", "ndcg")
"""Measures of a query by labels, in the order of their arrays."""
Groups: TypeAlias = NDArray[np.uint8]
SPARE_CANDIDATES = 24
"""Number of candidates beyond the list that are sorted in the first attempt."""
SORTED_BYTES = 262_144
"""Bytes of scores that are sorted together, so few that they stay in the cache."""


def query_measures(
    versions: Mapping[str, Version],
    truth: Truth,
    rows: Indices,
    queries: Indices,
    groups: NDArray[np.uint8],
    *,
    n: int,
) -> tuple[dict[str, Floats], dict[str, Floats], dict[str, Indices]]:
    """Measure each query against all other candidates, under several similarities.

    Parameters
    ----------
    versions : mapping of str to pair of arrays of shape (m, k)
        For each similarity, vectors of the rows as queries and as candidates; the
        similarity is their dot product.
    truth : Truth
        Labels of all rows of the side.
    rows : array of shape (m,)
        Numbers of the rows of the side that are candidates.
    queries : array of shape (q,)
        Positions of the queries among the candidates.
    groups : array of shape (m,)
        Group of each candidate. Each group in turn is removed from the candidates and
        from the queries.
    n : int
        Length of the lists behind precision and NDCG.

    Returns
    -------
    by_query : dict of str to array of shape (q, 3)
        Precision (share of the n nearest that are related), AUC (probability that a
        related candidate comes before an unrelated one; ties count half) and NDCG
        (gain: number of shared labels over the number of labels that either has). NaN
        if all candidates are related, or none is.
    replicates : dict of str to array of shape (groups, 3)
        Means over the queries without each group; NaN if no query has a measure then.
    lists : dict of str to array of int (q, n)
        Candidates in the list of each query.
    """

    def measure(block: slice) -> tuple[Floats, Indices]:
        """Return measures of shape (versions, queries, groups + 1, 3), and lists."""
        positions = queries[block]
        # A query is not a candidate of itself, so its gain and its score are -inf.
        own_cells = (np.arange(len(positions)), positions)
        gains = truth.gains(rows[positions], rows).astype(np.float64)
        gains[own_cells] = -np.inf
        leave_out = LeaveOutMeasures(gains, groups, n)
        results, lists = [], []
        for query_vectors, candidate_vectors in versions.values():
            scores = query_vectors[positions] @ candidate_vectors.T
            scores[own_cells] = -np.inf
            # The scores of duplicate candidates differ by rounding.
            measures, best = leave_out.measures(level_ties(scores))
            results.append(measures)
            lists.append(best)
        return np.stack(results), np.stack(lists)

    blocks = list(row_blocks(len(queries), 4 * len(rows)))
    results = list(
        track(parallel_map(measure, blocks), "judging similarities", len(blocks))
    )
    measured = np.concatenate([measures for measures, _ in results], axis=1)
    all_lists = np.concatenate([lists for _, lists in results], axis=1)
    means = _means(measured[:, :, :-1], groups[queries])
    by_query = dict(zip(versions, measured[:, :, -1], strict=True))
    replicates = dict(zip(versions, means, strict=True))
    return by_query, replicates, dict(zip(versions, all_lists, strict=True))


def _means(
    measured: NDArray[np.float64], group_of_query: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Average the measures over queries, without each group in turn.

    Queries of the group and queries without a measure do not count.

    Parameters
    ----------
    measured : array of shape (versions, q, groups, 3)
        NaN where a query has no measure.
    group_of_query : array of shape (q,)

    Returns
    -------
    array of shape (versions, groups, 3)
        NaN if no query counts.
    """
    n_groups = measured.shape[2]
    is_outside = group_of_query[:, None] != np.arange(n_groups)
    counts_in = is_outside[..., None] & np.isfinite(measured)
    n_queries = counts_in.sum(axis=1)
    sums = np.where(counts_in, measured, 0).sum(axis=1)
    means = sums / np.maximum(n_queries, 1)
    return np.asarray(np.where(n_queries > 0, means, np.nan))


class LeaveOutMeasures:
    """Measures of queries without each group of candidates, and at last with all.

    Parameters
    ----------
    gains : array of shape (q, m)
        Gain of each candidate for each query. It is positive for related candidates,
        and -inf for the query itself, which occurs once in each row.
    groups : array of shape (m,)
        The group of each candidate, from 0 up.
    n : int
        Length of the list.

    Examples
    --------
    >>> gains = np.array([[1, 0, 0, -np.inf]])
    >>> groups = np.array([0, 1, 2, 2], dtype=np.uint8)
    >>> scores = np.array([[3, 2, 4, -np.inf]])
    >>> measures, lists = LeaveOutMeasures(gains, groups, 1).measures(scores)
    >>> measures, lists
    (array([[[nan, nan, nan],
            [0. , 0. , 0. ],
            [1. , 1. , 1. ],
            [0. , 0.5, 0. ]]]), array([[2]]))
    """

    def __init__(self, gains: Floats, groups: Groups, n: int) -> None:
        self.gains = gains
        self.groups = groups
        self.n = n
        self.is_related = gains > 0
        self.n_groups = int(groups.max()) + 1
        # Place of the first candidate of each group if candidates are sorted by group.
        self.starts = np.searchsorted(np.sort(groups), np.arange(self.n_groups + 1))
        is_member = np.eye(self.n_groups, dtype=np.float32)[groups]
        n_related = self._without_each_group(self.is_related @ is_member)
        n_candidates = self._without_each_group((gains > -np.inf) @ is_member)
        # AUC divides by all pairs of a related and an unrelated candidate.
        self.n_pairs = n_related * (n_candidates - n_related)
        _, self.ideal_gain, _ = self._best(gains)

    def measures(self, scores: Floats) -> tuple[Floats, Indices]:
        """Measure the queries under a similarity.

        Parameters
        ----------
        scores : array of shape (q, m)
            Similarities to the candidates; -inf for the query itself.

        Returns
        -------
        measures : array of shape (q, groups + 1, 3)
            Precision, AUC and NDCG. NaN if all remaining candidates are related, or
            none is.
        lists : array of int (q, n)
            The best candidates.
        """
        measures = np.empty((*self.n_pairs.shape, 3))
        precision, gain, best = self._best(scores)
        measures[..., 0] = precision
        with np.errstate(invalid="ignore", divide="ignore"):
            measures[..., 2] = gain / self.ideal_gain
            for block in row_blocks(len(scores), scores.shape[1], budget=SORTED_BYTES):
                n_ordered = self._n_ordered(scores[block], self.is_related[block])
                measures[block, :, 1] = n_ordered / self.n_pairs[block]
        measures[self.n_pairs == 0] = np.nan
        return measures, best

    @staticmethod
    def _without_each_group(counts: NDArray[np.floating]) -> Floats:
        """Turn counts by group into counts without each group, and at last of all."""
        total = counts.sum(axis=1, keepdims=True, dtype=np.float64)
        return np.hstack([total - counts, total])

    def _best(self, scores: Floats) -> tuple[Floats, Floats, Indices]:
        """Judge the `n` best candidates that remain without each group.

        Equal scores are in the order of the candidates. The gain at place i counts
        `1 / log2(i + 1)` times, from i = 1 up.

        Returns
        -------
        share : array of shape (q, groups + 1)
            Share of related candidates among the best.
        gain : array of shape (q, groups + 1)
            Discounted sum of their gains.
        best : array of int (q, n)
            The best candidates if no group is left out.
        """
        n_others = scores.shape[1] - 1
        # Candidates move up if a group before them is left out. So more than n are
        # sorted at first, and twice as many again while these are too few.
        keep = min(self.n + SPARE_CANDIDATES, n_others)
        while True:
            best = TopK(len(scores), keep).add(np.asarray(scores, np.float64)).columns
            # The number after the last group stands for leaving out no group.
            group_numbers = np.arange(self.n_groups + 1)[:, None]
            remains = self.groups[best][:, None] != group_numbers
            if keep == n_others or remains.sum(axis=2).min() >= self.n:
                break
            keep = min(2 * keep, n_others)
        place = np.cumsum(remains, axis=2)
        # Place 0 stands for candidates that are left out, and n + 1 for those behind
        # the list. Both have weight 0.
        discounts = 1 / np.log2(np.arange(1, self.n + 1) + 1)
        weight_at = np.concatenate([[0], discounts, [0]])
        weights = weight_at[np.minimum(place, self.n + 1) * remains]
        gains = np.take_along_axis(self.gains, best, axis=1).astype(np.float64)
        is_listed = weights > 0
        n_related = np.einsum("qgl,ql->qg", is_listed, gains > 0, dtype=np.float64)
        share = n_related / np.maximum(is_listed.sum(axis=2), 1)
        gain = np.einsum("qgl,ql->qg", weights, gains)
        return share, gain, best[:, : self.n]

    def _n_ordered(self, scores: Floats, is_related: Flags) -> Floats:
        """Count the pairs in order that remain without each group, (q, groups + 1).

        A pair of a related and an unrelated candidate is in order if the related one
        has the higher score; it counts half if both scores are equal. The number
        without a group is the number of all pairs, less the pairs that each candidate
        of the group forms, plus the pairs within the group, which were subtracted
        twice.
        """
        order = np.argsort(scores, axis=1)
        # The query itself has the score -inf, so it comes first and is dropped.
        group_of_query = self.groups[order[:, :1]]
        order = order[:, 1:]
        groups = self.groups[order]
        scores = _take(scores, order)
        is_related = _take(is_related, order)
        pairs_of_each = _ordered_pairs(is_related, scores[:, 1:] != scores[:, :-1])
        # Each pair has one related candidate.
        total = (pairs_of_each * is_related).sum(axis=1, keepdims=True)

        # A stable sort by group keeps scores in rising order within each group, so one
        # pass counts the pairs within all groups.
        by_group = np.argsort(groups, axis=1, kind="stable")
        groups = _take(groups, by_group)
        scores = _take(scores, by_group)
        is_related = _take(is_related, by_group)
        pairs_of_each = _take(pairs_of_each, by_group)
        is_new_group = groups[:, 1:] != groups[:, :-1]
        rises = is_new_group | (scores[:, 1:] != scores[:, :-1])
        pairs_of_related = _ordered_pairs(is_related, rises) * is_related

        # The query was dropped, so groups after its own begin one place earlier.
        starts = self.starts - (group_of_query < np.arange(self.n_groups + 1))
        related_before = _take(_running_sums(is_related), starts)
        in_group = np.diff(_take(_running_sums(pairs_of_each), starts))
        within_group = np.diff(_take(_running_sums(pairs_of_related), starts))
        # These counts include pairs with unrelated candidates of earlier groups.
        unrelated_before = starts - related_before
        within_group -= np.diff(related_before) * unrelated_before[:, :-1]
        return np.hstack([total - in_group + within_group, total])


def _take(values: NDArray[Any], places: NDArray[np.integer]) -> NDArray[Any]:
    """Take entries of each row by their places."""
    return np.take_along_axis(values, places, axis=1)


def _running_sums(values: Floats | Flags) -> Floats:
    """Sum the entries before each place of a row, (q, m + 1)."""
    zeros = np.zeros((len(values), 1))
    return np.hstack([zeros, np.cumsum(values, axis=1, dtype=np.float64)])


def _ordered_pairs(is_related: Flags, rises: Flags) -> Floats:
    """Count the pairs in order that each candidate forms.

    A related candidate is in order with each lower unrelated candidate, and an
    unrelated candidate with each higher related one. Candidates of the same score count
    half.

    Parameters
    ----------
    is_related : array of shape (q, m)
        Candidates in the rising order of their scores.
    rises : array of shape (q, m - 1)
        Whether the next candidate has a higher score.

    Returns
    -------
    array of shape (q, m)
    """
    n_candidates = is_related.shape[1]
    place = np.arange(n_candidates)
    edge = np.full((len(is_related), 1), True)
    # Candidates of one score stand from place `first` to before place `end`.
    is_first = np.hstack([edge, rises])
    first = np.maximum.accumulate(np.where(is_first, place, 0), axis=1)
    is_last = np.hstack([rises, edge])
    end = np.where(is_last, place + 1, n_candidates)
    end = np.minimum.accumulate(end[:, ::-1], axis=1)[:, ::-1]
    # A candidate at place `first` has `first` lower candidates and `end - first` of its
    # own score, each of which counts half.
    n_lower = (first + end) / 2
    related_before = _running_sums(is_related)
    n_related = related_before[:, -1:]
    related_lower = (_take(related_before, first) + _take(related_before, end)) / 2
    # Lower unrelated candidates of a related one; higher related ones of an unrelated.
    n_ordered = np.where(is_related, n_lower - related_lower, n_related - related_lower)
    return np.asarray(n_ordered)
