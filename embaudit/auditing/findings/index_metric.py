"""EMB501: the index lists other rows than the model was trained to list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import is_head
from embaudit.core.words import percent
from embaudit.serving.index_metric import (
    MEASURE_WORDS,
    Basis,
    IndexMetric,
    ServedLists,
    needs_metric,
)

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.io.intake import Metric

WITHOUT_LISTS = ("not_served", "not_compared")
"""Words of the notes on lists that were not compared."""
NOTES = ("served", *WITHOUT_LISTS)
"""Words of the notes of this module."""
ENTRY = Entry(
    "EMB501",
    title="the index lists other {items} than the model was trained to list",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "For 400 random queries, the audit compares the first 10 rows by the measure "
        "of the training with the first 10 rows of the index. Rows with the same value "
        "as the tenth row count as kept. `--served`, the store or the FAISS file says "
        "how the index compares rows. A quick audit of a long table draws 100 queries "
        "from its sample of rows, and searches only this sample."
    ),
    reported=(
        "If more than 5 % of the rows are lost. An issue if it is known how the model "
        "predicts. A tip if this is assumed, or if one table is compared with the "
        "cosine that the audit is about."
    ),
    meaning=(
        "An index ranks {items} by cosine, inner product or Euclidean distance. This "
        "index uses another measure than the training, or lacks the {item} bias, so it "
        "lists other {items} than the model would."
    ),
    why=(
        "Nothing fails: the index answers fast and plausibly, but by a measure that "
        "nobody trained. Cosines ignore the length of a vector, and Euclidean "
        "distances prefer short vectors. Popular {items} often have long vectors, so "
        "such an index shows rarer {items}."
    ),
    remedy=(
        "Use the measure of the training in the index. If the index has no inner "
        "product, index the vectors that `embaudit fix --as equal-length` writes for a "
        "model of dot products. It adds a column that gives all {items} the same "
        "length: √(M² − ‖x‖²) for an {item} x, where M is the length of the longest "
        "{item}, and 0 for a {user}. Then inner product, cosine and Euclidean distance "
        "give the same order. A bias b becomes one more column, which is added first: "
        "b for an {item} and 1 for a {user}. For lists of similar {items}, index the "
        "vectors of `embaudit fix --as prediction --unit`."
    ),
    reference=(
        "Bachrach et al.: Speeding Up the Xbox Recommender System Using a Euclidean "
        "Transformation for Inner-Product Spaces (RecSys 2014)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report how many rows the index lists that the model does not list."""
    served = evidence.served
    if served is None:
        if evidence.stated is not None and evidence.stated.is_stated:
            yield _not_compared(evidence, evidence.stated)
        else:
            yield from _ask(evidence)
        return
    if not served.directions:
        return
    lists, *others = served.directions
    text = _text(served)
    rows = f"{lists.title} lists"
    if not lists.changes:
        yield Finding(
            code="served",
            severity=Severity.NOTE,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=rows,
            value=lists.changed,
            text=text,
            measured_on=lists.measured_on,
        )
        return
    is_known = lists.basis is Basis.TRAINING and not lists.is_assumed
    yield Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE if is_known else Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=rows,
        value=lists.changed,
        title=_title(served, lists),
        text=text,
        remedy=" ".join([lists.remedy, *(other.remedy for other in others)]),
        measured_on=lists.measured_on,
    )


def _text(served: IndexMetric) -> str:
    """Write the measured shares, for the direction of the training first."""
    lists, *others = served.directions
    texts = [served.contradiction, served.on_default]
    texts += [lists.sentence, lists.own_cause, lists.own_matches]
    for other in others:
        texts += [
            other.sentence,
            f"The answer says whether {other.item} cosines are fixed.",
            other.own_matches,
        ]
    texts.append(served.on_lengths)
    return " ".join(filter(None, texts))


def _title(served: IndexMetric, lists: ServedLists) -> str:
    """Say in a few words how the index differs, and how much of the lists changes."""
    measure = MEASURE_WORDS[served.served]
    changed = f"{percent(lists.changed)} of each {lists.query}'s top {lists.n}"
    if lists.basis is Basis.THIS_AUDIT:
        return f"your index compares by {measure}, which changes {changed}"
    if lists.has_other_measure:
        return f"your index compares by {measure}, unlike the model: {changed} changes"
    return f"your index lacks the {lists.item} bias: {changed} changes"


def _not_compared(evidence: Evidence, stated: Metric) -> Finding:
    """Say in one sentence that lists by the metric of the store are not compared."""
    title = evidence.model.title("right")
    return Finding(
        code="not_compared",
        severity=Severity.NOTE,
        kind=Kind.UNDECIDED,
        scope=THIS_MODEL,
        rows=f"{title} lists",
        text=(
            f"Metric of the index: {stated}. Its lists are not compared with those of "
            "the model: only lists by cosine, inner product and Euclidean distance "
            "can be compared."
        ),
    )


def _ask(evidence: Evidence) -> Iterator[Finding]:
    """Ask how an index compares rows, if its lists depend on the measure.

    The labels of a classifier are not served from an index.
    """
    model = evidence.model
    if is_head(model) or not needs_metric(model):
        return
    yield Finding(
        code="not_served",
        severity=Severity.NOTE,
        kind=Kind.UNDECIDED,
        scope=THIS_MODEL,
        rows=f"{model.title('left')} → {model.title('right')} lists",
        text="Served from an index? `--served cosine`, `dot` or `l2` checks its lists.",
    )
