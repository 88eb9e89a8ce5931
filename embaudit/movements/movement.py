"""Movement of the cosines between two equivalent models: what may change while predictions do not.

Signed mean, RMS and Pearson's r over *all* pairs need no pair (`linalg.pair_sums`); of very many rows they are taken
over the pairs of some, with an interval. The rest (mean |Δ|, maximum, quantiles, Spearman, sign flips) is that of pairs
drawn without replacement, with intervals, or of all pairs where there are no more than asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import MOST_COUNT, RNG, Floats, Indices, as_count, as_generator
from embaudit.linalg.nearest import NeighbourLists, neighbours, tie_of
from embaudit.linalg.pair_changes import PairChanges, cell_ranks
from embaudit.linalg.pair_sums import CosineSums, table_sums
from embaudit.linalg.rows import sample_rows
from embaudit.linalg.structured import WIDE
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.drift import require_same_rows
from embaudit.movements.result import Movement
from embaudit.movements.row_sample import WHOLE, RowSample, SampleSnapshot, margins
from embaudit.movements.twins import once, standing_rows

ASIDE = 5_000_000
"""Pairs up to which they are drawn aside: the rows drawn later are the same whether all pairs are visited or some."""
TABLE = 10_000_000
"""Products of all rows that are held at most."""
GATHERED = 8
"""Products of all rows that take less time than fetching the two rows of one pair."""
FEW = 2
"""Rows a column up to which multiplying all rows takes less than Gram matrices."""
QUERIES = 400
"""Rows whose neighbours are compared; all of them where there are no more."""
SEARCHED = 20_000_000
"""Cosines computed for that at most, from 50 rows on: fewer rows are asked where there are very many."""


def share_of(most: int, n_lists: int) -> int:
    """Cut a number of labels that are asked for as much as a number of lists is below the usual one.

    Examples
    --------
    >>> share_of(2_048, 400), share_of(2_048, 1_000), share_of(2_048, 100), share_of(128, 1)
    (2048, 2048, 512, 1)
    """
    return ceil(most * min(1.0, n_lists / QUERIES))


@dataclass(frozen=True, eq=False)
class _RoleSample:
    """Sample of one role: the rows with a direction, pairs, neighbour lists."""

    role: Role
    sides: tuple[SideName, ...]
    n_zero: int
    pairs: NDArray[np.intp]
    """All, or drawn ones."""
    total: int
    """Number of all pairs."""
    top_n: int
    lists: NeighbourLists | None
    """Lists of one row of each group of copies, and of such rows; None where too few are left."""
    first: Indices | None
    """Representative of each row among its copies; None where no rows are copies."""

    def ends(self, side: SideName) -> Indices:
        """Rows of a side that stand in the pairs."""
        return np.asarray(self.pairs.ravel() if len(self.sides) == 1 else self.pairs[:, self.sides.index(side)])

    @property
    def exact(self) -> bool:
        """True if all pairs are visited."""
        return len(self.pairs) == self.total

    @property
    def tied(self) -> float:
        """Share of the lists whose last entry ties with the first row left out."""
        return float("nan") if self.lists is None else float(self.lists.tied.mean())

    def overlap(self, rows: Rows, table: Floats | None) -> float:
        """Mean share of the listed neighbours that are kept where these are the rows, whose cosines may be at hand."""
        if self.lists is None:
            return float("nan")
        now = neighbours(rows, self.top_n, rows=self.lists.rows, first=self.first, table=table)
        return self.lists.overlap(now, tie=tie_of(rows))


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
        # A generator of its own, so that draws for few pairs do not move those of all others.
        self.aside = np.random.default_rng(deepcopy(self.rng).integers(2**63, size=4))
        self.drawn: dict[Role, NDArray[np.intp]] = {}
        self.plans = [self._plan(role) for role in roles]
        self.before = SampleSnapshot({side: self._sample(side) for side in self.sides}, self._rows(model))
        self.ends = {role: self.before.places(Pairs(role).sides, pairs) for role, pairs in self.drawn.items()}
        self.tables = {plan.role: self._table(plan, self.before) for plan in self.plans}
        self.cosines = {plan.role: self._cosines(plan, self.before, self.tables[plan.role]) for plan in self.plans}
        self.ranks = {role: cell_ranks(cosines) for role, cosines in self.cosines.items()}

    def _rows(self, model: FactorModel) -> dict[SideName, Rows]:
        return {side: model.factors(side) for side in self.sides}

    def over(self, model: FactorModel, roles: Sequence[Role]) -> MovementProbe:
        """Make a probe of another model that looks at as much."""
        sizes = {"n_pairs": self.n_pairs, "n_neighbours": self.n_neighbours, "n_lists": self.n_lists}
        return MovementProbe(model, roles, rng=self.rng, **sizes)

    def _plan(self, role: Role) -> _RoleSample:
        sides = Pairs(role).sides
        pairs, total = self._draw(role, self.n_pairs)
        self.drawn[role] = pairs
        first = None if role == "cross" else standing_rows(self.model, role)
        lists = self._neighbour_lists(role, first)
        top_n = 0 if lists is None else lists.indices.shape[1]
        n_zero = sum(len(self.model.side(side).zero_rows) for side in sides)
        return _RoleSample(role, sides, n_zero, pairs, total, top_n, lists, first)

    def _draw(self, role: Role, size: int) -> tuple[NDArray[np.intp], int]:
        """Draw pairs of rows that have a direction, and count all."""
        total = Pairs(role).n_pairs(self.model)
        pairs = Pairs(role).sample(self.model, size, rng=self.aside if total <= ASIDE else self.rng)
        if role == "cross" and len(pairs) < total:
            pairs = np.column_stack(
                [self._held(side, rows) for side, rows in zip(Pairs(role).sides, pairs.T, strict=True)]
            )
        return pairs, total

    def _held(self, side: SideName, drawn: Indices) -> Indices:
        """Put rows of the pairs within a side for those of left-right pairs, one for one, where not all are held.

        Both are uniform draws of rows, so that pairs stay different and as probable as each other.
        """
        rows, within = np.unique(drawn), np.unique(self.drawn.get(side, drawn[:0]))
        if len(within) < len(rows) or len(self.model.side(side)) <= WHOLE:
            return drawn
        return np.asarray(self.aside.choice(within, len(rows), replace=False)[np.searchsorted(rows, drawn)])

    def _sample(self, side: SideName) -> RowSample:
        """Hold all rows of a side, or those of its sampled pairs where there are very many."""
        plans = [plan for plan in self.plans if side in plan.sides]
        if len(self.model.side(side)) <= WHOLE or any(plan.exact for plan in plans):
            return RowSample(self.model.factors(side))
        return RowSample.of(self.model.factors(side), np.concatenate([plan.ends(side) for plan in plans]), self.rng)

    def _neighbour_lists(self, role: Role, first: Indices | None) -> NeighbourLists | None:
        if role == "cross":
            return None
        rows = self.model.side(role).directed
        # A list needs its row, its n neighbours and one row that is left out.
        n = min(self.n_neighbours, len(once(rows, first)) - 2)
        if n < 1:
            return None
        drawn = sample_rows(rows, min(self.n_lists, max(50, SEARCHED // len(rows))), self.rng)
        return neighbours(self.model.factors(role), n, rows=once(drawn, first), first=first)

    def measure(self, after: FactorModel) -> tuple[Movement, ...]:
        """Measure the movement of every role to another model of the same entities."""
        return self.measure_rows(self._rows(after))

    def measure_rows(self, after: Mapping[SideName, Rows], roles: Sequence[Role] | None = None) -> tuple[Movement, ...]:
        """Measure the movement of every role, or of some, to other rows of the same entities."""
        now = SampleSnapshot(self.before.samples, after, self.before)
        return tuple(self._measure(plan, now) for plan in self.plans if roles is None or plan.role in roles)

    def _measure(self, plan: _RoleSample, now: SampleSnapshot) -> Movement:
        """Compare the cosines of the sample before and now."""
        table = self._table(plan, now)
        role = plan.role
        changes = PairChanges(self.cosines[role], self._cosines(plan, now, table), plan.total, self.ranks[role])
        sums, without = self._sums(plan, now, table)
        low, high = changes.mean_abs_interval
        return Movement(
            role=plan.role,
            n_pairs=len(plan.pairs),
            n_all_pairs=plan.total,
            exact=plan.exact,
            n_zero=plan.n_zero,
            mean=sums.mean,
            rms=sums.rms,
            pearson=sums.pearson,
            margins=margins(without),
            mean_abs=changes.mean_abs,
            ci_low=low,
            ci_high=high,
            max_abs=changes.max_abs,
            quantiles=changes.quantiles,
            intervals=changes.intervals,
            spearman=changes.spearman,
            sign_flips=changes.sign_flips,
            top_n=plan.top_n,
            top_n_overlap=plan.overlap(now.searched(plan.sides[0]), table),
            n_lists=0 if plan.lists is None else len(plan.lists.rows),
            tied_lists=plan.tied,
            pairs=None if plan.exact else plan.pairs,
            lists=plan.lists,
        )

    def _table(self, plan: _RoleSample, snapshot: SampleSnapshot) -> Floats | None:
        """Multiply all rows where these are few: the products serve pairs, sums and lists."""
        sizes, k = [len(self.model.side(side)) for side in plan.sides], self.model.rank
        products = sizes[0] * sizes[-1]
        # One product of all rows is faster than gathering pairs, up to some cells a pair; of long rows also where there
        # are few.
        few = products <= GATHERED * len(plan.pairs) or (k > WIDE and max(sizes) <= FEW * k)
        return snapshot.table(plan.sides) if few and products <= TABLE else None

    def _cosines(self, plan: _RoleSample, snapshot: SampleSnapshot, table: Floats | None) -> Floats:
        """Cosines of the pairs."""
        if table is None:
            return snapshot.cosines(plan.sides, self.ends[plan.role])
        return np.clip(table[tuple(self.ends[plan.role])], -1, 1)

    def _sums(
        self, plan: _RoleSample, now: SampleSnapshot, table: Floats | None
    ) -> tuple[CosineSums, list[CosineSums]]:
        """Sum over all pairs, or over those of some rows, then also without each group of these."""
        before = self.tables[plan.role]
        if table is None or before is None:
            return now.sums_from(self.before, plan.sides)
        both = (self._directed(plan, cosines) for cosines in (before, table))
        return table_sums(*both, symmetric=len(plan.sides) == 1), []

    def _directed(self, plan: _RoleSample, table: Floats) -> Floats:
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
        Pairs to draw, without replacement; all where there are no more.
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
