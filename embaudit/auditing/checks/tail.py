"""Whether a figure over all rows is one of rows with little behind them (EMB402)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import ONCE, counted, percent
from embaudit.movements.tail import FREQUENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.movements.tail import Tail

APART = 0.1
"""Difference of the shares of neighbours that stay from which rows with much behind them are another matter."""


def tail(evidence: Evidence) -> Iterator[Finding]:
    """Compare the neighbours that stay over all rows with those of frequent rows, and weighted."""
    for traits in evidence.traits:
        found = traits.tail
        if found is None or traits.equal is None or found.gap < APART or not evidence.predictions_hold:
            continue
        title = evidence.model.title(traits.role)
        over_all, other = percent(1 - found.over_all.share), percent(1 - found.furthest.share)
        claim = Claim(
            f"tail:{traits.role}", Kind.MEASURED, f"{title} lists", Scope(traits.equal),
            _text(found, title) + _once(traits.tail_without_twins), found.gap,
            "traits",
        )  # fmt: skip
        yield Finding(
            "EMB402",
            Severity.TIP,
            f"an equal model changes {over_all} of {found.top_n} nearest; {_whose(found, title)}, {other}",
            claim,
            f"Judge the {title}s that you ask about: figures over all of them are figures of the others.",
        )


def _whose(found: Tail, title: str) -> str:
    if found.furthest is found.frequent:
        return f"for {'frequent' if found.known == 'counts' else 'long'} {title}s"
    return f"weighted by {'counts' if found.known == 'counts' else 'length'}"


def _once(found: Tail | None) -> str:
    """Give the three figures again, of lists without copies."""
    if found is None:
        return ""
    shares = [percent(kept.share) for kept in (found.over_all, found.frequent, found.weighted)]
    return f" {ONCE.capitalize()} these are {shares[0]}, {shares[1]} and {shares[2]}."


def _text(found: Tail, title: str) -> str:
    which = f"with {FREQUENT} interactions or more" if found.known == "counts" else "of at least median length"
    by = "by interactions" if found.known == "counts" else "by row length (no counts are known)"
    return (
        f"In the equal model that moves lists most, {percent(found.over_all.share)} of the {found.top_n} nearest stay "
        f"over all {title}s. It is {percent(found.frequent.share)} for {counted(found.n_frequent, title)} {which}, and "
        f"{percent(found.weighted.share)} weighted {by}."
    )
