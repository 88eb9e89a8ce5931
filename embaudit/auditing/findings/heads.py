"""Findings of a softmax head: EMB301 to EMB307, its origin, shortest shifts, inputs and final norm."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from embaudit.auditing.finding import Finding, Kind
from embaudit.auditing.findings.effect import MOVES, is_effect
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_head
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import (
    FEW,
    counted,
    drawn_of,
    percent,
    row_quoted,
    share_of,
    up,
)
from embaudit.heads.conventions import ConventionDistance, NormEvidence, folding
from embaudit.heads.feasibility import MARGIN
from embaudit.linalg.pairs import n_pairs
from embaudit.model.trainings import known_objective

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport

CENTRED = 1e-3
"""Offset of the mean row below which the labels count as centred."""
DECAYED = 1e-2
"""Offset of the mean row above which the labels are at no minimum of a loss with weight decay on all of them."""
DECAYING = ("softmax-decay", "logistic-decay")
"""Objectives with weight decay on all labels."""


def decides_neighbours(head: HeadReport) -> bool:
    """Check that removing the mean row changes nearest labels noticeably."""
    return is_effect(head.neighbours.top1_changed, head.neighbours.n_rows)


def origin_matters(head: HeadReport) -> bool:
    """Check that removing the mean row changes nearest labels or cosines noticeably."""
    return head.origin_is_free and (
        decides_neighbours(head) or reaches(head.centred.movement.mean_abs, MOVES)
    )


def examined_labels(head: HeadReport) -> str:
    """Name the labels whose nearest ones were sought: one of each group of copies, of a large head some of them."""
    once, title = head.neighbours.n_rows < head.n_panel, head.model.title("right")
    some = f"{counted(head.neighbours.n_rows, title)} asked"
    return (
        some
        if not head.neighbours.exact
        else f"{title}s{' (duplicates counted once)' * once}"
    )


def _towers(evidence: Evidence) -> list[str]:
    """Return the variant of templates for two towers with a softmax, which are no head of labels."""
    return [] if is_head(evidence.model) else ["towers"]


def origin(evidence: Evidence) -> Iterator[Finding]:
    """Report what removing the mean row does: it decides cosines (EMB301), or changes little (a note)."""
    head = evidence.head
    if head is None or not head.origin_is_free:
        return
    share = head.neighbours.top1_changed
    mean, n_rows = head.centred.movement.mean_abs, head.neighbours.n_rows
    title = evidence.model.title("right")
    rows = (
        f"{title} cosines"
        if head.neighbours.exact
        else f"cosines of {examined_labels(head)}"
    )
    common: dict[str, Any] = {"rows": rows, "witness": head.centred.gauge}
    # Where few were asked, their number stands before the noun already.
    few = not head.neighbours.exact and head.neighbours.n_rows < FEW
    common |= {
        "offset": head.offset,
        "labels": f"{title}s asked" if few else examined_labels(head),
    }
    if not origin_matters(head):
        near = ["near"] * exceeds(head.offset, CENTRED)
        yield finding(
            "origin",
            evidence,
            *near,
            **common,
            value=share,
            kept=share_of(1 - share, n_rows),
        )
        return
    lists = decides_neighbours(head)
    yield finding(
        "EMB301",
        evidence,
        *["cosines"] * (not lists),
        *_towers(evidence),
        **common,
        value=share if lists else mean,
        changed=share_of(share, n_rows),
        mean=mean,
    )


def undeclared_mean(evidence: Evidence) -> Iterator[Finding]:
    """Under weight decay the pulls on the labels add up to zero, as the data pull already does (EMB306)."""
    head, law = evidence.head, known_objective(evidence.model.objective)
    if (
        head is None
        or not head.origin_is_free
        or not exceeds(head.offset, DECAYED)
        or law is None
        or law.name not in DECAYING
    ):
        return
    yield finding("EMB306", evidence, value=head.offset)


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


def simplex(evidence: Evidence) -> Iterator[Finding]:
    """Compare the number of labels with the dimensions they span (EMB302, EMB303)."""
    head = evidence.head
    if head is None or not (head.projector.degenerate or head.projector.thin):
        return
    code = "EMB302" if head.projector.degenerate else "EMB303"
    names: dict[str, Any] = {
        "labels": counted(head.n_labels, head.model.title("right")),
        "held": counted(head.model.rank, "dimension"),
    }
    names |= {"norm": "" if evidence.norm is None else evidence.norm.norm.title}
    limits = {
        "cap": head.link.soft_cap is not None,
        "norm": evidence.norm is not None,
        "gauges": not head.link.guard,
    }
    yield finding(
        code,
        evidence,
        *["alone"] * (not head.has_inputs),
        *_towers(evidence),
        value=head.projector.labels_per_dimension,
        dimensions=counted(head.affine_rank, "dimension"),
        warning=head.projector.warning,
        **names
        | {
            field: template(code, field).format_map(names) * there
            for field, there in limits.items()
        },
    )


def hidden_labels(evidence: Evidence) -> Iterator[Finding]:
    """Count the labels that no input makes lead by a margin (EMB304), given `hull`."""
    argmax = None if evidence.head is None else evidence.head.argmax
    if argmax is None or not argmax.n_cannot:
        return
    title = evidence.model.row_title("right")
    noun = evidence.model.title("right")
    labels = f"{counted(len(argmax.labels), noun)}{' asked' * argmax.is_sample}"
    yield finding(
        "EMB304",
        evidence,
        *_towers(evidence),
        value=float(argmax.n_cannot),
        count=f"{argmax.n_cannot:,}",
        labels=labels,
        names=", ".join(
            row_quoted(title, str(name)) for name in argmax.to_dict()["cannot"][:3]
        )
        + "…" * (argmax.n_cannot > 3),
        margin=MARGIN,
    )


def declared(evidence: Evidence) -> Iterator[Finding]:
    """Report what a declared soft-cap or normalisation of a head rules out (EMB305)."""
    head = evidence.head
    if head is None or head.origin_is_free or not head.link.guard:
        return
    pinning, change = evidence.equivalence.pinning, head.centred.change
    yield finding(
        "EMB305",
        evidence,
        *["centred"] * head.centred.ok,
        value=change,
        guard=head.link.guard,
        change=template("EMB305", "relative" if change < 1 else "factor").format(
            change=change
        ),
        rest=template("EMB305", "rest") if pinning is None else pinning.explain(),
    )


def _changed(norm: NormEvidence, apart: ConventionDistance, title: str) -> str:
    """Write how many labels get another nearest one."""
    which = f"{title}s" if not norm.n_copies else f"{title}s without a duplicate"
    return f"{percent(apart.nearest.share)} of {which}{'' if apart.nearest.is_of_all else ' asked'}"


def final_norm(evidence: Evidence) -> Iterator[Finding]:
    """Report what folding the gains of the final norm does to nearest labels (EMB307, or a note)."""
    norm = evidence.norm
    if norm is None or norm.norm.condition_number == 1:
        return
    title = evidence.model.title("right")
    gauge, nearest = folding(norm.norm), norm.folded.nearest
    decides, zero = is_effect(nearest.share, nearest.n_rows), ["zero"] * (gauge is None)
    yield finding(
        "EMB307" if decides else "norm",
        evidence,
        *zero,
        kind=Kind.MEASURED if gauge is None else Kind.SHOWN,
        value=nearest.share,
        witness=gauge,
        norm=norm.norm.title,
        kappa=norm.norm.condition_number,
        changed=_changed(norm, norm.folded, title),
        mean=norm.folded.mean_abs,
        one=norm.furthest.first,
        other=norm.furthest.second,
        furthest=_changed(norm, norm.furthest, title),
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
