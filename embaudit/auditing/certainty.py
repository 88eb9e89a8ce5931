"""How sure an answer is: proven, shown by an example, measured, declared or open.

An answer can rest on several grounds, such as a theorem about all models with the same
predictions and a share that was measured on these rows. The kind of the answer is the
kind of the weakest ground that its word needs, and its text names all grounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embaudit.auditing.diagnosis import Case, Diagnosis
from embaudit.auditing.finding import Finding, Kind
from embaudit.auditing.wording import Nouns
from embaudit.core.answer_word import AnswerWord
from embaudit.model import FactorModel


@dataclass(frozen=True)
class Certainty:
    """How sure an answer is."""

    kind: Kind
    """Kind of the weakest ground that the word of the answer needs."""
    text: str
    """All grounds, in sentences without the first capital and the last full stop."""


def certainty_of(
    word: AnswerWord,
    findings: Sequence[Finding],
    model: FactorModel,
    diagnosis: Diagnosis,
    declared: str,
) -> Certainty:
    """Say how sure an answer is.

    Parameters
    ----------
    word : AnswerWord
        The answer.
    findings : sequence of Finding
        The findings that the answer is drawn from.
    model : FactorModel
        The audited model.
    diagnosis : Diagnosis
        The cause of the cosines.
    declared : str
        The declared training and who declared it.
    """
    if word is AnswerWord.CHECK_FIRST:
        return _of_a_check(findings, declared)
    if word is AnswerWord.UNKNOWN:
        return _of_unknown(model, diagnosis)
    if word is AnswerWord.YES:
        return _of_fixed(findings, model, diagnosis, declared)
    if word is AnswerWord.NO:
        certainty = _of_free(model, diagnosis)
    else:
        certainty = _of_a_convention(findings, model, diagnosis)
    return _with_figures(certainty, findings)


def _of_a_check(findings: Sequence[Finding], declared: str) -> Certainty:
    """Say how sure it is that something is wrong, or that the rows are data."""
    (finding,) = findings
    if finding.code == "EMB106":
        text = "it is certain that they differ, and nothing here tested which is right"
        return Certainty(Kind.ASSUMED, text)
    if finding.kind is Kind.ASSUMED:
        return _as_declared(declared)
    if finding.code == "EMB411":
        text = f"evidence from {finding.measured_on}, which is not a proof"
        return Certainty(Kind.MEASURED, text)
    return Certainty(Kind.MEASURED, f"measured on {finding.measured_on}")


def _as_declared(declared: str) -> Certainty:
    text = f"as sure as what was declared ({declared}), because the rows do not show it"
    return Certainty(Kind.ASSUMED, text)


def _of_unknown(model: FactorModel, diagnosis: Diagnosis) -> Certainty:
    """Say that the answer is open, and which facts are known nevertheless."""
    nouns = Nouns.from_model(model, diagnosis.role)
    if diagnosis.freedom.moves is None:
        text = (
            f"it is not proven that the {nouns.predictions} fix these cosines, and no "
            "example shows that they do not"
        )
    else:
        text = (
            f"it is {_shown(diagnosis)} that {nouns.head}s with the same "
            f"{nouns.predictions} have other cosines. Nothing is proven about what "
            "training made of these"
        )
    return Certainty(Kind.UNDECIDED, text)


def _of_fixed(
    findings: Sequence[Finding],
    model: FactorModel,
    diagnosis: Diagnosis,
    declared: str,
) -> Certainty:
    """Say for which models it is proven that the cosines are fixed."""
    if diagnosis.case is Case.MADE_OF_PREDICTIONS:
        return _as_declared(declared)
    pinned = next(finding for finding in findings if finding.code == "pinned")
    text = f"proven for {pinned.scope.all_models}"
    if model.compared is not None:
        text += ". That training did so is declared, and nothing here tested it"
    elif "left" in model.link.unit_sides:
        text += f". That training compared cosines is declared ({declared}), not tested"
    elif model.link.unit_sides:
        nouns = Nouns.from_model(model, diagnosis.role)
        text += (
            f". That the {nouns.head} divides {nouns.label} rows by their lengths is "
            "declared, not tested"
        )
    return Certainty(Kind.PROVEN, text)


def _shown(diagnosis: Diagnosis) -> str:
    """Write how it is known that equivalent models have other cosines."""
    if diagnosis.freedom.kind is Kind.PROVEN:
        return "proven"
    return "shown by an example"


def _of_free(model: FactorModel, diagnosis: Diagnosis) -> Certainty:
    """Say how it is known that the predictions do not fix the cosines."""
    nouns = Nouns.from_model(model, diagnosis.role)
    text = (
        f"it is {_shown(diagnosis)} that {nouns.head}s with the same "
        f"{nouns.predictions} have other cosines"
    )
    return Certainty(diagnosis.freedom.kind, text)


def _of_a_convention(
    findings: Sequence[Finding], model: FactorModel, diagnosis: Diagnosis
) -> Certainty:
    """Say how sure it is that training, or the file, picked these cosines."""
    free = _of_free(model, diagnosis).text
    codes = [finding.code for finding in findings]
    if not {"EMB103", "order"} & set(codes):
        return Certainty(Kind.MEASURED, free)
    text = "The training is declared, and nothing here tested it"
    if diagnosis.case is Case.PENALTY:
        text = (
            "The rows agree with the declared penalty, which does not prove that "
            "training had it"
        )
    elif diagnosis.case is Case.PENALTY_CONTRADICTED:
        text = "The rows do not agree with the declared training"
    return Certainty(Kind.ASSUMED, f"{free}. {text}")


def _with_figures(certainty: Certainty, findings: Sequence[Finding]) -> Certainty:
    """Add the rows or pairs that the figures of the reason were measured on."""
    measured_on = dict.fromkeys(
        finding.measured_on for finding in findings if finding.measured_on
    )
    if not measured_on:
        return certainty
    text = f"{certainty.text}. Figures are measured on {' and '.join(measured_on)}"
    return Certainty(certainty.kind, text)
