"""What the whole set of equal models allows: cosines that may be others, cosines that are pinned, and neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind
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
        shown = found.kind is Kind.SHOWN
        moved = None if fibre.pinning is None else fibre.pinning.moved_of(role)
        value = moved.max_abs if shown and moved is not None else None
        yield Claim(
            f"{NAMES[found.moves]}:{role}", found.kind, f"{Pairs(role).titled(evidence.model)} cosines", fibre.scope,
            found.because, value, "fibre", witness if shown else None,
        )  # fmt: skip
