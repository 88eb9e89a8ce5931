"""Diagnosis: what decides the cosines of one kind of pairs.

The diagnosis is computed once from the evidence. The findings on whether predictions
and training fix the cosines are written from it, so none of them draws another one
again.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from embaudit.auditing.effect import MOVES, is_effect
from embaudit.auditing.wording import is_alone
from embaudit.core.ties import exceeds, reaches
from embaudit.heads import excludes_minimum
from embaudit.model import Equivalence, FactorModel, Role
from embaudit.model.objectives import OBJECTIVES, Objective, Status
from embaudit.model.trainings import known_objective
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.equivalence_class import Freedom
    from embaudit.auditing.evidence import Evidence

FAR = 0.25
"""Share of changed neighbours above which the declared penalty did not choose the rows.

Trained ALS models stay below it.
"""
DECAYED = 1e-2
"""Offset of the mean row of a head, in typical rows, above which the labels are at no
minimum of a loss with weight decay on all of them."""
DECAYING = ("softmax-decay", "logistic-decay")
"""Objectives with weight decay on all labels of a head."""


class Case(Enum):
    """What decides the cosines; every model is exactly one case."""

    MADE_OF_PREDICTIONS = auto()
    """The vectors were made to hold prediction cosines of another model."""
    FIXED = auto()
    """The predictions fix the cosines."""
    UNDECIDED = auto()
    """Neither an equivalent model with other cosines nor a proof is known."""
    DISTANCES = auto()
    """Training compared rows by distance, which does not depend on the origin."""
    TEMPERATURE = auto()
    """Training compared two sides by cosines that a temperature divides."""
    COSINES_BETWEEN_SIDES = auto()
    """Training sees cosines between the sides, which leave those within a side free."""
    UNDECLARED = auto()
    """The cosines are free, and it is not declared how the model was trained."""
    NO_LAW = auto()
    """No law is known for what the declared training makes of the cosines."""
    OTHER_TABLE = auto()
    """No law is known without the second table of the training, which was not loaded."""
    FREE = auto()
    """The declared training prefers none of the equivalent models."""
    NO_MINIMUM = auto()
    """The declared training prefers one model, but these rows are at no minimum."""
    INPUTS = auto()
    """The declared training ties the cosines to its inputs."""
    PENALTY = auto()
    """The penalty of the declared training chose the cosines: the rows obey its law."""
    PENALTY_UNTESTED = auto()
    """A penalty may have chosen the cosines; its law could not be tested."""
    PENALTY_CONTRADICTED = auto()
    """The rows are not at a minimum of the declared penalty."""


CONVENTIONS = (
    Case.TEMPERATURE,
    Case.INPUTS,
    Case.PENALTY,
    Case.PENALTY_UNTESTED,
    Case.PENALTY_CONTRADICTED,
)
"""Cases in which training chose one of the equivalent models."""


@dataclass(frozen=True)
class PenaltyGap:
    """Distance of the rows of a side from a minimum of the declared penalty."""

    movement: Movement
    """Movement of the cosines and lists to the minimum."""
    share_changed: float
    """Share of neighbours that differ at the minimum; NaN if there are no lists."""
    lists_change: bool
    """True if lists change noticeably."""
    is_far: bool
    """True if so many neighbours differ that the penalty did not choose the rows."""


@dataclass(frozen=True)
class Diagnosis:
    """What decides the cosines of one kind of pairs."""

    role: Role
    """The kind of pairs."""
    case: Case
    """What decides their cosines."""
    freedom: Freedom
    """Whether equivalent models have other cosines, and why."""
    objective: Objective | None
    """Law of the declared training; None if no known training is declared."""
    mean_move: float | None
    """Largest mean ``|Δcos|`` within a side in an equivalent model; None without one."""
    penalty_gaps: tuple[PenaltyGap, ...]
    """Sides whose rows are noticeably away from a minimum of the declared penalty."""
    contradicts_decay: bool
    """True if a head has a mean row that the declared weight decay would remove."""


def diagnose(evidence: Evidence) -> Diagnosis:
    """Diagnose the cosines that the answer is about."""
    model, role = evidence.model, evidence.role
    objective = known_objective(model.objective, alone=is_alone(model))
    gaps = _penalty_gaps(evidence)
    contradicts_decay = _contradicts_decay(evidence, objective)
    freedom = evidence.equivalence.freedom[role]
    case = _case_of_predictions(model, freedom, objective)
    if case is None:
        case = _case_of_training(model, objective)
    if case is Case.PENALTY:
        # The law of the penalty is tested on the rows. Only if it was tested and holds,
        # the findings say that the penalty chose these cosines.
        is_off = any(gap.movement.role == role for gap in gaps)
        if is_off or (contradicts_decay and role == "right"):
            case = Case.PENALTY_CONTRADICTED
        elif evidence.penalty is None:
            case = Case.PENALTY_UNTESTED
    return Diagnosis(
        role=role,
        case=case,
        freedom=freedom,
        objective=objective,
        mean_move=_largest_mean_move(evidence),
        penalty_gaps=gaps,
        contradicts_decay=contradicts_decay,
    )


def _case_of_predictions(
    model: FactorModel, freedom: Freedom, objective: Objective | None
) -> Case | None:
    """Return the case that predictions decide; None if it depends on the training."""
    status = None if objective is None else objective.status
    if status is Status.PREDICTED:
        return Case.MADE_OF_PREDICTIONS
    # Training cannot change cosines that the predictions fix.
    if freedom.moves is False:
        return Case.FIXED
    if status is Status.TEMPERATURE and model.link.name == "cosine":
        return Case.TEMPERATURE
    if freedom.moves is None:
        return Case.UNDECIDED
    if model.link.measures_distances:
        return Case.DISTANCES
    if model.predicts is Equivalence.COSINES:
        return Case.COSINES_BETWEEN_SIDES
    return None


def _case_of_training(model: FactorModel, objective: Objective | None) -> Case:
    """Return how training chose among models with the same predictions."""
    if objective is None:
        return Case.UNDECLARED
    if objective.status is Status.UNKNOWN:
        if is_alone(model) and objective.name not in OBJECTIVES:
            return Case.OTHER_TABLE
        return Case.NO_LAW
    if objective.status is Status.FREE:
        return Case.FREE
    if objective.name == "logistic" and excludes_minimum(model):
        return Case.NO_MINIMUM
    if objective.status is Status.INPUTS:
        return Case.INPUTS
    return Case.PENALTY


def _penalty_gaps(evidence: Evidence) -> tuple[PenaltyGap, ...]:
    """Return the sides whose rows are away from a minimum of the declared penalty.

    The law of the penalty says which rows are at a minimum. Whether training reached a
    minimum is seen from the rows: their cosines and neighbour lists are compared with
    those at the minimum. Trained models are a little off, because training stops early.
    """
    if evidence.penalty is None:
        return ()
    gaps = []
    for movement in evidence.penalty.movement:
        changed = 1 - movement.top_n_overlap if movement.top_n else float("nan")
        lists_change = is_effect(changed, movement.n_lists)
        if lists_change or reaches(movement.mean_abs, MOVES):
            is_far = lists_change and reaches(changed, FAR)
            gaps.append(PenaltyGap(movement, changed, lists_change, is_far))
    return tuple(gaps)


def _contradicts_decay(evidence: Evidence, objective: Objective | None) -> bool:
    """Return True if a head has a mean row that its declared weight decay would remove.

    At a minimum, the pulls of the decay on the labels add up to zero, because those of
    the data do so already.
    """
    head = evidence.head
    if head is None or objective is None or objective.name not in DECAYING:
        return False
    return head.origin_is_free and exceeds(head.offset, DECAYED)


def _largest_mean_move(evidence: Evidence) -> float | None:
    """Return the largest mean |Δcos| within a side.

    The test of unit rows has it if there is one; otherwise it is that of the visits.
    """
    pinning = evidence.equivalence.pinning
    if pinning is not None:
        return pinning.largest
    movements = [
        movement.mean_abs
        for _, movement in evidence.visits()
        if movement.role != "cross"
    ]
    return max(movements, default=None)
