"""Notes on a softmax head: origin, shortest shifts, inputs, final norm and tying."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import gains_decide
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Scope, Severity
from embaudit.auditing.findings.folded_norm import keeping_labels
from embaudit.auditing.findings.mean_row import (
    cosines_of,
    searched_labels_of,
    share_of_labels,
)
from embaudit.auditing.wording import is_head
from embaudit.core.ties import exceeds
from embaudit.core.tolerances import EXACT_SHAPE
from embaudit.core.words import counted, drawn_of, row_quoted, up
from embaudit.heads.conventions import folding
from embaudit.linalg.pairs import n_pairs

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport
    from embaudit.heads.shifts import ShiftSummary

NOTES = (
    "origin",
    "shortest",
    "logits",
    "norm",
    "ones",
    "tied",
    "tying_unknown",
    "tying_contradicted",
)
"""Words of the notes that this module can write."""


def origin(evidence: Evidence) -> Iterator[Finding]:
    """Report that removing the mean row of a head changes little.

    If it changes much, the finding `mean_row` reports it instead.
    """
    head = evidence.head
    if head is None or not head.origin_is_free or head.origin_matters:
        return
    label = evidence.model.title("right")
    share = head.neighbours.top1_changed
    text = (
        "Subtracting the mean row changes little: "
        f"{share_of_labels(1 - share, head)} keep their nearest {label}. "
    )
    if exceeds(head.offset, EXACT_SHAPE):
        text += (
            f"The mean row is only {head.offset:.2g} of a typical row (median) long. "
            "Adding any other vector to all rows would keep the predictions as well."
        )
    else:
        text += (
            f"The mean row is at most {EXACT_SHAPE:g} of a typical row (median) long. "
            f"Weight decay on all {label}s makes it vanish, and so does gradient "
            "descent from zero, but the probabilities alone do not."
        )
    yield Finding(
        code="origin",
        severity=Severity.NOTE,
        kind=Kind.SHOWN,
        scope=Scope(f"the {_noun(evidence)} less its mean row"),
        rows=cosines_of(head),
        role="right",
        value=share,
        witness=head.centred.gauge,
        text=text,
        measured_on=searched_labels_of(head),
    )


def shortest(evidence: Evidence) -> Iterator[Finding]:
    """Report how short a shift of all labels makes a pair of them opposite."""
    head = evidence.head
    if head is None or not head.constructions:
        return
    for summary in head.shifts:
        if summary.target == -1 and summary.quantiles:
            yield _shortest(evidence, head, summary)
            return


def _shortest(evidence: Evidence, head: HeadReport, summary: ShiftSummary) -> Finding:
    """Name the pair that needs the shortest shift, and what half of the pairs need."""
    opposite = head.constructions[0]
    label, row_title = evidence.model.title("right"), evidence.model.row_title("right")
    first = row_quoted(row_title, str(opposite.names[0]))
    second = row_quoted(row_title, str(opposite.names[1]))
    pairs = _pairs_of(head, summary, label)
    return Finding(
        code="shortest",
        severity=Severity.NOTE,
        kind=Kind.SHOWN,
        scope=Scope(f"shifts of all {label}s"),
        rows=f"{label} cosines of {pairs}",
        role="right",
        value=opposite.shift,
        text=(
            f"A shift of {opposite.shift:.2g} times a typical row (median) makes "
            f"{first} and {second} (cosine {opposite.before:.2f}) exactly opposite. "
            f"Half of {pairs} need no more than {up(summary.quantiles[0.5]):.2f}."
        ),
    )


def _pairs_of(head: HeadReport, summary: ShiftSummary, label: str) -> str:
    """Name the pairs whose shortest shifts were looked at."""
    n_all = n_pairs(head.model.n_right)
    looked_at = drawn_of(summary.n_pairs + summary.n_fixed, n_all, "pair")
    if summary.n_fixed:
        return (
            f"the {counted(summary.n_pairs, 'pair')} that a shift can turn (of "
            f"{looked_at}; equal rows stay equal)"
        )
    if not summary.exact:
        return f"the pairs looked at ({looked_at})"
    if summary.n_pairs == n_all:
        return "all pairs"
    if head.n_aside:
        return f"all pairs of {label}s that have a cosine and are not set aside"
    return f"all pairs of {label}s that have a cosine"


def logits(evidence: Evidence) -> Iterator[Finding]:
    """Report how far label cosines agree with cosines of the logits over the inputs."""
    head = evidence.head
    if head is None or head.logit_agreement is None:
        return
    label = evidence.model.title("right")
    if is_head(evidence.model):
        start = f"Over its own inputs the logits of two {label}s"
    else:
        start = f"Over the rows of the other side the scores of two {label}s"
    yield Finding(
        code="logits",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope("these inputs"),
        rows=f"{label} cosines",
        role="right",
        value=head.logit_agreement,
        text=(
            f"{start} agree with their cosine by a correlation of "
            f"{head.logit_agreement:.2f}."
        ),
    )


def final_norm(evidence: Evidence) -> Iterator[Finding]:
    """Report that folding in the final norm changes few labels.

    If it changes many, the finding `folded_norm` reports it instead.
    """
    norm = evidence.norm
    if norm is None or norm.norm.condition_number == 1 or gains_decide(norm):
        return
    label = evidence.model.title("right")
    keeping = keeping_labels(norm, norm.folded, label)
    gauge = folding(norm.norm)
    if gauge is None:
        text = (
            f"Gains of the final {norm.norm.title} are 0, so that some dimensions "
            f"reach no logit. If they are multiplied into the rows, {keeping} keep "
            f"their nearest {label}."
        )
    else:
        text = (
            f"Multiplied into the rows, the gains of the final {norm.norm.title} "
            f"change no logit. Then {keeping} keep their nearest {label}."
        )
    yield Finding(
        code="norm",
        severity=Severity.NOTE,
        kind=Kind.MEASURED if gauge is None else Kind.SHOWN,
        scope=Scope(
            f"the {_noun(evidence)} with the gains of its final norm folded in"
        ),
        rows=f"{label} cosines",
        role="right",
        value=norm.folded.nearest.share,
        witness=gauge,
        text=text,
    )


def ones(evidence: Evidence) -> Iterator[Finding]:
    """Report the part of the rows that no state behind a LayerNorm sees."""
    norm = evidence.norm
    if norm is None or norm.ones is None or isnan(norm.ones):
        return
    label = evidence.model.title("right")
    yield Finding(
        code="ones",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope("states behind a LayerNorm"),
        rows=f"{label} cosines",
        role="right",
        value=norm.ones,
        text=(
            "States after a LayerNorm sum to 0. So if any multiple of the vector of "
            "ones is added to a folded row, no logit changes, even if each row gets "
            f"another multiple. This can bring the cosine of any two {label}s near 1 "
            f"or near −1. Here the component along this vector is {norm.ones:.2g} "
            "times as long as the rest of the row (median)."
        ),
    )


def tied(evidence: Evidence) -> Iterator[Finding]:
    """Report whether the head is also the input embeddings.

    If so, an equivalent head needs a separate table.
    """
    tying = evidence.tying
    if evidence.head is None or tying is None:
        return
    noun = _noun(evidence)
    scope = Scope(f"models in which the {noun} and the inputs have separate tables")
    if tying.status == "tied":
        code, kind = "tied", Kind.MEASURED
        text = (
            f"The {noun} is also the input embeddings ({tying.because}). An equivalent "
            f"model with another {noun} needs a separate table for the {noun}, because "
            "the inputs share this one: subtracting the mean row from the shared table "
            "changes the inputs, too, and so the probabilities."
        )
    elif tying.status == "unknown":
        code, kind = "tying_unknown", Kind.UNDECIDED
        text = (
            f"config.json does not say if the {noun} is also the input embeddings (key "
            "`tie_word_embeddings`), and the checkpoint holds no separate input "
            f"embeddings. If it is, an equivalent model with another {noun} needs a "
            f"separate table for the {noun}, because the inputs share this one."
        )
    else:
        code, kind, scope = "tying_contradicted", Kind.MEASURED, THIS_MODEL
        text = (
            f"config.json ties the {noun} to the input embeddings, but the checkpoint "
            "stores two tables that differ. Transformers 5 reads two tables, and so "
            f"does this audit. Older versions use the input embeddings as the {noun}: "
            f"`--weight {tying.embedding} --kind head` audits the input embeddings."
        )
    yield Finding(
        code=code,
        severity=Severity.NOTE,
        kind=kind,
        scope=scope,
        rows=f"{evidence.model.title('right')} rows",
        role="right",
        text=text,
    )


def _noun(evidence: Evidence) -> str:
    """Return the noun of the model: head, or model for two towers."""
    return "head" if is_head(evidence.model) else "model"
