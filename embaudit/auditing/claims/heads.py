"""What was seen of a softmax head besides: its origin, the shortest shifts, and its inputs."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.movement import of_drawn
from embaudit.foundation.words import ONCE, beside, counted, drawn_of, percent, row_quoted
from embaudit.gauges import GeneralLinear
from embaudit.kernels.pairs import n_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.head_evidence import HeadEvidence

LABELS = "label cosines"
MOVES = 0.05
"""Mean |Δcos| from which cosines count as moving noticeably."""
CHANGED = 0.05
"""Share of labels whose nearest one changes under centring, from which the origin of the labels matters."""
CENTRED = 1e-3
"""Offset of the mean row below which the labels count as centred."""


def nearest_changed(head: HeadEvidence) -> float:
    """Return the share of labels with another nearest one without the mean row, copies counted once if there are any.

    Copies stay with each other wherever the origin lies, so labels that were hardly trained would hide what moves.
    """
    once = head.neighbours.top1_changed_without_twins
    return head.neighbours.top1_changed if isnan(once) else once


def counts_once(head: HeadEvidence) -> bool:
    """Whether copies make that share read otherwise than the one over all labels."""
    return percent(nearest_changed(head)) != percent(head.neighbours.top1_changed)


def decides_neighbours(head: HeadEvidence) -> bool:
    """Whether removing the mean row changes nearest labels noticeably."""
    return nearest_changed(head) >= CHANGED


def asked(head: HeadEvidence) -> str:
    """Call those whose nearest labels were sought: of a large head some of the labels, which are counted."""
    return "labels" if head.neighbours.exact else f"{counted(head.neighbours.n_rows, 'label')} asked"


def subject(head: HeadEvidence) -> str:
    """Name what a claim on the origin is about: the cosines of all labels, or of those asked for their nearest ones."""
    return LABELS if head.neighbours.exact else f"cosines of {asked(head)}"


def is_of_some(origin: Claim) -> bool:
    """Tell whether a claim on the origin is about labels that were asked, not about all."""
    return origin.subject.endswith(" asked")


def origin_matters(head: HeadEvidence) -> bool:
    """Whether removing the mean row changes nearest labels or cosines noticeably."""
    return head.origin_is_free and (decides_neighbours(head) or head.centred.movement.mean_abs >= MOVES)


def origin(evidence: Evidence) -> Iterator[Claim]:
    """Tell what removing the mean row of the labels does."""
    head = evidence.head
    if head is None or not evidence.predictions_hold:
        return
    scope = Scope("the head less its mean row")
    if not head.origin_is_free:
        text = f"The head has {head.link.guard}, so shifting all labels would change its probabilities."
        yield Claim("origin", Kind.SHOWN, LABELS, scope, text, head.centred.change, "head")
        return
    text = _decided(head) if origin_matters(head) else _quiet(head)
    value, gauge = head.neighbours.top1_changed, head.centred.gauge
    yield Claim("origin", Kind.SHOWN, subject(head), scope, text, value, "head", gauge)
    if counts_once(head):
        which = "labels" if head.neighbours.exact else "labels asked"
        text = f"{ONCE.capitalize()}, {percent(nearest_changed(head))} of {which} have another nearest label there."
        yield Claim("origin-once", Kind.MEASURED, subject(head), scope, text, nearest_changed(head), "head")


def _decided(head: HeadEvidence) -> str:
    changed = beside(head.neighbours.top1_changed, head.neighbours.top1_changed_without_twins, ONCE)
    others = f"{changed} of {asked(head)} have another nearest label, and "
    return (
        "Label cosines depend on an origin that no probability shows. The mean row is "
        f"{head.offset:.2g} of a typical row (median) long. Without it {others if decides_neighbours(head) else ''}"
        f"cosines differ by {head.centred.movement.mean_abs:.2f} on average."
    )


def _quiet(head: HeadEvidence) -> str:
    kept = beside(1 - head.neighbours.top1_changed, 1 - head.neighbours.top1_changed_without_twins, ONCE)
    text = f"Centring changes little: {kept} of {asked(head)} keep their nearest label. Their origin lies"
    if head.offset > CENTRED:
        return (
            f"{text} near their mean row, which is only {head.offset:.2g} of a typical row (median) long; other "
            "origins would predict the same."
        )
    return (
        f"{text} at their mean row. Weight decay on all labels puts it there, and so does gradient descent from zero; "
        "the probabilities alone do not."
    )


def shortest(evidence: Evidence) -> Iterator[Claim]:
    """Tell how short a shift of all labels turns a pair around."""
    head = evidence.head
    if head is None or not evidence.predictions_hold:
        return
    opposite = next((s for s in head.shifts if s.target == -1 and s.quantiles), None)
    if opposite is None or not head.constructions:
        return
    made = head.constructions[0]
    first, second = (row_quoted(evidence.model.title("right"), str(name)) for name in made.names)
    typical = "a typical row" if origin_matters(head) or head.offset > CENTRED else "a typical row (median)"
    count = opposite.n_pairs + opposite.n_fixed
    looked_at = drawn_of(count, n_pairs(head.model.n_right), "pair")
    pairs = "all pairs" if opposite.exact else f"the pairs looked at ({looked_at})"
    if opposite.n_fixed:
        of = f"{count:,} pairs" if opposite.exact else f"{count:,} looked at"
        pairs = f"the {counted(opposite.n_pairs, 'pair')} that a shift can turn (of {of}; equal rows stay equal)"
    text = (
        f"A shift of {made.shift:.2g} times {typical} makes {first} and {second} (cosine {made.before:.2f}) "
        f"exactly opposite. Half of {pairs} need no more than {opposite.quantiles[0.5]:.2g}."
    )
    yield Claim("shortest", Kind.SHOWN, "two labels", Scope("shifts of all labels"), text, made.shift, "head")


def stretched(evidence: Evidence) -> Iterator[Claim]:
    """Tell what a linear gauge does to label cosines."""
    head = evidence.head
    if head is None or not evidence.predictions_hold:
        return
    found = [other for other in head.equivalents if other.kind == GeneralLinear.kind]
    if not found or head.rank == 1:
        return
    worst = max(found, key=lambda other: other.movement.mean_abs)
    start = "But random" if head.origin_is_free and not origin_matters(head) else "Random"
    text = (
        f"{start} linear gauges of condition number {worst.condition_number:.3g} move cosines by up to "
        f"{worst.movement.mean_abs:.2f} on average{of_drawn(evidence, 'right')}. "
        "Only how the head was trained can rule that out, not what it predicts."
    )
    scope = Scope(worst.name, max_condition=worst.condition_number)
    yield Claim("stretched", Kind.SHOWN, LABELS, scope, text, worst.movement.mean_abs, "head", worst.gauge)


def logits(evidence: Evidence) -> Iterator[Claim]:
    """Tell how far label cosines agree with cosines of the logits over the model's own inputs."""
    head = evidence.head
    if head is None or head.logit_agreement is None or not evidence.predictions_hold:
        return
    text = (
        f"Over its own inputs the logits of two labels agree with their cosine only as far as a correlation of "
        f"{head.logit_agreement:.2f}."
    )
    yield Claim("logits", Kind.MEASURED, LABELS, Scope("the inputs at hand"), text, head.logit_agreement, "head")
