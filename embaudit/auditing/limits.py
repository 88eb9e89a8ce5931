"""Bounds of the movement of cosines: ranges of pairs, certified neighbours, and the worst gauge found.

The movement of an audit is what *some* equivalent models do; this is what *any* of them within a budget can do. An
attack shows what is reached, a range or a certificate what cannot be passed; the truth lies between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from embaudit.attacks import Attack, worst_gauge
from embaudit.attacks.worst import LONG
from embaudit.attacks.worst import Objective as AttackObjective
from embaudit.core.checked import RNG, as_generator
from embaudit.core.progress import reporting, track
from embaudit.gauges import Affine, GeneralLinear
from embaudit.linalg.rows import sample_rows
from embaudit.model import Equivalence, Pairs
from embaudit.movements.twins import once, standing_rows
from embaudit.ranges import RangeSummary, certified_neighbours, range_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embaudit.auditing.effort import Effort
    from embaudit.core.checked import Floats, Indices
    from embaudit.gauges import GaugeGroup
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.ranges import CertifiedNeighbours

CURVE = (1.1, 1.25, 1.5, 2.0)
"""Condition numbers at which ranges and certificates are stated."""
ROWS = 1_000
"""Rows whose lists stand for all; fewer, from 100 on, where `SEARCHED` cosines would not suffice for them."""
SEARCHED = 50_000_000
WIDE = 256
"""Rank above which fewer pairs are attacked."""
ATTACKED_RANK = 16_384
"""Rank above which no attack is made: also the span of a few rows then takes long to find."""
PAIR_CELLS = 2**19
"""Entries of the rows of pairs whose ranges are stated above that rank, from 100 pairs on."""
LENGTH = 1.0
"""Length of the shifts that ranges and attacks allow for, in median rows."""
SHIFT = 0.1
"""Length of the shifts that lists are certified against, in median rows; beside longer ones nothing is certain."""
SHIFTED_PAIRS = 500
"""Pairs that an attack with shifts looks at."""
SHIFTED_ROWS = 100
"""Rows whose lists are certified against shifts too, which takes every excluded row into account."""
ATTACKED_LISTS = 50
"""Rows whose lists are attacked."""
LONG_LISTS = 8
"""Such rows where rows are long: the attack looks at the span of all that is near them."""
ATTACKED_ROWS = 50_000
"""Number of rows above which lists are not attacked: each step compares the listed rows with all of them."""


@dataclass(frozen=True)
class Certificate:
    """Share of the neighbour lists that no gauge of a set can change; lists hold one row of each group of copies."""

    role: SideName
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
    """Share of entries that tie with the first excluded row, so that nothing is certain about them."""
    certified: CertifiedNeighbours = field(repr=False)
    """The lists themselves."""


@dataclass(frozen=True)
class Limits:
    """Bounds that no gauge of a set within a budget exceeds, and the worst gauges found."""

    ranges: tuple[RangeSummary, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    attacks: tuple[Attack, ...] = ()
    rank: int = 0
    """Dimensions of the rows as stored, which they are about."""


def shifted_sides(model: FactorModel, role: Role) -> list[SideName]:
    """Sides of a kind of pairs whose rows may be shifted without a change of predictions."""
    return [side for side in Pairs(role).sides if side in model.free_shifts]


def holds_shifts(model: FactorModel, role: Role, group: str) -> bool:
    """Check that a set of gauges has every free shift of these cosines: one has only affine gauges, two no set has.

    Bounds within a set that lacks one are of that set alone, and no limit of what equivalent models do.
    """
    return len(shifted_sides(model, role)) <= (group == "affine")


class _PlannedAttack(NamedTuple):
    """One attack."""

    role: SideName
    group: GaugeGroup
    objective: AttackObjective
    draw: np.random.Generator


@dataclass(frozen=True)
class LimitSearch:
    """One search for limits: a model as it is stored, budgets, and effort."""

    model: FactorModel
    roles: tuple[Role, ...]
    """Kinds of pairs; none where no cosine can move."""
    kappas: tuple[float, ...]
    max_condition: float
    n: int
    n_pairs: int
    draw: np.random.Generator
    effort: Effort

    @classmethod
    def of(
        cls,
        model: FactorModel,
        roles: Sequence[Role],
        max_condition: float,
        *,
        n_neighbours: int,
        effort: Effort,
        rng: RNG,
    ) -> LimitSearch:
        """Plan a search.

        Parameters
        ----------
        model : FactorModel
            The model; one that predicts cosines has only rotations left and nothing to bound.
        roles : sequence of {"left", "right", "cross"}
            Which cosines.
        max_condition : float
            The budget of the attack; ranges and certificates are stated at it too.
        n_neighbours : int
            Length of the lists.
        effort : Effort
            How many starting points each attack has, and how many steps from each.
        rng : numpy Generator or int
            Draws pairs and rows.
        """
        roles = [role for role in roles if all(len(model.side(side).directed) > 1 for side in Pairs(role).sides)]
        if model.predicts is Equivalence.COSINES or (model.rank == 1 and not model.free_shifts):
            roles = []
        n_pairs = 2_000 if model.rank <= WIDE else max(100, min(500, PAIR_CELLS // model.rank))
        kappas, draw = tuple(sorted({*CURVE, max_condition})), as_generator(rng)
        return cls(model, tuple(roles), kappas, max_condition, n_neighbours, n_pairs, draw, effort)

    def jobs(self) -> list[Callable[[], Attack]]:
        """List the attacks that are to be carried out; the last takes longest."""
        return [partial(self.attack, plan) for side in self._sides[:1] for plan in self.attacks(side)]

    def limits(self, attacks: Sequence[Attack]) -> Limits:
        """Bound the cosines of all roles, certify the lists of sides, and put attacks beside the bounds."""
        roles, sides = self.roles, self._sides
        return Limits(
            tuple(summary for role in track(roles, "bounding cosines", len(roles)) for summary in self.ranges(role)),
            tuple(
                certificate
                for side in track(sides, "certifying lists", len(sides))
                for certificate in self.certificates(side)
            ),
            tuple(attacks),
            self.model.rank,
        )

    @property
    def _sides(self) -> list[SideName]:
        return [role for role in self.roles if role != "cross"]

    def ranges(self, role: Role) -> Iterator[RangeSummary]:
        """Summarise ranges under linear and diagonal gauges, and under affine ones where rows may be shifted."""
        few = min(self.n_pairs, Pairs(role).n_pairs(self.model))
        shifted = shifted_sides(self.model, role)
        side: SideName = "left" if shifted == ["left"] else "right"
        shifts = [LENGTH * self.model.side(side).median_length] if shifted else []
        yield from range_summary(
            self.model, role=role, budgets=self.kappas, shifts=shifts, side=side, n_pairs=few, rng=self.draw
        )

    def certificates(self, role: SideName) -> Iterator[Certificate]:
        """Certify lists against linear gauges, and against affine ones where rows may be shifted."""
        alive = self.model.side(role).directed
        if self._listed(role) < 1:
            return
        size = max(100, min(ROWS, SEARCHED // len(alive)))
        yield self._certificate(role, sample_rows(alive, size, self.draw), 0.0)
        if shifted_sides(self.model, role) and len(alive) == len(self.model.side(role)):
            yield self._certificate(role, sample_rows(alive, SHIFTED_ROWS, self.draw), SHIFT)

    def _certificate(self, role: SideName, drawn: Indices, shift: float) -> Certificate:
        """Certify the lists of some rows of a side within a set of gauges, one row of each group of copies."""
        model, representatives = self._once(role)
        first, n = standing_rows(self.model, role), self._listed(role)
        rows = once(drawn, first)
        length = shift * self.model.side(role).median_length
        group = Affine(self.model.rank, side=role, max_shift=length) if shift else None
        certified = certified_neighbours(
            model, role=role, n=n, rows=np.searchsorted(representatives, rows), group=group
        )
        if first is not None:
            certified = replace(
                certified, rows=rows, indices=np.where(certified.indices < 0, -1, representatives[certified.indices])
            )
        return Certificate(
            role=role,
            group="affine" if shift else "linear",
            max_shift=shift,
            top_n=n,
            n_rows=len(rows),
            exact=len(rows) == len(once(self.model.side(role).directed, first)),
            entries=self._by_kappa(certified.curve),
            lists=self._by_kappa(certified.list_curve),
            tied_share=certified.tied_share,
            certified=certified,
        )

    def _by_kappa(self, curve: Callable[[Sequence[float]], Floats]) -> dict[float, float]:
        return dict(zip(self.kappas, curve(self.kappas).tolist(), strict=True))

    def _once(self, role: SideName) -> tuple[FactorModel, Indices]:
        """Return the model with one row of each group of copies, and which rows of a side these are."""
        first, every = standing_rows(self.model, role), np.arange(len(self.model.side(role)))
        representatives = once(every, first)
        return (self.model if first is None else self.model.take(**{role: representatives})), representatives

    def attacks(self, role: SideName) -> list[_PlannedAttack]:
        """Plan attacks on the mean movement and the lists of a side."""
        side, k = self.model.side(role), self.model.rank
        if k > ATTACKED_RANK:
            return []
        linear = GeneralLinear(k, max_condition=self.max_condition)
        plans: list[tuple[GaugeGroup, AttackObjective]] = [(linear, "movement")]
        if self._listed(role) > 0 and len(side) <= ATTACKED_ROWS:
            plans.append((linear, "neighbours"))
        if shifted_sides(self.model, role):
            length = LENGTH * side.median_length
            affine = Affine(k, side=role, max_condition=self.max_condition, max_shift=length)
            plans.append((affine, "movement"))
        draws = self.draw.spawn(len(plans))
        return [_PlannedAttack(role, *plan, draw) for plan, draw in zip(plans, draws, strict=True)]

    def _listed(self, role: SideName) -> int:
        return min(self.n, len(once(self.model.side(role).directed, standing_rows(self.model, role))) - 2)

    def attack(self, plan: _PlannedAttack) -> Attack:
        """Run one planned attack: lists hold one row of each group of copies, pairs are of all rows."""
        role, shifts, n = plan.role, isinstance(plan.group, Affine), self._listed(plan.role)
        model, representatives = (self.model, None) if plan.objective == "movement" else self._once(role)
        with reporting(None):  # how many attacks are done tells more than their steps
            attack = worst_gauge(
                model,
                plan.group,
                role=role,
                objective=plan.objective,
                n=max(n, 1),
                n_pairs=min(self.n_pairs, SHIFTED_PAIRS) if shifts else self.n_pairs,
                n_rows=LONG_LISTS if self.model.rank > LONG else ATTACKED_LISTS,
                n_starts=self.effort.n_starts,
                n_steps=self.effort.n_steps,
                rng=plan.draw,
            )
        table = attack.table if representatives is None else representatives[attack.table]
        return replace(attack, table=table, typical_row=self.model.side(role).median_length)
