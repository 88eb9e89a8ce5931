"""Movement of the cosines between two equivalent models: what may change while predictions do not.

All figures of cosines are those of the same pairs in both models. If there are more
pairs than requested, pairs are drawn without replacement, and the figures have 95 %
intervals. Otherwise all pairs are taken. Lists of nearest neighbours are compared for a
sample of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
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
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
    tie_of,
)
from embaudit.linalg.pair_changes import PairChanges, cell_ranks
from embaudit.linalg.rows import CACHE_BYTES, sample_rows, unit_rows
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
    """Root mean square of Δ."""
    mean: float
    """Mean of Δ."""
    pearson: float
    """Correlation of the cosines before and after; NaN where one side does not vary."""
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
    """Pairs behind all figures but the lists, drawn without replacement."""
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
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """95 % intervals of `mean`, `rms`, `pearson`, `spearman`, `sign_flips` and
    `quantiles`, by name or level, if pairs are sampled."""
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
                "intervals": self.intervals,
            }
        )

    def explain(self) -> str:
        """Describe how far the cosines moved, and how many neighbours stayed."""
        pairs = drawn_of(self.n_pairs, self.n_all_pairs, f"{self.role} pair")
        among = "" if self.exact else " among these"
        overlap = zero = ""
        if self.top_n:
            share = percent(self.top_n_overlap)
            overlap = f" and {share} of the {self.top_n} nearest rows stay"
        if self.n_zero:
            zero = f" {counted(self.n_zero, 'row')} without direction left out."
        return (
            f"Over {pairs} cosines moved by {self.mean_abs:.3f} on average and by at most "
            f"{self.max_abs:.2f}{among}; {percent(self.sign_flips)} change their sign{overlap}.{zero}"
        )


WHOLE = 50_000
"""Largest number of rows of a side that are all divided by their lengths.

Of a larger side, only the rows in a pair are divided.
"""
PRODUCTS = 10_000_000
"""Largest number of products of all rows that are formed to look up those of the pairs."""
PRODUCTS_PER_PAIR = 12
"""Products of all rows that take less time than fetching the two rows of one pair."""
ASIDE = 5_000_000
"""Pairs up to which they are drawn aside: the rows drawn later are the same whether all pairs are visited or some."""
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
class _RolePlan:
    """Sample of one role: pairs of rows with a direction, and neighbour lists."""

    role: Role
    sides: tuple[SideName, ...]
    pairs: NDArray[np.intp]
    """(n, 2) row numbers of all pairs, or of drawn ones."""
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

    def rows_of(self, side: SideName) -> Indices:
        """Return the rows of a side that are in a pair, in order."""
        if len(self.sides) == 1:
            return np.unique(self.pairs)
        return np.unique(self.pairs[:, self.sides.index(side)])


class MovementProbe:
    """Measures how far other models' cosines lie from one model's, computing what belongs to that model once.

    Pairs and lists are drawn first, role by role. All models are then compared on the
    same pairs and lists.

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
        self.model = model
        self.n_pairs, self.n_neighbours, self.n_lists = n_pairs, n_neighbours, n_lists
        self.sides: tuple[SideName, ...] = tuple(
            dict.fromkeys(side for role in roles for side in Pairs(role).sides)
        )
        generator = as_generator(rng)
        # The pairs of small models have their own generator, so that the number of
        # drawn pairs does not change which rows are drawn later.
        aside = np.random.default_rng(deepcopy(generator).integers(2**63, size=4))
        self.plans = [self._plan(role, aside, generator) for role in roles]
        # Several models can be measured in any order, so a new sample must not depend on
        # the order.
        self.seeds = deepcopy(generator).integers(2**63, size=4)
        self.rows = {side: self._rows(side) for side in self.sides}
        units = self._directions({side: model.factors(side) for side in self.sides})
        self.cosines = {
            plan.role: self._cosines(plan, units, self._table(plan, units))
            for plan in self.plans
        }
        self.ranks = {
            role: cell_ranks(cosines) for role, cosines in self.cosines.items()
        }

    def _plan(
        self, role: Role, aside: np.random.Generator, generator: np.random.Generator
    ) -> _RolePlan:
        """Draw the pairs of a role and, within a side, the lists of neighbours before."""
        model, sides = self.model, Pairs(role).sides
        total = Pairs(role).n_pairs(model)
        pairs_rng = aside if total <= ASIDE else generator
        pairs = Pairs(role).sample(model, self.n_pairs, rng=pairs_rng)
        if role == "cross":
            return _RolePlan(role, sides, pairs, total)
        rows, first = model.side(role).directed, standing_rows(model, role)
        # A list needs its row, its n neighbours and one row that is left out.
        n = list_length(self.n_neighbours, len(once(rows, first)), left_out=1)
        if n < 1:
            return _RolePlan(role, sides, pairs, total, None, first)
        n_lists = min(self.n_lists, max(50, SEARCHED // len(rows)))
        queries = once(sample_rows(rows, n_lists, generator), first)
        lists = neighbours(model.factors(role), n, rows=queries, first=first)
        return _RolePlan(role, sides, pairs, total, lists, first)

    def _rows(self, side: SideName) -> Indices | None:
        """Return the rows of a side whose directions are computed.

        These are the rows in a pair. None stands for all rows, of a smaller side.
        """
        if len(self.model.side(side)) <= WHOLE:
            return None
        in_pairs = [plan.rows_of(side) for plan in self.plans if side in plan.sides]
        return np.unique(np.concatenate(in_pairs))

    def _directions(self, rows: Mapping[SideName, Rows]) -> dict[SideName, Matrix]:
        """Divide rows by their lengths, in the stored precision.

        A row without direction becomes NaN.
        """
        units: dict[SideName, Matrix] = {}
        for side in self.sides:
            taken, width = self.rows[side], rows[side].shape[1]
            if taken is None:
                units[side] = unit_rows(rows[side], dtype=rows[side].dtype)
                continue
            units[side] = np.empty((len(taken), width), dtype=rows[side].dtype)
            for block in row_blocks(len(taken), width):
                units[side][block] = unit_rows(rows[side][taken[block]])
        return units

    def _places(self, side: SideName, rows: Indices) -> Indices:
        """Find rows of a side among those whose directions are computed."""
        taken = self.rows[side]
        return rows if taken is None else np.searchsorted(taken, rows)

    def _table(
        self, plan: _RolePlan, units: Mapping[SideName, Matrix]
    ) -> Floats | None:
        """Multiply all rows if that is faster than fetching the rows of each pair."""
        x, y = units[plan.sides[0]], units[plan.sides[-1]]
        if len(x) * len(y) > min(PRODUCTS, PRODUCTS_PER_PAIR * len(plan.pairs)):
            return None
        left = np.asarray(x, dtype=np.float64)
        right = left if y is x else np.asarray(y, dtype=np.float64)
        return np.asarray(left @ right.T)

    def _cosines(
        self, plan: _RolePlan, units: Mapping[SideName, Matrix], table: Floats | None
    ) -> Floats:
        """Compute the cosines of the pairs of a role, or look them up in a table."""
        side, other_side = plan.sides[0], plan.sides[-1]
        first = self._places(side, plan.pairs[:, 0])
        second = self._places(other_side, plan.pairs[:, 1])
        if table is not None:
            return np.clip(table[first, second], -1, 1)
        x, y = units[side], units[other_side]
        cosines = np.empty(len(first))
        for block in row_blocks(len(first), 4 * x.shape[1], budget=CACHE_BYTES):
            left = np.asarray(x[first[block]], dtype=np.float64)
            right = np.asarray(y[second[block]], dtype=np.float64)
            cosines[block] = np.einsum("ij,ij->i", left, right)
        return np.clip(cosines, -1, 1)

    def _overlap(
        self,
        plan: _RolePlan,
        units: Mapping[SideName, Matrix],
        after: Mapping[SideName, Rows],
        table: Floats | None,
    ) -> float:
        """Compute the share of the neighbours that stay neighbours; ties count as kept.

        Both models have lists of the same rows, and the same row stands for each group
        of copies, so that lists differ by the gauge alone.
        """
        lists, side = plan.lists, plan.sides[0]
        if lists is None:
            return float("nan")
        n = lists.indices.shape[1]
        if self.rows[side] is not None:
            found = neighbours(after[side], n, rows=lists.rows, first=plan.first)
            return lists.overlap(found, tie=tie_of(after[side]))
        # All rows were divided by their lengths, which need not be done again.
        rows = units[side]
        if table is None:
            found = neighbours(rows, n, rows=lists.rows, first=plan.first)
            return lists.overlap(found, tie=tie_of(rows))
        candidates = once(np.arange(len(table)), plan.first)
        # A row without direction (NaN) is no neighbour.
        cosines = np.fmax(table[np.ix_(lists.rows, candidates)], -np.inf)
        # The nearest candidate of a row is the row itself, and then come n neighbours.
        last = np.partition(cosines, -n - 1, axis=1)[:, -n - 1, None]
        kept = table[lists.rows[:, None], lists.indices] >= last - tie_of(rows)
        return float(kept.mean())

    def with_model(self, model: FactorModel, roles: Sequence[Role]) -> MovementProbe:
        """Make a probe of another model with as many pairs and lists."""
        return MovementProbe(
            model,
            roles,
            n_pairs=self.n_pairs,
            n_neighbours=self.n_neighbours,
            n_lists=self.n_lists,
            rng=np.random.default_rng(self.seeds),
        )

    def measure(self, after: FactorModel) -> tuple[Movement, ...]:
        """Measure the movement of every role to another model of the same entities."""
        return self.measure_rows({side: after.factors(side) for side in self.sides})

    def measure_rows(
        self, after: Mapping[SideName, Rows], roles: Sequence[Role] | None = None
    ) -> tuple[Movement, ...]:
        """Measure the movement of all or some roles to other rows of the same entities.

        Rows that have no direction in the other model are skipped in both. Pairs and
        lists are then drawn again among the remaining rows, and a role without pairs is
        skipped.
        """
        units = self._directions(after)
        plans = [plan for plan in self.plans if roles is None or plan.role in roles]
        if not self._loses_rows(units):
            return tuple(self._measure(plan, units, after) for plan in plans)
        common = directed_in(self.model, after)
        left = [plan.role for plan in plans if Pairs(plan.role).n_pairs(common)]
        if not left:
            return ()
        return self.with_model(common, left).measure_rows(after)

    def _loses_rows(self, units: Mapping[SideName, Matrix]) -> bool:
        """Check whether a row has a direction before, and none in another model."""
        for side, unit in units.items():
            has_none = np.isnan(unit[:, 0])
            # All rows in pairs have a direction before.
            if self.rows[side] is None:
                has_none = has_none[self.model.side(side).directed]
            if has_none.any():
                return True
        return False

    def _measure(
        self,
        plan: _RolePlan,
        units: Mapping[SideName, Matrix],
        after: Mapping[SideName, Rows],
    ) -> Movement:
        """Compare the cosines of the pairs and the neighbour lists before and after."""
        table = self._table(plan, units)
        before, ranks = self.cosines[plan.role], self.ranks[plan.role]
        after_cosines = self._cosines(plan, units, table)
        changes = PairChanges(before, after_cosines, plan.total, ranks)
        low, high = changes.mean_abs_interval
        lists = plan.lists
        return Movement(
            role=plan.role,
            n_pairs=len(plan.pairs),
            n_all_pairs=plan.total,
            exact=plan.exact,
            n_zero=sum(len(self.model.side(side).zero_rows) for side in plan.sides),
            mean=changes.mean,
            rms=changes.rms,
            pearson=changes.pearson,
            mean_abs=changes.mean_abs,
            ci_low=low,
            ci_high=high,
            max_abs=changes.max_abs,
            quantiles=changes.quantiles,
            intervals=changes.intervals,
            spearman=changes.spearman,
            sign_flips=changes.sign_flips,
            top_n=0 if lists is None else lists.indices.shape[1],
            top_n_overlap=self._overlap(plan, units, after, table),
            n_lists=0 if lists is None else len(lists.rows),
            tied_lists=float("nan") if lists is None else float(lists.tied.mean()),
            pairs=None if plan.exact else plan.pairs,
            lists=lists,
        )


def directed_in(model: FactorModel, after: Mapping[SideName, Rows]) -> FactorModel:
    """Set rows to zero that have no direction in another model of the same entities.

    Examples
    --------
    >>> directed_in(FactorModel.from_vectors(np.eye(2)), {"right": np.array([[0.0, 0.0], [2.0, 1.0]])}).right
    array([[0., 0.],
           [0., 1.]])
    """
    changed = {}
    for side, rows in after.items():
        blocks = row_blocks(*rows.shape)
        parts = [np.any(rows[block] != 0, axis=1) for block in blocks]
        has_direction = np.concatenate(parts)
        if not has_direction[model.side(side).directed].all():
            changed[side] = model.factors(side) * has_direction[:, None]
    return model.replace(**changed) if changed else model


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
        raise must_be(
            "rows of which cosines are compared",
            "two or more that have a direction in both models",
            f"fewer {pairs} rows",
            "take others, or a role that has some",
        )
    probe = MovementProbe(
        before, [before.role(role)], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng
    )
    (measured,) = probe.measure_rows(after_rows)
    return measured
