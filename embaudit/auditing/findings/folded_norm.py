"""EMB307: the gains of the final norm, before or in the head, decide nearest labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import gains_decide
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import FEW, drawn_of, share_of
from embaudit.heads.conventions import ConventionDistance, NormEvidence, folding

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB307",
    also=("folding", "final norm"),
    title="folding in the gains of the final norm changes the nearest labels",
    severities=(Severity.ISSUE,),
    measured=(
        "The audit multiplies the gains of the final norm into the head, and compares "
        "nearest labels before and after. Labels with a duplicate are skipped. Logits "
        "of 1,000 random normalised states verify that both heads are one model. After "
        "a LayerNorm, no state sees the component of a row along the vector of ones."
    ),
    reported=(
        "If at least 5 % of these labels and more than five get another nearest label."
    ),
    meaning=(
        "A network multiplies its last states by gains, and then by the head. If the "
        "gains are multiplied into the head instead, the model is the same, but label "
        "cosines differ."
    ),
    why=(
        "Papers differ in this convention, so two readers of one model can list "
        "different neighbours."
    ),
    remedy=(
        "Say which convention you use, and compare heads in one convention only. "
        "`embaudit fix --as folded-centred` writes a head with the gains folded in and "
        "the mean row subtracted."
    ),
    reference="Nanda, Bloom: TransformerLens (2022), on folding a LayerNorm.",
)


def keeping_labels(norm: NormEvidence, apart: ConventionDistance, label: str) -> str:
    """Write how many labels keep their nearest label in another convention."""
    share, n_rows = 1 - apart.nearest.share, apart.nearest.n_rows
    labels = f"{label}s"
    if norm.n_copies:
        labels = f"{label}s without a duplicate"
    if n_rows < FEW:
        return f"{share_of(share, n_rows)} {labels}"
    if apart.nearest.is_of_all:
        return f"{share_of(share, n_rows)} the {labels}"
    return f"{share_of(share, n_rows)} {n_rows:,} sampled {labels}"


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report a head whose nearest labels change if its final norm is folded in."""
    norm = evidence.norm
    if norm is None or not gains_decide(norm):
        return
    label = evidence.model.title("right")
    noun = "head" if is_head(evidence.model) else "model"
    gauge = folding(norm.norm)
    keeping = keeping_labels(norm, norm.folded, label)
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.MEASURED if gauge is None else Kind.SHOWN,
        scope=Scope(f"the {noun} with the gains of its final norm folded in"),
        rows=f"{label} cosines",
        role="right",
        value=norm.folded.nearest.share,
        measured_on=f"lists of {_searched(evidence, norm, label)}",
        witness=gauge,
        title=f"folding in the norm keeps the nearest {label} of {keeping}",
        text=_text(norm, label, noun),
        remedy=(
            f"Name the convention where you report {label} cosines, and compare "
            f"{noun}s in one convention only. `embaudit fix --as folded-centred` "
            f"writes a {noun} in which the gains and the origin are no longer a "
            "choice. The axes still are a choice."
        ),
    )


def _searched(evidence: Evidence, norm: NormEvidence, label: str) -> str:
    """Write of how many labels the nearest labels were compared, and of how many."""
    model = evidence.whole
    n_labels = len(model.right_side.directed)
    return drawn_of(norm.folded.nearest.n_rows, n_labels, label)


def _text(norm: NormEvidence, label: str, noun: str) -> str:
    """Write how far conventions of the norm are apart.

    If folding is no gauge, some gain is 0.
    """
    gains = f"The gains of the final {norm.norm.title}"
    has_zeros = folding(norm.norm) is None
    if not has_zeros:
        ratio = f"{norm.norm.condition_number:.3g}"
        gains = f"{gains}, which differ by a factor of up to {ratio},"
    furthest = norm.furthest
    sentences = [
        f"{gains} can be applied before the {noun} or multiplied into it. The model is "
        f"the same, but {label} cosines differ by {norm.folded.mean_abs:.2f} on "
        "average.",
    ]
    if has_zeros:
        sentences.append("Some gains are 0, so these dimensions reach no logit.")
    sentences.append(
        f"The two conventions furthest apart are {furthest.first!r} and "
        f"{furthest.second!r}: {keeping_labels(norm, furthest, label)} keep their "
        f"nearest {label}."
    )
    return " ".join(sentences)
