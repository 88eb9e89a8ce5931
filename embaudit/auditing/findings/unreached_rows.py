"""EMB503: rows that are in the list of no query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

NOTES = ("queries",)
"""Words of the notes of this module."""
ENTRY = Entry(
    "EMB503",
    title="no query finds some {items}",
    severities=(Severity.TIP,),
    meaning=(
        "More {items} than chance explains are in the list of none of your queries "
        "(`--queries`)."
    ),
    why=(
        "Nobody who searches as these queries do ever sees them, and nothing shows "
        "that they are missing."
    ),
    remedy=(
        "Look at some of them. Find them in another way, too, such as by words, or "
        "lengthen the lists. By inner product, short vectors inside of the others are "
        "never first, and by cosine every {item} is first for some query. Hubs take "
        "places of others: see EMB502."
    ),
    computed=(
        "The null hypothesis is equal popularity: each of m lists holds n of N {items} "
        "drawn at random and independently, so (1 − n/N)^m of the {items} are in none. "
        "With few queries these are most of them, so nothing is concluded unless they "
        "are 5 % at most, which takes about 3 N/n queries. Reported if the {items} in "
        "no list exceed that number by 1 % of the {items}, by five, and by four "
        "standard deviations, and if a further query would list them at most a quarter "
        "as often as {items} of average popularity. That frequency is estimated by the "
        "number of {items} in exactly one list (Good and Turing). Equal queries and "
        "equal {items} count once. By inner product, up to 16 of the {items} in no "
        "list are tested: if one is inside the convex hull of the others, it is the "
        "only best one of no vector at all. A quick audit of a long table searches its "
        "sample of rows alone."
    ),
    reference=(
        "Good: The population frequencies of species and the estimation of population "
        "parameters (Biometrika 40, 1953). Demeter, Kimmel, Downey: Stolen Probability "
        "(ACL 2020), on rows inside the convex hull."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report rows that no query lists, beyond chance; or a note if there are none."""
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
            scope=AT_HAND,
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
            " By inner product short vectors lose; by cosine none is out of reach: "
            "compare with `--served cosine`."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=AT_HAND,
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
