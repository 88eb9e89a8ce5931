"""EMB504: queries that are far from all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB504",
    title="some queries are far from all {items}",
    severities=(Severity.TIP,),
    meaning=(
        "The best {item} of some of your queries (`--queries`) is no nearer to them "
        "than to a query that is related to nothing. Or the queries as a whole do not "
        "fit the {items}."
    ),
    why=(
        "An index always returns a full list, also if nothing fits. These lists are "
        "arbitrary."
    ),
    remedy=(
        "Look at these queries: another language, another subject, or empty and broken "
        "text. Show no result below a level, or add what they ask for. If the queries "
        "as a whole do not fit, check that one model made queries and {items}, with "
        "the prompts, pooling and normalisation that it was trained with."
    ),
    computed=(
        "The best value of a query is its cosine, distance, or inner product at length "
        "1 with its best {item}. A query is far if its best value is more than 3.5 "
        "robust standard deviations (1.4826 MAD; of the angles of cosines) worse than "
        "the median of all queries, no better than the median best value of 400 "
        "unrelated queries, and worse than nearly all best values of the {items} "
        "themselves, each without itself (of the {users}, if the model has them). "
        "Unrelated queries are random mixtures of all queries: they have the mean and "
        "the covariance of the queries, but no subject of their own. Unless half of "
        "the queries are nearer than 95 % of the mixtures, a far query must be farther "
        "than all mixtures. Reported if 1 % and five of the queries are far. The last "
        "of the three conditions is chosen such that queries that are drawn like the "
        "{items} are reported with a probability of at most 5 %, whatever the "
        "distribution is (ranks among both are hypergeometric). The queries as a whole "
        "do not fit if at most 10 % of them are nearer than 95 % of the mixtures, both "
        "of queries and of the {items} themselves, but at least half of those are. "
        "Checked for 30 different queries or more. "
        "A quick audit of a long table searches its sample of rows alone."
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
            "Look at them: another language, another subject, or empty text. Show no "
            "result below a level, or add what they ask for."
        )
    else:
        share = 1.0
        title = f"the queries do not fit these {reach.items}"
        remedy = (
            f"Check that one model made the queries and the {reach.items}, with the "
            "prompts, pooling and normalisation that it was trained with."
        )
    yield Finding(
        code=ENTRY.name,
        severity=Severity.TIP,
        kind=Kind.MEASURED,
        scope=AT_HAND,
        rows="queries",
        value=share,
        title=title,
        text=f"{reach.on_queries} {reach.on_far}",
        remedy=remedy,
        measured_on=reach.measured_on,
    )
