"""What the page of an evaluation shows: how well each similarity finds what belongs together, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.texts import WORDS
from embaudit.evaluation.measures import MEASURES
from embaudit.foundation.words import counted
from embaudit.report.grid import Grid
from embaudit.report.interval_display import IntervalDisplay
from embaudit.report.shown import MEASURE_TITLES, evaluation_grid, thirds_grid
from embaudit.report.view import Charted, ResultView, Section

if TYPE_CHECKING:
    from embaudit.evaluation import Evaluation

GLOSSARY = (
    ("precision", "Share of the nearest that share a label with the one asked for."),
    ("AUC", "Probability that one that shares a label comes before one that shares none; ties count half."),
    ("NDCG", "How much of what the list could gain it does gain, early places counting more."),
    ("chance", "Precision of a random list."),
    ("CSLS", "Cosine less half the mean cosine of the one listed with its 10 nearest: hubs are listed less."),
    ("centred cosine", "Cosine of the rows after their mean is subtracted."),
    ("prediction cosine", WORDS["prediction cosine"].meaning),
    ("whitened", WORDS["whitened"].meaning),
)


def evaluation_view(found: Evaluation) -> ResultView:
    """Collect what the page of an evaluation shows.

    Examples
    --------
    >>> from embaudit.evaluation import evaluate_similarities
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]]
    >>> view = evaluation_view(evaluate_similarities(FactorModel.from_vectors(items), ["a", "a", "b", "b"], n=1))
    >>> view.question, list(view.top[0].names)
    ('Which similarity finds items that share a label?', ['cosine', 'dot product', 'centred cosine', 'CSLS'])
    """
    records, table = found.records(), evaluation_grid(found)
    differences = [_differences(records, *each) for each in zip(MEASURES, MEASURE_TITLES, strict=True)]
    every = Grid.from_frame(found.to_frame(), "every number")
    return ResultView(
        question=f"Which similarity finds {found.title}s that share a label?",
        said=(found.explain(),),
        top=(_precision(found, records),),
        sections=(
            Section("scores", "Scores", "How well each finds those that share a label",
                    parts=tuple(Charted("", grid) for grid in (table, thirds_grid(found)) if grid.rows)),
            Section("differences", "Differences", "How far each is from the raw cosine",
                    parts=(Charted("", every, tuple(filter(None, differences))),)),
        ),
        facts=(
            ("queries", counted(len(found.queries), found.title)),
            ("candidates", counted(found.n_candidates, found.title)),
            ("left out, for want of a label or a direction", f"{found.n_left_out:,}"),
            ("length of the lists", str(found.n)),
        ),
        glossary=GLOSSARY,
    )  # fmt: skip


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
