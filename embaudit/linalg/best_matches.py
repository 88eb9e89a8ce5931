"""The best candidates of each query by inner product, cosine or distance.

An index lists candidates by one of these measures. For each measure, the best
candidates have the largest values `q·r + s`, with a row q of the query, and a row r and
a shift s of the candidate. So one search serves all measures. The search is exact, in
float64. It reads the candidates by blocks and keeps the largest values so far, so it
never builds the matrix of all queries and candidates.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices, Vector
from embaudit.core.parallel import BLOCK_BYTES, parallel_map, row_blocks
from embaudit.core.ties import above_and_tied, cosine_rounding, tied_chances
from embaudit.core.tolerances import BALL_MARGIN
from embaudit.linalg.nearest import CANDIDATES, TILE_BYTES, Hits, TopK, entries_above
from embaudit.linalg.rows import block_norms, unit_rows
from embaudit.linalg.transformed_rows import Rows

Measure: TypeAlias = Literal["dot", "cosine", "l2", "hyperbolic"]
"""How a candidate is compared with a query.

By inner product or cosine the largest value is best, by Euclidean distance or distance
in the Poincaré ball the smallest one.
"""


@dataclass(frozen=True, eq=False)
class Order:
    """The order in which a measure lists candidates for a query.

    Examples
    --------
    >>> candidates = np.array([[3.0, 0.0], [0.9, 0.1], [0.0, 0.5]])
    >>> query = np.array([[1.0, 0.2]])
    >>> for measure in ("dot", "cosine", "l2"):
    ...     best = best_matches(Order(measure, candidates), query, 3)
    ...     print(measure, best.indices.ravel().tolist())
    dot [0, 1, 2]
    cosine [1, 0, 2]
    l2 [1, 2, 0]
    """

    measure: Measure
    """How a candidate is compared with a query."""
    candidates: Rows = field(repr=False)
    """(p, k) the rows to list."""
    bias: Vector | None = field(default=None, repr=False)
    """(p,) bias of each candidate, which is added to its value `q·r`."""

    def query_rows(self, queries: Floats) -> Floats:
        """Return the rows q of queries (m, k).

        Rows in the ball get one more column: see `candidate_rows`. The length of a
        query changes no order by cosine, so queries are not divided by their lengths.
        """
        if self.measure == "hyperbolic":
            half_squares = np.square(queries).sum(axis=1) / 2
            return np.column_stack([queries, -half_squares])
        return queries

    def candidate_rows(self, which: slice | Indices) -> tuple[Floats, Floats]:
        """Return the rows r and the shifts s of some candidates.

        Candidates without direction have no cosine, so their shift by cosine is -inf.
        """
        rows = np.ascontiguousarray(self.candidates[which], dtype=np.float64)
        shifts = np.zeros(len(rows))
        if self.measure == "cosine":
            shifts[~rows.any(axis=1)] = -np.inf
            rows = unit_rows(rows, none=0)
        elif self.measure == "l2":
            # −½‖x − y‖² = x·y − ½‖y‖² − ½‖x‖². The last term is the same for all
            # candidates y of the query x, so it is left out.
            shifts = -np.square(rows).sum(axis=1) / 2
        elif self.measure == "hyperbolic":
            # For a query x, the distance of a candidate y grows with
            # ‖x − y‖² / (1 − ‖y‖²). With g = 1 / (1 − ‖y‖²), −½ times this number is
            # x·(g y) − ½‖x‖² g − ½‖y‖² g. The first two terms are the product of the
            # rows (x, −½‖x‖²) and (g y, g), and the third one is the shift.
            squares = np.square(rows).sum(axis=1)
            factors = 1 / np.maximum(1 - squares, BALL_MARGIN)
            rows = np.column_stack([rows * factors[:, None], factors])
            shifts = -squares * factors / 2
        if self.bias is not None:
            shifts += self.bias[which]
        return rows, shifts


@dataclass(frozen=True, eq=False)
class BestMatches:
    """Lists of the N best candidates of some queries, in one order."""

    order: Order
    """The order of the candidates."""
    queries: Floats = field(repr=False)
    """(m, k) the rows that the lists belong to."""
    indices: Indices
    """(m, N) numbers of the listed candidates, best first; -1 after the last one."""
    values: Floats
    """(m, N) values `q·r + s` of the listed candidates; -inf without a candidate."""
    runner_up: Indices
    """(m,) number of the best candidate behind the last one, -1 without one. If it ties
    with the last one, the list can hold it instead of another tied candidate."""
    own: Indices | None = field(default=None, repr=False)
    """(m,) number of the candidate that is the query itself, which is not listed."""

    def shortened(self, n: int) -> BestMatches:
        """Return the first `n` candidates of each list."""
        if n >= self.indices.shape[1]:
            return self
        return replace(
            self,
            indices=self.indices[:, :n],
            values=self.values[:, :n],
            runner_up=self.indices[:, n],
        )

    def take(self, which: slice | Indices) -> BestMatches:
        """Return the lists of some queries."""
        own = None
        if self.own is not None:
            own = self.own[which]
        return replace(
            self,
            queries=self.queries[which],
            indices=self.indices[which],
            values=self.values[which],
            runner_up=self.runner_up[which],
            own=own,
        )

    def values_of(self, columns: Indices) -> tuple[Floats, Floats]:
        """Return the values of given candidates of each query, and their sizes.

        Parameters
        ----------
        columns : array of int (m, c)
            Candidates of each query; -1 has the value -inf.

        Returns
        -------
        values : array of shape (m, c)
        sizes : array of shape (m, c)
            ‖q‖ ‖r‖ + |s|. Rounding moves a value by at most a small multiple of its
            size.
        """
        values = np.empty(columns.shape)
        sizes = np.empty(columns.shape)
        k = self.queries.shape[1]
        for block in row_blocks(len(columns), columns.shape[1] * (k + 1)):
            queries = self.order.query_rows(self.queries[block])
            rows, shifts = self.order.candidate_rows(columns[block].ravel())
            shape = columns[block].shape
            lengths = block_norms(rows).reshape(shape)
            shifts = shifts.reshape(shape)
            products = np.einsum("mk,mck->mc", queries, rows.reshape(*shape, -1))
            values[block] = products + shifts
            sizes[block] = block_norms(queries)[:, None] * lengths + _finite_sizes(
                shifts
            )
        values[columns < 0] = -np.inf
        return values, sizes

    def holds(self, columns: Indices, *, tie: float) -> Flags:
        """Flag candidates that are listed, or that tie with the last listed candidate.

        Parameters
        ----------
        columns : array of int (m, c)
            Candidates of each query, -1 for none.
        tie : float
            Largest difference of equal values, relative to their sizes.
        """
        listed = np.zeros(columns.shape, dtype=bool)
        # One column of the lists at a time, because all at once take m × c × N flags.
        for column in self.indices.T:
            listed |= columns == column[:, None]
        values, sizes = self.values_of(columns)
        last, last_sizes = self.values_of(self.indices[:, -1:])
        reaches_last = values >= last - tie * (sizes + last_sizes)
        # If a list is not full, its last value is -inf, which -inf would reach, too.
        is_tied = reaches_last & np.isfinite(values)
        is_candidate = columns >= 0
        return np.asarray((listed | is_tied) & is_candidate)

    def is_tied(self, tie: float) -> Flags:
        """Flag lists whose last candidate ties with the best one that is not listed.

        Parameters
        ----------
        tie : float
            As for `holds`.
        """
        last, last_sizes = self.values_of(self.indices[:, -1:])
        values, sizes = self.values_of(self.runner_up[:, None])
        reaches_last = values >= last - tie * (sizes + last_sizes)
        return np.asarray((reaches_last & np.isfinite(values))[:, 0])

    def compare_with_last(self, block: slice, *, tie: float) -> tuple[Flags, Flags]:
        """Compare a block of candidates with the last candidate of each list.

        Parameters
        ----------
        block : slice
            Numbers of c candidates.
        tie : float
            As for `holds`.

        Returns
        -------
        is_above, is_tied : array of shape (m, c)
            Flags of the candidates above the last one, and of candidates that tie with
            it. In a list that is not full, all its candidates are above.
        """
        last, last_sizes = self.values_of(self.indices[:, -1:])
        queries = self.order.query_rows(self.queries)
        rows, shifts = self.order.candidate_rows(block)
        values = queries @ rows.T + shifts
        sizes = np.outer(block_norms(queries), block_norms(rows))
        sizes += _finite_sizes(shifts)
        if self.own is not None:
            numbers = np.arange(block.start, block.start + len(rows))
            values[self.own[:, None] == numbers] = -np.inf
        lowest = np.where(np.isfinite(last), last, np.finfo(np.float64).min)
        return above_and_tied(values, lowest, tie * (sizes + last_sizes))


def best_matches(
    order: Order, queries: Floats, n: int, *, own: Indices | None = None
) -> BestMatches:
    """Find the `n` best candidates of each query.

    Candidates whose values differ only by rounding are tied. If candidates tie at the
    end of a list, the candidates with the smallest numbers are listed.

    Parameters
    ----------
    order : Order
        The candidates and their order.
    queries : array of shape (m, k)
        Rows in float64.
    n : int
        Length of the lists.
    own : array of int (m,), optional
        Number of the candidate that is the query itself. A query does not list itself.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> best_matches(Order("dot", rows), rows[:1], 2, own=np.array([0])).indices
    array([[1, 2]])
    """
    lists = []
    values = []
    runner_up = []
    for batch in row_blocks(len(queries), queries.shape[1]):
        rows = queries[batch]
        own_of_batch = None
        if own is not None:
            own_of_batch = own[batch]
        best, next_best = _with_ties_in_order(order, rows, n, own_of_batch)
        lists.append(best.columns)
        values.append(best.values)
        runner_up.append(next_best)
    return BestMatches(
        order,
        queries,
        np.concatenate(lists),
        np.concatenate(values),
        np.concatenate(runner_up),
        own,
    )


def shares_kept(reference: BestMatches, other: BestMatches, tie: float) -> Floats:
    """Return the share of each list that other lists of the same queries keep.

    If more candidates tie for the last places than a list has, an index returns any of
    them. So in `reference`, each candidate that ties with the last one belongs to the
    list. In `other`, the last places are drawn at random from the tied candidates, and
    the share is its expectation. Rows that have collapsed to one direction therefore
    keep no more than chance, and the same rows keep everything.

    Parameters
    ----------
    reference, other : BestMatches
        Lists of m queries among the same candidates.
    tie : float
        As for `BestMatches.holds`.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [3.0, 1.0], [0.9, 0.1]])
    >>> by_product = best_matches(Order("dot", rows), rows[:1], 2)
    >>> by_cosine = best_matches(Order("cosine", rows), rows[:1], 2)
    >>> shares_kept(by_product, by_cosine, 1e-9)
    array([0.5])
    """
    n_listed = np.count_nonzero(reference.indices >= 0, axis=1)
    belongs = reference.holds(other.indices, tie=tie)
    n_kept = np.count_nonzero(belongs, axis=1).astype(np.float64)
    tied = np.flatnonzero(other.is_tied(tie))
    if len(tied):
        n_kept[tied] = _expected_kept(reference.take(tied), other.take(tied), tie)
    # More candidates than places belong to a list if they tie with its last one.
    return np.asarray(np.minimum(n_kept, n_listed) / np.maximum(n_listed, 1))


def _expected_kept(reference: BestMatches, other: BestMatches, tie: float) -> Floats:
    """Return the expected number of places that hold candidates of the reference.

    The places of `other` are filled as in `embaudit.core.ties.tied_chances`.
    """
    n_queries = len(other.queries)
    n_above = np.zeros(n_queries, dtype=np.intp)
    n_tied = np.zeros(n_queries, dtype=np.intp)
    n_above_kept = np.zeros(n_queries, dtype=np.intp)
    n_tied_kept = np.zeros(n_queries, dtype=np.intp)
    k = other.queries.shape[1]
    for block in row_blocks(len(other.order.candidates), n_queries + k):
        was_above, was_tied = reference.compare_with_last(block, tie=tie)
        is_above, is_tied = other.compare_with_last(block, tie=tie)
        belongs = was_above | was_tied
        n_above += np.count_nonzero(is_above, axis=1)
        n_tied += np.count_nonzero(is_tied, axis=1)
        n_above_kept += np.count_nonzero(is_above & belongs, axis=1)
        n_tied_kept += np.count_nonzero(is_tied & belongs, axis=1)
    chances = tied_chances(n_above, n_tied, length=other.indices.shape[1])
    return np.asarray(n_above_kept + chances * n_tied_kept)


def _with_ties_in_order(
    order: Order, queries: Floats, n: int, own: Indices | None
) -> tuple[TopK, Indices]:
    """Find the `n` best candidates, with ties at the end in order of their numbers.

    If the last candidate ties with the first candidate that is not listed, rounding
    would decide which of the two is listed. So such lists are searched again, after all
    values that tie with the last value are set to it. Return the number of the first
    candidate that the first search does not list, too.
    """
    # One more candidate is searched: the first one that is not listed.
    best = _search(order, queries, n + 1, own)
    longer_lists = BestMatches(
        order, queries, best.columns, best.values, np.full(len(queries), -1)
    )
    end_values, sizes = longer_lists.values_of(best.columns[:, -2:])
    rounding = cosine_rounding(queries.shape[1])
    with np.errstate(invalid="ignore"):
        # Without candidates at the end, -inf minus -inf is NaN, which is no tie.
        gaps = end_values[:, 0] - end_values[:, 1]
        is_tied = gaps <= rounding * sizes.sum(axis=1)
    tied = np.flatnonzero(is_tied)
    runner_up = best.columns[:, n].copy()
    best.columns = best.columns[:, :n].copy()
    best.values = best.values[:, :n].copy()
    if not len(tied):
        return best, runner_up
    own_of_tied = None
    if own is not None:
        own_of_tied = own[tied]
    levelled = _search(
        order,
        queries[tied],
        n,
        own_of_tied,
        level=best.values[tied, -1],
        level_size=sizes[tied, 0],
    )
    best.columns[tied] = levelled.columns
    best.values[tied] = levelled.values
    return best, runner_up


def _search(
    order: Order,
    queries: Floats,
    keep: int,
    own: Indices | None,
    level: Vector | None = None,
    level_size: Vector | None = None,
) -> TopK:
    """Find the `keep` largest values of each query.

    Parameters
    ----------
    order, queries, own
        As in `best_matches`.
    keep : int
        Number of values.
    level, level_size : array of shape (m,), optional
        A value of each query, and its size. Values that differ from this level only by
        rounding are set to the level, so their candidates enter in order of their
        numbers.
    """
    rows = order.query_rows(queries)
    lengths = block_norms(rows)
    rounding = cosine_rounding(queries.shape[1])
    best = TopK(len(queries), keep)
    n_rows = len(order.candidates)

    def search_block(block: slice) -> list[Hits]:
        """Find the largest values of every query among a block of candidates."""
        candidates, shifts = order.candidate_rows(block)
        hits = []
        for batch in row_blocks(len(rows), len(candidates), budget=TILE_BYTES):
            values = rows[batch] @ candidates.T
            values += shifts
            if level is not None and level_size is not None:
                sizes = np.outer(lengths[batch], block_norms(candidates))
                sizes += _finite_sizes(shifts) + level_size[batch, None]
                levels = level[batch, None]
                is_tied = np.abs(values - levels) <= rounding * sizes
                np.copyto(values, levels, where=is_tied)
            if own is not None:
                place = own[batch] - block.start
                is_inside = (place >= 0) & (place < len(candidates))
                query = np.flatnonzero(is_inside)
                values[query, place[query]] = -np.inf
            row, column, value = entries_above(values, best.threshold[batch], keep)
            hits.append((row + batch.start, column + block.start, value))
        return hits

    n_that_fit = max(1, BLOCK_BYTES // (8 * rows.shape[1]))
    n_candidates = min(CANDIDATES, n_that_fit)
    blocks = [
        slice(start, min(start + n_candidates, n_rows))
        for start in range(0, n_rows, n_candidates)
    ]
    for hits in parallel_map(search_block, blocks):
        row, column, value = (np.concatenate(part) for part in zip(*hits, strict=True))
        best.merge(row, column, value)
    return best


def _finite_sizes(shifts: Floats) -> Floats:
    """Return the magnitudes of shifts, and 0 for infinite shifts."""
    return np.where(np.isfinite(shifts), np.abs(shifts), 0)
