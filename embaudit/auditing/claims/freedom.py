"""What the whole set of equal models allows: cosines that may be others, cosines that are pinned, and neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim
from embaudit.model import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence

NAMES = {True: "free", False: "pinned", None: "undecided"}


def freedom(evidence: Evidence) -> Iterator[Claim]:
    """Tell for each kind of pairs whether an equal model may have other cosines."""
    fibre = evidence.fibre
    witness = None if fibre.pinning is None else fibre.pinning.witness
    for role, found in fibre.freedom.items():
        shown = None if fibre.pinning is None or role == "cross" else (fibre.pinning.moved or {}).get(role)
        value = shown.max_abs if shown is not None and found.moves else None
        yield Claim(
            f"{NAMES[found.moves]}:{role}", found.kind, f"{Pairs(role).titled(evidence.model)} cosines", fibre.scope,
            found.because, value, "fibre", witness if found.moves else None,
        )  # fmt: skip
