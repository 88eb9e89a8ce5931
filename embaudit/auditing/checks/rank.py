"""Whether the vectors have directions that no prediction sees (EMB203)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def hidden_directions(evidence: Evidence) -> Iterator[Finding]:
    """Compare the rank with the effective one."""
    position = evidence.position
    if position is not None and position.effective_rank < position.rank:
        unseen = position.rank - position.effective_rank
        yield Finding(
            "EMB203",
            Severity.ISSUE,
            f"{unseen} of {position.rank} latent dimensions take no part in the predictions",
            "What the vectors hold there is arbitrary, and their cosines count it in full.",
            "Remove those directions (the canonical models of this audit do).",
            float(unseen),
        )
