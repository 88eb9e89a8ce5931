"""Whether every label can be the most probable one (EMB304)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


def hidden_labels(evidence: Evidence) -> Iterator[Finding]:
    """Count the labels that no input can make lead."""
    if evidence.head is None or not evidence.head.argmax.n_cannot:
        return
    argmax = evidence.head.argmax
    names = ", ".join(repr(name) for name in argmax.to_dict()["cannot"][:3]) + "…" * (argmax.n_cannot > 3)
    asked = f"{len(argmax.labels):,} labels asked" if argmax.is_sample else "all labels"
    yield Finding(
        "EMB304",
        Severity.TIP,
        f"{argmax.n_cannot:,} of {asked} can never be the most probable",
        f"No input, of whatever network, makes them lead ({names}): their rows lie inside the hull of the others.",
        "Greedy decoding can never emit them; lengthen those rows, or give the head more dimensions or a bias.",
        float(argmax.n_cannot),
    )
