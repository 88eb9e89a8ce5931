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


def evaluation_document(found: Evaluation) -> Document:
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
    records = found.records()
    differences = [_differences(records, *each) for each in zip(MEASURES, MEASURE_TITLES, strict=True)]
    every = Grid.from_frame(found.to_frame(), "every number")
    title = f"How well each finds those that {found.relation}"
    scores = Section.of("scores", "Scores", title, evaluation_grid(found), thirds_grid(found))
    return Document(
        f"Which similarity finds {found.title}s that {found.relation}?",
        (found.explain(),),
        top=(_precision(found, records),),
        n_embedded=len(scores.parts),
        sections=(
            scores,
            Section("differences", "Differences", "How far each is from the raw cosine",
                    parts=(Charted("", every, tuple(filter(None, differences))),)),
        ),
        facts=(
            ("queries", counted(len(found.queries), found.title)),
            ("candidates", counted(found.n_candidates, found.title)),
            ("left out, for want of a label or a direction", f"{found.n_left_out:,}"),
            ("length of the lists", str(found.n)),
        ),
        glossary=glossary("evaluate"),
    )  # fmt: skip


def evaluation_grid(found: Evaluation) -> Grid:
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
    records = found.records()
    cells: dict[str, list[str]] = {}
    for record in records:
        surely = not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]
        margin = max(record["value"] - record["ci_low"], record["ci_high"] - record["value"])
        cells.setdefault(record["similarity"], []).append(f"{record['value']:.3f} ± {margin:.3f}{' *'[surely]}")
    rows = tuple((name, *values) for name, values in cells.items())
    note = f"{found.n} nearest, {counted(len(found.queries), found.title)} asked; * not the cosine's, beyond chance"
    return Grid(f"how well each finds those that {found.relation}", note, ("similarity", *MEASURE_TITLES), rows)


def thirds_grid(found: Evaluation) -> Grid:
    """Tabulate the precision of each similarity on the queries with few, some and many interactions."""
    records = found.by_count()
    columns = {one["third"]: f"{one['third']} ({one['least']:,.0f} to {one['most']:,.0f})" for one in records}
    cells: dict[str, list[str]] = {}
    for one in records:
        cells.setdefault(one["similarity"], []).append(f"{one['precision']:.3f}")
    rows = tuple((name, *values) for name, values in cells.items())
    title = f"precision for {found.title}s with few, some and many interactions"
    return Grid(title, "a third of the queries each", ("similarity", *columns.values()), rows)


def _precision(found: Evaluation, records: list[dict[str, Any]]) -> IntervalDisplay:
    """Take the first measure of each similarity beside chance."""
    rows = [one for one in records if one["measure"] == MEASURES[0]]
    key, label = ("mean, 95 % interval", "not the cosine's"), f"precision at {found.n}"
    return _placed(
        rows, "", key, f"{label} of each similarity, with its 95 % interval", label, level=("chance", found.chance)
    )


def _differences(records: list[dict[str, Any]], measure: str, title: str) -> IntervalDisplay | None:
    """Take what a measure is more than that of the raw cosine, whose own rows come first."""
    rows = [one for one in records[len(MEASURES) :] if one["measure"] == measure]
    label = f"{title}, less that of the raw cosine"
    said = f"{label}; 95 % intervals, all of a measure together"
    return _placed(rows, "difference", ("difference", "beyond chance"), said, label) if rows else None


def _placed(
    rows: list[dict[str, Any]],
    of: str,
    key: tuple[str, str],
    title: str,
    label: str,
    level: tuple[str, float] | None = None,
) -> IntervalDisplay:
    about = f"{of}_" if of else ""
    ends = np.array([[one[f"{about}ci_low"], one[f"{about}ci_high"]] for one in rows], dtype=np.float64)
    values = np.array([one[of or "value"] for one in rows], dtype=np.float64)
    marked = np.array(list(map(_is_told, rows)))
    names = [one["similarity"] for one in rows]
    return IntervalDisplay(names, title, values, ends, marked, key, label, level)


def _is_told(record: dict[str, Any]) -> bool:
    """Whether the interval of the difference from the raw cosine leaves 0 out."""
    return not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]
