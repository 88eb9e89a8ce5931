"""What the page of an evaluation shows: how well each similarity finds what belongs together, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from embaudit.auditing.glossary import WORDS
from embaudit.evaluation.measures import MEASURES
from embaudit.foundation.words import counted
from embaudit.report.dots import DotChart, Valued, dot_chart
from embaudit.report.grid import Grid
from embaudit.report.shown import MEASURE_TITLES, evaluation_grid
from embaudit.report.view import Charted, ResultView, Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.evaluation import Evaluation

KEY = (
    ("dot", "mean over the queries"),
    ("marked", "not the cosine's, beyond chance"),
    ("whisker", "95 % interval"),
)
JOINT = (
    ("dot", "difference from the raw cosine"),
    ("marked", "beyond chance"),
    ("whisker", "95 % interval; all of a measure hold together"),
)
GLOSSARY = (
    ("precision", "Share of the nearest that share a label with the one asked for."),
    ("AUC", "Probability that one that shares a label comes before one that shares none; ties count half."),
    ("NDCG", "How much of what the list could gain it does gain, early places counting more."),
    ("chance", "Precision of a random list."),
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
    >>> view.question, [row.name for row in view.top[0].rows]
    ('Which similarity finds items that share a label?', ['cosine', 'dot product', 'centred cosine'])
    """
    records, table = found.records(), evaluation_grid(found)
    measures = list(zip(MEASURES, MEASURE_TITLES, strict=True))
    precision, *others = (_scores(found, records, *each) for each in measures)
    differences = [_differences(records, *each) for each in measures]
    every = Grid.from_frame(found.to_frame(), "every number")
    return ResultView(
        question=f"Which similarity finds {found.title}s that share a label?",
        said=(found.explain(),),
        top=_drawn([precision]),
        sections=(
            Section("scores", "Scores", "How well each finds those that share a label",
                    parts=(Charted("", table, _drawn(others)),)),
            Section("differences", "Differences", "How far each is from the raw cosine",
                    parts=(Charted("", every, _drawn(differences)),)),
        ),
        facts=(
            ("queries", counted(len(found.queries), found.title)),
            ("candidates", counted(found.n_candidates, found.title)),
            ("left out, for want of a label or a direction", f"{found.n_left_out:,}"),
            ("length of the lists", str(found.n)),
        ),
        glossary=GLOSSARY,
    )  # fmt: skip


def _drawn(charts: Sequence[DotChart | None]) -> tuple[DotChart, ...]:
    return tuple(chart for chart in charts if chart is not None)


def _scores(found: Evaluation, records: list[dict[str, Any]], measure: str, title: str) -> DotChart | None:
    rows = [
        Valued(one["similarity"], one["value"], (one["ci_low"], one["ci_high"]), marked=_is_told(one))
        for one in records
        if one["measure"] == measure
    ]
    level = ("chance", found.chance) if measure == MEASURES[0] else None
    label = f"{title} at {found.n}" if title != "AUC" else title
    return dot_chart(title, label, rows, key=KEY, level=level, within=(0.0, 1.0), among=())


def _differences(records: list[dict[str, Any]], measure: str, title: str) -> DotChart | None:
    rows = [
        Valued(
            one["similarity"],
            one["difference"],
            (one["difference_ci_low"], one["difference_ci_high"]),
            marked=_is_told(one),
        )
        for one in records[len(MEASURES) :]
        if one["measure"] == measure
    ]
    return dot_chart(f"{title}: difference", f"difference in {title}", rows, key=JOINT)


def _is_told(record: dict[str, Any]) -> bool:
    """Whether the interval of the difference from the raw cosine leaves 0 out."""
    return not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]
