"""EMB103: the cosines are a convention of the training."""

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
    "EMB103",
    title=(
        "the cosines are a convention: chosen by the regulariser, tied to the inputs, "
        "or left open by a temperature"
    ),
    severities=(Severity.TIP,),
    measured=(
        "The audit looks up the declared objective in the table of objectives (in "
        "docs/reading.md). If training divided cosines between two sides by a "
        "temperature, the audit makes an equivalent model in which half of the squared "
        "length of each row lies in dimensions that only one side uses."
    ),
    reported=(
        "If the {predictions} leave the cosines open and the declared training prefers "
        "one of the equivalent models, because of its penalty or its inputs. Also if "
        "training divided cosines between two sides by a temperature."
    ),
    meaning=(
        "The {predictions} do not choose among the equivalent models, but the declared "
        "training prefers one of them. If cosines between two sides were divided by a "
        "temperature, the {predictions} fix the order of these cosines. The cosines "
        "within a side then depend on the temperature, and on dimensions that only one "
        "side uses."
    ),
    why=(
        "The cosines are a convention. You can reproduce them, but another penalty, "
        "other inputs or another temperature gives other cosines for the same data."
    ),
    remedy=(
        "Never compare these cosines across models, and check them against prediction "
        "cosines."
    ),
    reference=(
        "Srebro, Rennie, Jaakkola: Maximum-Margin Matrix Factorization (NIPS 2004), on "
        "penalties of both factors."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report cosines that training chose among those of equivalent models."""
    case = evidence.diagnosis.case
    if case is Case.TEMPERATURE:
        yield _left_open_by_a_temperature(evidence)
    elif case is Case.INPUTS:
        yield _chosen(
            evidence,
            "the fit has one solution, but rescaling the features changes these "
            "cosines",
        )
    elif case is Case.PENALTY:
        yield _chosen(evidence, "the penalty of the training chose the cosines")
    elif case is Case.PENALTY_UNTESTED:
        yield _chosen(
            evidence,
            "weight decay picked these cosines; another decay would pick others",
        )
    elif case is Case.PENALTY_CONTRADICTED:
        yield _chosen(
            evidence, "these rows are not at a minimum of the declared penalty"
        )


def _uniqueness(evidence: Evidence) -> str:
    """Write that the fit to given inputs has one solution, which depends on them."""
    law = evidence.diagnosis.objective
    assert law is not None
    solution = "one solution"
    if evidence.model.free_shifts and "right" in law.shifts:
        solution = "one solution up to a shift"
    return f"For these inputs the fit has {solution}."


def _chosen(evidence: Evidence, title: str) -> Finding:
    """Report that a penalty, or given inputs, chose one equivalent model."""
    model, diagnosis = evidence.model, evidence.diagnosis
    objective = diagnosis.objective
    assert objective is not None
    predictions = Nouns.from_model(model, diagnosis.role).predictions
    if is_alone(model):
        remedy = (
            "Read these cosines as one convention, and never compare them across "
            "models. If you load the other side, too, compare scores."
        )
    else:
        remedy = (
            "Read these cosines as one convention, and never compare them across "
            "models. Check them against cosines of the predictions."
        )
    text = (
        f"The declared training minimises {objective.loss} "
        f"({evidence.declared_training}). With this loss the cosines are "
        f"{objective.cosines_given(predictions)}. The {predictions} alone would allow "
        "other cosines."
    )
    if diagnosis.case is Case.INPUTS:
        text += f" {_uniqueness(evidence)}"
    if diagnosis.case is Case.PENALTY_UNTESTED:
        text += " It was not tested whether the rows are at a minimum of the penalty."
    return _finding(
        evidence, value=diagnosis.mean_move, title=title, text=text, remedy=remedy
    )


def _left_open_by_a_temperature(evidence: Evidence) -> Finding:
    """Report that a temperature fixes only the order between the sides."""
    diagnosis = evidence.diagnosis
    nouns = Nouns.from_model(evidence.model, diagnosis.role)
    declared = evidence.declared_training
    depend = (
        "because these also depend on the temperature and on dimensions that one side "
        "has alone."
    )
    if is_alone(evidence.model):
        text = (
            "Training compared these rows with others by cosines divided by a "
            f"temperature ({declared}). This does not fix {nouns.cosines}, {depend}"
        )
    else:
        text = (
            f"Training compared {nouns.users} with {nouns.items} by cosines divided by "
            f"a temperature ({declared}). For each {nouns.user} the predictions fix "
            f"the order of the {nouns.items}. They do not fix a level such as 0.80, "
            f"and not {nouns.cosines}, {depend}"
        )
    return _finding(
        evidence,
        value=diagnosis.freedom.mean_abs,
        title=f"temperature and one-sided dimensions decide {nouns.cosines}",
        text=text,
        remedy=(
            "Read these cosines as one convention, and never compare them across "
            "models. If the temperature was fixed during training, declare "
            "`--objective fixed-temperature`: then the rows may fix these cosines."
        ),
    )


def _finding(
    evidence: Evidence, *, value: float | None, title: str, text: str, remedy: str
) -> Finding:
    """Make the finding on the cosines that the answer is about."""
    role = evidence.diagnosis.role
    return Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.ASSUMED,
        scope=evidence.equivalence.scope,
        rows=Nouns.from_model(evidence.model, role).cosines,
        role=role,
        value=value,
        title=title,
        text=text,
        remedy=remedy,
    )
