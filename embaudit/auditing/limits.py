"""Bounds of the movement of cosines: ranges, certified neighbours, and attacks.

The movement of an audit is measured on *some* equivalent models. A bound holds for
*every* gauge of a set within a budget. An attack finds a gauge and shows its movement,
and a range or a certificate gives a limit that no gauge exceeds. The true limit lies
between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.attacks import Attack, worst_gauge
from embaudit.attacks.worst import Objective as AttackObjective
from embaudit.core.checked import Indices
from embaudit.core.plain import plain_dict
from embaudit.core.progress import reporting, track
from embaudit.core.tolerances import TIE
from embaudit.gauges import Affine, GaugeGroup, GeneralLinear
from embaudit.linalg.nearest import list_length
from embaudit.linalg.rows import WIDE, sample_rows
from embaudit.model import Equivalence, FactorModel, Pairs, Role, SideName
from embaudit.model.side import Side
from embaudit.movements.twins import representatives_of, without_copies
from embaudit.ranges import (
    CertifiedNeighbours,
    RangeSummary,
    certified_neighbours,
    range_summary,
)

if TYPE_CHECKING:
    from embaudit.auditing.options import AuditOptions

CURVE = (1.1, 1.25, 1.5, 2.0)
"""Condition numbers at which ranges and certificates are stated."""
CERTIFIED_ROWS = 1_000
"""Largest number of rows with certified lists."""
MIN_CERTIFIED_ROWS = 100
"""Number of rows with certified lists even in a large table."""
CERTIFIED_COSINES = 50_000_000
"""Largest number of cosines of more than `MIN_CERTIFIED_ROWS` certified lists."""
ATTACKED_RANK = 16_384
"""Rank above which there is no attack, because finding the span of a few rows would
take too long.
"""
PAIRS = 2_000
"""Largest number of pairs for ranges and attacks."""
MOST_WIDE_PAIRS = 500
"""The same for rows with more than `WIDE` columns."""
MIN_PAIRS = 100
"""Number of such pairs even if rows are very long."""
PAIR_CELLS = 2**19
"""Largest number of entries in the rows of more than `MIN_PAIRS` pairs of rows with
more than `WIDE` columns.
"""
LENGTH = 1.0
"""Length of the shifts that ranges and attacks allow for, in median rows."""
SHIFT = 0.1
"""Length of the shifts that lists are certified against, in median rows. Against longer
shifts hardly any list can be certified.
"""
SHIFTED_PAIRS = 500
"""Largest number of pairs of an attack with shifts."""
SHIFTED_ROWS = 100
"""Largest number of rows with lists that are certified against shifts, because every
excluded row has to be taken into account.
"""
ATTACKED_LISTS = 50
"""Number of rows with lists to attack."""
LONG_LISTS = 8
"""The same for rows with more than `WIDE` columns, because the attack searches the span
of all rows near the listed ones.
"""
ATTACKED_ROWS = 50_000
"""Number of rows above which lists are not attacked, because each step compares the
listed rows with all rows.
"""


@dataclass(frozen=True)
class Certificate:
    """Share of the neighbour lists that no gauge of a set can change.

    Lists hold one row of each group of duplicates.
    """

    role: SideName
    """Side of the lists."""
    group: str
    """Set of gauges, "linear" or "affine"."""
    max_shift: float
    """Longest shift, in median rows; 0 for linear gauges."""
    top_n: int
    """Length of the lists."""
    n_rows: int
    """Number of rows with certified lists; of each group of duplicates, one row
    counts.
    """
    exact: bool
    """True if the lists of all rows were certified."""
    entries: dict[float, float]
    """Share of list entries that stay, by κ."""
    lists: dict[float, float]
    """Share of lists that stay whole, by κ."""
    tied_share: float
    """Share of entries that tie with the first excluded row, and so are not certified.
    """
    certified: CertifiedNeighbours = field(repr=False)
    """The lists themselves."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "group": self.group,
                "max_shift": self.max_shift,
                "top_n": self.top_n,
                "n_rows": self.n_rows,
                "exact": self.exact,
                "entries": self.entries,
                "lists": self.lists,
                "tied_share": self.tied_share,
            }
        )


@dataclass(frozen=True)
class Limits:
    """Bounds that no gauge of a set within a budget exceeds, and the worst gauges."""

    ranges: tuple[RangeSummary, ...] = ()
    """Ranges of cosines within budgets."""
    certificates: tuple[Certificate, ...] = ()
    """Shares of the neighbour lists that no gauge of a set can change."""
    attacks: tuple[Attack, ...] = ()
    """The worst gauges that a search found within a budget."""
    rank: int = 0
    """Number of dimensions that attacks search; fewer than `columns` if rows of very
    many columns span fewer.
    """
    columns: int = 0
    """Number of columns of the rows as stored."""


def shifted_sides(model: FactorModel, role: Role) -> list[SideName]:
    """List the sides of a kind of pairs that can be shifted at equal predictions."""
    return [side for side in Pairs(role).sides if side in model.free_shifts]


def holds_shifts(model: FactorModel, role: Role, group: str) -> bool:
    """Return True if a set of gauges contains every free shift of these cosines.

    Affine gauges shift one side, and linear gauges none. No set shifts both sides. If a
    shift is missing, bounds hold for the set alone, and equivalent models outside of
    the set can exceed them.
    """
    n_shifted = 0
    if group == "affine":
        n_shifted = 1
    return len(shifted_sides(model, role)) <= n_shifted


def bounded_roles(model: FactorModel, roles: Sequence[Role]) -> list[Role]:
    """List the roles that have cosines which some gauge with a budget moves."""
    # If cosines are predicted, the test of unit rows decides, and it has no budget. In
    # one dimension a cosine is a sign, which only a shift can turn. Only rotations and
    # shifts keep distances, and a budget of κ limits neither.
    if (
        model.predicts is Equivalence.COSINES
        or model.link.measures_distances
        or (model.rank == 1 and not model.free_shifts)
    ):
        return []
    return [
        role
        for role in roles
        if all(len(model.side(side).directed) > 1 for side in Pairs(role).sides)
    ]


def attack_jobs(
    model: FactorModel,
    roles: Sequence[Role],
    options: AuditOptions,
    rng: np.random.Generator,
) -> list[Callable[[], Attack]]:
    """Plan attacks on the mean movement and on the lists of the first side.

    The last attack takes longest.

    Parameters
    ----------
    model : FactorModel
        The model as stored.
    roles : sequence of {"left", "right", "cross"}
        Roles of `bounded_roles`.
    options : AuditOptions
        The budget, the length of the lists, the number of starting points of each
        attack, and the number of steps from each point.
    rng : numpy Generator
        Draws pairs and rows.
    """
    sides = _sides_in(roles)
    k = model.rank
    if not sides or k > ATTACKED_RANK or options.effort.n_starts == 0:
        return []
    role = sides[0]
    kappa = options.max_condition
    side, linear = model.side(role), GeneralLinear(k, max_condition=kappa)
    plans: list[tuple[GaugeGroup, AttackObjective]] = [(linear, "movement")]
    # A list that leaves no row out cannot change.
    if (
        _list_length(model, role, options.n_neighbours) > 0
        and len(side) <= ATTACKED_ROWS
    ):
        plans.append((linear, "neighbours"))
    if role in model.free_shifts:
        # A shift as long as a typical row can point it anywhere (docs/theory.md, "Under
        # shifts"). This attack moves the rows and their origin, so it takes longest.
        affine = Affine(
            k, side=role, max_condition=kappa, max_shift=_typical_shift(side)
        )
        plans.append((affine, "movement"))
    # Each plan has a generator of its own, so that attacks can run at the same time and
    # in any order with the same result.
    draws = rng.spawn(len(plans))
    return [
        partial(_attack, model, role, *plan, options, draw)
        for plan, draw in zip(plans, draws, strict=True)
    ]


def _sides_in(roles: Sequence[Role]) -> list[SideName]:
    """List the roles that are cosines within a side."""
    return [role for role in roles if role != "cross"]


def _attack(
    model: FactorModel,
    role: SideName,
    group: GaugeGroup,
    objective: AttackObjective,
    options: AuditOptions,
    rng: np.random.Generator,
) -> Attack:
    """Run one attack.

    Attacked lists hold one row of each group of duplicates. Attacked pairs are drawn
    from all rows.
    """
    attacked, representatives = model, None
    if objective == "neighbours":
        # Duplicate rows tie under every linear gauge, so that no attack could drive one
        # past the other.
        attacked, representatives = _without_duplicates(model, role)
    n_pairs = _n_pairs(model)
    if isinstance(group, Affine):
        n_pairs = min(n_pairs, SHIFTED_PAIRS)
    n_rows = ATTACKED_LISTS
    if model.rank > WIDE:
        n_rows = LONG_LISTS
    # The progress bar counts attacks, not their steps.
    with reporting(None):
        attack = worst_gauge(
            attacked,
            group,
            role=role,
            objective=objective,
            n=max(_list_length(model, role, options.n_neighbours), 1),
            n_pairs=n_pairs,
            n_rows=n_rows,
            n_starts=options.effort.n_starts,
            n_steps=options.effort.n_steps,
            rng=rng,
        )
    table = attack.table
    if representatives is not None:
        # Places among the representatives become row numbers of the model.
        table = representatives[table]
    return replace(attack, table=table, typical_row=model.side(role).median_length)


def _typical_shift(side: Side) -> float:
    """Return the length of the shifts that ranges and attacks allow for."""
    # If the number of rows is odd, one row is as long as the median. Rounding must not
    # decide whether a shift can take that row to the origin, which widens its ranges.
    return (1 + TIE) * LENGTH * side.median_length


def limits_of(
    model: FactorModel,
    roles: Sequence[Role],
    options: AuditOptions,
    attacks: Sequence[Attack],
    rng: np.random.Generator,
    stored: FactorModel,
) -> Limits:
    """Bound the cosines of all roles, and certify the lists of their sides.

    Ranges are computed for linear and diagonal gauges, and for affine ones if rows can
    be shifted. Ranges and certificates are stated at the condition numbers of `CURVE`
    and at the budget.

    Parameters
    ----------
    model : FactorModel
        The model, in the dimensions that its rows span if they have very many columns.
    roles : sequence of {"left", "right", "cross"}
        Roles of `bounded_roles`.
    options : AuditOptions
        The budget and the length of the lists.
    attacks : sequence of Attack
        The attacks, which the result contains.
    rng : numpy Generator
        Draws pairs and rows.
    stored : FactorModel
        The model in its stored columns, for which ranges are computed: a diagonal gauge
        of the stored columns is not diagonal in the dimensions that the rows span.
    """
    kappas = sorted({*CURVE, options.max_condition})
    ranges: list[RangeSummary] = []
    certificates: list[Certificate] = []
    for role in track(roles, "bounding cosines", len(roles)):
        shifted = shifted_sides(model, role)
        # Left-right cosines can have two free shifts. Ranges then allow for a shift of
        # the right rows alone, and `holds_shifts` keeps sentences from calling such a
        # range a limit.
        side: SideName = "right"
        if shifted == ["left"]:
            side = "left"
        shifts = []
        if shifted:
            shifts = [_typical_shift(model.side(side))]
        n_pairs = min(_n_pairs(stored), Pairs(role).n_pairs(model))
        # The worst gauge differs between pairs, so no single gauge reaches the ends of
        # all ranges (docs/theory.md, "How far a cosine can move").
        ranges += range_summary(
            stored,
            role=role,
            budgets=kappas,
            shifts=shifts,
            side=side,
            n_pairs=n_pairs,
            rng=rng,
        )
    sides = _sides_in(roles)
    for side in track(sides, "certifying lists", len(sides)):
        certificates += _certificates(
            model, side, kappas, _list_length(model, side, options.n_neighbours), rng
        )
    return Limits(
        tuple(ranges), tuple(certificates), tuple(attacks), model.rank, stored.rank
    )


def _certificates(
    model: FactorModel,
    role: SideName,
    kappas: Sequence[float],
    n: int,
    rng: np.random.Generator,
) -> Iterator[Certificate]:
    """Certify lists against linear gauges, and against affine ones if rows can shift.

    Lists hold one row of each group of duplicates.
    """
    if n < 1:
        return
    side, first = model.side(role), representatives_of(model, role)
    distinct, representatives = _without_duplicates(model, role)
    most_rows = min(CERTIFIED_ROWS, CERTIFIED_COSINES // len(side.directed))
    plans = [(0.0, max(MIN_CERTIFIED_ROWS, most_rows))]
    # A row of zeros takes the direction of any shift and can then enter every list, so
    # no list could be certified.
    if role in model.free_shifts and len(side.directed) == len(side):
        plans.append((SHIFT, SHIFTED_ROWS))
    for shift, size in plans:
        # Duplicates tie at every gauge, so lists are certified among one row of each
        # group.
        rows = without_copies(sample_rows(side.directed, size, rng), first)
        group = None
        if shift:
            group = Affine(model.rank, side=role, max_shift=shift * side.median_length)
        places = np.searchsorted(representatives, rows)
        # An entry stays at κ if it leads the excluded rows by more than 2 ln κ in
        # artanh (docs/theory.md, "Certified neighbours"). A shift takes a part of that
        # lead.
        certified = certified_neighbours(
            distinct, role=role, n=n, rows=places, group=group
        )
        if first is not None:
            # Places among the representatives become row numbers of the model.
            indices = np.where(
                certified.indices < 0, -1, representatives[certified.indices]
            )
            certified = replace(certified, rows=rows, indices=indices)
        yield Certificate(
            role=role,
            group="affine" if shift else "linear",
            max_shift=shift,
            top_n=n,
            n_rows=len(rows),
            exact=len(rows) == len(without_copies(side.directed, first)),
            entries=dict(zip(kappas, certified.curve(kappas).tolist(), strict=True)),
            lists=dict(zip(kappas, certified.list_curve(kappas).tolist(), strict=True)),
            tied_share=certified.tied_share,
            certified=certified,
        )


def _n_pairs(model: FactorModel) -> int:
    """Return the number of pairs that are bounded and attacked."""
    if model.rank <= WIDE:
        return PAIRS
    return max(MIN_PAIRS, min(MOST_WIDE_PAIRS, PAIR_CELLS // model.rank))


def _list_length(model: FactorModel, role: SideName, n: int | None) -> int:
    """Return the length of lists that leave at least one row out.

    Duplicates count once. The length is below 1 if there are too few rows.
    """
    distinct = without_copies(
        model.side(role).directed, representatives_of(model, role)
    )
    return list_length(n, len(distinct), left_out=1)


def _without_duplicates(
    model: FactorModel, role: SideName
) -> tuple[FactorModel, Indices]:
    """Return the model with one row per group of duplicates, and these row numbers."""
    first = representatives_of(model, role)
    representatives = without_copies(np.arange(len(model.side(role))), first)
    if first is None:
        return model, representatives
    return model.take(**{role: representatives}), representatives
