"""What a declared soft-cap or normalisation of a head rules out (EMB305)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.head_evidence import HeadEvidence


def declared(evidence: Evidence) -> Iterator[Finding]:
    """Say which other heads no longer predict the same."""
    head = evidence.head
    if head is None or head.origin_is_free:
        return
    kept = _lengths(head) if head.link.unit_rows else "Linear gauges still keep every probability."
    yield Finding(
        "EMB305",
        Severity.TIP,
        f"{head.link.guard} fixes the origin of the labels",
        f"With it, removing the mean row changes a probability by {_relative(head.centred.change)}: "
        f"translations make other heads. {kept}",
        "If the declaration is wrong, audit again without it.",
        head.centred.change,
    )


def _lengths(head: HeadEvidence) -> str:
    k = head.rank
    needed = k * (k + 1) // 2
    text = f"Linear gauges must keep all {head.n_labels:,} lengths, which only rotations do where there are enough"
    return text + (" labels." if head.n_labels >= needed else f": {needed:,}, so here some others do too.")


def _relative(change: float) -> str:
    """Write a change of a log-probability as a factor where it is large."""
    return f"a relative {change:.2g}" if change < 1 else f"a factor e^{change:.1f}"
