"""EMB302: too few labels for the dimensions, so that the rows do not group them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import counted

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport

ENTRY = Entry(
    "EMB302",
    title=(
        "too few labels for the dimensions: rows do not show which labels are similar"
    ),
    severities=(Severity.TIP,),
    measured="The number of dimensions that the differences of label rows span.",
    reported=(
        "If this number is the number of labels minus one, so that no label row is a "
        "mixture of the other rows."
    ),
    meaning=(
        "If inputs can be any vectors, there is an input for any differences of logits "
        "(within the bounds of a soft cap or a final norm). So without inputs, no "
        "label is more similar to one label than to another."
    ),
    why=(
        "The label rows alone cannot show which labels are similar, although their "
        "cosines seem to do so."
    ),
    remedy="Give inputs (`--inputs`), and use logit cosines over these inputs.",
    reference=(
        "Nielsen: Why not to use Cosine Similarity between Label Representations "
        "(arXiv 2603.29488)."
    ),
    grows=False,
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head whose labels are affinely independent."""
    head = evidence.head
    if head is None or not head.projector.degenerate:
        return
    label = evidence.model.title("right")
    dimensions = counted(head.model.rank, "dimension")
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.PROVEN,
        scope=Scope("all inputs"),
        rows=f"{label} cosines",
        role="right",
        value=head.projector.labels_per_dimension,
        title=(
            f"too few {label}s for {dimensions}: rows do not show which {label}s are "
            "similar"
        ),
        text=_text(evidence, head, dimensions),
        remedy=_remedy(evidence, head, label),
    )


def _text(evidence: Evidence, head: HeadReport, dimensions: str) -> str:
    """Write which differences of logits such a head can have, and what bounds them."""
    labels = counted(head.n_labels, head.model.title("right"))
    spanned = counted(head.affine_rank, "dimension")
    text = (
        f"{labels} span {spanned}, and no row is a mixture of the others. If inputs "
        "can be any vectors, any differences of logits are possible"
    )
    if head.link.soft_cap is not None:
        text += " before the soft cap, which keeps their order and bounds them"
    text += "."
    if evidence.norm is not None:
        text += (
            f" But the final {evidence.norm.norm.title} keeps inputs on an ellipsoid, "
            "which bounds these differences."
        )
    if not head.link.guard:
        text += (
            f" Affine gauges come near to any cosines that {labels} can have in "
            f"{dimensions}."
        )
    return (
        f"{text} Projector cosines (of rows of the projector onto the columns of the "
        "centred label matrix) are equal for all pairs."
    )


def _remedy(evidence: Evidence, head: HeadReport, label: str) -> str:
    """Write what tells which labels go together."""
    if not head.has_inputs:
        return (
            "Give inputs (`--inputs`) and use logit cosines over these inputs: the "
            f"rows alone do not show which {label}s are similar."
        )
    if is_head(evidence.model):
        return (
            "Use the logit cosines over your inputs: they show which "
            f"{label}s are similar."
        )
    return f"Use cosines of the predictions: they show which {label}s are similar."
