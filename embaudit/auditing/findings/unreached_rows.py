"""EMB503: rows that are in the list of no query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

NOTES = ("queries",)
"""Words of the notes of this module."""
ENTRY = Entry(
    "EMB503",
    title="no query finds some {items}",
    severities=(Severity.TIP,),
    measured=(
        "The number of {items} that are in no list of your queries (`--queries`). "
        "Equal queries and equal {items} count once. The number is compared with "
        "chance, which means equal popularity: each of m lists holds n of N {items}, "
        "drawn at random and independently, so a share of (1 − n/N)^m of the {items} "
        "is in no list. How often a further query would list these {items} is "
        "estimated from the number of {items} in exactly one list (Good and Turing). "
        "By inner product, up to 16 of the {items} in no list are tested: if such an "
        "{item} is inside the convex hull of the others, no vector at all has it as "
        "its only best {item}."
    ),
    reported=(
        "If the number exceeds chance by 1 % of the {items}, by five, and by four "
        "standard deviations, and if a further query would list these {items} at most "
        "a quarter as often as {items} of average popularity. Nothing is reported if "
        "chance leaves more than 5 % of the {items} in no list, so about 3 N/n queries "
        "are needed. A quick audit of a long table searches only its sample of rows."
    ),
    meaning="More {items} than chance explains are in no list of your queries.",
    why=(
        "People who search with such queries never see these {items}, and nothing "
        "shows that they are missing."
    ),
    remedy=(
        "Look at some of them. Let people find these {items} in another way, too, such "
        "as by words, or lengthen the lists. By inner product, short vectors inside "
        "the convex hull of the others are never first. By cosine, every {item} is "
        "first for some query. Hubs take the places of other {items}: see EMB502."
    ),
    reference=(
        "Good: The population frequencies of species and the estimation of population "
        "parameters (Biometrika 40, 1953). Demeter, Kimmel, Downey: Stolen Probability "
        "(ACL 2020), on rows inside the convex hull."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report rows that no query lists, beyond chance, or note that queries list all."""
    reach = evidence.reach
    if reach is None:
        return
    rows = f"{reach.item} lists of queries"
    if not reach.has_unreached:
        is_decided = reach.has_enough_queries or not len(reach.unreached)
        yield Finding(
            code="queries",
            severity=Severity.NOTE,
            kind=Kind.MEASURED if is_decided else Kind.UNDECIDED,
            scope=THIS_MODEL,
            rows=rows,
            value=reach.share_unreached,
            text=reach.on_reach,
            measured_on=reach.measured_on,
        )
        return
    remedy = (
        f"Look at some of them. Let people find these {reach.items} in another way, "
        "too, such as by words, or lengthen the lists."
    )
    if reach.measure == "dot" and not reach.has_bias:
        remedy += (
            f" By inner product, short vectors lose. By cosine, every {reach.item} is "
            "first for some query: compare with `--served cosine`."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=rows,
        value=reach.share_unreached,
        title=(
            f"no query finds {percent(reach.share_unreached)} of the {reach.items} "
            f"({percent(reach.by_chance)} by chance)"
        ),
        text=f"{reach.on_queries} {reach.on_reach} {reach.on_unreached}",
        remedy=remedy,
        measured_on=reach.measured_on,
    )
