"""How much work an audit is, counted from the sizes of a model before anything is done.

Counts follow what is done: rows are mapped and multiplied, cosines are tallied, lists are searched, attacks climb. What
takes neither products nor tallies is told in as many tallied cosines as take as long; the factors come from
measurements (`benchmarks/bench_cost.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from embaudit.attacks.spanned import SPANNED
from embaudit.auditing.effort import EFFORT, Effort
from embaudit.auditing.equivalents import n_equivalent
from embaudit.auditing.evidence import require_roles
from embaudit.auditing.head_work import head_work
from embaudit.auditing.heads import PANEL, panel_size
from embaudit.auditing.limits import ATTACKED_RANK, ATTACKED_ROWS
from embaudit.kernels.stretch import WIDE
from embaudit.model import Equivalence, Softmax
from embaudit.model.drift import compared
from embaudit.movements.few_coordinates import rows_drawn
from embaudit.movements.movement import EXACT_PAIRS, SEARCHED
from embaudit.movements.panel import SUMMED, WHOLE

if TYPE_CHECKING:
    from embaudit.gauges import GaugeGroup
    from embaudit.model import FactorModel, Role

VISIT, ROW, RANGE = 45_000.0, 1 / 3, 9_000.0
"""Cosines that take as long as what each visit does besides, a number of a row, and a dimension in which ranges are."""
TILED = 13
"""Cosines of all pairs that are tallied in the time of one drawn pair, whose rows lie apart."""


@dataclass(frozen=True)
class Work:
    """Counts of what takes time."""

    models: int
    """Equal models that are visited."""
    read: float
    """Bytes of rows that are passed over, at least."""
    products: float
    """Multiplications of rows with maps and with each other, each with its addition."""
    cosines: float
    """Drawn pairs whose cosines are compared, and what takes as long as that."""


@dataclass(frozen=True)
class _Sizes:
    """What the counts depend on."""

    rows: tuple[int, ...]
    """Of the right side, and of the left one if there is one."""
    rank: int
    roles: tuple[Role, ...]
    effort: Effort

    def pairs(self, role: Role) -> float:
        """Pairs of one kind."""
        right, left = self.rows[0], self.rows[-1]
        return right * left if role == "cross" else (right if role == "right" else left) ** 2 / 2

    @property
    def looked_at(self) -> Iterator[tuple[int, list[Role]]]:
        """Sides that stand in the pairs, with the kinds of pairs that they stand in."""
        for size, side in zip(self.rows, ("right", "left"), strict=False):
            among = [role for role in self.roles if role in (side, "cross")]
            if among:
                yield size, among

    def products(self) -> float:
        """Products of one visit."""
        k, found = self.rank, 0.0
        # Maps in very many dimensions are made of transforms.
        mapped = k if k <= WIDE else 0
        for size, among in self.looked_at:
            drawn = [role for role in among if self.pairs(role) > EXACT_PAIRS]
            all_held = size <= WHOLE or len(drawn) < len(among)
            held = size if all_held else min(size, 2 * self.effort.n_pairs)
            lists = min(size, self.effort.n_lists, max(50, SEARCHED // size))
            found += held * k * mapped + lists * size * k
            found += 2 * (size if size <= WHOLE else min(held, SUMMED)) * k**2 * bool(drawn)
            found += size * k * mapped * (not all_held)
        # Above that many dimensions the products before are kept.
        found += sum(self.pairs(role) * k * (2 if mapped else 1) for role in self.roles if self._is_exact(role))
        return found + 2 * self._scores() * k

    def cosines(self) -> float:
        """Cosines tallied in one visit."""
        exact = sum(self.pairs(role) / TILED for role in self.roles if self._is_exact(role))
        return exact + VISIT + self.effort.n_pairs * sum(not self._is_exact(role) for role in self.roles)

    def _is_exact(self, role: Role) -> bool:
        return self.pairs(role) <= EXACT_PAIRS

    def _scores(self) -> float:
        left, right = compared(self.rows[1] if len(self.rows) > 1 else 256, self.rows[0], self.rank)
        return left * right

    def besides(self) -> float:
        """Everything but visits and attacks: ranges, traits, and what all visits share."""
        return ROW * sum(self.rows) * self.rank + RANGE * len(self.roles) * min(self.rank, WIDE)

    @property
    def attacked(self) -> int:
        """Rows of the side that is attacked; 0 where none is."""
        side = next((role for role in self.roles if role != "cross"), None)
        return 0 if side is None or self.rank > ATTACKED_RANK else self.rows[0 if side == "right" else -1]

    def attacks(self, *, shifted: bool) -> float:
        """Cosines that take as long as the attacks on one side."""
        size, k = self.attacked, self.rank
        if not size:
            return 0.0
        if k > SPANNED:
            return (1e6 + 3e6 * shifted) * (0.3 + 0.7 * (self.effort.n_steps + 7) / 27)
        lists = 6e5 + 5e4 * k if size <= ATTACKED_ROWS else 0.0
        climbs: float = (self.effort.n_starts / 3) ** 0.6 * (self.effort.n_steps + 7) / 27
        return (9e5 + 240 * k**2 + lists) * (0.2 + 0.8 * climbs) + 3.6e4 * k * shifted


def work_of(
    model: FactorModel,
    *,
    groups: Sequence[str | GaugeGroup] = (),
    roles: Sequence[Role] | None = None,
    effort: Effort = EFFORT,
) -> Work:
    """Count the work of an audit.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> small, large = (FactorModel.from_vectors(draw.normal(size=(n, 4))) for n in (100, 6_000))
    >>> few, many = (work_of(one) for one in (small, large))
    >>> few.models, many.models, few.products < many.products, few.cosines < many.cosines
    (19, 19, True, True)
    """
    is_head, k = isinstance(model.link, Softmax), model.rank
    whole = [len(model.right), *([] if model.left is None else [len(model.left)])]
    rows = [min(whole[0], panel_size(k, PANEL, effort.n_lists)), *whole[1:]] if is_head else whole
    sizes = _Sizes(tuple(rows), min(k, sum(rows)), require_roles(model, roles), effort)
    is_attacked = model.predicts is not Equivalence.COSINES and sizes.attacked > 0
    shifted = sizes.roles[0] in model.free_shifts
    searched = is_attacked * (1 + (sizes.attacked <= ATTACKED_ROWS) + shifted)
    grams = 2 if rows_drawn(whole[0], k) is None else 1
    models = n_equivalent(model, groups, effort.n_gauges) + searched
    passed = 1 + models * (max(rows) > WHOLE)
    cosines = models * sizes.cosines() + sizes.besides()
    cosines += sizes.attacks(shifted=shifted) if is_attacked else 0.0
    searched_too, looked_at = head_work(model, effort) if is_head else (0.0, 0.0)
    return Work(
        models=models,
        read=float(passed * sum(model.factors(side).nbytes for side in model.sides)),
        products=models * sizes.products() + grams * whole[0] * k**2 * is_head + searched_too,
        cosines=cosines + looked_at,
    )
