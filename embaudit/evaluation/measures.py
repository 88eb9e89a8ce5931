"""Measures of how well a similarity ranks related entities first: precision, AUC and NDCG of single queries.

Each is measured also without some of the candidates in turn, for the replicates of an interval.
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
"""Vectors of rows as queries, and as candidates."""
MEASURES = ("precision", "auc", "ndcg")
"""Measures of a query, in the order of their arrays."""
Groups: TypeAlias = NDArray[np.uint8]
SPARE = 24
"""Candidates beyond the list that are looked at first."""
TILE = 262_144
"""Bytes of scores of several queries that are put in order together: they stay in the
cache.
"""


def query_measures(
    versions: Mapping[str, Version],
    truth: Truth,
    rows: Indices,
    queries: Indices,
    groups: NDArray[np.uint8],
    *,
    n: int,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    """Measure each query against all other candidates, under several similarities.

    Parameters
    ----------
    versions : mapping of str to pair of array of shape (m, k)
        For each similarity, vectors of the rows as queries and as candidates; it is the
        dot product of the two.
    truth : Truth
        Labels of all rows of the side.
    rows : array of shape (m,)
        Which rows of the side the candidates are.
    queries : array of shape (q,)
        Positions among the candidates.
    groups : array of shape (m,)
        Groups of candidates that are left out in turn, as queries too.
    n : int
        Length of the lists that precision and NDCG look at.

    Returns
    -------
    by_query : dict of str to array of shape (q, 3)
        Precision (share of the n nearest that share a label), AUC (probability that a
        related candidate comes before an unrelated one, ties counting half) and NDCG
        (gain: shared labels over all labels of the two). NaN where no candidate, or
        every one, is related.
    replicates : dict of str to array of shape (groups, 3)
        Their means without each group; NaN where nothing can be measured without it.
    """

    def block(block: slice) -> NDArray[np.float64]:
        """Measure some of the queries under every similarity."""
        positions = queries[block]
        # The query itself is no candidate: it stands at minus infinity in gains and
        # scores alike.
        itself = (np.arange(len(positions)), positions)
        gains = truth.gains(rows[positions], rows).astype(np.float64)
        gains[itself] = -np.inf
        left_out, measured = LeftOut(gains, groups, n), []
        for asking, listed in versions.values():
            scores = asking[positions] @ listed.T
            scores[itself] = -np.inf
            # Duplicate candidates have equal scores but for rounding.
            measured.append(left_out.measures(level_ties(scores)))
        return np.stack(measured)

    blocks = list(row_blocks(len(queries), 4 * len(rows)))
    measured = np.concatenate(
        list(track(parallel_map(block, blocks), "judging similarities", len(blocks))),
        axis=1,
    )
    replicates = _means(measured[:, :, :-1], groups[queries])
    return dict(zip(versions, measured[:, :, -1], strict=True)), dict(
        zip(versions, replicates, strict=True)
    )


def _means(
    measured: NDArray[np.float64], own: NDArray[np.uint8]
) -> NDArray[np.float64]:
    """Average over the queries that are not themselves in the group left out, and have an answer without it."""
    counts_in = (own[:, None] != np.arange(measured.shape[2]))[..., None] & np.isfinite(
        measured
    )
    counts = counts_in.sum(axis=1)
    means = np.where(counts_in, measured, 0).sum(axis=1) / np.maximum(counts, 1)
    return np.asarray(np.where(counts > 0, means, np.nan))


class LeftOut:
    """Measures of some queries without each group of candidates in turn and, last, with all of them.

    Parameters
    ----------
    gains : array of shape (q, m)
        Of the candidates for each query; one of positive gain is related. Minus
        infinity for the query itself, once in each row: of it nothing is asked.
    groups : array of shape (m,)
        The group of each candidate, from 0 up.
    n : int
        Length of the list.

    Examples
    --------
    >>> gains = np.array([[1, 0, 0, -np.inf]])
    >>> LeftOut(gains, np.array([0, 1, 2, 2], dtype=np.uint8), 1).measures(np.array([[3, 2, 4, -np.inf]]))
    array([[[nan, nan, nan],
            [0. , 0. , 0. ],
            [1. , 1. , 1. ],
            [0. , 0.5, 0. ]]])
    """

    def __init__(self, gains: Floats, groups: Groups, n: int) -> None:
        self.gains, self.groups, self.n = gains, groups, n
        self.related = gains > 0
        self.n_groups = int(groups.max()) + 1
        self.starts = np.searchsorted(np.sort(groups), np.arange(self.n_groups + 1))
        members = np.eye(self.n_groups, dtype=np.float32)[groups]
        related, comparable = (
            self._remaining(flags @ members)
            for flags in (self.related, gains > -np.inf)
        )
        # AUC divides by all pairs of a related and an unrelated candidate that remain
        # without a group.
        self.pairs = related * (comparable - related)
        self.ideal = self._best(gains)[1]

    def measures(self, scores: Floats) -> Floats:
        """Measure the queries under a similarity.

        Parameters
        ----------
        scores : array of shape (q, m)
            Similarities to the candidates; minus infinity for the query itself.

        Returns
        -------
        array of shape (q, groups + 1, 3)
            Precision, AUC and NDCG; NaN where what remains is all related or all
            unrelated.
        """
        measures = np.empty((*self.pairs.shape, 3))
        measures[..., 0], gained = self._best(scores)
        with np.errstate(invalid="ignore", divide="ignore"):
            measures[..., 2] = gained / self.ideal
            for block in row_blocks(len(scores), scores.shape[1], budget=TILE):
                measures[block, :, 1] = (
                    self._concordance(scores[block], self.related[block])
                    / self.pairs[block]
                )
        measures[self.pairs == 0] = np.nan
        return measures

    @staticmethod
    def _remaining(counts: NDArray[np.floating]) -> Floats:
        """Count what remains without each group, and without none."""
        total = counts.sum(axis=1, keepdims=True, dtype=np.float64)
        return np.hstack([total - counts, total])

    def _best(self, scores: Floats) -> tuple[Floats, Floats]:
        """Share of related candidates and discounted gain among the `n` best of each remainder, ties by position."""
        discounts = np.concatenate(
            [[0], np.reciprocal(np.log2(np.arange(self.n) + 2)), [0]]
        )
        # Leaving a group out moves others up: a few more than n are sorted, and twice
        # as many where these are too few.
        keep = self.n + SPARE
        while True:
            keep = min(keep, scores.shape[1] - 1)
            best = TopK(len(scores), keep).add(np.asarray(scores, np.float64)).columns
            remains = (
                self.groups[best][:, None] != np.arange(self.n_groups + 1)[:, None]
            )
            place = np.cumsum(remains, axis=2)
            if keep == scores.shape[1] - 1 or remains.sum(axis=2).min() >= self.n:
                break
            keep *= 2
        gains = np.take_along_axis(self.gains, best, axis=1).astype(np.float64)
        # Place 0 for candidates left out and n + 1 for those behind the list have
        # weight 0 at the ends of `discounts`.
        weights = discounts[np.minimum(place, self.n + 1) * remains]
        listed = weights > 0
        share = np.einsum(
            "qgl,ql->qg", listed, gains > 0, dtype=np.float64
        ) / np.maximum(listed.sum(axis=2), 1)
        return share, np.einsum("qgl,ql->qg", weights, gains)

    def _concordance(self, scores: Floats, related: Flags) -> Floats:
        """Count pairs (related, unrelated) of each query in order, ties as one half, that remain without each group.

        All pairs, less those with one member in the group; the pairs within it were then taken away twice.
        """
        order = np.argsort(scores, axis=1)
        # A query comes before all others.
        own, order = self.groups[order[:, :1]], order[:, 1:]
        scores, related, groups = (
            _at(scores, order),
            _at(related, order),
            self.groups[order],
        )
        everywhere = _in_order(related, scores[:, 1:] != scores[:, :-1])
        total = (everywhere * related).sum(axis=1, keepdims=True)
        # A stable sort by group leaves scores in rising order within each: one pass
        # counts the pairs inside all groups.
        apart = np.argsort(groups, axis=1, kind="stable")
        scores, related, groups = (
            _at(scores, apart),
            _at(related, apart),
            _at(groups, apart),
        )
        rises = (scores[:, 1:] != scores[:, :-1]) | (groups[:, 1:] != groups[:, :-1])
        within = _in_order(related, rises) * related
        # The query left the order, so that groups behind its own begin one place
        # earlier.
        starts = self.starts - (own < np.arange(self.n_groups + 1))
        before, touched, inside = (
            _at(_running(x), starts) for x in (related, _at(everywhere, apart), within)
        )
        # Within a group only what stands in it counts, not the unrelated of the groups
        # before.
        inside = np.diff(inside) - np.diff(before) * (starts - before)[:, :-1]
        return np.hstack([total - np.diff(touched) + inside, total])


def _at(values: NDArray[Any], places: NDArray[np.integer]) -> NDArray[Any]:
    return np.take_along_axis(values, places, axis=1)


def _running(values: Floats | Flags) -> Floats:
    return np.hstack(
        [np.zeros((len(values), 1)), np.cumsum(values, axis=1, dtype=np.float64)]
    )


def _in_order(related: Flags, rises: Flags) -> Floats:
    """Count for each candidate in rising order those of the other kind that it forms an ordered pair with.

    Below it stand unrelated ones, or above it related ones; half of those that are level with it count.
    """
    count = related.shape[1]
    place, edge = np.arange(count), np.full((len(related), 1), True)
    first = np.maximum.accumulate(np.where(np.hstack([edge, rises]), place, 0), axis=1)
    last = np.minimum.accumulate(
        np.where(np.hstack([rises, edge]), place + 1, count)[:, ::-1], axis=1
    )[:, ::-1]
    before = _running(related)
    ahead = (_at(before, first) + _at(before, last)) / 2
    return np.asarray(np.where(related, (first + last) / 2, before[:, -1:]) - ahead)
