"""Bounds of the movement of cosines: ranges of pairs, certified neighbours, and the worst gauge found.

The movement of an audit is what *some* equivalent models do; this is what *any* of them within a budget can do. An
attack shows what is reached, a range or a certificate what cannot be passed; the truth lies between the two.
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
from embaudit.movements.twins import once, standing_rows
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
ROWS = 1_000
"""Rows whose lists stand for all; fewer, from 100 on, where `SEARCHED` cosines would
not suffice for them.
"""
SEARCHED = 50_000_000
ATTACKED_RANK = 16_384
"""Rank above which no attack is made: also the span of a few rows then takes long to
find.
"""
PAIR_CELLS = 2**19
"""Entries of the rows of pairs whose ranges are stated above that rank, from 100 pairs
on.
"""
LENGTH = 1.0
"""Length of the shifts that ranges and attacks allow for, in median rows."""
SHIFT = 0.1
"""Length of the shifts that lists are certified against, in median rows; beside longer
ones nothing is certain.
"""
SHIFTED_PAIRS = 500
"""Pairs that an attack with shifts looks at."""
SHIFTED_ROWS = 100
"""Rows whose lists are certified against shifts too, which takes every excluded row
into account.
"""
ATTACKED_LISTS = 50
"""Rows whose lists are attacked."""
LONG_LISTS = 8
"""Such rows where rows are long: the attack looks at the span of all that is near them.
"""
ATTACKED_ROWS = 50_000
"""Number of rows above which lists are not attacked: each step compares the listed rows
with all of them.
"""


@dataclass(frozen=True)
class Certificate:
    """Share of the neighbour lists that no gauge of a set can change; lists hold one row of each group of copies."""

    role: SideName
    """Side of the lists."""
    group: str
    """"linear" or "affine"."""
    max_shift: float
    """Longest shift, in median rows; 0 for linear gauges."""
    top_n: int
    """Length of the lists."""
    n_rows: int
    """Rows whose lists were certified: one of each group of copies."""
    exact: bool
    """True if these were all rows."""
    entries: dict[float, float]
    """Share of list entries that stay, by κ."""
    lists: dict[float, float]
    """Share of lists that stay whole, by κ."""
    tied_share: float
    """Share of entries that tie with the first excluded row, so that nothing is certain
    about them.
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
    """Bounds that no gauge of a set within a budget exceeds, and the worst gauges found."""

    ranges: tuple[RangeSummary, ...] = ()
    """Ranges of cosines within budgets."""
    certificates: tuple[Certificate, ...] = ()
    """Shares of the neighbour lists that no gauge of a set can change."""
    attacks: tuple[Attack, ...] = ()
    """The worst gauges that a search found within a budget."""
    rank: int = 0
    """Dimensions that attacks search: those that rows of very many columns span."""
    columns: int = 0
    """Columns of the rows as stored, which they are about."""


def shifted_sides(model: FactorModel, role: Role) -> list[SideName]:
    """Sides of a kind of pairs whose rows may be shifted without a change of predictions."""
    return [side for side in Pairs(role).sides if side in model.free_shifts]


def holds_shifts(model: FactorModel, role: Role, group: str) -> bool:
    """Check that a set of gauges has every free shift of these cosines: one has only affine gauges, two no set has.

    Bounds within a set that lacks one are of that set alone, and no limit of what equivalent models do.
    """
    return len(shifted_sides(model, role)) <= (group == "affine")


def bounded_roles(model: FactorModel, roles: Sequence[Role]) -> list[Role]:
    """List the roles whose cosines some gauge with a budget moves: none of a model that predicts cosines."""
    # Where cosines are predicted, the test of unit rows decides, and no budget has a
    # part in it. In one dimension a cosine is a sign, which only a shift can turn. Only
    # rotations and shifts keep distances, and a budget of κ limits neither.
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
    """Plan attacks on the mean movement and the lists of the first side; the last takes longest.

    Parameters
    ----------
    model : FactorModel
        The model as it is stored.
    roles : sequence of {"left", "right", "cross"}
        Which cosines, of `bounded_roles`.
    options : AuditOptions
        The budget, the length of the lists, how many starting points each attack has,
        and how many steps from each.
    rng : numpy Generator
        Draws pairs and rows.
    """
    role, k = next((role for role in roles if role != "cross"), None), model.rank
    if role is None or k > ATTACKED_RANK or options.effort.n_starts == 0:
        return []
    # Of all plans the affine one is last and longest: it moves the rows and their
    # origin.
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
        # shifts").
        affine = Affine(
            k, side=role, max_condition=kappa, max_shift=_typical_shift(side)
        )
        plans.append((affine, "movement"))
    # A generator for each plan: attacks may then run at once, in any order, with the
    # same result.
    draws = rng.spawn(len(plans))
    return [
        partial(_attack, model, role, *plan, options, draw)
        for plan, draw in zip(plans, draws, strict=True)
    ]


def _attack(
    model: FactorModel,
    role: SideName,
    group: GaugeGroup,
    objective: AttackObjective,
    options: AuditOptions,
    rng: np.random.Generator,
) -> Attack:
    """Run one attack: lists hold one row of each group of copies, pairs are of all rows."""
    # Duplicate rows tie under every linear gauge, so that an attack on lists could
    # never drive one past the other.
    attacked, representatives = (
        (model, None) if objective == "movement" else _without_copies(model, role)
    )
    n_pairs = _n_pairs(model)
    with reporting(None):  # how many attacks are done tells more than their steps
        attack = worst_gauge(
            attacked,
            group,
            role=role,
            objective=objective,
            n=max(_list_length(model, role, options.n_neighbours), 1),
            n_pairs=min(n_pairs, SHIFTED_PAIRS)
            if isinstance(group, Affine)
            else n_pairs,
            n_rows=LONG_LISTS if model.rank > WIDE else ATTACKED_LISTS,
            n_starts=options.effort.n_starts,
            n_steps=options.effort.n_steps,
            rng=rng,
        )
    # Back from places among the representatives to row numbers of the model.
    table = attack.table if representatives is None else representatives[attack.table]
    return replace(attack, table=table, typical_row=model.side(role).median_length)


def _typical_shift(side: Side) -> float:
    """Return the length of the shifts that ranges and attacks allow for."""
    # Of an odd number of rows, one is as long as the median. Rounding must not decide
    # whether a shift can take that row through the origin, which widens its ranges.
    return (1 + TIE) * LENGTH * side.median_length


def limits_of(
    model: FactorModel,
    roles: Sequence[Role],
    options: AuditOptions,
    attacks: Sequence[Attack],
    rng: np.random.Generator,
    stored: FactorModel,
) -> Limits:
    """Bound the cosines of all roles, certify the lists of sides, and put attacks beside the bounds.

    Ranges are those of linear and diagonal gauges, and of affine ones where rows may be shifted. Ranges and
    certificates are stated at `CURVE` and at the budget. Ranges are of rows as stored: in the dimensions that rows of
    very many columns span, other gauges are diagonal.
    """
    kappas, ranges = sorted({*CURVE, options.max_condition}), list[RangeSummary]()
    certificates: list[Certificate] = []
    for role in track(roles, "bounding cosines", len(roles)):
        shifted = shifted_sides(model, role)
        # Of two free shifts, as left-right cosines may have, ranges hold that of the
        # right rows alone. `holds_shifts` keeps such a range from being called a limit.
        side: SideName = "left" if shifted == ["left"] else "right"
        shifts = [_typical_shift(model.side(side))] if shifted else []
        few = min(_n_pairs(stored), Pairs(role).n_pairs(model))
        # Each pair has the gauge that is worst for it, so that the ends of many pairs
        # may lie beyond what any single gauge does to all of them (docs/theory.md, "How
        # far a cosine can move").
        ranges += range_summary(
            stored,
            role=role,
            budgets=kappas,
            shifts=shifts,
            side=side,
            n_pairs=few,
            rng=rng,
        )
    sides: list[SideName] = [role for role in roles if role != "cross"]
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
    """Certify lists against linear gauges, and against affine ones where rows may be shifted; copies count once."""
    if n < 1:
        return
    side, first = model.side(role), standing_rows(model, role)
    once_each, representatives = _without_copies(model, role)
    plans = [(0.0, max(100, min(ROWS, SEARCHED // len(side.directed))))]
    # A row of zeros takes the direction of any shift and may then enter every list:
    # nothing would be certain.
    if role in model.free_shifts and len(side.directed) == len(side):
        plans.append((SHIFT, SHIFTED_ROWS))
    for shift, size in plans:
        # Duplicates tie at every gauge: lists are certified among one row of each
        # group, then called by stored numbers.
        rows = once(sample_rows(side.directed, size, rng), first)
        group = (
            Affine(model.rank, side=role, max_shift=shift * side.median_length)
            if shift
            else None
        )
        places = np.searchsorted(representatives, rows)
        # An entry stays at κ where it leads the excluded rows by more than 2 ln κ in
        # artanh (docs/theory.md, "Certified neighbours"); shifts come first and take a
        # part of that lead.
        certified = certified_neighbours(
            once_each, role=role, n=n, rows=places, group=group
        )
        if first is not None:
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
            exact=len(rows) == len(once(side.directed, first)),
            entries=dict(zip(kappas, certified.curve(kappas).tolist(), strict=True)),
            lists=dict(zip(kappas, certified.list_curve(kappas).tolist(), strict=True)),
            tied_share=certified.tied_share,
            certified=certified,
        )


def _n_pairs(model: FactorModel) -> int:
    """Return how many pairs are bounded and attacked: fewer where their rows are long."""
    return 2_000 if model.rank <= WIDE else max(100, min(500, PAIR_CELLS // model.rank))


def _list_length(model: FactorModel, role: SideName, n: int | None) -> int:
    """Return the length of lists that leave a row out, copies counted once; below 1 where there are too few rows."""
    return list_length(
        n, len(once(model.side(role).directed, standing_rows(model, role))), left_out=1
    )


def _without_copies(model: FactorModel, role: SideName) -> tuple[FactorModel, Indices]:
    """Return the model with one row of each group of copies, and which rows of a side these are."""
    first, every = standing_rows(model, role), np.arange(len(model.side(role)))
    representatives = once(every, first)
    return (
        model if first is None else model.take(**{role: representatives})
    ), representatives
