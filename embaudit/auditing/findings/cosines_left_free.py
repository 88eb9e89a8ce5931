"""EMB101: neither the predictions nor the training fix the cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Case
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Severity
from embaudit.auditing.wording import Nouns, is_alone

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB101",
    title="training does not fix the cosines",
    severities=(Severity.ISSUE,),
    measured=(
        "The audit makes an equivalent model with other cosines, and checks its "
        "{predictions}. It looks up the declared objective in the table of objectives "
        "(in docs/reading.md)."
    ),
    reported=(
        "If the {predictions} leave the cosines open and the declared training prefers "
        "none of the equivalent models. Also if rows are compared by distance, if "
        "training compared rows of one side only with rows of the other side by "
        "cosine, or if a head that was trained without a penalty is at no minimum."
    ),
    meaning=(
        "Other models make the same {predictions}, are as good under the declared "
        "objective, and have other cosines."
    ),
    why=(
        "The solver and its random start decided which of these models you got. "
        "Another training run can have other nearest neighbours."
    ),
    remedy=(
        "To rank the rows of one side for a row of the other side, use their scores. "
        "To compare rows of one side, use prediction cosines, which are the same in "
        "all these models (`embaudit fix`). If rows are compared by distance, rank "
        "them by distance."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report cosines that predictions leave free and that training did not choose."""
    case = evidence.diagnosis.case
    if case is Case.FREE:
        yield _left_free_by_training(evidence)
    elif case is Case.NO_MINIMUM:
        yield _at_no_minimum(evidence)
    elif case is Case.COSINES_BETWEEN_SIDES:
        yield _left_free_by_predictions(evidence)
    elif case is Case.DISTANCES:
        yield _of_distances(evidence)


def _left_free_by_training(evidence: Evidence) -> Finding:
    """Report a training that prefers none of the equivalent models."""
    model, diagnosis = evidence.model, evidence.diagnosis
    nouns = Nouns.from_model(model, diagnosis.role)
    objective = diagnosis.objective
    assert objective is not None
    return _finding(
        evidence,
        kind=Kind.ASSUMED,
        value=diagnosis.mean_move,
        title=f"neither {nouns.predictions} nor training fix the cosines",
        text=(
            f"The declared training minimises {objective.loss} "
            f"({evidence.declared_training}). With this loss the cosines are "
            f"{objective.cosines_given(nouns.predictions)}."
        ),
        remedy=_remedy(evidence),
    )


def _at_no_minimum(evidence: Evidence) -> Finding:
    """Report a head without a penalty whose labels planes can separate."""
    objective = evidence.diagnosis.objective
    assert objective is not None
    declared = evidence.declared_training
    return _finding(
        evidence,
        kind=Kind.ASSUMED,
        value=evidence.diagnosis.mean_move,
        title=(
            "without a penalty, this head is at no minimum, so training fixes no cosine"
        ),
        text=(
            f"The declared training minimises {objective.loss} ({declared}). "
            "The cosines depend on the step at which training stopped."
        ),
        remedy=(
            "Train with a penalty. If training saw more inputs than these, give all of "
            "them (`--inputs`). Cosines of the predictions are fixed."
        ),
    )


def _left_free_by_predictions(evidence: Evidence) -> Finding:
    """Report cosines between the sides that leave the cosines within a side free."""
    model, diagnosis = evidence.model, evidence.diagnosis
    nouns = Nouns.from_model(model, diagnosis.role)
    text = diagnosis.freedom.because
    if "left" in model.link.unit_sides:
        text += (
            f" Training on {nouns.user}-{nouns.item} cosines alone leaves them open."
        )
    return _finding(
        evidence,
        kind=Kind.SHOWN,
        value=diagnosis.mean_move,
        title=f"the {nouns.predictions} do not fix the cosines",
        text=text,
        remedy=_remedy(evidence),
    )


def _of_distances(evidence: Evidence) -> Finding:
    """Report that training compared rows by distance, which fixes no cosine."""
    movements = [
        movement.mean_abs for _, movement in evidence.visits(evidence.diagnosis.role)
    ]
    if evidence.model.compared == "hyperbolic":
        remedy = (
            "Rank by hyperbolic distance. An index by cosine or L2 distance returns "
            "other lists."
        )
    elif evidence.traits and all(traits.is_unit for traits in evidence.traits):
        remedy = (
            "Rank by Euclidean distance. All rows have length 1: if training divided "
            "rows by their lengths before it compared them, these distances sort rows "
            "as their cosines do, so declare `--compared cosine`."
        )
    else:
        remedy = (
            "Rank by Euclidean distance, and build the index with that metric (often "
            "called L2)."
        )
    return _finding(
        evidence,
        kind=Kind.PROVEN,
        value=max(movements, default=None),
        title="distances do not depend on the origin, so they fix no cosine",
        text=(
            "A cosine is an angle at the origin. Other models have the same distances, "
            "but their origin lies elsewhere."
        ),
        remedy=remedy,
    )


def _remedy(evidence: Evidence) -> str:
    """Write what to compare instead of cosines."""
    if is_alone(evidence.model):
        return (
            "Rank by the dot product. If you load the other side, too, compare scores "
            "instead of vectors."
        )
    items = Nouns.from_model(evidence.model, evidence.diagnosis.role).items
    return (
        f"Compare {items} by cosines of the predictions, which are fixed. Only a test "
        "on your task shows whether these cosines suit it. Dot products of two "
        f"{items} are no more fixed than their cosines."
    )


def _finding(
    evidence: Evidence,
    *,
    kind: Kind,
    value: float | None,
    title: str,
    text: str,
    remedy: str,
) -> Finding:
    """Make the finding on the cosines that the answer is about."""
    role = evidence.diagnosis.role
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=kind,
        scope=evidence.equivalence.scope,
        rows=Nouns.from_model(evidence.model, role).cosines,
        role=role,
        value=value,
        title=title,
        text=text,
        remedy=remedy,
    )
