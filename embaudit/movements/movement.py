"""Movement of the cosines between two equivalent models: what may change while predictions do not.

Everything is gathered over every pair in tiles where there are at most `EXACT_PAIRS`. Where there are more, signed
mean, RMS and Pearson's r over *all* pairs need no pair (`kernels.pair_sums`); of very many rows they are taken over the
pairs of some, with an interval. The rest (mean |Δ|, maximum, quantiles, Spearman, sign flips) is then that of
sampled pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.checked import MOST_COUNT, RNG, Floats, Indices, as_count, as_generator
from embaudit.kernels.nearest import NeighbourLists, neighbours, tie_of
from embaudit.kernels.pairs import n_pairs, sample_pairs
from embaudit.kernels.rows import sample_rows
from embaudit.kernels.seen import Rows
from embaudit.kernels.stretch import WIDE
from embaudit.kernels.tally import PairTally, tally_all_pairs, tally_pairs, tally_tables
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.drift import require_same_rows
from embaudit.movements.moved import Movement
from embaudit.movements.panel import WHOLE, Panel, Shot, margins
from embaudit.movements.twins import twins

EXACT_PAIRS = 5_000_000
"""Up to here (3,163 rows of one side) all pairs are visited: for the some twenty equivalent models of an audit
that stays within a few seconds on two cores (`benchmarks/bench_movement.py`)."""
QUERIES = 400
"""Rows whose neighbours are compared; all of them where there are no more."""
SEARCHED = 20_000_000
"""Cosines computed for that at most, from 50 rows on: fewer rows are asked where there are very many."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def share_of(most: int, n_lists: int) -> int:
    """Cut a number of labels that are asked for as much as a number of lists is below the usual one.

    Examples
    --------
    >>> share_of(2_048, 400), share_of(2_048, 1_000), share_of(2_048, 100), share_of(128, 1)
    (2048, 2048, 512, 1)
    """
    return ceil(most * min(1.0, n_lists / QUERIES))


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is measured of one role: the rows with a direction, sampled pairs where needed, neighbour lists."""

    role: Role
    sides: tuple[SideName, ...]
    n_zero: int
    pairs: NDArray[np.intp] | None
    """None where all pairs are visited."""
    top_n: int
    lists: NeighbourLists | None
    first: Indices | None
    """Which row stands for each of its twins; None where no rows are twins."""
    alone: NeighbourLists | None
    """The lists of one row of each group of twins, and of such rows; None where too few are left."""

    def ends(self, side: SideName) -> Indices:
        """Rows of a side that stand in the pairs."""
        assert self.pairs is not None
        return np.asarray(self.pairs.ravel() if len(self.sides) == 1 else self.pairs[:, self.sides.index(side)])

    @property
    def tied(self) -> float:
        """Share of the lists whose last entry ties with the first row left out."""
        return float("nan") if self.lists is None else float(self.lists.tied.mean())

    def overlap(self, rows: Rows, table: Floats | None) -> float:
        """Mean share of the listed neighbours that are kept where these are the rows, whose cosines may be at hand."""
        return _overlap(self.lists, rows, None, table)

    def overlap_without_twins(self, rows: Rows, table: Floats | None) -> float:
        """The same of lists that hold one row of each group of twins."""
        return _overlap(self.alone, rows, self.first, table)


def _overlap(lists: NeighbourLists | None, rows: Rows, first: Indices | None, table: Floats | None) -> float:
    if lists is None:
        return float("nan")
    now = neighbours(rows, lists.indices.shape[1], rows=lists.rows, first=first, table=table)
    return lists.overlap(now, tie=tie_of(rows))


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
    n_lists : int
        Rows of a side whose neighbours are compared, at most.
    """

    def __init__(
        self,
        model: FactorModel,
        roles: Sequence[Role],
        *,
        n_pairs: int = 100_000,
        n_neighbours: int = 10,
        n_lists: int = QUERIES,
        rng: RNG = 0,
    ) -> None:
        self.model, self.rng = model, as_generator(rng)
        self.n_pairs, self.n_neighbours, self.n_lists = n_pairs, n_neighbours, n_lists
        self.sides: tuple[SideName, ...] = tuple(dict.fromkeys(side for role in roles for side in Pairs(role).sides))
        self.drawn: dict[Role, NDArray[np.intp] | None] = {}
        self.plans = [self._plan(role) for role in roles]
        self.before = Shot({side: self._panel(side) for side in self.sides}, self._rows(model))
        self.ends = {
            role: self.before.places(Pairs(role).sides, pairs)
            for role, pairs in self.drawn.items()
            if pairs is not None
        }
        tables = {plan: self._table(plan, self.before) for plan in self.plans}
        self.tables = {
            plan.role: None if table is None else self._directed(plan, table) for plan, table in tables.items()
        }
        self.cosines = {role: self.before.cosines(Pairs(role).sides, ends) for role, ends in self.ends.items()}

    def _rows(self, model: FactorModel) -> dict[SideName, Rows]:
        return {side: model.factors(side) for side in self.sides}

    def over(self, model: FactorModel, roles: Sequence[Role]) -> MovementProbe:
        """Make a probe of another model that looks at as much."""
        sizes = {"n_pairs": self.n_pairs, "n_neighbours": self.n_neighbours, "n_lists": self.n_lists}
        return MovementProbe(model, roles, rng=self.rng, **sizes)

    def _plan(self, role: Role) -> _Plan:
        sides = Pairs(role).sides
        pairs = self.drawn[role] = self._draw(role, self.n_pairs)
        top_n, lists = self._neighbour_lists(role, self.model.side(sides[0]).directed, self.n_neighbours)
        first, alone = (None, None) if lists is None else self._without_twins(sides[0], lists)
        n_zero = sum(len(self.model.side(side).zero_rows) for side in sides)
        return _Plan(role, sides, n_zero, pairs, top_n, lists, first, alone)

    def _draw(self, role: Role, size: int) -> NDArray[np.intp] | None:
        """Draw pairs of rows that have a direction, or None where all pairs will be visited."""
        sides = Pairs(role).sides
        valid = [self.model.side(side).directed for side in sides]
        if n_pairs(*(len(rows) for rows in valid)) <= EXACT_PAIRS:
            return None
        drawn = sample_pairs(len(valid[0]), size, n_columns=len(valid[-1]) if role == "cross" else None, rng=self.rng)
        ends = [valid[0][drawn[:, 0]], valid[-1][drawn[:, 1]]]
        if role == "cross":
            ends = [self._held(side, size, rows) for side, rows in zip(sides, ends, strict=True)]
        return np.column_stack(ends)

    def _held(self, side: SideName, size: int, drawn: Indices) -> Indices:
        """Choose ends of left-right pairs among those of the pairs within a side where not all rows are held."""
        within = self.drawn.get(side)
        if within is None or len(self.model.side(side)) <= WHOLE:
            return drawn
        return self.rng.permutation(within.ravel())[:size]

    def _panel(self, side: SideName) -> Panel:
        """Hold all rows of a side, or those of its sampled pairs where there are very many."""
        plans = [plan for plan in self.plans if side in plan.sides]
        if len(self.model.side(side)) <= WHOLE or any(plan.pairs is None for plan in plans):
            return Panel(self.model.factors(side))
        return Panel.of(self.model.factors(side), np.concatenate([plan.ends(side) for plan in plans]), self.rng)

    def _neighbour_lists(self, role: Role, rows: Indices, n: int) -> tuple[int, NeighbourLists | None]:
        n = min(n, len(rows) - 2)
        if role == "cross" or n < 1:
            return 0, None
        size = min(self.n_lists, max(50, SEARCHED // len(rows)))
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
        return self.measure_rows(self._rows(after))

    def measure_rows(self, after: Mapping[SideName, Rows], roles: Sequence[Role] | None = None) -> tuple[Movement, ...]:
        """Measure the movement of every role, or of some, to other rows of the same entities."""
        now = Shot(self.before.panels, after, self.before)
        return tuple(self._measure(plan, now) for plan in self.plans if roles is None or plan.role in roles)

    def _measure(self, plan: _Plan, now: Shot) -> Movement:
        table = self._table(plan, now)
        tally = self._tally(plan, now, table)
        sums, without = (tally.sums, []) if plan.pairs is None else now.sums_from(self.before, plan.sides)
        rows = now.searched(plan.sides[0])
        overlap = plan.overlap(rows, table)
        low, high = (tally.mean_abs, tally.mean_abs) if plan.pairs is None else tally.interval
        return Movement(
            role=plan.role,
            n_pairs=tally.count,
            exact=plan.pairs is None,
            n_zero=plan.n_zero,
            mean=sums.mean,
            rms=sums.rms,
            pearson=sums.pearson,
            margins=margins(without),
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
            overlap_without_twins=overlap if plan.alone is plan.lists else plan.overlap_without_twins(rows, table),
            n_lists_without_twins=0 if plan.alone is None else len(plan.alone.rows),
            n_lists=0 if plan.lists is None else len(plan.lists.rows),
            tied_lists=plan.tied,
            pairs=plan.pairs,
            lists=plan.lists,
        )

    def _table(self, plan: _Plan, shot: Shot) -> Floats | None:
        """Multiply all rows where every pair is visited: products of long rows take longer than all the rest."""
        return shot.table(plan.sides) if plan.pairs is None and self.model.rank > WIDE else None

    def _tally(self, plan: _Plan, now: Shot, table: Floats | None) -> PairTally:
        if plan.pairs is not None:
            return tally_pairs(self.cosines[plan.role], now.cosines(plan.sides, self.ends[plan.role]))
        before, sides = self.tables[plan.role], plan.sides
        if table is not None:
            assert before is not None
            return tally_tables(before, self._directed(plan, table), symmetric=len(sides) == 1)
        rows = [shot.unit[side][self.model.side(side).directed] for side in sides for shot in (self.before, now)]
        return tally_all_pairs(*(unit.astype(np.float64, copy=False) for unit in rows))

    def _directed(self, plan: _Plan, table: Floats) -> Floats:
        """Keep what is of rows that have a direction."""
        sides = [self.model.side(side) for side in plan.sides]
        some = any(len(side.directed) < len(side) for side in sides)
        return table[np.ix_(sides[0].directed, sides[-1].directed)] if some else table


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
    require_same_rows(before, after)
    for name, count in (("n_pairs", n_pairs), ("n_neighbours", n_neighbours)):
        as_count(count, name, most=MOST_COUNT)
    (measured,) = MovementProbe(
        before, [before.role(role)], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng
    ).measure(after)
    return measured
