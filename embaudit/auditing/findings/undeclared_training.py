"""EMB102: the predictions do not fix the cosines, and training is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Case
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Severity
from embaudit.auditing.wording import Nouns, is_alone
from embaudit.model import FactorModel
from embaudit.model.objectives import Status, usual_objectives

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB102",
    title="the {predictions} do not fix the cosines, and training is not known",
    severities=(Severity.TIP,),
    measured=(
        "The audit makes an equivalent model with other cosines, and checks its "
        "{predictions}. It looks up the declared objective in the table of objectives "
        "(in docs/reading.md)."
    ),
    reported=(
        "If the {predictions} leave the cosines open and no objective is declared, or "
        "if no law is known for the declared objective, or if the training had a "
        "second set of vectors that was not loaded."
    ),
    meaning=(
        "Other models make the same {predictions} and have other cosines. It is not "
        "known whether training chose one of these models."
    ),
    why=(
        "Some objectives choose one of the equivalent models and some do not, so the "
        "answer depends on the objective."
    ),
    remedy=(
        "Declare the objective (`--objective`), or use prediction cosines, which are "
        "the same in all equivalent models (`embaudit fix`)."
    ),
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)

IN_SHORT = {
    Status.FREE: "free",
    Status.CHOSEN: "pinned by the penalty",
    Status.INPUTS: "tied to the inputs",
    Status.TRAINED: "trained directly",
    Status.TEMPERATURE: "a convention of the temperature",
    Status.UNKNOWN: "undecided",
}
"""What the cosines are under an objective, in a few words."""


def cases(model: FactorModel) -> Iterator[tuple[list[str], str]]:
    """Yield groups of usual objectives, and the state of the cosines under each group.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> list(cases(FactorModel.from_softmax([[1.0], [2.0]])))[1]
    (['softmax'], 'free')
    """
    groups: dict[Status, list[str]] = {}
    for row in usual_objectives(model.link):
        groups.setdefault(row.status, []).append(row.name)
    for status, names in groups.items():
        yield names, IN_SHORT[status]


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report free cosines of which it is not known if training chose them."""
    case = evidence.diagnosis.case
    if case is Case.UNDECLARED:
        yield _undeclared(evidence)
    elif case in (Case.NO_LAW, Case.OTHER_TABLE):
        yield _without_a_law(evidence)


def _undeclared(evidence: Evidence) -> Finding:
    """List the usual objectives and the state of the cosines under each."""
    model = evidence.model
    if is_alone(model):
        title = "one side does not fix the cosines, and training is not known"
        start = "Vectors that give the same scores have other cosines."
    else:
        title = "the predictions do not fix the cosines, and training is not known"
        start = "Models that predict the same have other cosines."
    listed = " ".join(
        f"Under {' or '.join(names)} the cosines are {state}."
        for names, state in cases(model)
    )
    objectives = ", ".join(row.name for row in usual_objectives(model.link))
    return _finding(
        evidence,
        title=title,
        text=(
            f"{start} Whether training chose among them depends on its objective. "
            f"{listed}"
        ),
        remedy=f"Name the objective ({objectives} or another one, `--objective`).",
    )


def _without_a_law(evidence: Evidence) -> Finding:
    """Report a training for which no law is known."""
    objective = evidence.diagnosis.objective
    assert objective is not None
    predictions = Nouns.from_model(evidence.model).predictions
    compared = "scores" if is_alone(evidence.model) else "predictions"
    return _finding(
        evidence,
        title="no known law says which cosines training chose",
        text=(
            f"The declared training minimises {objective.loss} "
            f"({evidence.declared_training}). With this loss the cosines are "
            f"{objective.cosines_given(predictions)}."
        ),
        remedy=(
            f"Compare models and lists by {compared} as long as no such law is known."
        ),
    )


def _finding(evidence: Evidence, *, title: str, text: str, remedy: str) -> Finding:
    """Make the finding on the cosines that the answer is about."""
    role = evidence.diagnosis.role
    return Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.UNDECIDED,
        scope=evidence.equivalence.scope,
        rows=Nouns.from_model(evidence.model, role).cosines,
        role=role,
        value=evidence.diagnosis.mean_move,
        title=title,
        text=text,
        remedy=remedy,
    )
