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
    from embaudit.auditing.traits import Traits
    from embaudit.movements.tail import Tail


def tail(evidence: Evidence) -> Iterator[Finding]:
    """Compare the neighbours that stay over all rows with those of frequent rows, and weighted."""
    for traits in evidence.traits:
        found = traits.tail
        if found is None or traits.equal is None or not evidence.predictions_hold:
            continue
        if found.gap < evidence.thresholds["tail"]:
            continue
        title = evidence.model.title(traits.role)
        told = traits.tail_without_twins or found
        furthest = told.frequent if found.furthest is found.frequent else told.weighted
        over_all, other = percent(1 - told.over_all.share), percent(1 - furthest.share)
        claim = Claim(
            f"tail:{traits.role}", Kind.MEASURED, f"{title} lists", Scope(traits.equal),
            _text(found, title, _called(evidence, traits)) + _once(traits.tail_without_twins), found.gap,
            "traits",
        )  # fmt: skip
        yield Finding(
            "EMB402",
            Severity.TIP,
            f"an equal model changes {over_all} of {found.top_n} nearest; {other} {_whose(found, title)}",
            claim,
            f"Judge the {title}s that you ask about: `--show NAME` lists their neighbours, and the figure over all "
            f"{title}s is another one.",
        )


def _called(evidence: Evidence, traits: Traits) -> str:
    names = {one.name: one.called(traits.role) for one in evidence.equivalents}
    return names.get(str(traits.equal), str(traits.equal))


def _whose(found: Tail, title: str) -> str:
    if found.furthest is found.frequent:
        return f"for {'frequent' if found.known == 'counts' else 'long'} {title}s"
    return f"weighted by {'use' if found.known == 'counts' else 'length'}"


def _once(found: Tail | None) -> str:
    """Give the three figures again, of lists without copies."""
    if found is None:
        return ""
    shares = [percent(kept.share) for kept in (found.over_all, found.frequent, found.weighted)]
    return f" {ONCE.capitalize()} these are {shares[0]}, {shares[1]} and {shares[2]}."


def _text(found: Tail, title: str, called: str) -> str:
    which = f"with {FREQUENT} interactions or more" if found.known == "counts" else "of at least median length"
    by = "by interactions" if found.known == "counts" else "by row length (no counts are known)"
    return (
        f"In one equal model ({called}) {percent(found.over_all.share)} of the {found.top_n} nearest stay over all "
        f"{title}s. It is {percent(found.frequent.share)} for {counted(found.n_frequent, title)} {which}, and "
        f"{percent(found.weighted.share)} weighted {by}."
    )
