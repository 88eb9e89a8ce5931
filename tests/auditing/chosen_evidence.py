"""Evidence with chosen numbers, so that conclusions are tested without measurements."""

from __future__ import annotations

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
"""Six users and five items."""
HEAD = FactorModel.from_softmax(DRAW.standard_normal((5, 3)))
"""A softmax head of five labels."""
EVERY_EQUIVALENT_MODEL = Scope("every equivalent model", whole=True)
FREE = Freedom(True, Kind.PROVEN, "The cosines can change.")
PINNED = Freedom(False, Kind.PROVEN, "The cosines cannot change.")
OPEN = Freedom(None, Kind.UNDECIDED, "No method decides whether cosines can change.")


def make_movement(
    role: str = "right", mean_abs: float = 0.2, max_abs: float = 0.5, **fields: Any
) -> Movement:
    """Return the movement of the cosines of all ten pairs."""
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


def make_drift(
    max_abs: float = 1e-15,
    tolerance: float = 1e-12,
    level: Equivalence = Equivalence.SCORES,
) -> Drift:
    """Return the change of the predictions under an equivalent model."""
    return Drift(level, max_abs, max_abs, tolerance, 6, exact=True)


def make_equivalent_model(
    name: str = "linear 1", kind: str = "linear", kappa: float = 2.0, shift: float = 0.0
) -> EquivalentModel:
    """Return an equivalent model that a gauge leads to."""
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


def make_equivalence_class(
    freedom: Freedom = FREE, *roles: str, **fields: Any
) -> EquivalenceClass:
    """Return the set of equivalent models with the same freedom for each role."""
    known = {
        "scope": EVERY_EQUIVALENT_MODEL,
        "outside": {},
        "pinning": None,
        "seen_rank": 3,
    }
    return EquivalenceClass(
        freedom=dict.fromkeys(roles or ("right",), freedom), **known | fields
    )


def make_evidence(
    model: FactorModel = MODEL,
    *visits: tuple[EquivalentModel, *tuple[Movement, ...]],
    **fields: Any,
) -> Evidence:
    """Return evidence of a model and of some equivalent models with equal predictions.

    A visit is an equivalent model and the movements of cosines under it.
    """
    known = {
        "equivalence": make_equivalence_class(),
        "drift": tuple(make_drift() for _ in visits),
    }
    return Evidence(
        model,
        equivalents=tuple(visit[0] for visit in visits),
        movement=tuple(visit[1:] for visit in visits),
        **known | fields,
    )


def make_equivalent_head(
    name: str = "linear 1", kind: str = "linear", mean_abs: float = 0.3, **fields: Any
) -> EquivalentHead:
    """Return an equivalent head; its probabilities change by a rounding error."""
    known = {"condition_number": 2.0, "shift": 0.0, "change": 1e-15, "tolerance": 1e-12}
    return EquivalentHead(
        name,
        kind,
        movement=make_movement(mean_abs=mean_abs),
        gauge=Gauge.identity(3),
        **known | fields,
    )


def make_neighbour_change(top1_changed: float = 0.5) -> NeighbourChange:
    """Return how many of 5 labels get another nearest label."""
    return NeighbourChange(
        5, True, top1_changed, top1_changed, top1_changed, 2, top1_changed, ()
    )


def make_shift_summary(median: float = 0.7, target: float = -1.0) -> ShiftSummary:
    """Return the shortest shifts after which pairs have the target cosine."""
    return ShiftSummary(
        target, 10, 0, True, {0.05: 0.1, 0.5: median, 0.95: 2.0}, 0.5, (), ()
    )


def make_argmaxable(*answers: bool, n_labels: int | None = None) -> Argmaxable:
    """Return which of the tested labels can have the largest probability.

    By default five labels are tested and all of them can.
    """
    can_be_largest = np.array(answers or [True] * 5)
    n_tested = len(can_be_largest)
    return Argmaxable(
        answer=np.where(can_be_largest, "yes", "no"),
        lead=np.zeros(n_tested),
        labels=np.arange(n_tested),
        names=np.array([f"label {i}" for i in range(n_tested)]),
        n_labels=n_labels or n_tested,
    )


def make_projector_cosines(n_labels: int = 20, rank: int = 3) -> ProjectorCosines:
    """Return projector cosines of labels whose rows have this rank."""
    return ProjectorCosines(np.zeros((1, 2), dtype=int), np.zeros(1), n_labels, rank)


def make_head_report(model: FactorModel = HEAD, **fields: Any) -> HeadReport:
    """Return the report of a head whose mean row decides the nearest labels.

    The mean row is half as long as a typical row.
    """
    known = {
        "affine_rank": 3,
        "n_panel": 5,
        "n_inputs": 256,
        "n_zero": 0,
        "n_aside": 0,
        "mean_norm": 1.0,
        "median_norm": 2.0,
        "centred": make_equivalent_head("mean row removed", "centring", 0.4),
        "neighbours": make_neighbour_change(),
        "equivalents": (),
        "constructions": (Construction(("cat", "dog"), 0.8, -1.0, -1.0, 0.9, 1e-15),),
        "shifts": (make_shift_summary(),),
        "argmax": make_argmaxable(),
        "projector": make_projector_cosines(),
        "logit_agreement": None,
        "panel": None,
        "pair": (0, 1),
    }
    return HeadReport(model=model, **known | fields)


def make_head_evidence(report: HeadReport | None = None, **fields: Any) -> Evidence:
    """Return evidence that consists of the report of a head."""
    if report is None:
        report = make_head_report()
    known = {"equivalence": make_equivalence_class()}
    return Evidence(report.model, head=report, **known | fields)


def make_centred_head_report(mean_norm: float = 0.2, **fields: Any) -> HeadReport:
    """Return the report of a head whose mean row changes few nearest labels."""
    known = {
        "centred": make_equivalent_head("mean row removed", "centring", 0.01),
        "neighbours": make_neighbour_change(0.01),
    }
    return make_head_report(mean_norm=mean_norm, **known | fields)


VISIT = (make_equivalent_model(), make_movement())
"""An equivalent model and the movement of item cosines under it."""
