"""A family of equivalent models that one slider runs through: rows in axes that it stretches, each at its own rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.equivalents import CANONICAL
from embaudit.canonical.form import at_exponent
from embaudit.canonical.position import log_condition
from embaudit.model import OPPOSITE, Equivalence

if TYPE_CHECKING:
    from embaudit.attacks import Attack
    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.core.checked import Floats
    from embaudit.model import FactorModel, SideName

EXPONENT = "exponent"
"""The kind of the canonical family."""
TASTE = "What the predictions fix is not better taste: it says what the model predicts, and no more."
"""Beside the cosines of what is predicted."""
STEPS = 40
"""Places of the slider of exponents; the condition number is known at each."""
FEW_STEPS, WIDE = 10, 256
"""The same above this rank, where each takes long."""


@dataclass(frozen=True, eq=False)
class Family:
    """Equivalent models `rows · exp(step (t − origin))`, `other_rows · exp(−step (t − origin))`, t from low to high."""

    kind: str
    """"exponent", "worst", "folded", "rotation" or "stored"."""
    rows: Floats
    """(m, d) the rows explored, at the origin."""
    other_rows: Floats
    """(n, d) those they are multiplied with."""
    row_bias: Floats
    """(m,) what is added to the scores of each row."""
    other_bias: Floats
    """(n,) the same of the others."""
    step: Floats
    """(d,) how fast each axis is stretched."""
    origin: float = 0.0
    low: float = 0.0
    high: float = 1.0
    start: float = 0.0
    """Position of the slider at first."""
    places: int = 100
    """Places of the slider between its ends."""
    stops: tuple[tuple[float, str], ...] = ()
    """Places with a name."""
    shows: tuple[tuple[float, str], ...] = ()
    """Places that a button leads to, and what it says."""
    kappas: tuple[float, ...] | None = None
    """κ between the model at hand and each place; None where it follows from the steps."""
    is_gauge: bool = True
    """True if a gauge leads there from the model at hand, so that exact ranges are known."""
    claim: str = ""
    """Sentence of the audit on this family."""
    basis: Floats | None = None
    """(k, d) the linear map from rows as stored; None for the identity."""
    home: tuple[float, float] = (0.0, 0.0)
    """Position of the shift at the origin."""


def families_of(
    audit: Audit, some: FactorModel, side: SideName, centred: tuple[float, float] | None
) -> tuple[Family, ...]:
    """Collect the families that move something: exponents, the worst gauge, the final norm, else one control.

    Parameters
    ----------
    some : FactorModel
        The rows of both sides that are explored.
    centred : (float, float), optional
        The shift that subtracts the mean row, where rows may be shifted: canonical forms have it subtracted.
    """
    evidence, model = audit.evidence, audit.evidence.model
    exponents = canonical(evidence, some, side) if model.left is not None else None
    moving = [each for each in (worst(evidence, some, side), folded(evidence, some, side)) if each is not None]
    if exponents is not None and centred is not None:
        exponents = replace(exponents, home=centred)
    still = np.zeros(model.rank)
    if not moving and exponents is None and centred is None:
        # The control turns both sides alike, which moves nothing.
        moving = [_family("rotation", some, side, still, high=90.0, places=90)]
    elif not moving:
        # The model at hand, which nothing but a shift moves.
        moving = [_family("stored", some, side, still)]
    return (*((exponents,) if exponents is not None else ()), *moving)


def folded(evidence: Evidence, some: FactorModel, side: SideName) -> Family | None:
    """Fold the gains of a final norm in, step by step; None without one, or where a gain is zero."""
    norm = None if evidence.norm is None else evidence.norm.norm
    if norm is None or norm.width != evidence.model.rank or side != "right" or not norm.gain.all():
        return None
    # The sign of a gain turns its axis over, which moves no cosine, so only sizes matter.
    gains = np.log(np.abs(np.asarray(norm.gain, dtype=np.float64)))
    # Equal gains scale all axes alike, and nothing moves.
    if np.ptp(gains) == 0:
        return None
    stops, shows = ((0.0, "as stored"), (1.0, "folded")), ((1.0, "Final norm folded in"),)
    text = f"{norm.title}, κ = {norm.condition_number:.3g}"
    # A factor common to all axes moves no cosine; without it neither side grows as the other shrinks.
    return _family("folded", some, side, gains - gains.mean(), stops=stops, shows=shows, claim=text)


def worst(evidence: Evidence, some: FactorModel, side: SideName) -> Family | None:
    """Walk to the worst linear gauge that was found; None where none was."""
    attack = found_attack(evidence, side)
    if attack is None:
        return None
    linear, _ = attack.gauge.on(side)
    # With G = U S Vᵀ the turn by V moves no cosine: rows in the axes U, stretched by S, show all that G does.
    axes, stretch, _ = np.linalg.svd(np.asarray(linear, dtype=np.float64))
    # The stretch S^t leads evenly from the model at t = 0 to the worst gauge at t = 1, where κ is κ(G)^t.
    step = np.log(stretch) - np.log(stretch).mean()
    # A gauge that stretches all axes alike moves nothing.
    if np.ptp(step) < 1e-6:
        return None
    # How many lists it drives out is told of those here.
    sought, _, _ = attack.explain().partition(". ")
    shows, text = ((1.0, "Worst stretch found"),), f"{sought}."
    return _family("worst", some, side, step, turn=axes, basis=axes, shows=shows, claim=text)


def found_attack(evidence: Evidence, side: SideName) -> Attack | None:
    """Choose the attack on neighbour lists, or on cosines where lists were not attacked."""
    kinds = ("neighbours", "movement")
    # A family stretches axes and shifts nothing, so it cannot lead to gauges that do.
    able = [attack for attack in evidence.limits.attacks if attack.role == side and not attack.gauge.shifts]
    return min(able, key=lambda attack: kinds.index(attack.objective), default=None)


def canonical(evidence: Evidence, some: FactorModel, side: SideName) -> Family | None:
    """Run through the canonical family; None for one side alone, or where cosines are predicted."""
    if evidence.position is None or evidence.model.predicts is Equivalence.COSINES:
        return None
    form = evidence.position.form
    logs = np.log(form.family[2])
    places = STEPS if len(logs) <= WIDE else FEW_STEPS
    visited = [each for each in evidence.equivalents if each.kind == CANONICAL and each.exponent is not None]
    # From the exponent ½ to e one side is multiplied by s^(e − ½), and the other is divided by it.
    return _family(
        EXPONENT,
        at_exponent(some, 0.5, form=form),
        side,
        -logs if side == "right" else logs,
        origin=0.5,
        start=round(evidence.position.exponent * places) / places,
        places=places,
        stops=tuple((each.exponent, each.called(side)) for each in visited),
        # Where the other side is whitened, the cosines of this one are those of its predictions.
        shows=((0.0 if side == "right" else 1.0, "Prediction cosine"), (0.5, "Balanced")),
        claim=TASTE,
        kappas=tuple(float(np.exp(log_condition(form, float(e)))) for e in np.linspace(0, 1, places + 1)),
        is_gauge=form.is_full_rank,
        basis=form.maps(0.5)[side],
    )


def _family(
    kind: str, some: FactorModel, side: SideName, step: Floats, *, turn: Floats | None = None, **fields: Any
) -> Family:
    """Take the rows of both sides of a small model, turned into other axes where these are given."""
    other = OPPOSITE[side]
    rows, other_rows = (np.asarray(some.factors(name), dtype=np.float64) for name in (side, other))
    if turn is not None:
        rows, other_rows = rows @ turn, other_rows @ turn
    return Family(kind, rows, other_rows, _bias(some, side), _bias(some, other), step, **fields)


def _bias(model: FactorModel, name: SideName) -> Floats:
    side = model.side(name)
    # A bias that the link does not see changes no prediction.
    if side.bias is None or not model.link.sees_biases:
        return np.zeros(len(side))
    return np.asarray(side.bias, dtype=np.float64)
