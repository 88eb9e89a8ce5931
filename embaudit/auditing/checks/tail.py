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
            _text(found, told, title, _called(evidence, traits)), found.gap,
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


def _text(found: Tail, told: Tail, title: str, called: str) -> str:
    """Tell the three figures, and those of lists with all copies where there are any."""
    which = f"with {FREQUENT} interactions or more" if found.known == "counts" else "of at least median length"
    by = "by interactions" if found.known == "counts" else "by row length (no counts are known)"
    once = "" if told is found else f", {ONCE},"
    (over_all, frequent, weighted), (every, also, besides) = _lost(told), _lost(found)
    copies = "" if told is found else f" With all copies these are {every}, {also} and {besides}."
    return (
        f"In one equal model ({called}){once} {over_all} of the {found.top_n} nearest change over all {title}s. It is "
        f"{frequent} for {counted(found.n_frequent, title)} {which}, and {weighted} weighted {by}.{copies}"
    )


def _lost(found: Tail) -> list[str]:
    return [percent(1 - kept.share) for kept in (found.over_all, found.frequent, found.weighted)]
