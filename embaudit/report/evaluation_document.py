"""The document of an evaluation of similarities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from embaudit.core.words import counted, down, percent, three_decimals, up
from embaudit.evaluation import Evaluation
from embaudit.evaluation.result import MEASURE_TITLES, RAW
from embaudit.report.document import Charted, Document, Section, glossary
from embaudit.report.figures import IntervalDisplay
from embaudit.report.tables import INTERVALS_IN_BRACKETS, Table, with_index_column

NEVER_LISTED = "never listed"
"""Column of the share of candidates that are in no list."""
POPULAR_PLACES = "popular tenth"
"""Column of the share of all places of lists that the most popular tenth takes."""
ENDS_OF_INTERVALS = {
    "value": ("ci_low", "ci_high"),
    "difference": ("difference_ci_low", "difference_ci_high"),
}
"""Fields of a record with the interval of a quantity."""


def evaluation_document(evaluation: Evaluation) -> Document:
    """Build the document of an evaluation.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> model = FactorModel.from_vectors(items)
    >>> labels = ["a", "a", "b", "b"]
    >>> evaluation = evaluate_similarities(model, labels, n_neighbours=1)
    >>> document = evaluation_document(evaluation)
    >>> document.question
    'Which similarity finds items that share a label?'
    >>> list(document.top[0].names)
    ['cosine', 'dot product', 'centred cosine', 'CSLS']
    """
    scores = Section.from_tables(
        "scores",
        "Scores",
        _capitalised(_scores_title(evaluation)),
        evaluation_table(evaluation),
        thirds_table(evaluation),
    )
    all_numbers = Table("every number", with_index_column(evaluation.to_frame()))
    differences = Section(
        "differences",
        "Differences",
        "How far each similarity is from the cosine",
        parts=(Charted("", all_numbers, tuple(_difference_figures(evaluation))),),
    )
    # Evaluations by users have no labels.
    required = "direction"
    if evaluation.users is None:
        required = "label or direction"
    return Document(
        f"Which similarity finds {evaluation.title}s that {evaluation.relation}?",
        tuple(evaluation.explain().splitlines()),
        top=(_value_figure(evaluation),),
        n_embedded=len(scores.parts),
        sections=(scores, differences),
        facts=(
            ("queries", _queries_text(evaluation)),
            ("candidates", counted(evaluation.n_candidates, evaluation.title)),
            (f"skipped, because they have no {required}", f"{evaluation.n_left_out:,}"),
            ("length of the lists", str(evaluation.n)),
        ),
        glossary=glossary("evaluate"),
    )


def _scores_title(evaluation: Evaluation) -> str:
    """Return the title of the table of scores."""
    return (
        f"how well each similarity finds {evaluation.title}s that {evaluation.relation}"
    )


def _capitalised(text: str) -> str:
    """Write the first letter as a capital and keep the others."""
    return text[:1].upper() + text[1:]


def _value_figure(evaluation: Evaluation) -> IntervalDisplay:
    """Draw the first measure of each similarity, next to the value by chance."""
    first = evaluation.measures[0]
    label = f"{MEASURE_TITLES[first]} at {evaluation.n}"
    records = [record for record in evaluation.records() if record["measure"] == first]
    return _interval_figure(
        evaluation,
        records,
        "value",
        title=f"{label} of each similarity, with its 95 % interval",
        legend=("mean, 95 % interval", "not the cosine's"),
        label=label,
        level=("chance", evaluation.chance),
    )


def _difference_figures(evaluation: Evaluation) -> Iterator[IntervalDisplay]:
    """Yield, for each measure, a figure of the differences from the cosine."""
    for measure in evaluation.measures:
        records = [
            record
            for record in evaluation.records()
            if record["measure"] == measure and record["similarity"] != RAW
        ]
        label = f"{MEASURE_TITLES[measure]}, less that of the cosine"
        if records:
            yield _interval_figure(
                evaluation,
                records,
                "difference",
                title=f"{label}; 95 % intervals, all of a measure together",
                legend=("difference", "beyond chance"),
                label=label,
            )


class Score(NamedTuple):
    """A measure of one similarity, as the first table of an evaluation shows it."""

    value: float
    low: float
    high: float
    differs: bool
    """True if the measure differs from the cosine's beyond chance."""

    def __str__(self) -> str:
        # An interval is cut at 0 and 1, so "±" would not describe it.
        low = f"{down(self.low):.2f}".removeprefix("0")
        high = f"{up(self.high):.2f}".removeprefix("0")
        # The blank keeps the brackets of a column below each other.
        star = " "
        if self.differs:
            star = "*"
        return f"{three_decimals(self.value)} ({low}–{high}){star}"


def evaluation_table(evaluation: Evaluation) -> Table:
    """Tabulate the measures and the coverage of each similarity.

    A star marks a measure that differs from the cosine's beyond chance. The columns
    after the measures are the share of candidates that no list holds, and, if
    popularity is known, the share of all places that the most popular tenth takes.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> model = FactorModel.from_vectors(items)
    >>> labels = ["a", "a", "b", "b"]
    >>> evaluation = evaluate_similarities(model, labels, n_neighbours=1)
    >>> table = evaluation_table(evaluation)
    >>> table.headings, len(table.rows)
    (('similarity', 'precision', 'AUC', 'NDCG', 'never listed'), 4)
    """
    rows: dict[str, dict[str, Any]] = {}
    for record in evaluation.records():
        name = record["similarity"]
        row = rows.setdefault(name, {"similarity": name})
        row[MEASURE_TITLES[record["measure"]]] = Score(
            record["value"],
            record["ci_low"],
            record["ci_high"],
            _differs(evaluation, record),
        )
    for record in evaluation.coverage_records():
        row = rows[record["similarity"]]
        row[NEVER_LISTED] = record["never_listed"]
        if record["popular_places"] is not None:
            row[POPULAR_PLACES] = record["popular_places"]
    note = (
        f"{evaluation.n} nearest, {_queries_text(evaluation)} as queries, "
        f"{INTERVALS_IN_BRACKETS}"
    )
    if evaluation.decides:
        note += "; * not the cosine's, beyond chance"
    else:
        note += ", too few for a verdict"
    return Table(
        _scores_title(evaluation),
        pd.DataFrame(list(rows.values())),
        note,
        formats={
            **dict.fromkeys(MEASURE_TITLES.values(), str),
            NEVER_LISTED: percent,
            POPULAR_PLACES: percent,
        },
        essential=tuple(MEASURE_TITLES.values()),
        has_intervals=True,
        is_whole=True,
    )


def _queries_text(evaluation: Evaluation) -> str:
    """Say how many queries there are, and of how many users."""
    queries = counted(len(evaluation.queries), evaluation.title)
    if evaluation.users is None:
        return queries
    return f"{queries} of {counted(evaluation.n_units, evaluation.user_title)}"


def thirds_table(evaluation: Evaluation) -> Table:
    """Tabulate the first measure by the interactions of the queries."""
    rows: dict[str, dict[str, Any]] = {}
    thirds = []
    for record in evaluation.by_count():
        third = f"{record['third']} ({record['least']:,.0f} to {record['most']:,.0f})"
        thirds.append(third)
        name = record["similarity"]
        row = rows.setdefault(name, {"similarity": name})
        row[third] = record["value"]
    return Table(
        f"{MEASURE_TITLES[evaluation.measures[0]]} for {evaluation.title}s with few, "
        "some and many interactions",
        pd.DataFrame(list(rows.values())),
        "a third of the queries each",
        formats=dict.fromkeys(thirds, three_decimals),
    )


def _interval_figure(
    evaluation: Evaluation,
    records: Sequence[Mapping[str, Any]],
    quantity: str,
    *,
    title: str,
    legend: tuple[str, str],
    label: str,
    level: tuple[str, float] | None = None,
) -> IntervalDisplay:
    """Draw a quantity of each similarity with its interval.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation that the records are of.
    records : sequence of mapping
        Records of one measure, as `Evaluation.records` returns them.
    quantity : {"value", "difference"}
        The value of the measure, or its difference from the value of the cosine.
    title : str
        Title of the figure.
    legend : pair of str
        Names of an ordinary similarity, and of one that differs from the cosine.
    label : str
        Label of the axis.
    level : pair of str and float, optional
        Name and place of a line to compare with.
    """
    low, high = ENDS_OF_INTERVALS[quantity]
    columns: dict[str, Any] = {"name": [record["similarity"] for record in records]}
    for column, field in {"value": quantity, "low": low, "high": high}.items():
        columns[column] = np.array([record[field] for record in records], np.float64)
    columns["marked"] = np.array([_differs(evaluation, record) for record in records])
    return IntervalDisplay(columns, title, legend, label, level)


def _differs(evaluation: Evaluation, record: Mapping[str, Any]) -> bool:
    """Return True if a similarity differs from the cosine beyond chance.

    The interval of the difference must exclude 0, over enough queries.
    """
    return evaluation.decides and bool(
        record["difference_ci_low"] > 0 or record["difference_ci_high"] < 0
    )
