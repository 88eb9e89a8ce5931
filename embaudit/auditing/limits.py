"""How far the cosines of a model could move at most: ranges of pairs, certified neighbours, and the worst gauge found.

The movement of an audit is what *some* equivalent models do; this is what *any* of them within a budget can do. An
attack shows what is reached, a range or a certificate what cannot be passed; the truth lies between the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.attacks import Attack, worst_gauge
from embaudit.attacks.worst import Objective as AttackObjective
from embaudit.foundation.checked import RNG, as_generator
from embaudit.foundation.progress import track
from embaudit.gauges import GeneralLinear
from embaudit.kernels.rows import sample_rows
from embaudit.model import Equivalence, Pairs
from embaudit.ranges import RangeSummary, certified_neighbours, range_summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from embaudit.model import FactorModel, Role, SideName

CURVE = (1.1, 1.25, 1.5, 2.0)
"""Condition numbers at which ranges and certificates are stated."""
ROWS = 1_000
"""Rows whose lists stand for all; fewer, from 100 on, where `SEARCHED` cosines would not suffice for them."""
SEARCHED = 50_000_000
WIDE = 256
"""Above this rank fewer pairs and shorter attacks have to do."""
ATTACKED_RANK = 512
"""Above this rank no attack is made: each of its steps decomposes k×k matrices."""
ATTACKED_ROWS = 50_000
"""Above so many rows neighbour lists are not attacked: each step compares the listed rows with all of them."""


@dataclass(frozen=True)
class Certificate:
    """What share of the neighbour lists no linear gauge within κ can change."""

    role: SideName
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


@dataclass(frozen=True)
class Limits:
    """What no equivalent model within a budget can exceed, and what one was found to reach."""

    ranges: tuple[RangeSummary, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    attacks: tuple[Attack, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the `ranges`, `certificates` and `attacks` of the audit's JSON."""
        return {
            "ranges": [summary.to_dict() for summary in self.ranges],
            "certificates": [vars(certificate) for certificate in self.certificates],
            "attacks": [attack.to_dict() for attack in self.attacks],
        }


def _certificate(
    model: FactorModel, role: SideName, n: int, kappas: Sequence[float], draw: np.random.Generator
) -> Certificate | None:
    alive = model.side(role).directed
    n = min(n, len(alive) - 2)
    if n < 1:
        return None
    size = max(100, min(ROWS, SEARCHED // len(alive)))
    rows = sample_rows(alive, size, draw)
    found = certified_neighbours(model, role=role, n=n, rows=rows)
    return Certificate(
        role=role,
        top_n=n,
        n_rows=len(rows),
        exact=len(rows) == len(alive),
        entries=dict(zip(kappas, found.curve(kappas).tolist(), strict=True)),
        lists=dict(zip(kappas, found.list_curve(kappas).tolist(), strict=True)),
        tied_share=found.tied_share,
    )


def limits(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    max_condition: float,
    n_neighbours: int = 10,
    rng: RNG = 0,
) -> Limits:
    """Bound the movement of a model's cosines under linear and diagonal gauges.

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
    if model.predicts is Equivalence.COSINES or model.rank == 1:
        return Limits()
    draw = as_generator(rng)
    kappas = sorted({*CURVE, max_condition})
    n_pairs = 500 if model.rank > WIDE else 2_000
    ranges: list[RangeSummary] = []
    for role in track(roles, "ranges", len(roles)):
        few = min(n_pairs, Pairs(role).n_pairs(model))
        ranges += range_summary(model, role=role, budgets=kappas, n_pairs=few, rng=draw)
    sides: list[SideName] = [role for role in roles if role != "cross"]
    lists = [_certificate(model, side, n_neighbours, kappas, draw) for side in track(sides, "certificates", len(sides))]
    certificates = tuple(certificate for certificate in lists if certificate is not None)
    group = GeneralLinear(model.rank, max_condition=max_condition)
    return Limits(tuple(ranges), certificates, tuple(_attacks(model, group, sides[:1], n_neighbours, n_pairs, draw)))


def _attacks(
    model: FactorModel, group: GeneralLinear, sides: list[SideName], n: int, n_pairs: int, draw: np.random.Generator
) -> Iterator[Attack]:
    """Attack the mean movement and the neighbour lists of a side, with less effort where steps are dear."""
    starts, steps = (1, 3) if model.rank > WIDE else (3, 20)
    for side in sides if model.rank <= ATTACKED_RANK else []:
        n_rows = len(model.factors(side))
        kinds: list[AttackObjective] = ["movement"]
        n = min(n, n_rows - len(model.zero_rows(side)) - 2)
        kinds += ["neighbours"] if n > 0 and n_rows <= ATTACKED_ROWS else []
        for kind in track(kinds, "attacks", len(kinds)):
            yield worst_gauge(
                model,
                group,
                role=side,
                objective=kind,
                n=max(n, 1),
                n_pairs=n_pairs,
                n_rows=50,
                n_starts=starts,
                n_steps=steps,
                rng=draw,
            )
