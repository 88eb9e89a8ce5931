"""Movement of the cosines between two equivalent models: what may change while predictions do not.

Signed mean, RMS and Pearson's r over *all* pairs need no pair (`linalg.pair_changes`); of very many rows they are taken
over the pairs of some, with an interval. The rest (mean |Δ|, maximum, quantiles, Spearman, sign flips) is that of pairs
drawn without replacement, with intervals, or of all pairs where there are no more than asked for.

Of a side of very many rows, those of its sampled pairs stand for all. Sums of cosines over all pairs of such rows are
U-statistics of the rows drawn; their values without each group of rows in turn bound their distance from the sums over
all rows (delete-a-group jackknife).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    MOST_COUNT,
    RNG,
    Floats,
    Indices,
    Matrix,
    as_count,
    as_generator,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Drawn
from embaudit.core.words import counted, drawn_of, percent
from embaudit.errors import must_be
from embaudit.linalg.intervals import draw_groups, jackknife_margin
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
    tie_of,
)
from embaudit.linalg.pair_changes import (
    CosineSums,
    PairChanges,
    RowSums,
    cell_ranks,
    cross_gram,
    pair_sums,
    table_sums,
)
from embaudit.linalg.rows import CACHE_BYTES, WIDE, A, in_order, sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.drift import require_same_rows
from embaudit.movements.twins import once, standing_rows


@dataclass(frozen=True, eq=False)
class Movement(Drawn):
    """Movement of the cosines of one role between two models; Δ is after less before."""

    role: Role
    """left, right or cross (left-right)."""
    mean_abs: float
    """Mean of ``|Δ|``."""
    max_abs: float
    """Largest ``|Δ|`` among the pairs visited: where these are some, others may have moved further."""
    rms: float
    """Root mean square of Δ over all pairs."""
    mean: float
    """Mean of Δ over all pairs; of very many rows, over those of some (see `margins`)."""
    pearson: float
    """Correlation of the cosines before and after over all pairs; NaN where one side does not vary."""
    spearman: float
    """Rank correlation, from 65,536 cells of cosines a side."""
    sign_flips: float
    """Share of pairs whose cosine changed sign by more than rounding."""
    top_n: int
    """N of the neighbour lists; 0 where there are none (left-right pairs)."""
    top_n_overlap: float
    """Mean share of a row's N nearest rows that stay among its N nearest, ties counted as kept; NaN without lists.

    Lists are of one row of each group of copies, and hold such rows alone.
    """
    n_lists: int
    """Rows whose lists were compared: one of each group of copies."""
    tied_lists: float
    """Share of the lists that end in a tie, so that another choice of neighbours would be as good; NaN without."""
    n_pairs: int
    """Pairs behind the figures that need pairs, drawn without replacement."""
    n_all_pairs: int
    """Pairs there are."""
    exact: bool
    """True if these were all pairs."""
    ci_low: float
    """Lower end of the 95 % interval of `mean_abs`; the mean itself where exact."""
    ci_high: float
    """Upper end."""
    n_zero: int
    """Rows without direction, left out."""
    quantiles: dict[float, float]
    """Quantiles of ``|Δ|``."""
    margins: dict[str, float] = field(default_factory=dict)
    """Half the widths of the 95 % intervals of `mean`, `rms` and `pearson`, where these are of some rows; else none."""
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """95 % intervals of `sign_flips`, `spearman` and `quantiles`, by name or level, where pairs are sampled."""
    pairs: NDArray[np.intp] | None = field(default=None, repr=False)
    """The pairs, where they are sampled."""
    lists: NeighbourLists | None = field(default=None, repr=False)
    """The lists before."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "mean_abs": self.mean_abs,
                "max_abs": self.max_abs,
                "rms": self.rms,
                "mean": self.mean,
                "pearson": self.pearson,
                "spearman": self.spearman,
                "sign_flips": self.sign_flips,
                "top_n": self.top_n,
                "top_n_overlap": self.top_n_overlap,
                "n_lists": self.n_lists,
                "tied_lists": self.tied_lists,
                "n_pairs": self.n_pairs,
                "n_all_pairs": self.n_all_pairs,
                "exact": self.exact,
                "ci_low": self.ci_low,
                "ci_high": self.ci_high,
                "n_zero": self.n_zero,
                "quantiles": self.quantiles,
                "margins": self.margins,
                "intervals": self.intervals,
            }
        )

    def explain(self) -> str:
        """Describe how far the cosines moved, and how many neighbours stayed."""
        pairs, among = (
            drawn_of(self.n_pairs, self.n_all_pairs, f"{self.role} pair"),
            "" if self.exact else " among these",
        )
        overlap = (
            f" and {percent(self.top_n_overlap)} of the {self.top_n} nearest rows stay"
            if self.top_n
            else ""
        )
        zero = (
            f" {counted(self.n_zero, 'row')} without direction left out."
            if self.n_zero
            else ""
        )
        return (
            f"Over {pairs} cosines moved by {self.mean_abs:.3f} on average and by at most "
            f"{self.max_abs:.2f}{among}; {percent(self.sign_flips)} change their sign{overlap}.{zero}"
        )


WHOLE = 50_000
"""Rows of a side up to which all of them are held; products of more take longer than all the rest of an audit."""
SUMMED = 20_000
"""Rows over which sums are taken where not all are held."""
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
class RowSample:
    """Rows of a side that are held, and the groups of them that sums leave out in turn."""

    x: Matrix
    """(p, k) the rows of the side."""
    rows: Indices | None = None
    """Row numbers in order; None for all."""
    groups: Sequence[Indices] = ()
    """Places among them; none where sums run over all rows of the side."""

    @cached_property
    def held(self) -> Matrix:
        """The rows held."""
        return self.x if self.rows is None else self.x[self.rows]

    def units(self, rows: Rows) -> Matrix:
        """Divide the rows held, as another model has them, by their lengths; as precise as they are stored."""
        if self.rows is not None and isinstance(rows, Mapped) and rows.x is self.x:
            # The map is applied to the rows held alone: a side of very many rows is never mapped whole.
            return unit_rows(replace(rows, x=self.held), dtype=rows.dtype)
        return unit_rows(
            rows if self.rows is None else rows[self.rows], dtype=rows.dtype
        )

    def parts(self, unit: Matrix) -> Iterator[Matrix]:
        """Yield the directions that are summed, group by group."""
        yield from (unit[group] for group in self.groups) if self.groups else (unit,)


class SampleSnapshot:
    """The directions of a model's rows and their sums, computed once for every role that needs them."""

    def __init__(
        self,
        samples: Mapping[SideName, RowSample],
        rows: Mapping[SideName, Rows],
        before: SampleSnapshot | None = None,
    ) -> None:
        self.samples, self.rows, self.before = samples, rows, before
        self.unit = {side: sample.units(rows[side]) for side, sample in samples.items()}

    @cached_property
    def sums(self) -> dict[SideName, list[RowSums]]:
        """Sums of the directions of each group, by side."""
        return {
            side: [RowSums.of(group) for group in self.samples[side].parts(unit)]
            for side, unit in self.unit.items()
        }

    @cached_property
    def cross(self) -> dict[SideName, list[Floats]]:
        """Products of the directions of each group with those before, by side."""
        assert self.before is not None
        parts = {
            side: zip(
                sample.parts(self.before.unit[side]),
                sample.parts(self.unit[side]),
                strict=True,
            )
            for side, sample in self.samples.items()
        }
        return {
            side: [cross_gram(*both) for both in pairs] for side, pairs in parts.items()
        }

    @property
    def loses_rows(self) -> bool:
        """True if a row held has a direction before, and none here."""
        assert self.before is not None
        both = (
            (rows[:, 0], self.unit[side][:, 0])
            for side, rows in self.before.unit.items()
        )
        return any(
            bool((np.isnan(now) > np.isnan(before)).any()) for before, now in both
        )

    def table(self, sides: tuple[SideName, ...]) -> Floats:
        """Cosines of all rows held, of one side with each other or of the first with the second; NaN without one."""
        x, *second = (np.asarray(self.unit[side], np.float64) for side in sides)
        return np.asarray(x @ (second[0] if second else x).T)

    def cosines(self, sides: tuple[SideName, ...], ends: Sequence[Indices]) -> Floats:
        """Cosines of pairs of rows held."""
        x, y = self.unit[sides[0]], self.unit[sides[-1]]
        first, other = ends
        cosines = np.empty(len(first))
        for block in row_blocks(
            len(first), 4 * x.shape[1], budget=CACHE_BYTES
        ):  # beside the rows they are of
            both = (
                np.asarray(rows.take(ends[block], axis=0), np.float64)
                for rows, ends in ((x, first), (y, other))
            )
            cosines[block] = np.einsum("ij,ij->i", *both)
        return np.clip(cosines, -1, 1)

    def pair_sums(
        self, sides: tuple[SideName, ...]
    ) -> tuple[CosineSums, list[CosineSums]]:
        """Sum the cosines of all pairs of the rows summed, before and here, and the same without each group."""
        assert self.before is not None
        before = self.before.sums

        def without(group: int | None) -> CosineSums:
            there, here = (
                [_total(sums[side], group) for side in sides]
                for sums in (before, self.sums)
            )
            return pair_sums(
                there, here, [_total(self.cross[side], group) for side in sides]
            )

        # Sums of groups are kept apart, so that leaving one out is an addition and no further pass over the rows.
        n_groups = max(len(self.samples[side].groups) for side in sides)
        return without(None), [without(group) for group in range(n_groups)]


def _total(parts: Sequence[A], without: int | None) -> A:
    """Add up the sums of all groups but one; of a side whose rows all count, and of a lone group, there is one sum."""
    return in_order(
        term
        for number, term in enumerate(parts)
        if number != without or len(parts) == 1
    )


@dataclass(frozen=True, eq=False)
class _RolePlan:
    """Sample of one role: pairs of rows with a direction, and neighbour lists."""

    role: Role
    sides: tuple[SideName, ...]
    pairs: NDArray[np.intp]
    """All, or drawn ones."""
    total: int
    """Number of all pairs."""
    lists: NeighbourLists | None = None
    """Lists of one row of each group of copies, and of such rows; None where too few are left."""
    first: Indices | None = None
    """Representative of each row among its copies; None where no rows are copies."""

    @property
    def exact(self) -> bool:
        """True if all pairs are visited."""
        return len(self.pairs) == self.total


class MovementProbe:
    """Measures how far other models' cosines lie from one model's, computing what belongs to that model once.

    Pairs and lists are drawn first, role by role; then the rows that they need, side by side; then the cosines before.

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
        n_neighbours: int | None = None,
        n_lists: int = QUERIES,
        rng: RNG = 0,
    ) -> None:
        """Draw the sample, and compute the cosines and lists before."""
        self.model, self.rng = model, as_generator(rng)
        self.n_pairs, self.n_neighbours, self.n_lists = n_pairs, n_neighbours, n_lists
        self.sides: tuple[SideName, ...] = tuple(
            dict.fromkeys(side for role in roles for side in Pairs(role).sides)
        )
        # A generator of its own, so that draws for few pairs do not move those of all others.
        self.aside = np.random.default_rng(deepcopy(self.rng).integers(2**63, size=4))
        self.plans: list[_RolePlan] = []
        for role in roles:
            self.plans.append(self._plan(role))
        samples = {side: self._sample(side) for side in self.sides}
        self.before = SampleSnapshot(
            samples, {side: model.factors(side) for side in self.sides}
        )
        self.ends = {plan.role: self._ends(plan) for plan in self.plans}
        self.tables = {plan.role: self._table(plan, self.before) for plan in self.plans}
        self.cosines = {
            plan.role: self._cosines(plan, self.before, self.tables[plan.role])
            for plan in self.plans
        }
        self.ranks = {
            role: cell_ranks(cosines) for role, cosines in self.cosines.items()
        }
        # Models are measured side by side: a sample drawn anew must not depend on which of them comes first.
        self.seeds = deepcopy(self.rng).integers(2**63, size=4)

    def _plan(self, role: Role) -> _RolePlan:
        """Draw the pairs of a role and, within a side, the lists of neighbours before."""
        model, sides = self.model, Pairs(role).sides
        total = Pairs(role).n_pairs(model)
        pairs = Pairs(role).sample(
            model, self.n_pairs, rng=self.aside if total <= ASIDE else self.rng
        )
        if role == "cross":
            ends = (
                pairs.T
                if len(pairs) == total
                else [self._held(*end) for end in zip(sides, pairs.T, strict=True)]
            )
            return _RolePlan(role, sides, np.column_stack(list(ends)), total)
        rows, first = model.side(role).directed, standing_rows(model, role)
        # A list needs its row, its n neighbours and one row that is left out.
        n = list_length(self.n_neighbours, len(once(rows, first)), left_out=1)
        if n < 1:
            return _RolePlan(role, sides, pairs, total, None, first)
        drawn = sample_rows(
            rows, min(self.n_lists, max(50, SEARCHED // len(rows))), self.rng
        )
        return _RolePlan(
            role,
            sides,
            pairs,
            total,
            neighbours(model.factors(role), n, rows=once(drawn, first), first=first),
            first,
        )

    def _held(self, side: SideName, drawn: Indices) -> Indices:
        """Put rows of the pairs within a side for those of left-right pairs, one for one, where not all are held.

        Both are uniform draws of rows, so that pairs stay different and as probable as each other.
        """
        if len(self.model.side(side)) <= WHOLE:
            return drawn
        rows = np.unique(drawn)
        within = np.unique(
            next((plan.pairs for plan in self.plans if plan.role == side), drawn[:0])
        )
        if len(within) < len(rows):
            return drawn
        return np.asarray(
            self.aside.choice(within, len(rows), replace=False)[
                np.searchsorted(rows, drawn)
            ]
        )

    def _sample(self, side: SideName) -> RowSample:
        """Hold all rows of a side; where there are very many, those of its pairs, and sum over some of them."""
        x, plans = (
            self.model.factors(side),
            [plan for plan in self.plans if side in plan.sides],
        )
        if len(x) <= WHOLE or any(plan.exact for plan in plans):
            return RowSample(x)
        ends = [
            plan.pairs
            if len(plan.sides) == 1
            else plan.pairs[:, plan.sides.index(side)]
            for plan in plans
        ]
        rows = np.unique(np.concatenate([end.ravel() for end in ends]))
        summed = sample_rows(len(rows), SUMMED, self.rng)
        group = draw_groups(len(summed), self.rng)
        return RowSample(
            x, rows, [summed[group == number] for number in range(int(group.max()) + 1)]
        )

    def _ends(self, plan: _RolePlan) -> list[Indices]:
        """Find both ends of the pairs among the rows held."""
        # In order of the first ends, which are then near each other in memory.
        pairs = plan.pairs[np.argsort(plan.pairs[:, 0], kind="stable")]
        held = (
            self.before.samples[side].rows for side in (plan.sides[0], plan.sides[-1])
        )
        return [
            end if rows is None else np.searchsorted(rows, end)
            for rows, end in zip(held, pairs.T, strict=True)
        ]

    def _table(self, plan: _RolePlan, snapshot: SampleSnapshot) -> Floats | None:
        """Multiply all rows where these are few: the products serve pairs, sums and lists."""
        sizes, k = [len(self.model.side(side)) for side in plan.sides], self.model.rank
        products = sizes[0] * sizes[-1]
        # One product of all rows is faster than gathering pairs, up to some cells a pair; of long rows also where there
        # are few.
        few = products <= GATHERED * len(plan.pairs) or (
            k > WIDE and max(sizes) <= FEW * k
        )
        return snapshot.table(plan.sides) if few and products <= TABLE else None

    def _cosines(
        self, plan: _RolePlan, snapshot: SampleSnapshot, table: Floats | None
    ) -> Floats:
        """Cosines of the pairs."""
        if table is None:
            return snapshot.cosines(plan.sides, self.ends[plan.role])
        return np.clip(table[tuple(self.ends[plan.role])], -1, 1)

    def over(self, model: FactorModel, roles: Sequence[Role]) -> MovementProbe:
        """Make a probe of another model that looks at as much."""
        sizes: dict[str, Any] = {
            "n_pairs": self.n_pairs,
            "n_neighbours": self.n_neighbours,
            "n_lists": self.n_lists,
        }
        return MovementProbe(
            model, roles, rng=np.random.default_rng(self.seeds), **sizes
        )

    def measure(self, after: FactorModel) -> tuple[Movement, ...]:
        """Measure the movement of every role to another model of the same entities."""
        return self.measure_rows({side: after.factors(side) for side in self.sides})

    def measure_rows(
        self, after: Mapping[SideName, Rows], roles: Sequence[Role] | None = None
    ) -> tuple[Movement, ...]:
        """Measure the movement of every role, or of some, to other rows of the same entities.

        Rows that have no direction there are left out before, too: pairs and lists are then drawn anew among the
        others, and a role that has no pair left is left out.
        """
        now = SampleSnapshot(self.before.samples, after, self.before)
        plans = [plan for plan in self.plans if roles is None or plan.role in roles]
        if not now.loses_rows:
            return tuple(self._measure(plan, now) for plan in plans)
        common = directed_in(self.model, after)
        left = [plan.role for plan in plans if Pairs(plan.role).n_pairs(common)]
        return self.over(common, left).measure_rows(after) if left else ()

    def _measure(self, plan: _RolePlan, now: SampleSnapshot) -> Movement:
        """Compare the cosines of the sample before and now: pairs, then sums over all of them, then lists."""
        role, lists, sides = (
            plan.role,
            plan.lists,
            [self.model.side(side) for side in plan.sides],
        )
        table = self._table(plan, now)
        changes = PairChanges(
            self.cosines[role],
            self._cosines(plan, now, table),
            plan.total,
            self.ranks[role],
        )
        low, high = changes.mean_abs_interval
        margins: dict[str, float] = {}
        # Where all products are held, sums run over them, but for rows without direction. Else sums of directions and
        # their Gram matrices give mean, RMS and correlation of all pairs without forming one.
        if table is not None:
            cells = np.ix_(sides[0].directed, sides[-1].directed)
            whole = all(len(side.directed) == len(side) for side in sides)
            both = (
                x if whole else x[cells] for x in (np.asarray(self.tables[role]), table)
            )
            sums = table_sums(*both, symmetric=len(sides) == 1)
        else:
            sums, without = now.pair_sums(plan.sides)
            names = ("mean", "rms", "pearson")
            if without:
                replicates = np.array(
                    [[getattr(rest, name) for name in names] for rest in without]
                )
                margins = dict(
                    zip(names, jackknife_margin(replicates).tolist(), strict=True)
                )
        overlap = tied = float("nan")
        if lists is not None:
            n, side, tied = (
                lists.indices.shape[1],
                plan.sides[0],
                float(lists.tied.mean()),
            )
            # Rows that are all held are divided by their lengths already.
            rows: Rows = (
                now.unit[side] if now.samples[side].rows is None else now.rows[side]
            )
            # The same rows are asked and the same row stands for each group of copies, so that lists differ by the
            # gauge alone.
            if table is None:
                overlap = lists.overlap(
                    neighbours(rows, n, rows=lists.rows, first=plan.first),
                    tie=tie_of(rows),
                )
            else:
                # Products at hand tell who is kept: a row no farther than the last of the n nearest. The nearest of all
                # is the row itself; one without direction, NaN, is none.
                near = np.fmax(
                    table[np.ix_(lists.rows, once(np.arange(len(table)), plan.first))],
                    -np.inf,
                )
                last = np.partition(near, -n - 1, axis=1)[:, -n - 1, None]
                overlap = float(
                    np.mean(
                        table[lists.rows[:, None], lists.indices] >= last - tie_of(rows)
                    )
                )
        return Movement(
            role=role,
            n_pairs=len(plan.pairs),
            n_all_pairs=plan.total,
            exact=plan.exact,
            n_zero=sum(len(side.zero_rows) for side in sides),
            mean=sums.mean,
            rms=sums.rms,
            pearson=sums.pearson,
            margins=margins,
            mean_abs=changes.mean_abs,
            ci_low=low,
            ci_high=high,
            max_abs=changes.max_abs,
            quantiles=changes.quantiles,
            intervals=changes.intervals,
            spearman=changes.spearman,
            sign_flips=changes.sign_flips,
            top_n=0 if lists is None else lists.indices.shape[1],
            top_n_overlap=overlap,
            n_lists=0 if lists is None else len(lists.rows),
            tied_lists=tied,
            pairs=None if plan.exact else plan.pairs,
            lists=lists,
        )


def directed_in(model: FactorModel, after: Mapping[SideName, Rows]) -> FactorModel:
    """Put zeros for the rows of some sides that have a direction, and none in another model of the same entities.

    Examples
    --------
    >>> directed_in(FactorModel.from_vectors(np.eye(2)), {"right": np.array([[0.0, 0.0], [2.0, 1.0]])}).right
    array([[0., 0.],
           [0., 1.]])
    """
    some = {}
    for side, rows in after.items():
        has_direction = np.concatenate(
            [np.any(rows[block] != 0, axis=1) for block in row_blocks(*rows.shape)]
        )
        if not has_direction[model.side(side).directed].all():
            some[side] = model.factors(side) * has_direction[:, None]
    return model.replace(**some) if some else model


def movement(
    before: FactorModel,
    after: FactorModel,
    *,
    role: Role | str = "right",
    n_pairs: int = 100_000,
    n_neighbours: int | None = None,
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
    n_neighbours : int, optional
        N of the neighbour lists; a third of the other rows by default, 10 at most.
    rng : numpy Generator or int
        Draws the sampled pairs and rows.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> model = FactorModel.from_user_item([[1.0, 1.0]], [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> moved = movement(model, Gauge.diagonal([1.0, 4.0]).act(model))
    >>> round(moved.max_abs, 4), moved.exact
    (0.4838, True)
    >>> two = movement(FactorModel.from_vectors(np.eye(2)), FactorModel.from_vectors([[1.0, 0.0], [1.0, 1.0]]))
    >>> two.n_pairs, two.pearson, two.top_n, two.top_n_overlap  # one pair has no correlation, two rows have no lists
    (1, nan, 0, nan)
    >>> movement(model.take(right=np.array([0])), model.take(right=np.array([0])))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rows of which cosines are compared must be two or more that have a direction in both
    models; got fewer right rows; take others, or a role that has some.
    """
    require_same_rows(before, after)
    as_count(n_pairs, "n_pairs", most=MOST_COUNT)
    pairs = Pairs(before.role(role))
    require_length(n_neighbours, max(len(before.side(side)) for side in pairs.sides))
    after_rows = {side: after.factors(side) for side in pairs.sides}
    if not pairs.n_pairs(directed_in(before, after_rows)):
        name, remedy = (
            "rows of which cosines are compared",
            "take others, or a role that has some",
        )
        raise must_be(
            name,
            "two or more that have a direction in both models",
            f"fewer {pairs} rows",
            remedy,
        )
    probe = MovementProbe(
        before, [before.role(role)], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng
    )
    (measured,) = probe.measure_rows(after_rows)
    return measured
