"""The verdict: one paragraph of plain words that keeps apart what predictions fix and what training fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.checks import cosines_move, level_words, objective_of
from embaudit.objectives import Status, usual_objectives
from embaudit.words import percent as percent

if TYPE_CHECKING:
    from embaudit.evidence import Evidence
    from embaudit.model import Role


def _role_of_interest(evidence: Evidence) -> Role:
    roles = [record.role for record in evidence.movement[0]]
    return "right" if "right" in roles or not roles else roles[0]


def predictions_sentence(evidence: Evidence) -> str:
    """Say what the predictions fix, from the movement of the right cosines (or the first role audited)."""
    if not evidence.predictions_hold:
        return "The check failed: models that should predict the same do not (EMB001). Nothing here can be trusted."
    role = _role_of_interest(evidence)
    records = evidence.records(role)
    moved = [m for e, m in records if e.kind != "orthogonal"]
    count, largest = len(evidence.equivalents), max(d.max_abs for d in evidence.drift)
    predicted = level_words(evidence.model.predicts)
    users, items = evidence.model.roles
    pairs = {"right": f"{items}-{items}", "left": f"{users}-{users}", "cross": f"{users}-{items}"}[role]
    same = f"{count} equivalent models make every {predicted} the same (largest change {largest:.1g})"
    if not moved:
        return f"Predictions: {same}, and no cosine moved: all they leave free is a rotation."
    worst = max(moved, key=lambda m: m.mean_abs)
    text = f"Predictions: {same}, while {pairs} cosines move by up to {worst.mean_abs:.2f} on average"
    text += f" and by up to {max(m.max_abs for m in moved):.2f} for one pair"
    kept = [m.top_n_overlap for m in moved if m.top_n]
    if kept:
        low, high = percent(min(kept)), percent(max(kept))
        text += f", and between {low} and {high} of the {moved[0].top_n} nearest neighbours stay"
    return text + "."


def training_sentence(evidence: Evidence) -> str:
    """Say what the training objective fixes, or what it would under each kind of training."""
    objective = objective_of(evidence)
    if objective is None:
        groups: dict[Status, list[str]] = {}
        for row in usual_objectives(evidence.model.link):
            groups.setdefault(row.status, []).append(row.name)
        cases = "; ".join(f"{' or '.join(names)}: {_IN_SHORT[status]}" for status, names in groups.items())
        return f"Training: how the model was trained is not known here. Under each objective the cosines are: {cases}."
    return f"Training: it minimised {objective.loss}; under that objective the cosines are {objective.cosines}."


_IN_SHORT = {
    Status.FREE: "not identified",
    Status.CHOSEN: "unique, but chosen by the regulariser",
    Status.INPUTS: "tied to the scaling of the inputs",
    Status.TRAINED: "what was trained",
}


def advice_sentence(evidence: Evidence) -> str:
    """Say what to do."""
    if not evidence.predictions_hold:
        return ""
    objective = objective_of(evidence)
    if objective is not None and objective.status is Status.TRAINED:
        return "Read the cosines as trained."
    if not cosines_move(evidence):
        kappa = evidence.max_condition
        return f"Within condition number {kappa:g} the cosines hardly move: they can be read with ordinary care."
    if objective is not None and objective.status is not Status.FREE:
        return "Read these cosines as a convention of this training run; check them against cosines of the predictions."
    return "Do not read meaning into these cosines; rank by the dot product, or use cosines of the predictions."


def verdict(evidence: Evidence) -> str:
    """Write the paragraph."""
    sentences = (predictions_sentence(evidence), training_sentence(evidence), advice_sentence(evidence))
    return " ".join(sentence for sentence in sentences if sentence)
