"""Search for the worst gauge within a budget, next to a bound for all such gauges.

The best of several seeded starts is an inner bound, and `embaudit.ranges` gives the
outer bound: *attack <= truth <= certificate*. They differ for two reasons. The
certificate lets every pair choose its own worst gauge, but the attack needs one gauge
for all pairs. And the search can stop at a local optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from embaudit.attacks.ascent import (
    Budget,
    MeanShiftObjective,
    NeighbourLossObjective,
    Table,
    Target,
    best_displacement,
    cosines_with_all,
    find_lost,
    strongest_rivals,
)
from embaudit.canonical.row_span import orthonormal_span
from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    Matrix,
    as_count,
    as_generator,
    require_one_of,
)
from embaudit.core.parallel import one_blas_thread
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.words import counted, in_typical_rows, percent, up
from embaudit.errors import must_be
from embaudit.gauges import Affine, Diagonal, Gauge, GaugeGroup, GeneralLinear
from embaudit.linalg.nearest import tie_of
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.rows import WIDE, sample_rows, unit_rows
from embaudit.model import FactorModel, Pairs, Role, SideName
from embaudit.model.sizes import require_model
from embaudit.ranges import certified_neighbours, cosine_range

Objective: TypeAlias = Literal["movement", "neighbours"]


@dataclass(frozen=True, eq=False)
class Attack(Result):
    """The worst gauge found, and a bound for all gauges of the same set.

    Examples
    --------
    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> linear = ea.gauges.GeneralLinear(2, max_condition=3.0)
    >>> attack = ea.worst_gauge(model, linear, n_pairs=1)
    >>> round(attack.achieved, 6), round(attack.gap, 6)
    (0.8, 0.0)
    >>> round(attack.gauge.condition_number, 6)
    3.0
    """

    gauge: Gauge
    """A gauge within the budget."""
    objective: Objective
    """Aim of the search: to move cosines, or to drive rows out of neighbour lists."""
    role: Role
    """Kind of the pairs: item-item (right), user-user (left) or user-item (cross)."""
    group: GaugeGroup
    """The set of gauges, with its budget."""
    achieved: float
    """Effect of the gauge: mean ``|Δcos|`` over the pairs, or share of entries lost."""
    bound: float
    """Upper bound over all gauges of the set, by ranges or certificates."""
    n_items: int
    """Number of pairs, or of list entries, that `achieved` and `bound` are about."""
    table: Indices
    """The pairs (m, 2), or the rows followed by their lists (m, 1 + n)."""
    typical_row: float | None = None
    """Median length of the shifted rows, if `explain` gives shifts relative to it."""
    roles: tuple[str, str] = ("left row", "right row")
    """Singular nouns for a row of each side, as in `model.roles`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "role": self.role,
                "objective": self.objective,
                "achieved": self.achieved,
                "bound": self.bound,
                "gap": self.gap,
                "n_items": self.n_items,
                "max_condition": self.max_condition,
            }
        )

    @property
    def max_condition(self) -> float | None:
        """Budget κ; None if the group has no such budget."""
        return self.group.max_condition

    @property
    def gap(self) -> float:
        """Distance from the value achieved to the bound."""
        return self.bound - self.achieved

    def explain(self) -> str:
        r"""Describe the movement found, and the bound for all gauges of the budget.

        Examples
        --------
        >>> from dataclasses import replace
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
        >>> linear = GeneralLinear(2, max_condition=3.0)
        >>> attack = worst_gauge(model, linear, n_pairs=1, rng=0)
        >>> print(*attack.explain().split(". "), sep="\n")
        The worst linear gauge found within κ = 3 was sought for 1 item-item cosine
        It moves them by 0.80 on average
        Proven: by at most 0.80.
        >>> affine = Affine(2, max_condition=1.5, max_shift=0.5)
        >>> head = model.replace(link="softmax")
        >>> attack = worst_gauge(head, affine, n_pairs=1, rng=0)
        >>> for length in (None, 2.0):
        ...     text = replace(attack, typical_row=length).explain()
        ...     print(text.partition(" was")[0].partition(" and ")[2])
        shifts of items up to 0.5
        shifts of items up to 0.25 typical rows
        """
        if self.objective == "movement":
            return self._movement_in_words()
        return self._losses_in_words()

    def _movement_in_words(self) -> str:
        cosines = counted(self.n_items, f"{self._pair_noun} cosine")
        return (
            f"{self._gauge_in_words()} was sought for {cosines}. "
            f"It moves them by {self.achieved:.2f} on average. "
            f"Proven: by at most {up(self.bound):.2f}."
        )

    def _losses_in_words(self) -> str:
        lists = counted(len(self.table), f"{self._pair_noun} list")
        reached = (
            f"{self._gauge_in_words()} was sought for {lists}. "
            f"It drives out {percent(self.achieved)} of their entries."
        )
        bound = up(self.bound)
        if self.max_condition == 1 and bound > 0:
            return f"{reached} Proven: at most {percent(bound)}, because of ties."
        if bound >= 1:
            return f"{reached} More is not ruled out."
        return f"{reached} Proven: at most {percent(bound)}."

    @property
    def _pair_noun(self) -> str:
        left, right = self.roles
        first = right if self.role == "right" else left
        second = left if self.role == "left" else right
        return f"{first}-{second}"

    def _gauge_in_words(self) -> str:
        """Name the gauge by its set and budgets."""
        kappa = self.max_condition or np.inf
        gauge = f"The worst {self.group.kind} gauge found within κ = {kappa:g}"
        longest = self.group.max_shift
        if not isinstance(self.group, Affine) or longest is None:
            return gauge
        left, right = self.roles
        shifted = right if self.group.side == "right" else left
        length = f"{longest:.3g}"
        if self.typical_row is not None:
            length = in_typical_rows(longest / self.typical_row)
        return f"{gauge} and shifts of {shifted}s up to {length}"

    def __repr__(self) -> str:
        values = f"{self.achieved:.4g} achieved, at most {self.bound:.4g}"
        return f"Attack({self.objective} of {self.role}: {values})"


def _require_counts(
    objective: str, n_pairs: int, n_rows: int, n: int, n_starts: int, n_steps: int
) -> None:
    """Raise InputError unless sizes are integers, and positive where they are used."""
    require_one_of(objective, "objective", ("movement", "neighbours"))
    least_pairs = 1 if objective == "movement" else 0
    least_rows = 1 if objective == "neighbours" else 0
    as_count(n_pairs, "n_pairs", least=least_pairs)
    as_count(n_rows, "n_rows", least=least_rows)
    as_count(n, "n", least=least_rows)
    as_count(n_starts, "n_starts")
    as_count(n_steps, "n_steps", least=0)


ROWS_OF_PAIRS = 64
"""Number of rows from which pairs are drawn if the rows are long (see `WIDE`).

The search works in the span of these rows, so few rows keep it fast.
"""
MOST_RIVALS = 100
"""Number of rivals of each list during the search; in the end all rows are counted."""
FEW_RIVALS = 5
"""Number of rivals of each list if the rows are long (see `WIDE`)."""


def _is_diagonal(group: GaugeGroup) -> bool:
    return group.constraints == Diagonal.constraints


def _has_budgets(group: object) -> bool:
    """Return True for a set of gauges with budgets that the search can spend.

    The search visits all maps within the budgets, so it could leave a set with other
    constraints.
    """
    if not isinstance(group, GaugeGroup):
        return False
    if group.max_condition is None or group.max_shift is None:
        return False
    is_general = group.constraints == GeneralLinear.constraints
    if isinstance(group, Affine):
        return is_general
    return group.max_shift == 0 and (is_general or _is_diagonal(group))


def _budgets(group: GaugeGroup) -> list[Budget]:
    """List the budgets of the search in turn, each with more gauges than the last."""
    if not _has_budgets(group):
        limited = (
            "Diagonal or GeneralLinear with a max_condition, "
            "or Affine with a max_condition and a max_shift"
        )
        raise must_be("group", limited, group, "an attack needs a finite budget")
    assert group.max_condition is not None
    window = 2 * float(np.log(group.max_condition))
    budgets = [Budget(window, is_diagonal=True)]
    if group.constraints == GeneralLinear.constraints:
        budgets.append(Budget(window))
    if group.max_shift:
        budgets.append(Budget(window, radius=float(group.max_shift)))
    return budgets


def _is_searched(budget: Budget, *, shifts: bool) -> bool:
    """Return True if a budget can shift some row or, without a radius, can stretch."""
    if budget.radius:
        return shifts
    return budget.window > 0


def worst_gauge(
    model: FactorModel,
    group: GaugeGroup,
    *,
    role: Role | str = "right",
    objective: Objective = "movement",
    n_pairs: int = 2_000,
    n_rows: int = 100,
    n: int = 10,
    n_starts: int = 6,
    n_steps: int = 40,
    rng: RNG = 0,
) -> Attack:
    """Search for the gauge within a budget that changes the cosines most.

    Every gauge of the group keeps every prediction. Above 256 dimensions, linear and
    affine attacks search the span of the sampled rows only, which loses nothing. Pairs
    are then drawn among 64 rows, so that the span is small.

    The search is projected gradient ascent from a few starts, and it can end at a local
    optimum. On eight models of 3 to 1,024 dimensions it reached 86 to 124 % (median
    99 %) of the movement, or of the lost entries, that a search with random polishing
    reached within κ = 1.25 and 2. More `n_starts` and `n_steps` come nearer.

    Parameters
    ----------
    model : FactorModel
        The model.
    group : Diagonal, GeneralLinear or Affine
        Set of gauges with a `max_condition`; Affine also needs a `max_shift`.
    role : {"right", "left", "cross"}
        Role of the cosines to attack; cross pairs have no neighbour lists.
    objective : {"movement", "neighbours"}
        Maximise the mean ``|Δcos|`` of sampled pairs, or the share of top-n entries
        that leave the lists of sampled rows.
    n_pairs, n_rows : int
        Number of pairs or of rows in the sample.
    n : int
        Length of the neighbour lists.
    n_starts, n_steps : int
        Number of starting points, and of gradient steps from each. There are at least
        three starting points: two along the axes of the rows, and the best of many
        drawn ones.
    rng : numpy Generator or int
        Source of randomness.

    Returns
    -------
    Attack
        The gauge, its effect on the sample, and the bound by ranges or certificates.

    Raises
    ------
    InputError
        If the group has no budget, the objective does not fit the role, or a size is
        not a valid number.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> linear = GeneralLinear(2, max_condition=3.0)
    >>> attack = worst_gauge(model, linear, n_pairs=1, rng=0)
    >>> round(attack.achieved, 6), round(attack.bound, 6)
    (0.8, 0.8)
    >>> worst_gauge(model, Diagonal(2))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: group must be Diagonal or GeneralLinear with ...
    """
    require_model(model)
    role = model.role(role)
    budgets = _budgets(group)
    _require_counts(objective, n_pairs, n_rows, n, n_starts, n_steps)
    draw = as_generator(rng)
    if objective == "movement":
        sample = _pair_sample(model, group, role, n_pairs, draw)
    else:
        sample = _list_sample(model, group, role, n, n_rows, draw)
    gauge, achieved = Gauge.identity(model.rank), 0.0
    if sample.size and not group.fixes_cosines:
        shifts = any(sample.objective.table.is_shifted)
        budgets = [budget for budget in budgets if _is_searched(budget, shifts=shifts)]
        # Threads of BLAS cost more than they give on small matrices.
        with one_blas_thread():
            best = best_displacement(
                sample.objective, budgets, n_starts, n_steps, sample.bound, draw
            )
        found = best.gauge(group, role, sample.span)
        if objective == "movement":
            value = sample.objective.at(best)[0]
        else:
            value = _share_lost(model, role, found, sample.table)
        # A search that gained nothing is reported as the identity.
        if value > 0:
            gauge, achieved = found, value
    return Attack(
        gauge,
        objective,
        role,
        group,
        achieved,
        sample.bound,
        sample.size,
        sample.table,
        roles=model.roles,
    )


class _Sample(NamedTuple):
    """Pairs or lists that an attack tries to change."""

    objective: Target
    bound: float
    size: int
    table: Indices
    span: Floats | None = None
    """Orthonormal columns (k, r) in which the rows of the objective are written, or
    None for rows as stored.
    """


def _is_shifted(group: GaugeGroup, side: str) -> bool:
    return bool(group.max_shift) and group.side == side


def _in_span(group: GaugeGroup, table: Table) -> tuple[Table, Floats | None]:
    """Write long rows in orthonormal columns W that span them.

    Rows are left as they are for diagonal gauges, which act on the stored columns.

    Nothing is lost. A metric S gives the rows `x = W z` the inner products
    `zᵀ (Wᵀ S W) z'`, and `κ(Wᵀ S W) <= κ(S)`. Conversely, a metric T of the span with
    eigenvalues on both sides of 1 comes from `S = W T Wᵀ + (I − W Wᵀ)`, which has the
    same condition number. A shift can leave the span by a vector that is orthogonal to
    every row. All such directions have the same effect, so one more column is enough.
    """
    rows = np.vstack([rows for rows in (table.x, table.y) if rows is not None])
    width = len(rows) + any(table.is_shifted)
    if rows.shape[1] <= max(width, WIDE) or _is_diagonal(group):
        return table, None
    span = orthonormal_span(rows, width, np.random.default_rng(0))
    y = None if table.y is None else table.y @ span
    return Table(table.x @ span, y, table.is_shifted), span


def _pair_sample(
    model: FactorModel,
    group: GaugeGroup,
    role: Role,
    n_pairs: int,
    draw: np.random.Generator,
) -> _Sample:
    """Draw pairs, keep the pairs that have a range, and bound their mean movement."""
    first, second = Pairs(role).rows(model)
    if role != "cross" and model.rank > WIDE and not _is_diagonal(group):
        rows = sample_rows(model.side(role).directed, ROWS_OF_PAIRS, draw)
        pairs = rows[draw_pairs(len(rows), n_pairs, rng=draw)]
    else:
        pairs = Pairs(role).sample(model, n_pairs, rng=draw)
    ranges = cosine_range(model, group, role=role, pairs=pairs)
    has_range = ~np.isnan(ranges.before)
    # No gauge moves a cosine further than the more distant end of its range, so the
    # mean of these distances is a bound.
    reach = np.maximum(ranges.upper - ranges.before, ranges.before - ranges.lower)
    bound = float(reach[has_range].mean()) if has_range.any() else 0.0
    if role == "cross":
        left, right = pairs[has_range].T
        rows, left_places = np.unique(left, return_inverse=True)
        columns, right_places = np.unique(right, return_inverse=True)
        places = np.column_stack([left_places, right_places])
        y = np.asarray(second[columns], dtype=np.float64)
        is_shifted = _is_shifted(group, "left"), _is_shifted(group, "right")
    else:
        rows, flat_places = np.unique(pairs[has_range], return_inverse=True)
        places = flat_places.reshape(-1, 2)
        y = None
        is_shifted = _is_shifted(group, role), _is_shifted(group, role)
    x = np.asarray(first[rows], dtype=np.float64)
    table, span = _in_span(group, Table(x, y, is_shifted))
    return _Sample(
        MeanShiftObjective(table, places, ranges.before[has_range]),
        bound,
        int(has_range.sum()),
        pairs,
        span,
    )


def _list_sample(
    model: FactorModel,
    group: GaugeGroup,
    role: Role,
    n: int,
    n_rows: int,
    draw: np.random.Generator,
) -> _Sample:
    """Draw neighbour lists and their rivals, and bound the share that can leave.

    A rival is a row outside a list that may replace one of its entries.
    """
    if role == "cross":
        raise must_be(
            "role",
            '"left" or "right", because neighbour lists hold rows of one side',
            repr(role),
        )
    side = model.side(role)
    sample = np.sort(draw.permutation(len(side))[:n_rows])
    affine = group if isinstance(group, Affine) else None
    certified = certified_neighbours(model, role=role, n=n, rows=sample, group=affine)
    # A row without direction has no list. It can also leave the lists of other rows
    # short. Only full lists are sampled.
    is_full = ~np.isnan(certified.radii).any(axis=1)
    rows = certified.rows[is_full]
    entries = certified.indices[is_full]
    radii = certified.radii[is_full]
    n_outside = len(side.directed) - certified.n - 1
    if len(rows) == 0 or n_outside <= 0:
        # No list is full, or each list holds all other rows, so no entry can be lost.
        bound = 0.0
        size = 0
        n_rivals = 0
    else:
        # An entry with a certified radius above κ stays under every gauge of the set,
        # so only the other entries can be lost.
        kappa = group.max_condition or 1.0
        bound = float((radii <= kappa).mean())
        size = radii.size
        # The search sees only the nearest rivals. The entries that its result drives
        # out are counted among all rows.
        most_rivals = MOST_RIVALS if model.rank <= WIDE else FEW_RIVALS
        n_rivals = min(n_outside, most_rivals)
    cosines = cosines_with_all(unit_rows(side.rows, none=0), rows)
    rivals = strongest_rivals(cosines, entries, n_rivals)
    objective, span = _list_objective(group, role, side.rows, rows, entries, rivals)
    return _Sample(objective, bound, size, np.column_stack([rows, entries]), span)


def _list_objective(
    group: GaugeGroup,
    role: SideName,
    factors: Matrix,
    rows: Indices,
    entries: Indices,
    rivals: Indices,
) -> tuple[NeighbourLossObjective, Floats | None]:
    """Make the objective of lists of one side.

    The objective holds each row once, and refers to it by its place among them.

    Parameters
    ----------
    group : GaugeGroup
        The gauges that are searched.
    role : {"left", "right"}
        The side.
    factors : array of shape (n_rows, k)
        All rows of the side.
    rows : array of shape (m,)
        Rows that have the lists.
    entries : array of shape (m, n)
        Entries of the lists.
    rivals : array of shape (m, r)
        Rows outside of each list that can replace its entries.

    Returns
    -------
    NeighbourLossObjective
        The share of entries lost.
    array of shape (k, w), or None
        Columns that the rows are written in; see `_in_span`.
    """
    involved = np.hstack([rows[:, None], entries, rivals])
    distinct, flat_places = np.unique(involved, return_inverse=True)
    places = flat_places.reshape(involved.shape)
    x = np.asarray(factors[distinct], dtype=np.float64)
    is_shifted = _is_shifted(group, role)
    table, span = _in_span(group, Table(x, is_shifted=(is_shifted, is_shifted)))
    queries = places[:, 0]
    listed = places[:, 1 : 1 + entries.shape[1]]
    objective = NeighbourLossObjective(table, queries, listed, tie_of(factors))
    return objective, span


def _share_lost(model: FactorModel, role: Role, gauge: Gauge, table: Indices) -> float:
    """Return the share of list entries that a gauge drives out, among all rows."""
    side: SideName = "left" if role == "left" else "right"
    factors = model.factors(side)
    moved = unit_rows(gauge.apply(factors, side), none=0)
    rows, entries = table[:, 0], table[:, 1:]
    cosines = cosines_with_all(moved, rows)
    return float(find_lost(cosines, entries, tie_of(factors)).mean())
