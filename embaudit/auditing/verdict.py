"""The verdict: claims in an order that people can follow, and what to do about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from embaudit.auditing.claims.heads import origin_matters
from embaudit.auditing.claims.training import objective_of
from embaudit.model import Equivalence
from embaudit.model.objectives import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.auditing.claims import Claim
    from embaudit.auditing.evidence import Evidence

FREEDOM = ("free", "pinned", "undecided")


@dataclass(frozen=True)
class Statement:
    """A few sentences of the verdict, and the names of the claims they are written from."""

    text: str
    claims: tuple[str, ...]


def statements(evidence: Evidence, claims: Sequence[Claim]) -> tuple[Statement, ...]:
    """Choose the claims that the verdict consists of, and add what to do."""
    known = {claim.name: claim for claim in claims}
    role = evidence.role
    free = next((f"{name}:{role}" for name in FREEDOM if f"{name}:{role}" in known), "")
    seen = ("origin", "shortest", "stretched") if evidence.head is not None else (f"moved:{role}", f"drawn:{role}")
    trained = () if free.startswith("pinned") else ("training",)
    order = ("predictions", *seen, free, "logits", *trained)
    said = [Statement(known[name].text, (name,)) for name in order if name in known]
    if not evidence.predictions_hold:
        return tuple(said)
    return (*said, _advice(evidence, free))


def verdict(said: Sequence[Statement]) -> str:
    """Join the statements into one paragraph."""
    return " ".join(statement.text for statement in said)


def _advice(evidence: Evidence, free: str) -> Statement:
    """Say what to do, from what may move and what training was declared to be."""
    about = free.partition(":")[0]
    if about == "pinned":
        return Statement("Read these cosines as part of what the model predicts.", (free,))
    if about == "undecided":
        text = "Read them as a convention of this training run, since nobody knows whether an equal model has others."
        return Statement(text, (free,))
    head, objective = evidence.head, objective_of(evidence)
    if head is not None:
        return _head_advice(evidence, free)
    if objective is not None and objective.status is Status.PREDICTED:
        return Statement("Read these cosines as cosines of those predictions.", ("training",))
    if objective is not None and objective.status in (Status.CHOSEN, Status.INPUTS):
        text = "Read these cosines as a convention of this training run; check them against "
        return Statement(f"{text}{_instead(evidence)}.", (free, "training"))
    text = f"Do not read meaning into these cosines; {_ranking(evidence)}, or use {_instead(evidence)}."
    return Statement(text, (free, "training"))


def _ranking(evidence: Evidence) -> str:
    return f"rank by the {'predicted cosines' if evidence.model.link.unit_sides else 'dot product'}"


def _instead(evidence: Evidence) -> str:
    if evidence.model.predicts is Equivalence.RANKINGS:
        return "cosines of the scores, which this model's scores fix and its rankings do not"
    return "cosines of the predictions"


def _head_advice(evidence: Evidence, free: str) -> Statement:
    head = evidence.head
    assert head is not None
    if head.logit_agreement is not None:
        return Statement("Use logit cosines.", ("logits", free))
    if evidence.fibre.pinning is not None:
        return Statement("Do not read meaning into them; bring inputs and use logit cosines.", (free,))
    if origin_matters(head):
        text = "Do not read meaning into them; bring inputs and use logit cosines."
        return Statement(text, ("origin", free))
    text = "Read them as a convention of this training run; with inputs, logit cosines are what the head pins down."
    return Statement(text, (free, "training"))
