"""Whether predictions and training together pin the cosines down (EMB101, EMB102, EMB103, EMB105)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.alone import in_titles, is_alone, said_of
from embaudit.auditing.claims.claim import Claim, Kind
from embaudit.auditing.claims.training import objective_of
from embaudit.auditing.finding import Finding, Severity
from embaudit.model import Equivalence, Pairs
from embaudit.model.objectives import Status, usual_objectives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.model.objectives import Objective

INSTEAD = (
    "Rank by what is predicted of both sides together. Products of two items are no more fixed than their cosines. "
    "Cosines of the predictions are fixed; only a test on your task says whether they suit it."
)
INSTEAD_ALONE = "Rank by the dot product; with the other side at hand, compare scores instead of vectors."
CONVENTION = "Read them as one convention, never across models; check them against cosines of the predictions."
CONVENTION_ALONE = "Read them as one convention, never across models; with the other side at hand, compare scores."


def identification(evidence: Evidence) -> Iterator[Finding]:
    """Ask what is left of the cosines once the objective has had its say."""
    role = evidence.role
    freedom = evidence.fibre.freedom[role]
    objective = objective_of(evidence)
    if freedom.moves is False or (objective is not None and objective.status is Status.PREDICTED):
        return
    if freedom.moves is None:
        title = said_of(evidence.model, "whether the predictions fix the cosines is undecided")
        remedy = "Read them as a convention of this training run until it is known."
        yield Finding("EMB105", Severity.TIP, title, _claim(evidence, freedom.because, freedom.kind), remedy)
        return
    yield _free(evidence)


def _free(evidence: Evidence) -> Finding:
    objective = objective_of(evidence)
    if evidence.model.predicts is Equivalence.COSINES:
        text = evidence.fibre.freedom[evidence.role].because
        text += " Training on left-right cosines alone leaves them open." * ("left" in evidence.model.link.unit_sides)
        return _not_fixed(evidence, "the predictions do not", _claim(evidence, text, Kind.SHOWN))
    if objective is None or objective.status is Status.UNKNOWN:
        return _not_known(evidence, objective)
    text = f"Training minimised {objective.loss}. Under it they are {objective.cosines}."
    if objective.status is Status.FREE:
        return _not_fixed(evidence, "neither predictions nor training", _claim(evidence, text, Kind.ASSUMED))
    claim = _claim(evidence, f"{text} The predictions alone would allow others.", Kind.ASSUMED)
    remedy = CONVENTION_ALONE if is_alone(evidence.model) else CONVENTION
    return Finding("EMB103", Severity.TIP, f"the cosines are {objective.status.value}", claim, remedy)


def _not_known(evidence: Evidence, objective: Objective | None) -> Finding:
    """Tell that nobody said how training went, or that there is no law for what was said."""
    alone = is_alone(evidence.model)
    if objective is not None:
        text = f"Training minimised {objective.loss}. Under it the cosines are {objective.cosines}."
        title = "no law tells which cosines the declared training chose"
        remedy = f"Compare models and lists by {'scores' if alone else 'what is predicted'} until there is one."
    else:
        names = ", ".join(row.name for row in usual_objectives(evidence.model.link))
        equal = "Vectors that give the same scores" if alone else "Equally predicting models"
        text = f"{equal} have other cosines; whether training chose one depends on its objective."
        title = f"{'one side does' if alone else 'the predictions do'} not fix the cosines, and training is not known"
        remedy = f"Name the objective ({names} or another one, `--objective`)."
    return Finding("EMB102", Severity.TIP, title, _claim(evidence, text, Kind.UNDECIDED), remedy)


def _not_fixed(evidence: Evidence, what: str, claim: Claim) -> Finding:
    remedy = INSTEAD_ALONE if is_alone(evidence.model) else in_titles(evidence.model, INSTEAD)
    return Finding("EMB101", Severity.ISSUE, said_of(evidence.model, f"{what} fix the cosines"), claim, remedy)


def _claim(evidence: Evidence, text: str, kind: Kind) -> Claim:
    """Make the claim of a finding; its number is the largest mean movement that was seen."""
    largest = max((m.mean_abs for _, m in evidence.visits() if m.role != "cross"), default=None)
    pinning = evidence.fibre.pinning
    if pinning is not None:
        largest = pinning.largest
    subject = f"{Pairs(evidence.role).titled(evidence.model)} cosines"
    text = said_of(evidence.model, text)
    return Claim("identification", kind, subject, evidence.fibre.scope, text, largest, "movement")
