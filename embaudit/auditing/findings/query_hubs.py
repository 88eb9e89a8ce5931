"""EMB502: rows that fill the lists of the queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import counted, percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB502",
    title="a few {items} fill the lists of the queries",
    severities=(Severity.TIP,),
    measured=(
        "How often each {item} occurs in the top 10 of your queries (`--queries`). "
        "Equal queries and equal {items} count once. Hubs are the 1 % of the {items} "
        "that occur most often, at most ten, if each of them is in more lists than "
        "chance explains. Chance means equal popularity: each of m lists holds n of N "
        "{items}, drawn at random, so the number of lists with one {item} is binomial "
        "(m, n/N). With 99 % certainty, no {item} is in more than c lists if N · "
        "P(more than c) is at most 1 %."
    ),
    reported=(
        "If hubs fill at least 10 % of all places, and there are at least 100 "
        "different {items}. A quick audit of a long table searches only its sample of "
        "rows."
    ),
    meaning=(
        "Some {items}, called hubs, are among the best {items} of very many of your "
        "queries."
    ),
    why=(
        "Whatever people search for, they see the same few {items}, which take the "
        "places of other {items}."
    ),
    remedy=(
        "Look at these {items} first: short or general texts are often near to "
        "everything. Subtract from each value the mean value of its {item} over many "
        "queries, or centre {items} and queries. By inner product, long vectors are "
        "hubs: serve by cosine if the training allows it."
    ),
    reference="Radovanović, Nanopoulos, Ivanović: Hubs in Space (JMLR 11, 2010).",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Name the rows that fill much of the lists of the queries."""
    reach = evidence.reach
    if reach is None or not reach.has_hubs:
        return
    n_hubs = len(reach.hubs)
    verb = "fills" if n_hubs == 1 else "fill"
    remedy = (
        f"Look at these {reach.items} first: a row that is near to every query says "
        "little. Subtract from each value the mean value of its row over many "
        "queries, or centre rows and queries."
    )
    if reach.measure == "dot":
        remedy = (
            f"Look at these {reach.items} first. By inner product, long vectors are "
            "hubs: compare with `--served cosine`, or subtract from each value the "
            "mean value of its row over many queries."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{reach.item} lists of queries",
        value=reach.filled,
        title=(
            f"{counted(n_hubs, reach.item)} of {len(reach.rows):,} {verb} "
            f"{percent(reach.filled)} of the lists of the queries"
        ),
        text=f"{reach.on_queries} {reach.on_hubs}",
        remedy=remedy,
        measured_on=reach.measured_on,
    )
