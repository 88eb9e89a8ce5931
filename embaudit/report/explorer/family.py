"""A family of equal models that one slider runs through: rows in axes that it stretches, each at its own rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.equivalents import CANONICAL
from embaudit.canonical.form import at_exponent
from embaudit.canonical.library_scaling import log_condition
from embaudit.model import OPPOSITE, Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.attacks import Attack
    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.canonical import CanonicalForm
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
    """Equal models `rows · exp(step (t − origin))` and `other_rows · exp(−step (t − origin))`, t from low to high."""

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


def stored(model: FactorModel, some: FactorModel, side: SideName) -> Family:
    """Take the model at hand alone, where nothing but a shift moves it."""
    return _family("stored", some, side, np.zeros(model.rank))


def rotation(model: FactorModel, some: FactorModel, side: SideName) -> Family:
    """Turn both sides alike, which moves nothing: the control."""
    return _family("rotation", some, side, np.zeros(model.rank), high=90.0, places=90)


def folded(evidence: Evidence, some: FactorModel, side: SideName) -> Family | None:
    """Fold the gains of a final norm in, step by step; None without one, or where a gain is zero."""
    norm = None if evidence.norm is None else evidence.norm.norm
    if norm is None or norm.width != evidence.model.rank or side != "right" or not norm.gain.all():
        return None
    gains = np.log(np.abs(np.asarray(norm.gain, dtype=np.float64)))
    if np.ptp(gains) == 0:
        return None
    stops = ((0.0, "as stored"), (1.0, "folded"))
    shows, text = ((1.0, "Final norm folded in"),), _said(evidence, norm.title)
    return _family("folded", some, side, gains - gains.mean(), stops=stops, shows=shows, claim=text)


def _said(evidence: Evidence, title: str) -> str:
    return f"{title}, κ = {evidence.norm.norm.condition_number:.3g}" if evidence.norm is not None else title


def worst(evidence: Evidence, some: FactorModel, side: SideName) -> Family | None:
    """Walk to the worst linear gauge that was found; None where none was."""
    attack = found_attack(evidence, side)
    if attack is None:
        return None
    linear, _ = attack.gauge.on(side)
    axes, stretch, _ = np.linalg.svd(np.asarray(linear, dtype=np.float64))
    step = np.log(stretch) - np.log(stretch).mean()
    if np.ptp(step) < 1e-6:
        return None
    # How many lists it drives out is told of those here.
    sought, _, _ = attack.explain().partition(". ")
    shows, text = ((1.0, "Worst stretch found"),), f"{sought}."
    return _family("worst", some, side, step, turn=axes, basis=axes, shows=shows, claim=text)


def found_attack(evidence: Evidence, side: SideName) -> Attack | None:
    """Choose the attack on neighbour lists, or on cosines where lists were not attacked."""
    kinds = ("neighbours", "movement")
    able = [attack for attack in evidence.limits.attacks if attack.role == side and not attack.gauge.shifts]
    return min(able, key=lambda attack: kinds.index(attack.objective), default=None)


def canonical(audit: Audit, some: FactorModel, side: SideName) -> Family | None:
    """Run through the canonical family; None for one side alone, or where cosines are predicted."""
    evidence = audit.evidence
    if evidence.position is None or evidence.model.predicts is Equivalence.COSINES:
        return None
    form = evidence.position.form
    halfway = at_exponent(some, 0.5, form=form)
    logs = np.log(form.family[2])
    places = STEPS if len(logs) <= WIDE else FEW_STEPS
    return _family(
        EXPONENT,
        halfway,
        side,
        -logs if side == "right" else logs,
        origin=0.5,
        start=round(evidence.position.exponent * places) / places,
        places=places,
        stops=tuple(_stops(evidence, side)),
        shows=((0.0 if side == "right" else 1.0, "Prediction cosine"), (0.5, "Balanced")),
        claim=TASTE,
        kappas=tuple(_conditions(form, places)),
        is_gauge=form.is_full_rank,
        basis=form.maps(0.5)[side],
    )


def _stops(evidence: Evidence, side: SideName) -> Iterator[tuple[float, str]]:
    for each in evidence.equivalents:
        if each.kind == CANONICAL and each.exponent is not None:
            yield each.exponent, each.called(side)


def _conditions(form: CanonicalForm, places: int) -> Iterator[float]:
    for exponent in np.linspace(0, 1, places + 1):
        yield float(np.exp(log_condition(form, float(exponent))))


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
    if side.bias is None or not model.link.sees_biases:
        return np.zeros(len(side))
    return np.asarray(side.bias, dtype=np.float64)
