"""The verdict: one paragraph of plain words that keeps apart what predictions fix and what training fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.checks import cosines_can_move, level_words, objective_of
from embaudit.auditing.objectives import Status, usual_objectives
from embaudit.foundation.words import counted, percent

if TYPE_CHECKING:
    from embaudit.auditing.equivalents import EquivalentModel
    from embaudit.auditing.evidence import Evidence
    from embaudit.model import Role
    from embaudit.movements.moved import Movement


def _role_of_interest(evidence: Evidence) -> Role:
    roles = [record.role for record in evidence.movement[0]]
    return "right" if "right" in roles else roles[0]


def predictions_sentence(evidence: Evidence) -> str:
    """Say what the predictions fix, from the movement of the right cosines (or the first role audited)."""
    if not evidence.predictions_hold:
        return "The check failed: models that should predict the same do not (EMB001). Nothing here can be trusted."
    users, items = evidence.model.roles
    role = _role_of_interest(evidence)
    pairs = {"right": f"{items}-{items}", "left": f"{users}-{users}", "cross": f"{users}-{items}"}[role]
    largest = max(d.max_abs for d in evidence.drift)
    predicted = level_words(evidence.model.predicts)
    same = f"{counted(len(evidence.equivalents), 'equivalent model')} made every {predicted} the same"
    same += f" (largest change {largest:.1g})"
    moved = [(e, m) for e, m in evidence.visits(role) if e.kind != "orthogonal"]
    if not moved:
        return f"Predictions: {same}; a rotation was all that was tried, and no {pairs} cosine moved."
    if not cosines_can_move(evidence):
        return f"Predictions: {same}, and no {pairs} cosine moved."
    return f"Predictions: {same}, but other {pairs} cosines: {_largest_movement(moved)}{_random_movement(moved)}."


def _largest_movement(moved: list[tuple[EquivalentModel, Movement]]) -> str:
    equivalent, record = max(moved, key=lambda visit: visit[1].mean_abs)
    among = "" if record.exact else f" among {record.n_pairs:,} sampled pairs"
    text = f"in one ({equivalent.name}, condition number {equivalent.condition_number:.3g}) they differ by "
    text += f"{record.mean_abs:.2f} on average and by up to {record.max_abs:.2f}{among}"
    if record.top_n:
        text += f", and {percent(record.top_n_overlap)} of the {record.top_n} nearest stay"
    return text


def _random_movement(moved: list[tuple[EquivalentModel, Movement]]) -> str:
    """Average over the random models of the budget."""
    drawn = [(e, m) for e, m in moved if e.kind in ("diagonal", "linear")]
    if not drawn:
        return ""
    mean = sum(m.mean_abs for _, m in drawn) / len(drawn)
    text = f"; in random ones of condition number {drawn[0][0].condition_number:.3g} by {mean:.2f}"
    if drawn[0][1].top_n:
        text += f", and {percent(sum(m.top_n_overlap for _, m in drawn) / len(drawn))} stay"
    return text


def training_sentence(evidence: Evidence) -> str:
    """Say what the training objective fixes, or what it would under each kind of training."""
    objective = objective_of(evidence)
    if objective is None:
        groups: dict[Status, list[str]] = {}
        for row in usual_objectives(evidence.trained_as):
            groups.setdefault(row.status, []).append(row.name)
        cases = "; ".join(f"{' or '.join(names)}: {_IN_SHORT[status]}" for status, names in groups.items())
        return f"Training: how the model was trained is not known here. Under each objective the cosines are: {cases}."
    return f"Training: it minimised {objective.loss}; under that objective the cosines are {objective.cosines}."


_IN_SHORT = {
    Status.FREE: "not identified",
    Status.CHOSEN: "unique given the predictions, but chosen by the regulariser",
    Status.INPUTS: "tied to the scaling of the inputs",
    Status.TRAINED: "what was trained",
    Status.UNKNOWN: "undecided",
}


def advice_sentence(evidence: Evidence) -> str:
    """Say what to do."""
    if not evidence.predictions_hold:
        return ""
    objective = objective_of(evidence)
    if objective is not None and objective.status is Status.TRAINED:
        return "Read the cosines as trained."
    if not cosines_can_move(evidence):
        return "No change of the factors that keeps the predictions moves these cosines."
    if objective is not None and objective.status is not Status.FREE:
        return "Read these cosines as a convention of this training run; check them against cosines of the predictions."
    return "Do not read meaning into these cosines; rank by the dot product, or use cosines of the predictions."


def verdict(evidence: Evidence) -> str:
    """Write the paragraph."""
    sentences = (predictions_sentence(evidence), training_sentence(evidence), advice_sentence(evidence))
    return " ".join(sentence for sentence in sentences if sentence)
