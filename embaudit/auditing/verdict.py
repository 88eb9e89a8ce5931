"""The verdict: claims in an order that people can follow, and what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from embaudit.auditing.alone import is_alone
from embaudit.auditing.answer import FREEDOM, Word
from embaudit.auditing.claims.predicted import seen_of
from embaudit.model import Equivalence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.auditing.answer import Answer
    from embaudit.auditing.claims import Claim
    from embaudit.auditing.evidence import Evidence


@dataclass(frozen=True)
class Statement:
    """A few sentences of the verdict, and the names of the claims they are written from."""

    text: str
    claims: tuple[str, ...]


def statements(evidence: Evidence, claims: Sequence[Claim], answer: Answer) -> tuple[Statement, ...]:
    """Choose the claims that the verdict consists of, and add what to do."""
    known = {claim.name: claim for claim in claims}
    role = evidence.role
    free = next((f"{name}:{role}" for name in FREEDOM if f"{name}:{role}" in known), "")
    seen = ("origin", "shortest", "stretched") if evidence.head is not None else (f"moved:{role}", f"drawn:{role}")
    # What training would leave open is beside the point where the predictions leave nothing open.
    order = (
        "predictions",
        *seen,
        "norm",
        "ones",
        free,
        "logits",
        *(() if free.startswith("pinned") else ("training",)),
    )
    said = [Statement(known[name].text, (name,)) for name in order if name in known]
    if not evidence.predictions_hold:
        return tuple(said)
    return (*said, Statement(_advice(evidence, answer), answer.claims))


def verdict(said: Sequence[Statement]) -> str:
    """Join the statements into one paragraph."""
    return " ".join(statement.text for statement in said)


def _advice(evidence: Evidence, answer: Answer) -> str:
    """Say what to do, which is what the answer means."""
    head, alone = evidence.head is not None, evidence.model.left is None
    if answer.word is Word.YES and is_alone(evidence.model) and "made" not in answer.claims:
        return "Read these cosines as fixed, whatever the other side holds."
    if answer.word is Word.YES:
        made = "made" in answer.claims
        return f"Read these cosines as {'cosines of those predictions' if made else 'part of what the model predicts'}."
    logits = "with inputs, logit cosines are what the head pins down"
    if answer.word is Word.NO and head:
        given = "give inputs (--inputs or --states) and " * alone
        return f"Do not read meaning into them; {given}use logit cosines."
    if answer.word is Word.NO:
        return f"Do not read meaning into these cosines; {_ranking(evidence)}{_instead(evidence)}."
    first = "Until that is known, read" if answer.word is Word.UNSAID else "Read"
    text = f"{first} these cosines as a convention of this training run"
    if answer.word is Word.UNSAID or alone:
        return f"{text}; {logits}." if head and alone else f"{text}."
    if any(name.startswith("agrees:") for name in answer.claims):
        return f"Read these cosines as those of {seen_of(evidence.model)}, as long as the vectors stay as they are."
    return f"{text}; check them against cosines of {seen_of(evidence.model)}."


def _ranking(evidence: Evidence) -> str:
    """Say what ranking is safe: that by predictions, of one side for the other."""
    model = evidence.model
    if model.link.unit_sides:
        return "rank by the predicted cosines"
    if model.left is None:
        return "rank by the dot product with the other side"
    return f"rank {model.title('right')}s by their scores"


def _instead(evidence: Evidence) -> str:
    """Name cosines to use, where there is another side to predict with."""
    if evidence.model.left is None:
        return ""
    if evidence.model.predicts is Equivalence.RANKINGS:
        return ", or use cosines of the scores. This model's scores fix those, its rankings do not"
    return ", or use cosines of the predictions"
