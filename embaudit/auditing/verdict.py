"""The verdict: one paragraph of plain words that keeps apart what predictions fix and what training fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.checks.identification import cosines_can_move, objective_of
from embaudit.auditing.checks.origin import decides_neighbours, origin_matters
from embaudit.auditing.objectives import Status, usual_objectives
from embaudit.foundation.words import counted, percent
from embaudit.gauges import Diagonal, GeneralLinear, Orthogonal
from embaudit.model import Equivalence, Pairs

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.head_evidence import HeadEvidence
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.model import Role
    from embaudit.movements.moved import Movement

FAILED = "The check failed: models that should predict the same do not (EMB001). Nothing here can be trusted."
PREDICTED = {Equivalence.PROBABILITIES: "probability", Equivalence.RANKINGS: "ranking"}
"""What is predicted, in a sentence, where it is not a score."""
CENTRED = 1e-3
"""Offset of the mean row of a head below which its labels count as centred."""


def _role_of_interest(evidence: Evidence) -> Role:
    roles = [record.role for record in evidence.movement[0]]
    return "right" if "right" in roles else roles[0]


def predictions_sentence(evidence: Evidence) -> str:
    """Say what the predictions fix, from the movement of the right cosines (or the first role audited)."""
    role = _role_of_interest(evidence)
    pairs = Pairs(role).titled(evidence.model)
    largest = max(d.max_abs for d in evidence.drift)
    predicted = PREDICTED.get(evidence.model.predicts, "score")
    same = f"{counted(len(evidence.equivalents), 'equivalent model')} made every {predicted} the same"
    same += f" (largest change {largest:.1g})"
    moved = [(e, m) for e, m in evidence.visits(role) if e.kind != Orthogonal.kind]
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
    drawn = [(e, m) for e, m in moved if e.kind in (Diagonal.kind, GeneralLinear.kind)]
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
        for row in usual_objectives(evidence.model.link):
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
    objective = objective_of(evidence)
    if objective is not None and objective.status is Status.TRAINED:
        return "Read the cosines as trained."
    if not cosines_can_move(evidence):
        return "No change of the factors that keeps the predictions moves these cosines."
    if objective is not None and objective.status is not Status.FREE:
        return "Read these cosines as a convention of this training run; check them against cosines of the predictions."
    return "Do not read meaning into these cosines; rank by the dot product, or use cosines of the predictions."


def head_paragraph(head: HeadEvidence) -> str:
    """Write the paragraph."""
    sentences = (_same(head), _translation(head), _shortest(head), _linear(head), _advice(head))
    text = " ".join(sentence for sentence in sentences if sentence)
    return text.replace("typical row", "typical row (median)", 1)


def _same(head: HeadEvidence) -> str:
    if not head.verifiable:
        return ""
    inputs = "its own inputs" if head.has_inputs else "probe inputs"
    largest = max(other.change for other in head.verifiable)
    return (
        f"{counted(len(head.verifiable), 'other head')} give{'s' * (len(head.verifiable) == 1)} every probability the "
        f"same on {inputs} (largest relative change {largest:.0e})."
    )


def _translation(head: HeadEvidence) -> str:
    change, moved = head.neighbours, head.centred.movement.mean_abs
    if not head.origin_is_free:
        return f"The head has {head.link.guard}, so shifting all labels would change its probabilities."
    if origin_matters(head):
        others = f"{percent(change.top1_changed)} of labels have another nearest label, and "
        neighbours = others if decides_neighbours(head) else ""
        return (
            f"Label cosines depend on an origin that no probability shows: without the mean row, which is "
            f"{head.offset:.2g} of a typical row long, {neighbours}cosines differ by {moved:.2f} on average."
        )
    quiet = (
        f"Translation is not what troubles these cosines: their origin lies {_where(head)}, and moved to the mean of "
        f"the labels it leaves {percent(1 - change.top1_changed)} of them their nearest label"
    )
    why = _WHY_CENTRED if head.offset <= CENTRED else "; other origins would predict the same"
    return quiet + why + "."


_WHY_CENTRED = (
    ". Weight decay on all labels puts it there, since at its optimum the sum of its pulls must vanish, and so does "
    "gradient descent from zero; the probabilities alone do not"
)


def _where(head: HeadEvidence) -> str:
    if head.offset <= CENTRED:
        return "at their mean row"
    return f"near their mean row, which is only {head.offset:.2g} of a typical row long"


def _shortest(head: HeadEvidence) -> str:
    opposite = next((s for s in head.shifts if s.target == -1 and s.quantiles), None)
    if opposite is None or not head.constructions:
        return ""
    made = head.constructions[0]
    first, second = made.names
    return (
        f"A shift of {made.shift:.2g} times a typical row makes {first!r} and {second!r} (cosine {made.before:.2f}) "
        f"exactly opposite, and half of all pairs need no more than {opposite.quantiles[0.5]:.2g}."
    )


def _linear(head: HeadEvidence) -> str:
    moved = [other for other in head.equivalents if other.kind == GeneralLinear.kind]
    if not moved or head.rank == 1:
        return ""
    worst = max(moved, key=lambda other: other.movement.mean_abs)
    return (
        f"A linear gauge of condition number {worst.condition_number:.3g} moves cosines by "
        f"{worst.movement.mean_abs:.2f} on average; only how the head was trained can rule that out, not what it "
        "predicts."
    )


def _advice(head: HeadEvidence) -> str:
    if head.link.unit_rows:
        return "Cosines of these labels are part of what the head computes."
    if head.logit_agreement is not None:
        return (
            f"Over its own inputs the logits of two labels agree with their cosine only as far as a correlation of "
            f"{head.logit_agreement:.2f}: use logit cosines."
        )
    if origin_matters(head):
        return "Do not read meaning into them; bring inputs and use logit cosines."
    return "Read them as a convention of this training run; with inputs, logit cosines are what the head pins down."


def verdict(evidence: Evidence) -> str:
    """Write the paragraph; of a head, what it predicts is said together with what to do."""
    training = training_sentence(evidence)
    if not evidence.predictions_hold:
        return f"{FAILED} {training}"
    if evidence.head is not None:
        return f"{head_paragraph(evidence.head)} {training}"
    return f"{predictions_sentence(evidence)} {training} {advice_sentence(evidence)}"
