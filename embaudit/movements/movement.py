"""Movement of the cosines between two equivalent models: what may change while predictions do not.

Signed mean, RMS and Pearson's r over *all* pairs need no pair (`kernels.pair_sums`). The rest (mean |Δ|, maximum,
quantiles, Spearman, sign flips) is gathered over every pair in tiles where there are at most `EXACT_PAIRS`, and over
sampled pairs, with a bootstrap confidence interval, where there are more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import RNG, Floats, Indices, Matrix, as_generator
from embaudit.foundation.workers import row_blocks
from embaudit.kernels.nearest import NeighbourLists, neighbours, tie_of
from embaudit.kernels.pair_sums import CosineSums, RowSums, cross_gram, pair_sums
from embaudit.kernels.pairs import n_pairs, sample_pairs
from embaudit.kernels.rows import sample_rows, unit_rows
from embaudit.kernels.tally import PairTally, tally_all_pairs, tally_pairs
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.movements.moved import Movement
from embaudit.movements.twins import twins

EXACT_PAIRS = 5_000_000
"""Up to here (3,163 rows of one side) all pairs are visited: for the some twenty equivalent models of an audit
that stays within a few seconds on two cores (`benchmarks/bench_movement.py`)."""
QUERIES = 400
"""Rows whose neighbours are compared; all of them where there are no more."""
SEARCHED = 20_000_000
"""Cosines computed for that at most, from 50 rows on: fewer rows are asked where there are very many."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class _Snapshot:
    """The directions of a model's rows and their sums, computed once for every role that needs them."""

    def __init__(self, model: FactorModel, sides: Iterable[SideName]) -> None:
        self.unit = {side: unit_rows(model.factors(side), dtype=model.factors(side).dtype) for side in sides}
        self.sums = {side: RowSums.of(unit) for side, unit in self.unit.items()}

    def cosines(self, sides: tuple[SideName, ...], pairs: NDArray[np.intp]) -> Floats:
        """Cosines of given pairs of rows."""
        x, y = self.unit[sides[0]], self.unit[sides[-1]]
        found = np.empty(len(pairs))
        for rows in row_blocks(len(pairs), 2 * x.shape[1]):
            i, j = pairs[rows].T
            found[rows] = np.einsum("ij,ij->i", x[i], y[j])
        return np.clip(found, -1, 1, out=found)


def _sums(before: _Snapshot, after: _Snapshot, sides: tuple[SideName, ...]) -> CosineSums:
    cross = [cross_gram(before.unit[side], after.unit[side]) for side in sides]
    return pair_sums([before.sums[side] for side in sides], [after.sums[side] for side in sides], cross)


@dataclass(frozen=True)
class _Plan:
    """What is measured of one role: the rows with a direction, sampled pairs where needed, neighbour lists."""

    role: Role
    sides: tuple[SideName, ...]
    valid: Mapping[SideName, Indices]
    n_zero: int
    pairs: NDArray[np.intp] | None
    """None where all pairs are visited."""
    cosines: Floats | None
    """Of the sampled pairs, before."""
    top_n: int
    lists: NeighbourLists | None
    first: Indices | None
    """Which row stands for each of its twins; None where no rows are twins."""
    alone: NeighbourLists | None
    """The lists of one row of each group of twins, and of such rows; None where too few are left."""

    @property
    def tied(self) -> float:
        """Share of the lists whose last entry ties with the first row left out."""
        return float("nan") if self.lists is None else float(self.lists.tied.mean())

    def overlap(self, unit: Matrix) -> float:
        """Mean share of the listed neighbours that are kept where these are the directions of the rows."""
        return _overlap(self.lists, unit, None)

    def overlap_without_twins(self, unit: Matrix) -> float:
        """The same of lists that hold one row of each group of twins."""
        return _overlap(self.alone, unit, self.first)


def _overlap(lists: NeighbourLists | None, unit: Matrix, first: Indices | None) -> float:
    if lists is None:
        return float("nan")
    now = neighbours(unit, lists.indices.shape[1], rows=lists.rows, first=first)
    return lists.overlap(now, tie=tie_of(unit))


class MovementProbe:
    """Measures how far other models' cosines lie from one model's, computing what belongs to that model once.

    Parameters
    ----------
    model : FactorModel
        The model before.
    roles : sequence of {"left", "right", "cross"}
        Which cosines.
    n_pairs, n_neighbours, rng
        See `movement`.
    """

    def __init__(
        self,
        model: FactorModel,
        roles: Sequence[Role],
        *,
        n_pairs: int = 100_000,
        n_neighbours: int = 10,
        rng: RNG = 0,
    ) -> None:
        self.model, self.rng = model, as_generator(rng)
        self.sides: tuple[SideName, ...] = tuple(dict.fromkeys(side for role in roles for side in Pairs(role).sides))
        self.before = _Snapshot(model, self.sides)
        self.plans = [self._plan(role, n_pairs, n_neighbours) for role in roles]

    def _plan(self, role: Role, size: int, n: int) -> _Plan:
        sides = Pairs(role).sides
        valid = {side: np.flatnonzero(~np.isnan(self.before.unit[side][:, 0])) for side in sides}
        pairs = self._draw(role, list(valid.values()), size)
        top_n, lists = self._neighbour_lists(role, valid[sides[0]], n)
        first, alone = (None, None) if lists is None else self._without_twins(sides[0], lists)
        return _Plan(
            role=role,
            sides=sides,
            valid=valid,
            n_zero=sum(len(self.before.unit[side]) - len(rows) for side, rows in valid.items()),
            pairs=pairs,
            cosines=None if pairs is None else self.before.cosines(sides, pairs),
            top_n=top_n,
            lists=lists,
            first=first,
            alone=alone,
        )

    def _draw(self, role: Role, valid: list[Indices], size: int) -> NDArray[np.intp] | None:
        """Draw pairs of rows that have a direction, or None where all pairs will be visited."""
        if n_pairs(*(len(rows) for rows in valid)) <= EXACT_PAIRS:
            return None
        columns = len(valid[-1]) if role == "cross" else None
        drawn = sample_pairs(len(valid[0]), size, n_columns=columns, rng=self.rng)
        return np.column_stack([valid[0][drawn[:, 0]], valid[-1][drawn[:, 1]]])

    def _neighbour_lists(self, role: Role, rows: Indices, n: int) -> tuple[int, NeighbourLists | None]:
        n = min(n, len(rows) - 2)
        if role == "cross" or n < 1:
            return 0, None
        size = max(50, min(QUERIES, SEARCHED // len(rows)))
        return n, neighbours(self.model.factors(role), n, rows=sample_rows(rows, size, self.rng))

    def _without_twins(self, side: SideName, lists: NeighbourLists) -> tuple[Indices | None, NeighbourLists | None]:
        found = twins(self.model, role=side)
        if not found.copies.any():
            return None, lists
        n = min(lists.indices.shape[1], found.n_rows - int(found.copies.sum()) - 2)
        rows = np.unique(found.first[lists.rows])
        return found.first, neighbours(self.model.factors(side), n, rows=rows, first=found.first) if n > 0 else None

    def measure(self, after: FactorModel) -> tuple[Movement, ...]:
        """Measure the movement of every role to another model of the same entities."""
        now = _Snapshot(after, self.sides)
        return tuple(self._measure(plan, now) for plan in self.plans)

    def _measure(self, plan: _Plan, now: _Snapshot) -> Movement:
        tally = self._tally(plan, now)
        sums = _sums(self.before, now, plan.sides)
        unit = now.unit[plan.sides[0]]
        overlap = plan.overlap(unit)
        low, high = (tally.mean_abs, tally.mean_abs) if plan.pairs is None else tally.bootstrap(self.rng)
        return Movement(
            role=plan.role,
            n_pairs=tally.count,
            exact=plan.pairs is None,
            n_zero=plan.n_zero,
            mean=sums.mean,
            rms=sums.rms,
            pearson=sums.pearson,
            mean_abs=tally.mean_abs,
            ci_low=low,
            ci_high=high,
            max_abs=tally.max_abs,
            quantiles={level: tally.quantile(level) for level in QUANTILES},
            histogram=tally.histogram,
            spearman=tally.spearman,
            sign_flips=tally.sign_flips,
            top_n=plan.top_n,
            top_n_overlap=overlap,
            overlap_without_twins=overlap if plan.alone is plan.lists else plan.overlap_without_twins(unit),
            n_lists_without_twins=0 if plan.alone is None else len(plan.alone.rows),
            n_lists=0 if plan.lists is None else len(plan.lists.rows),
            tied_lists=plan.tied,
            pairs=plan.pairs,
            lists=plan.lists,
        )

    def _tally(self, plan: _Plan, now: _Snapshot) -> PairTally:
        if plan.pairs is not None and plan.cosines is not None:
            return tally_pairs(plan.cosines, now.cosines(plan.sides, plan.pairs))
        rows = [shot.unit[side][plan.valid[side]] for side in plan.sides for shot in (self.before, now)]
        return tally_all_pairs(*(unit.astype(np.float64, copy=False) for unit in rows))


def movement(
    before: FactorModel,
    after: FactorModel,
    *,
    role: Role | str = "right",
    n_pairs: int = 100_000,
    n_neighbours: int = 10,
    rng: RNG = 0,
) -> Movement:
    """Measure how far the cosines of a role moved from one model to another.

    Parameters
    ----------
    before, after : FactorModel
        Two models of the same entities, row by row.
    role : {"left", "right", "cross"}
        Left-left, right-right or left-right cosines.
    n_pairs : int
        Pairs to sample where there are more than `EXACT_PAIRS`.
    n_neighbours : int
        N of the neighbour lists.
    rng : numpy Generator or int
        Draws the sampled pairs and rows.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> model = FactorModel.from_user_item([[1.0, 1.0]], [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> moved = movement(model, Gauge.diagonal([1.0, 4.0]).act(model))
    >>> round(moved.max_abs, 4), moved.exact
    (0.4838, True)
    """
    (measured,) = MovementProbe(
        before, [before.role(role)], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng
    ).measure(after)
    return measured
