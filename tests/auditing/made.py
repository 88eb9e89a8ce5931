"""Evidence with chosen numbers, so that conclusions are tested without measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.auditing.equivalence_class import EquivalenceClass, Freedom
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Kind, Scope
from embaudit.auditing.heads import HeadReport
from embaudit.canonical.equivalents import EquivalentModel, GaugedModel
from embaudit.gauges import Gauge
from embaudit.heads.argmaxable import Argmaxable
from embaudit.heads.equivalents import Construction, EquivalentHead
from embaudit.heads.label_cosines import ProjectorCosines
from embaudit.heads.shifts import NeighbourChange, ShiftSummary
from embaudit.model import Equivalence, FactorModel
from embaudit.model.drift import Drift
from embaudit.movements.movement import Movement

DRAW = np.random.default_rng(0)
MODEL = FactorModel.from_user_item(
    DRAW.standard_normal((6, 3)), DRAW.standard_normal((5, 3))
)
HEAD = FactorModel.from_softmax(DRAW.standard_normal((5, 3)))
EVERY = Scope("every equivalent model", whole=True)
FREE = Freedom(True, Kind.PROVEN, "They may be others.")
PINNED = Freedom(False, Kind.PROVEN, "They may not be others.")
OPEN = Freedom(None, Kind.UNDECIDED, "Nobody knows.")


def flags(kind: type) -> tuple[bool, bool, bool]:
    """Whether a dataclass is frozen, compared by its fields, and shown by them."""
    given = kind.__dataclass_params__  # type: ignore[attr-defined]
    return given.frozen, given.eq, given.repr


def moved(
    role: str = "right", mean_abs: float = 0.2, max_abs: float = 0.5, **fields: Any
) -> Movement:
    """Movement of all ten pairs."""
    known = {
        "n_pairs": 10,
        "n_all_pairs": 10,
        "exact": True,
        "n_zero": 0,
        "mean": 0.0,
        "rms": 0.0,
        "pearson": 0.0,
        "ci_low": 0.0,
        "ci_high": 0.0,
        "quantiles": {0.5: 0.0},
        "spearman": 0.0,
        "sign_flips": 0.0,
        "top_n": 0,
        "top_n_overlap": float("nan"),
        "n_lists": 0,
        "tied_lists": float("nan"),
    }
    return Movement(role=role, mean_abs=mean_abs, max_abs=max_abs, **known | fields)


def drift(
    max_abs: float = 1e-15,
    tolerance: float = 1e-12,
    level: Equivalence = Equivalence.SCORES,
) -> Drift:
    """Change of the predictions."""
    return Drift(level, max_abs, max_abs, tolerance, 6, exact=True)


def equal(
    name: str = "linear 1", kind: str = "linear", kappa: float = 2.0, shift: float = 0.0
) -> EquivalentModel:
    """Equivalent model by a gauge."""
    return GaugedModel(
        name=name,
        kind=kind,
        title=name,
        gauge=Gauge.identity(3),
        condition_number=kappa,
        amplification=kappa,
        shift=shift,
        shifted_side="right",
    )


def equivalence(
    freedom: Freedom = FREE, *roles: str, **fields: Any
) -> EquivalenceClass:
    """Set of equivalent models."""
    known = {"scope": EVERY, "outside": {}, "pinning": None, "seen_rank": 3}
    return EquivalenceClass(
        freedom=dict.fromkeys(roles or ("right",), freedom), **known | fields
    )


def evidence(
    model: FactorModel = MODEL,
    *visits: tuple[EquivalentModel, *tuple[Movement, ...]],
    **fields: Any,
) -> Evidence:
    """Evidence of a model with the visits given, whose predictions all stay."""
    known = {"equivalence": equivalence(), "drift": tuple(drift() for _ in visits)}
    return Evidence(
        model,
        equivalents=tuple(v[0] for v in visits),
        movement=tuple(v[1:] for v in visits),
        **known | fields,
    )


def equal_head(
    name: str = "linear 1", kind: str = "linear", mean_abs: float = 0.3, **fields: Any
) -> EquivalentHead:
    """Head whose probabilities stay."""
    known = {"condition_number": 2.0, "shift": 0.0, "change": 1e-15, "tolerance": 1e-12}
    return EquivalentHead(
        name,
        kind,
        movement=moved(mean_abs=mean_abs),
        gauge=Gauge.identity(3),
        **known | fields,
    )


def change(top1_changed: float = 0.5) -> NeighbourChange:
    """Nearest labels that become others."""
    return NeighbourChange(
        5, True, top1_changed, top1_changed, top1_changed, 2, top1_changed, ()
    )


def opposite(median: float = 0.7, target: float = -1.0) -> ShiftSummary:
    """Shifts that turn pairs around."""
    return ShiftSummary(
        target, 10, 0, True, {0.05: 0.1, 0.5: median, 0.95: 2.0}, 0.5, (), ()
    )


def argmax(*answers: bool, n_labels: int | None = None) -> Argmaxable:
    """Whether each label asked about can lead."""
    can = np.array(answers or [True] * 5)
    n = len(can)
    return Argmaxable(
        answer=np.where(can, "yes", "no"),
        lead=np.zeros(n),
        labels=np.arange(n),
        names=np.array([f"label {i}" for i in range(n)]),
        n_labels=n_labels or n,
    )


def projector(n_labels: int = 20, rank: int = 3) -> ProjectorCosines:
    """What the span of the labels says."""
    return ProjectorCosines(np.zeros((1, 2), dtype=int), np.zeros(1), n_labels, rank)


def head(model: FactorModel = HEAD, **fields: Any) -> HeadReport:
    """Head whose mean row is half a typical row long and decides the neighbours."""
    known = {
        "affine_rank": 3,
        "n_panel": 5,
        "n_inputs": 256,
        "n_zero": 0,
        "n_aside": 0,
        "mean_norm": 1.0,
        "median_norm": 2.0,
        "centred": equal_head("mean row removed", "centring", 0.4),
        "neighbours": change(),
        "equivalents": (),
        "constructions": (Construction(("cat", "dog"), 0.8, -1.0, -1.0, 0.9, 1e-15),),
        "shifts": (opposite(),),
        "argmax": argmax(),
        "projector": projector(),
        "logit_agreement": None,
        "panel": None,
        "pair": (0, 1),
    }
    return HeadReport(model=model, **known | fields)


def of_head(found: HeadReport | None = None, **fields: Any) -> Evidence:
    """Evidence of a head alone."""
    found = head() if found is None else found
    return Evidence(found.model, head=found, **{"equivalence": equivalence()} | fields)


def quiet(mean_norm: float = 0.2, **fields: Any) -> HeadReport:
    """Head whose mean row decides nothing."""
    known = {
        "centred": equal_head("mean row removed", "centring", 0.01),
        "neighbours": change(0.01),
    }
    return head(mean_norm=mean_norm, **known | fields)


def changed(found: Evidence, **fields: Any) -> Evidence:
    """Evidence with some fields changed."""
    return replace(found, **fields)
