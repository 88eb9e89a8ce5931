"""What the declared training pins down, given the predictions; or what it would under each kind of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.alone import said_of
from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.model.objectives import OBJECTIVES, Objective, Status, usual_objectives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.model import FactorModel

IN_SHORT = {
    Status.FREE: "free",
    Status.CHOSEN: "pinned by the penalty",
    Status.INPUTS: "tied to the inputs",
    Status.TRAINED: "what was trained",
    Status.UNKNOWN: "undecided",
}

SETTLES = {
    Status.FREE: ("left-open", "Training, as declared, leaves them open: equal models solve it equally well."),
    Status.CHOSEN: ("chosen", "The training named (in the file or by --objective) chose them by its penalty."),
    Status.INPUTS: (
        "chosen",
        "The training named (in the file or by --objective) ties them to its inputs: rescaled inputs would give "
        "others.",
    ),
    Status.TRAINED: (
        "trained",
        "The cosine was trained between two sides, and one side does not show what that fixes.",
    ),
    Status.PREDICTED: ("made", "These vectors were made to hold the cosines of a model's predictions."),
}
"""What training is declared to have settled: the name of the claim, and its text; nothing where no law is known."""


UNKNOWN = "Training: how the model was trained is not known here."
"""Where nothing is declared."""


def cases(model: FactorModel) -> Iterator[tuple[list[str], str]]:
    """Yield the objectives that a model may have been trained with, and what each leaves of its cosines.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> list(cases(FactorModel.from_softmax([[1.0], [2.0]])))[1]
    (['softmax'], 'free')
    """
    groups: dict[Status, list[str]] = {}
    for row in usual_objectives(model.link):
        groups.setdefault(row.status, []).append(row.name)
    yield from ((names, IN_SHORT[status]) for status, names in groups.items())


def objective_of(evidence: Evidence) -> Objective | None:
    """Look up how the model was trained, where it says so."""
    return OBJECTIVES[evidence.model.objective] if evidence.model.objective else None


def training(evidence: Evidence) -> Iterator[Claim]:
    """Tell what is assumed about training, or list the cases; it has no say in what the predictions pin down."""
    if all(found.moves is False for found in evidence.fibre.freedom.values()):
        return
    model, objective = evidence.model, objective_of(evidence)
    scope = Scope(said_of(model, "models of the same predictions"))
    if objective is not None:
        text = f"Training: it minimised {objective.loss}. Under that objective the cosines are {objective.cosines}."
        yield Claim("training", Kind.ASSUMED, "cosines within a side", scope, said_of(model, text), evidence="model")
        if objective.status in SETTLES:
            name, text = SETTLES[objective.status]
            yield Claim(name, Kind.ASSUMED, "cosines within a side", scope, text, evidence="model")
        return
    first, *others = (f"{then} under {' or '.join(names)}" for names, then in cases(model))
    text = f"{UNKNOWN} Given the predictions, the cosines are {first}."
    text += f" They are {'; '.join(others)}." if others else ""
    yield Claim("training", Kind.UNDECIDED, "cosines within a side", scope, said_of(model, text), evidence="model")
