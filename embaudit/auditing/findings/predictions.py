"""Notes on predictions: that they stay, what they compare, and how cosines differ from theirs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding
from embaudit.auditing.findings.effect import MOVES, is_effect
from embaudit.auditing.findings.given_side import given_side
from embaudit.auditing.findings.movement import SEEN
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_alone
from embaudit.core.ties import reaches
from embaudit.core.words import counted, percent
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence


def predictions_stay(evidence: Evidence) -> Iterator[Finding]:
    """Report the largest change of a prediction in a model that should predict the same."""
    head = evidence.head
    changes = [record.max_abs for record in evidence.drift]
    changes += [] if head is None else [other.change for other in head.verifiable]
    if not changes:
        return
    made = counted(evidence.n_visited, "equivalent model")
    alone = evidence.model.left is None and evidence.model.compared is None
    yield finding(
        "predictions",
        evidence,
        value=max(changes),
        made=made,
        label=template("predictions", "label", *["alone"] * is_alone(evidence.model)),
        where=template("predictions", "where", *["alone"] * alone),
    )


def one_side(evidence: Evidence) -> Iterator[Finding]:
    """Report that the model has one side and nothing to predict with."""
    model = evidence.model
    if model.left is None and model.compared is None:
        yield finding("one_side", evidence)


def given_inputs(evidence: Evidence) -> Iterator[Finding]:
    """Report that the left rows are data, which training did not learn."""
    if given_side(evidence.model) in evidence.model.sides:
        yield finding("data", evidence, role="left")


def compared(evidence: Evidence) -> Iterator[Finding]:
    """Report that predictions compare the rows of one table with each other, and what a high cosine is there."""
    model = evidence.model
    if model.compared is None:
        return
    levels = next(
        (traits.levels for traits in evidence.traits if traits.levels is not None), None
    )
    scale = ""
    if levels is not None and levels.scale:
        scale = template("compared", "scale").format(scale=levels.scale)
    yield finding("together", evidence, scope=evidence.equivalence.scope)
    if model.link.measures_distances:
        yield finding("distances", evidence, scope=evidence.equivalence.scope)
        return
    code = "compared" if model.compared == "cosine" else "products"
    yield finding(code, evidence, scope=evidence.equivalence.scope, scale=scale)


def predicted(evidence: Evidence) -> Iterator[Finding]:
    """Compare the cosines and lists of each side with those of what is predicted."""
    for record in () if evidence.predicted is None else evidence.predicted.movement:
        near = "cosines_differ" if reaches(record.mean_abs, MOVES) else "cosines_near"
        code = "cosines_agree" if record.max_abs <= SEEN else near
        value = record.max_abs if code == "cosines_agree" else record.mean_abs
        yield finding(code, evidence, role=record.role, value=value)
        if code != "cosines_agree" and record.top_n:
            yield _lists(evidence, record)


def _lists(evidence: Evidence, record: Movement) -> Finding:
    """Report the share of neighbour lists that one equivalent model changes."""
    changed = 1 - record.top_n_overlap
    return finding(
        "lists_differ" if is_effect(changed, record.n_lists) else "lists_near",
        evidence,
        role=record.role,
        value=changed,
        share=percent(changed),
        top_n=record.top_n,
        n_rows=counted(record.n_lists, evidence.model.title(record.role)),
    )
