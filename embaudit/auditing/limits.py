"""How far the cosines of a model could move at most: ranges of pairs, certified neighbours, and the worst gauge found.

The movement of an audit is what *some* equivalent models do; this is what *any* of them within a budget can do. An
attack shows what is reached, a range or a certificate what cannot be passed; the truth lies between the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from embaudit.attacks import Attack, worst_gauge
from embaudit.attacks.worst import LONG
from embaudit.attacks.worst import Objective as AttackObjective
from embaudit.auditing.effort import EFFORT
from embaudit.foundation.checked import RNG, as_generator
from embaudit.foundation.parallel import results_of
from embaudit.foundation.progress import reporting, track
from embaudit.gauges import Affine, GeneralLinear
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import sample_rows
from embaudit.model import Equivalence, Pairs
from embaudit.movements import twins
from embaudit.ranges import RangeSummary, certified_neighbours, range_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embaudit.foundation.checked import Floats, Indices
    from embaudit.gauges import GaugeGroup
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.ranges import CertifiedNeighbours

CURVE = (1.1, 1.25, 1.5, 2.0)
"""Condition numbers at which ranges and certificates are stated."""
ROWS = 1_000
"""Rows whose lists stand for all; fewer, from 100 on, where `SEARCHED` cosines would not suffice for them."""
SEARCHED = 50_000_000
WIDE = 256
"""Above this rank fewer pairs have to do."""
ATTACKED_RANK = 16_384
"""Above this rank no attack is made: also the span of a few rows then takes long to find."""
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
"""Above so many rows neighbour lists are not attacked: each step compares the listed rows with all of them."""


@dataclass(frozen=True)
class Certificate:
    """What share of the neighbour lists no gauge of a set can change."""

    role: SideName
    group: str
    """"linear" or "affine"."""
    max_shift: float
    """Longest shift, in median rows; 0 for linear gauges."""
    top_n: int
    """Length of the lists."""
    n_rows: int
    """Rows whose lists were certified."""
    exact: bool
    """Whether these were all rows."""
    entries: dict[float, float]
    """Share of list entries that stay, by κ."""
    lists: dict[float, float]
    """Share of lists that stay whole, by κ."""
    tied_share: float
    """Share of entries that tie with the first excluded row, so that nothing is certain about them."""
    found: CertifiedNeighbours = field(repr=False)
    """The lists themselves."""
    entries_without_twins: dict[float, float] = field(default_factory=dict)
    """`entries` of lists that hold one row of each group of twins; empty where fewer than three are left."""
    lists_without_twins: dict[float, float] = field(default_factory=dict)
    """`lists` of such lists."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return {name: value for name, value in vars(self).items() if name != "found"}


@dataclass(frozen=True)
class Limits:
    """What no gauge of a set within a budget can exceed, and what one was found to reach."""

    ranges: tuple[RangeSummary, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    attacks: tuple[Attack, ...] = ()
    rank: int = 0
    """Dimensions of the rows as stored, which they are about."""

    def to_dict(self) -> dict[str, Any]:
        """Return the `ranges`, `certificates` and `attacks` of the audit's JSON."""
        return {
            "ranges": [summary.to_dict() for summary in self.ranges],
            "certificates": [certificate.to_dict() for certificate in self.certificates],
            "attacks": [attack.to_dict() for attack in self.attacks],
        }


def shifted_sides(model: FactorModel, role: Role) -> list[SideName]:
    """Sides of a kind of pairs whose rows may be shifted without a change of predictions."""
    return [side for side in Pairs(role).sides if side in model.free_shifts]


def holds_shifts(model: FactorModel, role: Role, group: str) -> bool:
    """Whether a set of gauges has every free shift of these cosines: one has only affine gauges, two no set has.

    Bounds within a set that lacks one are of that set alone, and no limit of what equal models do.
    """
    return len(shifted_sides(model, role)) <= (group == "affine")


_Bounds: TypeAlias = tuple[tuple[RangeSummary, ...], tuple[Certificate, ...]]


class _Plan(NamedTuple):
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
    n_starts: int
    n_steps: int

    @classmethod
    def of(
        cls,
        model: FactorModel,
        roles: Sequence[Role],
        max_condition: float,
        *,
        n_neighbours: int,
        n_starts: int,
        n_steps: int,
        rng: RNG,
    ) -> LimitSearch:
        """Plan a search; the parameters are those of `limits`."""
        roles = [role for role in roles if all(len(model.side(side).directed) > 1 for side in Pairs(role).sides)]
        if model.predicts is Equivalence.COSINES or (model.rank == 1 and not model.free_shifts):
            roles = []
        n_pairs = 2_000 if model.rank <= WIDE else max(100, min(500, PAIR_CELLS // model.rank))
        kappas, draw = tuple(sorted({*CURVE, max_condition})), as_generator(rng)
        return cls(model, tuple(roles), kappas, max_condition, n_neighbours, n_pairs, draw, n_starts, n_steps)

    def jobs(self) -> list[Callable[[], Attack]]:
        """List the attacks that are to be carried out; the last takes longest."""
        return [partial(self.attack, plan) for side in self._sides[:1] for plan in self.attacks(side)]

    def limits(self, attacks: Sequence[Attack]) -> Limits:
        """Bound the cosines, and put attacks beside the bounds."""
        return Limits(*self.bounds(), tuple(attacks), self.model.rank)

    @property
    def _sides(self) -> list[SideName]:
        return [role for role in self.roles if role != "cross"]

    def bounds(self) -> _Bounds:
        """Bound the cosines of all roles, and certify the lists of sides."""
        roles, sides = self.roles, self._sides
        return (
            tuple(summary for role in track(roles, "bounding cosines", len(roles)) for summary in self.ranges(role)),
            tuple(one for side in track(sides, "certifying lists", len(sides)) for one in self.certificates(side)),
        )

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
        if min(self.n, len(alive) - 2) < 1:
            return
        size = max(100, min(ROWS, SEARCHED // len(alive)))
        yield self._certificate(role, sample_rows(alive, size, self.draw), len(alive), 0.0)
        if shifted_sides(self.model, role) and len(alive) == len(self.model.side(role)):
            yield self._certificate(role, sample_rows(alive, SHIFTED_ROWS, self.draw), len(alive), SHIFT)

    def _certificate(self, role: SideName, rows: Indices, n_alive: int, shift: float) -> Certificate:
        n = min(self.n, n_alive - 2)
        length = shift * self.model.side(role).median_length
        group = Affine(self.model.rank, side=role, max_shift=length) if shift else None
        found = certified_neighbours(self.model, role=role, n=n, rows=rows, group=group)
        groups = self._groups(role)
        alone = found if groups is None else self._without_twins(role, groups, rows, n, group)
        return Certificate(
            role=role,
            group="affine" if shift else "linear",
            max_shift=shift,
            top_n=n,
            n_rows=len(rows),
            exact=len(rows) == n_alive,
            entries=self._by_kappa(found.curve),
            lists=self._by_kappa(found.list_curve),
            tied_share=found.tied_share,
            entries_without_twins={} if alone is None else self._by_kappa(alone.curve),
            lists_without_twins={} if alone is None else self._by_kappa(alone.list_curve),
            found=found,
        )

    def _by_kappa(self, curve: Callable[[Sequence[float]], Floats]) -> dict[float, float]:
        return dict(zip(self.kappas, curve(self.kappas).tolist(), strict=True))

    def _groups(self, role: SideName) -> Indices | None:
        """Tell which row stands for each; None where no rows are twins."""
        found = twins(self.model, role=role)
        return found.first if found.copies.any() else None

    def _without_twins(
        self, role: SideName, first: Indices, rows: Indices, n: int, group: Affine | None
    ) -> CertifiedNeighbours | None:
        """Certify lists that hold one row of each group of twins, for such rows."""
        kept = np.unique(first[self.model.side(role).directed])
        n = min(n, len(kept) - 2)
        if n < 1:
            return None
        some = self.model.take(**{role: kept})
        asked = np.searchsorted(kept, np.unique(first[rows]))
        return certified_neighbours(some, role=role, n=n, rows=asked, group=group)

    def attacks(self, role: SideName) -> list[_Plan]:
        """Plan attacks on the mean movement and the lists of a side."""
        side, k = self.model.side(role), self.model.rank
        if k > ATTACKED_RANK:
            return []
        linear = GeneralLinear(k, max_condition=self.max_condition)
        plans: list[tuple[GaugeGroup, AttackObjective]]
        plans = [(linear, kind) for kind in self._objectives(role)]
        if shifted_sides(self.model, role):
            length = LENGTH * side.median_length
            affine = Affine(k, side=role, max_condition=self.max_condition, max_shift=length)
            plans.append((affine, "movement"))
        draws = self.draw.spawn(len(plans))
        return [_Plan(role, *plan, draw) for plan, draw in zip(plans, draws, strict=True)]

    def _objectives(self, role: SideName) -> list[AttackObjective]:
        attacks_lists = self._listed(role) > 0 and len(self.model.side(role)) <= ATTACKED_ROWS
        return ["movement", "neighbours"] if attacks_lists else ["movement"]

    def _listed(self, role: SideName) -> int:
        return min(self.n, len(self.model.side(role).directed) - 2)

    def attack(self, plan: _Plan) -> Attack:
        """Carry out one of them."""
        role, shifts, n = plan.role, isinstance(plan.group, Affine), self._listed(plan.role)
        with reporting(None):  # how many attacks are done tells more than their steps
            found = worst_gauge(
                self.model,
                plan.group,
                role=role,
                objective=plan.objective,
                n=max(n, 1),
                n_pairs=min(self.n_pairs, SHIFTED_PAIRS) if shifts else self.n_pairs,
                n_rows=LONG_LISTS if self.model.rank > LONG else ATTACKED_LISTS,
                n_starts=self.n_starts,
                n_steps=self.n_steps,
                rng=plan.draw,
            )
            once = float("nan") if plan.objective == "movement" else self._lost(found, role, n)
        return replace(found, lost_without_twins=once, typical_row=self.model.side(role).median_length)

    def _lost(self, attack: Attack, role: SideName, n: int) -> float:
        """Measure what an attack drives out of lists that hold one row of each group of twins."""
        first = self._groups(role)
        if first is None:
            return attack.achieved
        side, asked = self.model.side(role), np.unique(first[attack.table[:, 0]])
        n = min(n, len(np.unique(first[side.directed])) - 2)
        if n < 1:
            return float("nan")
        models = (self.model, attack.gauge.act(self.model))
        before, after = (neighbours(model.factors(role), n, rows=asked, first=first) for model in models)
        return 1 - float(before.kept_in(after).mean())


def limits(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    max_condition: float,
    n_neighbours: int = 10,
    n_starts: int = EFFORT.n_starts,
    n_steps: int = EFFORT.n_steps,
    rng: RNG = 0,
) -> Limits:
    """Bound the movement of a model's cosines under linear and diagonal gauges, and affine ones where these are free.

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
    n_starts, n_steps : int
        Starting points of each attack, and steps from each.
    rng : numpy Generator or int
        Draws pairs and rows.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors(np.random.default_rng(0).normal(size=(30, 4)))
    >>> found = limits(model, ["right"], max_condition=2.0)
    >>> all(attack.achieved <= attack.bound for attack in found.attacks)
    True
    """
    effort: dict[str, Any] = {"n_neighbours": n_neighbours, "n_starts": n_starts, "n_steps": n_steps, "rng": rng}
    search = LimitSearch.of(model, roles, max_condition, **effort)
    return search.limits(results_of(search.jobs(), "searching limits"))
