"""The document of a threshold: its errors, and the scores of unrelated pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embaudit.core.words import (
    counted,
    drawn_of,
    in_decimals,
    percent_with_interval,
    three_digits,
)
from embaudit.report.document import Document, Section
from embaudit.report.tables import Table
from embaudit.report.threshold_figure import ThresholdDisplay
from embaudit.serving import Threshold


def threshold_document(found: Threshold) -> Document:
    """Build the document of a threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import threshold
    >>> rows = np.random.default_rng(0).standard_normal((200, 8))
    >>> found = threshold(FactorModel.from_vectors(rows))
    >>> print(threshold_document(found).tables[0])
    cosines that unrelated item-item pairs reach (95 % intervals in brackets)
    at most               cosine  of 199 items
    5 %      0.58 (0.57 to 0.59)          9.95
    1 %      0.75 (0.74 to 0.76)          1.99
    0.1 %    0.89 (0.86 to 0.89)         0.199
    0.01 %   0.93 (0.91 to 1.00)        0.0199
    """
    tables = [level_table(found)]
    if found.labelled is not None:
        tables.insert(0, error_table(found))
    return Document(
        "Where to set the cut-off?",
        (found.conclusion, *found.details),
        top=(ThresholdDisplay.from_threshold(found),),
        sections=tuple(
            Section.from_tables(place, name, name, table)
            for place, name, table in zip(
                ("errors", "unrelated")[-len(tables) :],
                ("Labelled pairs", "Unrelated pairs")[-len(tables) :],
                tables,
                strict=True,
            )
        ),
        facts=_facts(found),
        glossary=GLOSSARY,
    )


GLOSSARY = (
    (
        "unrelated pair",
        "two rows drawn at random, of different groups if rows have any.",
    ),
    ("query", "the first row of a labelled pair."),
    ("precision", "the share of the labelled pairs above the cut that are related."),
    ("recall", "the share of the related pairs that are above the cut."),
    ("false positive", "a pair labelled unrelated that is above the cut."),
    (
        "area under the ROC curve",
        "the probability that a related pair has a higher score than an unrelated one.",
    ),
    (
        "balanced accuracy",
        "the mean of the recall and of the share of unrelated pairs below the cut.",
    ),
)
"""Words of the page, and their meanings."""


def level_table(found: Threshold) -> Table:
    """Tabulate the cosines that shares of unrelated pairs reach."""
    import pandas as pd

    rows = []
    for record in found.levels():
        cosine = _score(
            found,
            record["threshold"],
            record["threshold_ci_low"],
            record["threshold_ci_high"],
        )
        per_query = three_digits(record["unrelated_per_query"])
        level = f"{100 * record['level']:.10g} %"
        rows.append((level, cosine, per_query))
    candidates = counted(found.n_candidates, found.candidate_title)
    columns = ["at most", "cosine", f"of {candidates}"]
    return Table(
        f"cosines that unrelated {found.title} pairs reach",
        pd.DataFrame(rows, columns=columns),
        "95 % intervals in brackets",
        formats=dict.fromkeys(columns, str),
        has_intervals=True,
        is_whole=True,
    )


def _score(found: Threshold, value: float, low: float, high: float) -> str:
    """Write a cosine with its interval."""
    texts = [in_decimals(number, found.decimals) for number in (value, low, high)]
    return f"{texts[0]} ({texts[1]} to {texts[2]})"


def error_table(found: Threshold) -> Table:
    """Tabulate the errors of thresholds on labelled pairs."""
    import pandas as pd

    assert found.labelled is not None
    rows = []
    for record in found.errors():
        false_positives = three_digits(record["false_positives"])
        ends = [
            three_digits(record[f"false_positives_ci_{end}"]) for end in ("low", "high")
        ]
        rows.append(
            (
                in_decimals(record["threshold"], found.decimals),
                _share(record, "recall"),
                _share(record, "precision"),
                f"{false_positives} ({ends[0]} to {ends[1]})",
                _share(record, "unrelated_share"),
            )
        )
    columns = [
        "cut at",
        "recall",
        "precision",
        "false positives per query",
        "of unrelated pairs",
    ]
    return Table(
        f"what passes a cut, of {counted(len(found.labelled.scores), 'labelled pair')}",
        pd.DataFrame(rows, columns=columns),
        "95 % intervals in brackets",
        formats=dict.fromkeys(columns, str),
        has_intervals=True,
        is_whole=True,
    )


def _share(record: Mapping[str, Any], name: str) -> str:
    """Write a share of a record with its interval."""
    interval = (record[f"{name}_ci_low"], record[f"{name}_ci_high"])
    return percent_with_interval(record[name], interval)


def _facts(found: Threshold) -> tuple[tuple[str, str], ...]:
    """Return what was measured."""
    drawn = drawn_of(len(found.unrelated), found.unrelated.total, "pair")
    facts = [
        ("pairs", f"{found.title}, by cosine"),
        ("unrelated pairs", drawn),
        ("level", found.level_text),
    ]
    if found.labelled is not None:
        scores = found.labelled.scores
        facts += [
            (
                "labelled pairs",
                f"{len(scores):,}, {scores.n_related:,} of them related",
            ),
            ("queries", f"{scores.n_queries:,}"),
        ]
    return tuple(facts)
