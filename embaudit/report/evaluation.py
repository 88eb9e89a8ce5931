"""The document of an evaluation: how well each similarity finds what belongs together, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.words import counted
from embaudit.evaluation.measures import MEASURES
from embaudit.report.definitions import glossary
from embaudit.report.document import Charted, Document, Section
from embaudit.report.figures import IntervalDisplay
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from embaudit.evaluation import Evaluation

MEASURE_TITLES = ("precision", "AUC", "NDCG")
"""Measures in the order of `evaluation.measures.MEASURES`."""


def evaluation_document(evaluation: Evaluation) -> Document:
    """Build the document of an evaluation.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> found = evaluate_similarities(FactorModel.from_vectors(items), ["a", "a", "b", "b"], n_neighbours=1)
    >>> made = evaluation_document(found)
    >>> made.question, list(made.top[0].names)
    ('Which similarity finds items that share a label?', ['cosine', 'dot product', 'centred cosine', 'CSLS'])
    """
    records = evaluation.records()
    label, key = f"precision at {evaluation.n}", ("mean, 95 % interval", "not the cosine's")
    precise = [record for record in records if record["measure"] == MEASURES[0]]
    caption = f"{label} of each similarity, with its 95 % interval"
    precision = _intervals(precise, "", caption, key, label, ("chance", evaluation.chance))
    differences = []
    for measure, name in zip(MEASURES, MEASURE_TITLES, strict=True):
        # The rows of the raw cosine, which differ from it by nothing, come first.
        beside = [record for record in records[len(MEASURES) :] if record["measure"] == measure]
        label, key = f"{name}, less that of the raw cosine", ("difference", "beyond chance")
        caption = f"{label}; 95 % intervals, all of a measure together"
        differences += [_intervals(beside, "difference", caption, key, label)] if beside else []
    every = Grid.from_frame(evaluation.to_frame(), "every number")
    title = f"How well each finds those that {evaluation.relation}"
    scores = Section.of("scores", "Scores", title, evaluation_grid(evaluation), thirds_grid(evaluation))
    return Document(
        f"Which similarity finds {evaluation.title}s that {evaluation.relation}?",
        (evaluation.explain(),),
        top=(precision,),
        n_embedded=len(scores.parts),
        sections=(
            scores,
            Section("differences", "Differences", "How far each is from the raw cosine",
                    parts=(Charted("", every, tuple(differences)),)),
        ),
        facts=(
            ("queries", counted(len(evaluation.queries), evaluation.title)),
            ("candidates", counted(evaluation.n_candidates, evaluation.title)),
            ("left out, for want of a label or a direction", f"{evaluation.n_left_out:,}"),
            ("length of the lists", str(evaluation.n)),
        ),
        glossary=glossary("evaluate"),
    )  # fmt: skip


def evaluation_grid(evaluation: Evaluation) -> Grid:
    """Tabulate similarities against measures, with what chance leaves open; marked where it is no chance.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> model = FactorModel.from_vectors(items)
    >>> grid = evaluation_grid(evaluate_similarities(model, ["a", "a", "b", "b"], n_neighbours=1))
    >>> grid.headings, len(grid.rows)
    (('similarity', 'precision', 'AUC', 'NDCG'), 4)
    """
    records = evaluation.records()
    cells: dict[str, list[str]] = {}
    for record in records:
        # An interval need not lie evenly around its value: the wider half is told, so that ± covers both.
        margin = max(record["value"] - record["ci_low"], record["ci_high"] - record["value"])
        cells.setdefault(record["similarity"], []).append(
            f"{record['value']:.3f} ± {margin:.3f}{' *'[_differs(record)]}"
        )
    rows = tuple((name, *values) for name, values in cells.items())
    queries = counted(len(evaluation.queries), evaluation.title)
    note = f"{evaluation.n} nearest, {queries} asked; * not the cosine's, beyond chance"
    return Grid(f"how well each finds those that {evaluation.relation}", note, ("similarity", *MEASURE_TITLES), rows)


def thirds_grid(evaluation: Evaluation) -> Grid:
    """Tabulate the precision of each similarity on the queries with few, some and many interactions."""
    records = evaluation.by_count()
    columns = {
        record["third"]: f"{record['third']} ({record['least']:,.0f} to {record['most']:,.0f})" for record in records
    }
    cells: dict[str, list[str]] = {}
    for record in records:
        cells.setdefault(record["similarity"], []).append(f"{record['precision']:.3f}")
    rows = tuple((name, *values) for name, values in cells.items())
    title = f"precision for {evaluation.title}s with few, some and many interactions"
    return Grid(title, "a third of the queries each", ("similarity", *columns.values()), rows)


def _intervals(
    records: list[dict[str, Any]],
    what: str,
    title: str,
    key: tuple[str, str],
    label: str,
    level: tuple[str, float] | None = None,
) -> IntervalDisplay:
    """Place the values or the differences of some records, with their intervals."""
    about = f"{what}_" if what else ""
    ends = np.array([[record[f"{about}ci_low"], record[f"{about}ci_high"]] for record in records], dtype=np.float64)
    values = np.array([record[what or "value"] for record in records], dtype=np.float64)
    marked, names = np.array(list(map(_differs, records))), [record["similarity"] for record in records]
    return IntervalDisplay(names, title, values, ends, marked, key, label, level)


def _differs(record: dict[str, Any]) -> bool:
    """Return True if the interval of the difference from the raw cosine leaves 0 out."""
    return not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]
