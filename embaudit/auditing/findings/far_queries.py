"""EMB504: queries that are far from all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB504",
    title="some queries are far from all {items}",
    severities=(Severity.TIP,),
    measured=(
        "How close each of your queries (`--queries`) is to its best {item}, by "
        "cosine, by distance, or by inner product with the query scaled to length 1. "
        "The queries are compared with each other, with unrelated queries and with "
        "reference rows. Unrelated queries are 400 random mixtures of all queries: "
        "they have the mean and the covariance of the queries, but no subject of their "
        "own. Reference rows are the {items} themselves, each without itself (or the "
        "{users}, if the model has them)."
    ),
    reported=(
        "If at least 1 % of the queries, and at least five, are far (more than five if "
        "there are few reference rows). A query is far if it is more than 3.5 robust "
        "standard deviations (1.4826 MAD; for cosines, of their angles) farther from "
        "its best {item} than the median query, no closer than the median unrelated "
        "query, and farther than nearly all reference rows. This last limit is chosen "
        "such that queries that are drawn like the reference rows are reported with a "
        "probability of at most 5 %, whatever the distribution is (ranks among both "
        "are hypergeometric). If less than half of the queries are closer than 95 % of "
        "the unrelated queries, a far query must also be farther than all of them. The "
        "queries as a whole do not fit if at least half of the reference rows are "
        "closer than 95 % of random mixtures of reference rows, but at most 10 % of "
        "the queries are closer than 95 % of their own mixtures, and at most 10 % "
        "closer than 95 % of the mixtures of reference rows. Checked for at least 30 "
        "different queries. A quick audit of a long table searches only its sample of "
        "rows."
    ),
    meaning=(
        "Even the best {item} of some of your queries is no closer than it would be to "
        "a query without any subject. Or the queries as a whole do not fit the {items}."
    ),
    why=(
        "An index always returns a full list, even if no {item} fits. Such lists are "
        "arbitrary."
    ),
    remedy=(
        "Look at these queries: they can be in another language, about another "
        "subject, or empty or broken text. Show no result below a level, or add "
        "{items} for these queries. If the queries as a whole do not fit, check that "
        "one model made queries and {items}, with the prompts, pooling and "
        "normalisation that it was trained with."
    ),
    reference="Iglewicz, Hoaglin: How to Detect and Handle Outliers (1993).",
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report queries to which no row is near."""
    reach = evidence.reach
    if reach is None or reach.nearness is None or not reach.has_far:
        return
    near = reach.nearness
    if near.fits:
        share = near.n_far / len(reach.queries)
        title = f"{percent(share)} of the queries are far from {reach.all_items}"
        remedy = (
            "Look at these queries: they can be in another language, about another "
            f"subject, or empty. Show no result below a level, or add {reach.items} "
            "for these queries."
        )
    else:
        share = 1.0
        title = (
            f"the queries do not fit these {reach.items}: only "
            f"{percent(near.near_share)} of them are near some {reach.item}"
        )
        remedy = (
            f"Check that one model made the queries and the {reach.items}, with the "
            "prompts, pooling and normalisation that it was trained with."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows="queries",
        value=share,
        title=title,
        text=f"{reach.on_queries} {reach.on_far}",
        remedy=remedy,
        measured_on=reach.measured_on,
    )
