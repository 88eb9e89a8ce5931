"""Diagnosis: the cause that decides the cosines of one kind of pairs.

The diagnosis is computed once from the evidence. The findings on whether predictions
and training fix the cosines are written from it, so every finding uses the same
conclusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from embaudit.auditing.effect import MOVES, changes_lists, is_effect
from embaudit.auditing.identity import moved_rows
from embaudit.auditing.wording import is_alone
from embaudit.canonical.quadratic_forms import LARGEST_SHOWN
from embaudit.core.ties import exceeds, reaches
from embaudit.core.tolerances import FLOAT32_TIE, PRINTED_COSINE
from embaudit.heads import excludes_minimum
from embaudit.model import Equivalence, FactorModel, Role, SideName
from embaudit.model.objectives import OBJECTIVES, Objective, Status
from embaudit.model.trainings import known_objective
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.equivalence_class import Freedom
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport
    from embaudit.canonical import Pinning
    from embaudit.heads.conventions import NormEvidence

FAR = 0.25
"""Share of changed neighbours above which the declared penalty did not choose the rows.

Trained ALS models stay below it.
"""
DECAYED = 1e-2
"""Offset of the mean row of a head, in typical rows, above which the labels are at no
minimum of a loss with weight decay on all of them."""
DECAYING = ("softmax-decay", "logistic-decay")
"""Objectives with weight decay on all labels of a head."""


class Missing(Enum):
    """Reason why it is undecided whether predictions of unit rows fix the cosines."""

    ROWS = auto()
    """More rows may decide it."""
    METHOD = auto()
    """The rows have more columns than proofs are tried for."""
    OTHER = auto()
    """Neither more rows nor fewer columns would help, as far as is known."""


class Origin(Enum):
    """Part of the origin, which is the zero vector, in the cosines of labels."""

    DECIDES = auto()
    """Probabilities leave it free, and the mean row decides the cosines."""
    CHANGES_LITTLE = auto()
    """Probabilities leave it free, and removing the mean row changes little."""
    TIED = auto()
    """A declared soft-cap or normalisation ties it."""


class Agreement(Enum):
    """Agreement of cosines with prediction cosines."""

    EQUAL = auto()
    """They differ by rounding only."""
    NEAR = auto()
    """They differ, but not noticeably."""
    DIFFERENT = auto()
    """They differ noticeably."""


class Case(Enum):
    """Cause that decides the cosines; every model is exactly one case."""

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
    """Training sees cosines between the sides; cosines within a side stay free."""
    UNDECLARED = auto()
    """The cosines are free, and it is not declared how the model was trained."""
    NO_LAW = auto()
    """No law is known for the effect of the declared training on the cosines."""
    OTHER_TABLE = auto()
    """No law is known without the second table of the training, which was not loaded.
    """
    FREE = auto()
    """The declared training prefers none of the equivalent models."""
    NO_MINIMUM = auto()
    """The declared training prefers one model, but these rows are at no minimum."""
    INPUTS = auto()
    """The declared training has one solution, which depends on its inputs."""
    PENALTY = auto()
    """The penalty of the declared training chose the cosines: the rows obey its law."""
    PENALTY_UNTESTED = auto()
    """The declared penalty chose the cosines; its law could not be tested."""
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
    """Cause that decides the cosines of one kind of pairs, and their measurements."""

    role: Role
    """The kind of pairs."""
    predictions_hold: bool
    """False if an equivalent model predicts otherwise than the audited model."""
    differs_from_baseline: bool
    """True if the predictions differ from the predictions of the baseline."""
    contradicts_source: bool
    """True if the file states another training than the declared one."""
    has_two_spaces: bool
    """True if the table clearly has parts that do not share one coordinate system."""
    is_data: bool
    """True if the rows are data, which training did not learn."""
    freedom: Freedom
    """Whether equivalent models have other cosines, and why."""
    comparison_is_unknown: bool
    """True if it is not declared how training compared rows of length 1."""
    missing: Missing | None
    """Reason why the freedom of unit rows is undecided; None if it is decided."""
    is_rearranged: bool
    """True if rearranged rows of the same lengths show that cosines move."""
    case: Case
    """Cause that decides the cosines."""
    objective: Objective | None
    """Law of the declared training; None if no known training is declared."""
    penalty_gaps: tuple[PenaltyGap, ...]
    """Sides that are noticeably away from a minimum of the declared penalty."""
    contradicts_decay: bool
    """True for labels with a mean row that the declared weight decay would remove."""
    origin: Origin | None
    """Part of the origin in the cosines of labels; None for other cosines."""
    gains_decide: bool
    """True if the gains of a final norm decide the nearest labels."""
    is_tied: bool
    """True for labels of a head that is also the input embeddings."""
    unseen_decides: bool
    """True if components that no prediction sees decide cosines or lists."""
    agreement: Agreement | None
    """Agreement with prediction cosines; None if they were not compared."""
    lists_differ: bool
    """True if many neighbours differ from the neighbours by prediction cosines."""
    is_one_side: bool
    """True if the model has one side and nothing to predict with."""
    mean_move: float | None
    """Largest mean ``|Δcos|`` within a side in an equivalent model; None without one.
    """
    moves_in_a_visit: bool
    """True if the cosines move in an equivalent model that was visited."""

    @property
    def penalty_gap(self) -> PenaltyGap | None:
        """Distance from a minimum of the declared penalty; None if not noticeable."""
        for gap in self.penalty_gaps:
            if gap.movement.role == self.role:
                return gap
        return None


def diagnose(evidence: Evidence) -> Diagnosis:
    """Diagnose the cosines that the answer is about."""
    model, role = evidence.model, evidence.role
    equivalence, head, norm = evidence.equivalence, evidence.head, evidence.norm
    objective = known_objective(model.objective, alone=is_alone(model))
    is_of_labels = role == "right" and head is not None
    gaps = penalty_gaps(evidence)
    has_gap = any(gap.movement.role == role for gap in gaps)
    decay_is_contradicted = is_of_labels and contradicts_decay(evidence)
    freedom = equivalence.freedom[role]
    case = _case_of_predictions(model, freedom, objective)
    if case is None:
        case = _case_of_training(model, objective)
    # The law of the penalty is tested on the rows. Only if it was tested and holds, the
    # findings say that the penalty chose these cosines.
    if case is Case.PENALTY:
        if has_gap or decay_is_contradicted:
            case = Case.PENALTY_CONTRADICTED
        elif evidence.penalty is None:
            case = Case.PENALTY_UNTESTED
    agreement = None
    lists_differ = False
    if evidence.predicted is not None:
        for movement in evidence.predicted.movement:
            if movement.role != role:
                continue
            agreement = agreement_of(movement)
            lists_differ = agreement is not Agreement.EQUAL and changes_lists(movement)
    return Diagnosis(
        role=role,
        predictions_hold=evidence.predictions_hold,
        differs_from_baseline=_differs_from_baseline(evidence),
        contradicts_source=model.overruled is not None,
        has_two_spaces=_has_two_spaces(evidence),
        is_data=role == given_side(model) and role in model.sides,
        freedom=freedom,
        comparison_is_unknown=model.link.name == "unknown",
        missing=_missing(equivalence.pinning),
        is_rearranged=equivalence.rearrangement(role) is not None,
        case=case,
        objective=objective,
        penalty_gaps=gaps,
        contradicts_decay=decay_is_contradicted,
        origin=_origin(head) if role == "right" else None,
        gains_decide=role == "right" and norm is not None and gains_decide(norm),
        is_tied=is_of_labels
        and evidence.tying is not None
        and evidence.tying.status == "tied",
        unseen_decides=_unseen_decides(evidence),
        agreement=agreement,
        lists_differ=lists_differ,
        is_one_side=model.left is None and model.compared is None,
        mean_move=_largest_mean_move(evidence),
        moves_in_a_visit=any(
            movement.max_abs > FLOAT32_TIE for _, movement in evidence.visits(role)
        ),
    )


def given_side(model: FactorModel) -> SideName | None:
    """Return the side that training is known not to have learned, or None."""
    objective = known_objective(model.objective)
    if objective is not None and objective.status is Status.INPUTS:
        return "left"
    return None


def agreement_of(movement: Movement) -> Agreement:
    """Judge how far cosines move to prediction cosines."""
    if movement.max_abs <= FLOAT32_TIE:
        return Agreement.EQUAL
    if reaches(movement.mean_abs, MOVES):
        return Agreement.DIFFERENT
    return Agreement.NEAR


def gains_decide(norm: NormEvidence) -> bool:
    """Return True if folding in the gains of a norm changes many nearest labels."""
    nearest = norm.folded.nearest
    is_other_head = norm.norm.condition_number != 1
    return is_other_head and is_effect(nearest.share, nearest.n_rows)


def is_unseen_noticed(movement: Movement) -> bool:
    """Return True if removing unseen components moves the cosines noticeably."""
    return reaches(movement.mean_abs, PRINTED_COSINE) or reaches(
        movement.max_abs, MOVES
    )


def contradicts_decay(evidence: Evidence) -> bool:
    """Return True if a head has a mean row that its declared weight decay would remove.

    At a minimum, the gradients of the loss on the data and of the decay cancel for each
    label. The gradients on the data add up to zero over all labels, so the gradients of
    the decay do so as well, and the mean row is zero.
    """
    head, law = evidence.head, known_objective(evidence.model.objective)
    if head is None or law is None or law.name not in DECAYING:
        return False
    return head.origin_is_free and exceeds(head.offset, DECAYED)


def penalty_gaps(evidence: Evidence) -> tuple[PenaltyGap, ...]:
    """Return the sides that are away from a minimum of the declared penalty.

    The law of the penalty says which rows are at a minimum. The rows show whether
    training reached a minimum: their cosines and neighbour lists are compared with the
    cosines and lists at the minimum. Trained models are a little off, because training
    stops early.
    """
    if evidence.penalty is None:
        return ()
    gaps = []
    for movement in evidence.penalty.movement:
        changed = 1 - movement.top_n_overlap if movement.top_n else float("nan")
        lists_change = changes_lists(movement)
        if lists_change or reaches(movement.mean_abs, MOVES):
            is_far = lists_change and reaches(changed, FAR)
            gaps.append(PenaltyGap(movement, changed, lists_change, is_far))
    return tuple(gaps)


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


def _differs_from_baseline(evidence: Evidence) -> bool:
    """Return True if the scores differ from the scores of the baseline."""
    change = evidence.score_change
    if change is None:
        return False
    return not change.is_same_on_average or bool(moved_rows(evidence.model, change))


def _has_two_spaces(evidence: Evidence) -> bool:
    """Return True if parts of the rows clearly do not share one coordinate system."""
    return any(
        traits.spaces is not None and traits.spaces.is_clear
        for traits in evidence.traits
        if traits.role == evidence.role
    )


def _missing(pinning: Pinning | None) -> Missing | None:
    """Return the reason why the freedom of unit rows is undecided, or None."""
    if pinning is None or pinning.status != "undecided":
        return None
    if pinning.needed > LARGEST_SHOWN:
        return Missing.METHOD
    return Missing.ROWS if pinning.rows_missing else Missing.OTHER


def _origin(head: HeadReport | None) -> Origin | None:
    """Return the part of the origin in the cosines of the labels of a head."""
    if head is None:
        return None
    if head.origin_is_free:
        return Origin.DECIDES if head.origin_matters else Origin.CHANGES_LITTLE
    return Origin.TIED if head.link.guard else None


def _unseen_decides(evidence: Evidence) -> bool:
    """Return True if components that no prediction sees decide cosines or lists."""
    model, role = evidence.model, evidence.role
    for movement in evidence.unseen:
        if movement.role != role or role == given_side(model):
            continue
        if is_unseen_noticed(movement):
            return changes_lists(movement) or reaches(movement.mean_abs, MOVES)
    return False


def _largest_mean_move(evidence: Evidence) -> float | None:
    """Return the largest mean |Δcos| within a side.

    If unit rows were tested, the test holds the largest mean. Otherwise it is the
    largest mean of the equivalent models that were visited.
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
