"""Movement of the cosines between two equivalent models, with the same predictions.

All figures of cosines are those of the same pairs in both models. If there are more
pairs than requested, pairs are drawn without replacement, and the figures have 95 %
intervals. Otherwise all pairs are taken. Lists of nearest neighbours are compared for a
sample of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    as_count,
    as_generator,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import PlottableResult
from embaudit.core.sizes import MOST_COUNT, N_QUERIES
from embaudit.core.words import counted, drawn_of, percent
from embaudit.errors import must_be
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
    tie_of,
)
from embaudit.linalg.pair_changes import PairChanges, cell_ranks
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.drift import require_same_rows
from embaudit.movements.twins import representatives_of, without_copies


@dataclass(frozen=True, eq=False)
class Movement(PlottableResult):
    """Movement of the cosines of one role; Δ is the cosine after minus before.

    Examples
    --------
    >>> import embaudit as ea
    >>> items = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> model = ea.FactorModel.from_vectors(items)
    >>> moved = ea.movement(model, ea.Gauge.diagonal([1.0, 4.0]).act(model))
    >>> round(moved.mean_abs, 4), round(moved.max_abs, 4), moved.n_pairs
    (0.2775, 0.4838, 3)
    """

    role: Role
    """left, right or cross (left-right)."""
    mean_abs: float
    """Mean of ``|Δ|``."""
    max_abs: float
    """Largest ``|Δ|`` of these pairs; if not `exact`, others can have moved further."""
    rms: float
    """Root mean square of Δ."""
    mean: float
    """Mean of Δ."""
    pearson: float
    """Correlation of the cosines before and after; NaN if one side does not vary."""
    spearman: float
    """Rank correlation, from 65,536 cells of cosines per model."""
    sign_flips: float
    """Share of pairs whose cosine changed sign by more than rounding."""
    top_n: int
    """N of the neighbour lists; 0 without lists, for example for left-right pairs."""
    top_n_overlap: float
    """Mean share of a row's N nearest rows that stay among its N nearest rows.

    Ties count as kept. NaN without lists. One row of each group of copies has a list,
    and lists hold such rows only.
    """
    n_lists: int
    """Rows whose lists were compared: one of each group of copies."""
    tied_lists: float
    """Share of the lists whose last neighbour ties with a row outside of the list; NaN
    without lists."""
    n_pairs: int
    """Number of pairs, drawn without replacement, behind all figures but the lists."""
    n_all_pairs: int
    """Number of all pairs."""
    exact: bool
    """True if these were all pairs."""
    ci_low: float
    """Lower end of the 95 % interval of `mean_abs`; the mean itself if `exact`."""
    ci_high: float
    """Upper end."""
    n_zero: int
    """Number of rows without direction, which are skipped."""
    quantiles: dict[float, float]
    """Quantiles of ``|Δ|``."""
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    """95 % intervals of `mean`, `rms`, `pearson`, `spearman`, `sign_flips` and
    `quantiles`, by name or level, if pairs are sampled."""
    pairs: NDArray[np.intp] | None = field(default=None, repr=False)
    """The pairs, if they are sampled."""
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
        overlap = ""
        zero = ""
        if self.top_n:
            share = percent(self.top_n_overlap)
            overlap = f" and {share} of the {self.top_n} nearest rows stay"
        if self.n_zero:
            zero = f" {counted(self.n_zero, 'row')} without a cosine left out."
        return (
            f"Over {pairs} cosines moved by {self.mean_abs:.3f} on average and by at "
            f"most {self.max_abs:.2f}{among}; {percent(self.sign_flips)} change their "
            f"sign{overlap}.{zero}"
        )


MOST_KEPT_ENTRIES = 2**22
"""Largest number of entries of mapped rows that are computed and kept: 32 MiB."""
MAX_PRODUCTS = 10_000_000
"""Largest number of products of all rows that are formed to look up pairs."""
PRODUCTS_PER_PAIR = 3
"""Products of all rows that take less time than fetching the two rows of one pair.

For rows of k columns the number is multiplied by √k. Measured for k = 8 to 1,024: long
rows are multiplied faster than fetched.
"""
MOST_LIST_COSINES = 20_000_000
"""Largest number of cosines that are computed for the neighbour lists of a side.

At least 50 rows have lists, even if they need more.
"""


def scale_to_lists(most: int, n_lists: int) -> int:
    """Reduce a number of labels in proportion if fewer lists than usual are requested.

    Examples
    --------
    >>> scale_to_lists(2_048, 400), scale_to_lists(2_048, 1_000)
    (2048, 2048)
    >>> scale_to_lists(2_048, 100), scale_to_lists(128, 1)
    (512, 1)
    """
    return math.ceil(most * min(1.0, n_lists / N_QUERIES))


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
    """Lists of one row of each group of copies, among such rows; None if these are too
    few."""
    first: Indices | None = None
    """Representative of each row among its copies; None if no rows are copies."""

    @property
    def exact(self) -> bool:
        """True if all pairs are visited."""
        return len(self.pairs) == self.total


class MovementProbe:
    """Measures how far the cosines of other models lie from the cosines of one model.

    Pairs and lists are drawn first, role by role, and their cosines in this model are
    computed once. All models are then compared on the same pairs and lists.

    Parameters
    ----------
    model : FactorModel
        The model before.
    roles : sequence of {"left", "right", "cross"}
        Roles whose cosines are compared.
    n_pairs, n_neighbours, rng
        See `movement`.
    n_lists : int
        Largest number of rows of a side whose neighbours are compared.
    """

    def __init__(
        self,
        model: FactorModel,
        roles: Sequence[Role],
        *,
        n_pairs: int = 100_000,
        n_neighbours: int | None = None,
        n_lists: int = N_QUERIES,
        rng: RNG = 0,
    ) -> None:
        """Draw the sample, and compute the cosines and lists before."""
        self.model = model
        self.n_pairs = n_pairs
        self.n_neighbours = n_neighbours
        self.n_lists = n_lists
        self.sides: list[SideName] = []
        for role in roles:
            for side in Pairs(role).sides:
                if side not in self.sides:
                    self.sides.append(side)
        # Pairs and lists have streams of their own, so that the number of drawn pairs
        # does not change which lists are drawn.
        pairs_rng, lists_rng, new_sample_rng = as_generator(rng).spawn(3)
        self.new_sample_seed = int(new_sample_rng.integers(2**63))
        self.plans = [self._plan(role, pairs_rng, lists_rng) for role in roles]
        before = {side: model.factors(side) for side in self.sides}
        self.cosines: dict[Role, Floats] = {}
        self.ranks: dict[Role, tuple[Indices, Floats]] = {}
        for plan in self.plans:
            cosines = self._cosines(plan, before, self._all_cosines(plan, before))
            self.cosines[plan.role] = cosines
            self.ranks[plan.role] = cell_ranks(cosines)

    def _plan(
        self,
        role: Role,
        pairs_rng: np.random.Generator,
        lists_rng: np.random.Generator,
    ) -> _RolePlan:
        """Draw the pairs of a role and, within a side, find the lists before."""
        model, sides = self.model, Pairs(role).sides
        total = Pairs(role).n_pairs(model)
        pairs = Pairs(role).sample(model, self.n_pairs, rng=pairs_rng)
        if role == "cross":
            return _RolePlan(role, sides, pairs, total)
        rows = model.side(role).directed
        first = representatives_of(model, role)
        # A list needs its row, its n neighbours and one row that is not listed.
        n = list_length(self.n_neighbours, len(without_copies(rows, first)), left_out=1)
        if n < 1:
            return _RolePlan(role, sides, pairs, total, None, first)
        n_lists = min(self.n_lists, max(50, MOST_LIST_COSINES // len(rows)))
        queries = without_copies(sample_rows(rows, n_lists, lists_rng), first)
        lists = neighbours(model.factors(role), n, rows=queries, first=first)
        return _RolePlan(role, sides, pairs, total, lists, first)

    def _all_cosines(
        self, plan: _RolePlan, rows: Mapping[SideName, Rows]
    ) -> Floats | None:
        """Compute the cosines of all rows of a role, or None if pairs are faster.

        The cosines of all rows are products of two matrices. The cosines of single
        pairs need the two rows of each pair, which take longer to fetch.

        Returns
        -------
        array of shape (n, p) or None
            Cosines of n first rows with p last rows. Within a side these are the same
            rows. The cosines of rows without direction are NaN.
        """
        # A role within a side has one side, which is its first and its last one.
        first_rows = rows[plan.sides[0]]
        last_rows = rows[plan.sides[-1]]
        n_columns = first_rows.shape[1]
        n_products = len(first_rows) * len(last_rows)
        n_worthwhile = PRODUCTS_PER_PAIR * math.sqrt(n_columns) * len(plan.pairs)
        if n_products > min(MAX_PRODUCTS, n_worthwhile):
            return None
        first_units = unit_rows(first_rows)
        last_units = first_units
        if last_rows is not first_rows:
            last_units = unit_rows(last_rows)
        cosines = np.asarray(first_units @ last_units.T)
        # Rounding can leave products of unit rows slightly outside of [-1, 1].
        return np.clip(cosines, -1, 1)

    def _cosines(
        self, plan: _RolePlan, rows: Mapping[SideName, Rows], table: Floats | None
    ) -> Floats:
        """Compute the cosines of the pairs of a role, or look them up in a table."""
        if table is None:
            return pair_cosines(rows[plan.sides[0]], rows[plan.sides[-1]], plan.pairs)
        return np.asarray(table[plan.pairs[:, 0], plan.pairs[:, 1]])

    def _overlap(
        self,
        plan: _RolePlan,
        lists: NeighbourLists,
        rows: Rows,
        table: Floats | None,
        tie: float,
    ) -> float:
        """Compute the share of the neighbours that stay neighbours; ties count as kept.

        Both models have lists of the same rows, and the same row stands for each group
        of copies, so that lists differ by the gauge only. Cosines after that differ by
        at most `tie` count as equal.
        """
        n = lists.indices.shape[1]
        if table is None:
            found = neighbours(rows, n, rows=lists.rows, first=plan.first)
            return lists.overlap(found, tie=tie)
        candidates = without_copies(np.arange(len(table)), plan.first)
        # A row without direction, whose cosines are NaN, is not a neighbour.
        cosines = np.fmax(table[np.ix_(lists.rows, candidates)], -np.inf)
        # The nearest candidate of a row is the row itself, and then come n neighbours.
        nth_cosine = np.partition(cosines, -n - 1, axis=1)[:, -n - 1, None]
        is_kept = table[lists.rows[:, None], lists.indices] >= nth_cosine - tie
        return float(is_kept.mean())

    def with_model(self, model: FactorModel, roles: Sequence[Role]) -> MovementProbe:
        """Make a probe of another model with as many pairs and lists.

        Its seed is the same at every call, so models can be measured in any order.
        """
        return MovementProbe(
            model,
            roles,
            n_pairs=self.n_pairs,
            n_neighbours=self.n_neighbours,
            n_lists=self.n_lists,
            rng=np.random.default_rng(self.new_sample_seed),
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
        plans = [plan for plan in self.plans if roles is None or plan.role in roles]
        rows = {side: _computed(moved) for side, moved in after.items()}
        movements: list[Movement] = []
        for plan in plans:
            measured = self._measure(plan, rows, tie_of(after[plan.sides[0]]))
            if measured is None:
                return self._measure_common_rows(plans, after)
            movements.append(measured)
        return tuple(movements)

    def _measure_common_rows(
        self, plans: Sequence[_RolePlan], after: Mapping[SideName, Rows]
    ) -> tuple[Movement, ...]:
        """Draw pairs and lists among rows directed in both models, and measure them."""
        common = directed_in(self.model, after)
        roles = [plan.role for plan in plans if Pairs(plan.role).n_pairs(common)]
        if not roles:
            return ()
        return self.with_model(common, roles).measure_rows(after)

    def _measure(
        self, plan: _RolePlan, rows: Mapping[SideName, Rows], tie: float
    ) -> Movement | None:
        """Compare the cosines of the pairs and the neighbour lists before and after.

        Cosines of neighbours that differ by at most `tie` count as equal. Return None
        if a sampled row has no direction after.
        """
        table = self._all_cosines(plan, rows)
        after = self._cosines(plan, rows, table)
        if np.isnan(after).any():
            return None
        before, ranks = self.cosines[plan.role], self.ranks[plan.role]
        changes = PairChanges(before, after, plan.total, ranks)
        low, high = changes.mean_abs_interval
        top_n = 0
        n_lists = 0
        overlap = math.nan
        tied_lists = math.nan
        lists = plan.lists
        if lists is not None:
            if not rows[plan.sides[0]][lists.rows].any(axis=1).all():
                return None
            n_lists, top_n = lists.indices.shape
            overlap = self._overlap(plan, lists, rows[plan.sides[0]], table, tie)
            tied_lists = float(lists.end_in_tie().mean())
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
            top_n=top_n,
            top_n_overlap=overlap,
            n_lists=n_lists,
            tied_lists=tied_lists,
            pairs=None if plan.exact else plan.pairs,
            lists=lists,
        )


def _computed(rows: Rows) -> Rows:
    """Compute mapped rows once if they are few, because pairs and lists need them."""
    if isinstance(rows, Mapped) and math.prod(rows.shape) <= MOST_KEPT_ENTRIES:
        return np.asarray(rows[:])
    return rows


def directed_in(model: FactorModel, after: Mapping[SideName, Rows]) -> FactorModel:
    """Set rows to zero that have no direction in another model of the same entities.

    Examples
    --------
    >>> after = {"right": np.array([[0.0, 0.0], [2.0, 1.0]])}
    >>> directed_in(FactorModel.from_vectors(np.eye(2)), after).right
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
        Number of pairs, drawn without replacement; all pairs if there are no more.
    n_neighbours : int, optional
        Length of the neighbour lists. The default is 10, but at most a third of the
        other rows.
    rng : numpy Generator or int
        Draws the sampled pairs and rows.

    Returns
    -------
    Movement
        The changes of the cosines, and the shares of the neighbour lists that stay.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> items = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> model = FactorModel.from_user_item([[1.0, 1.0]], items)
    >>> moved = movement(model, Gauge.diagonal([1.0, 4.0]).act(model))
    >>> round(moved.max_abs, 4), moved.exact
    (0.4838, True)

    One pair has no correlation, and two rows have no lists.

    >>> before = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> two = movement(before, FactorModel.from_vectors([[1.0, 0.0], [1.0, 1.0]]))
    >>> two.n_pairs, two.pearson, two.top_n, two.top_n_overlap
    (1, nan, 0, nan)
    >>> movement(model.take(right=np.array([0])), model.take(right=np.array([0])))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the number of right rows to compare that are nonzero in
    both models must be at least 2; got fewer rows; choose other rows or another role.
    """
    require_same_rows(before, after)
    as_count(n_pairs, "n_pairs", most=MOST_COUNT)
    pairs = Pairs(before.role(role))
    require_length(n_neighbours, max(len(before.side(side)) for side in pairs.sides))
    after_rows = {side: after.factors(side) for side in pairs.sides}
    common = directed_in(before, after_rows)
    if not pairs.n_pairs(common):
        raise must_be(
            f"the number of {pairs} rows to compare that are nonzero in both models",
            "at least 2",
            "fewer rows",
            "choose other rows or another role",
        )
    probe = MovementProbe(
        common, [before.role(role)], n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng
    )
    return probe.measure_rows(after_rows)[0]
