"""Notes on a softmax head: its origin, shortest shifts, inputs, final norm and tying."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Kind
from embaudit.auditing.findings.folded_norm import (
    changed_labels,
    decides_nearest_labels,
)
from embaudit.auditing.findings.mean_row import (
    cosines_of,
    counted_labels_of,
    origin_matters,
)
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_head
from embaudit.core.ties import exceeds
from embaudit.core.words import counted, drawn_of, row_quoted, share_of, up
from embaudit.heads.conventions import folding
from embaudit.linalg.pairs import n_pairs

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

CENTRED = 1e-3
"""Offset of the mean row below which the labels count as centred."""


def _towers(evidence: Evidence) -> list[str]:
    """Return the variant of templates for two towers with a softmax, which are no head of labels."""
    return [] if is_head(evidence.model) else ["towers"]


def origin(evidence: Evidence) -> Iterator[Finding]:
    """Report that removing the mean row of a head changes little; else EMB301 is drawn."""
    head = evidence.head
    if head is None or not head.origin_is_free or origin_matters(head):
        return
    share = head.neighbours.top1_changed
    variants = ["near"] if exceeds(head.offset, CENTRED) else []
    yield finding(
        "origin",
        evidence,
        *variants,
        rows=cosines_of(head),
        witness=head.centred.gauge,
        offset=head.offset,
        labels=counted_labels_of(head),
        value=share,
        kept=share_of(1 - share, head.neighbours.n_rows),
    )


def shortest(evidence: Evidence) -> Iterator[Finding]:
    """Report how short a shift of all labels turns a pair around."""
    head = evidence.head
    if head is None:
        return
    opposite = next((s for s in head.shifts if s.target == -1 and s.quantiles), None)
    if opposite is None or not head.constructions:
        return
    made = head.constructions[0]
    first, second = (
        row_quoted(evidence.model.row_title("right"), str(name)) for name in made.names
    )
    looked = drawn_of(
        opposite.n_pairs + opposite.n_fixed, n_pairs(head.model.n_right), "pair"
    )
    if opposite.n_fixed:
        kind_of_pairs = "turned"
    elif not opposite.exact:
        kind_of_pairs = "some"
    elif opposite.n_pairs == n_pairs(head.model.n_right):
        kind_of_pairs = "all"
    elif head.n_aside:
        kind_of_pairs = "all_aside"
    else:
        kind_of_pairs = "all_directed"
    pairs = template("shortest", kind_of_pairs).format(
        turned=counted(opposite.n_pairs, "pair"),
        looked=looked,
        labels=f"{evidence.model.title('right')}s",
    )
    yield finding(
        "shortest",
        evidence,
        value=made.shift,
        first=first,
        second=second,
        before=made.before,
        pairs=pairs,
        half=up(opposite.quantiles[0.5]),
    )


def logits(evidence: Evidence) -> Iterator[Finding]:
    """Report how far label cosines agree with cosines of the logits over the model's own inputs."""
    head = evidence.head
    if head is not None and head.logit_agreement is not None:
        yield finding(
            "logits", evidence, *_towers(evidence), value=head.logit_agreement
        )


def final_norm(evidence: Evidence) -> Iterator[Finding]:
    """Report that folding in the final norm changes few labels; else EMB307 is drawn."""
    norm = evidence.norm
    if norm is None or norm.norm.condition_number == 1 or decides_nearest_labels(norm):
        return
    gauge = folding(norm.norm)
    yield finding(
        "norm",
        evidence,
        *([] if gauge is not None else ["zero"]),
        kind=Kind.MEASURED if gauge is None else Kind.SHOWN,
        value=norm.folded.nearest.share,
        witness=gauge,
        norm=norm.norm.title,
        kappa=norm.norm.condition_number,
        changed=changed_labels(norm, norm.folded, evidence.model.title("right")),
    )


def ones(evidence: Evidence) -> Iterator[Finding]:
    """Report what no state behind a LayerNorm sees of the rows."""
    norm = evidence.norm
    if norm is not None and norm.ones is not None and not isnan(norm.ones):
        yield finding("ones", evidence, value=norm.ones)


def tied(evidence: Evidence) -> Iterator[Finding]:
    """Report whether the head is also the input embeddings.

    If so, an equivalent head needs a separate table.
    """
    tying = evidence.tying
    if evidence.head is None or tying is None:
        return
    codes = {
        "tied": "tied",
        "unknown": "tying_unknown",
        "contradicted": "tying_contradicted",
    }
    code = codes[tying.status]
    yield finding(code, evidence, because=tying.because, embedding=tying.embedding)
