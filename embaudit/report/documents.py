"""The document of a result of each type."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing import Audit
from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.core.words import counted, cut
from embaudit.evaluation import Evaluation
from embaudit.evaluation.measures import MEASURES
from embaudit.report.audit_document import audit_document
from embaudit.report.comparison import comparison_document
from embaudit.report.definitions import glossary
from embaudit.report.document import Charted, Document, Section, named
from embaudit.report.figures import BlockDisplay, IntervalDisplay, SimpsonDisplay
from embaudit.report.grid import Grid
from embaudit.reversals import ReversalKind, SimpsonReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from embaudit.core.results import Result
    from embaudit.reversals import Grouping

MEASURE_TITLES = ("precision", "AUC", "NDCG")
"""Measures in the order of `evaluation.measures.MEASURES`."""
SHOWN = 3
"""Groupings that are shown group by group."""
MENU = 24
"""Characters of a name in the list of sections."""
LISTED = 5
"""Findings and notes that are spelled out."""
SIMPSON = ("kind", "n_groups", "r_pooled", "r_within", "effect", "p_adjusted", "share_reversed", "significant")
COLUMNS = ("n", "r", "slope", "mean_x", "mean_y", "votes", "opposes")


@singledispatch
def document(result: Result) -> Document:
    """Build the document of a result: its words and its table, where nothing more is registered for its type.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> made = document(movement(model, model))
    >>> made.question, len(made.conclusion), made.embedded[0].grid.title
    ('Movement', 1, 'Movement')
    """
    title = type(result).__name__
    table = Grid.from_frame(result.to_frame(), title)
    return Document(
        title, tuple(result.explain().splitlines()), sections=(Section.of("numbers", "Numbers", "In numbers", table),)
    )


def block_document(blocks: BlockCosines) -> Document:
    """Build the document of block cosines.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> made = block_document(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in made.shown_sections], list(made.top[0].columns["name"])
    (['gaps'], ['[0]', '[1]'])
    """
    drawn, frame = BlockDisplay.of(blocks), blocks.largest_gaps(share=None)
    note = f"{len(frame)} of {counted(len(blocks), 'block')}" if len(frame) < len(blocks) else ""
    columns = frame.drop(columns=["x_profile", "y_profile"])
    essential = ("cosine", "weight", "contribution", "gap_share")
    table = Grid.from_frame(columns, "blocks by their part of the gap to 1", note, essential=essential)
    return Document(
        "How do the cosines of the parts make up the cosine of the whole?",
        tuple(blocks.explain().splitlines()),
        top=(drawn,) if len(drawn.columns["cosine"]) else (),
        sections=(Section.of("gaps", "Gaps", "What each block takes from a cosine of 1", table),),
        notes=blocks.notes,
        facts=(
            ("blocks", f"{counted(len(blocks), 'block')} by {blocks.names.cut}"),
            ("entries", f"{int(blocks.sizes.sum()):,}"),
            ("lengths", f"{blocks.x_norm:.6g} and {blocks.y_norm:.6g}"),
            ("rounding", f"{blocks.identity_error:.1g} between the two ways to compute the global cosine"),
        ),
        glossary=glossary("blocks"),
    )


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
    records: Sequence[Mapping[str, Any]],
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


def _differs(record: Mapping[str, Any]) -> bool:
    """Return True if the interval of the difference from the raw cosine leaves 0 out."""
    return not record["difference_ci_low"] <= 0 <= record["difference_ci_high"]


def simpson_document(report: SimpsonReport) -> Document:
    """Build the document of a Simpson report.

    Examples
    --------
    >>> import pandas as pd
    >>> from embaudit.reversals import simpson
    >>> table = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4], "g": list("aaabbb")})
    >>> made = simpson_document(simpson(table, x="x", y="y", min_size=3, n_permutations=9))
    >>> [section.id for section in made.shown_sections], made.top[0].frame()["slope"].tolist()
    (['groupings', 'grouping-1'], [-1.0, -1.0])
    """
    # Without a finding, groupings that decide something are shown.
    groupings = (
        report.findings or tuple(each for each in report.groupings if each.kind is not ReversalKind.UNDECIDED)
    )[:SHOWN]
    drawn = [_lines(report, each) for each in groupings]
    x, y = report.titles or (report.x, report.y)
    beyond = f"{sum(grouping.is_significant for grouping in report.findings)} of them significant"
    table = Grid.from_frame(
        report.to_frame()[list(SIMPSON)],
        f"{report.y} on {report.x}, {counted(report.pooled.n, 'row')}",
        f"{counted(len(report.findings), 'finding')}, {beyond}",
        essential=SIMPSON[:6],
    )
    return Document(
        f"Does {named(y)} go with {named(x)} in groups as it does in all rows?",
        tuple(report.explain(limit=LISTED).splitlines()),
        top=drawn[0] if drawn else (),
        sections=(
            Section.of("groupings", "Groupings", "What each grouping does to the correlation", table),
            # The picture of the first grouping stands at the top already.
            *(_of_groups(each, at, drawn[at - 1] if at > 1 else ()) for at, each in enumerate(groupings, start=1)),
        ),
        notes=tuple(report.listed_notes(limit=LISTED)),
        facts=(
            ("rows", f"{report.pooled.n:,}"),
            ("left out, for want of x or y", f"{report.n_missing:,}"),
            ("level of significance", f"{report.alpha:g}"),
        ),
        glossary=glossary("simpson"),
    )


def _lines(report: SimpsonReport, grouping: Grouping) -> tuple[SimpsonDisplay, ...]:
    """Take the lines of a grouping without single rows; nothing where no group has a line."""
    if np.isnan(grouping.moments.slope).all():
        return ()
    return (replace(SimpsonDisplay.of(report, grouping=grouping), points=None),)


def _of_groups(grouping: Grouping, at: int, drawn: tuple[SimpsonDisplay, ...]) -> Section:
    """Lay out the groups of a grouping, the largest first."""
    # The groups may be called "n" themselves, which sort_values takes for two columns.
    frame = grouping.to_frame()
    frame = frame.iloc[np.argsort(-frame["n"].to_numpy(), kind="stable")]
    table = Grid.from_frame(
        frame[list(COLUMNS)],
        f"groups of {named(grouping.name)}",
        counted(len(grouping), "group"),
        essential=COLUMNS[:3],
    )
    title = f"{grouping.kind.capitalize()} by {named(grouping.name)}"
    return Section(
        f"grouping-{at}",
        cut(named(grouping.name), MENU),
        title,
        parts=(Charted("", table, drawn),),
    )


document.register(Audit, audit_document)
document.register(BlockCosines, block_document)
document.register(Comparison, comparison_document)
document.register(Evaluation, evaluation_document)
document.register(SimpsonReport, simpson_document)
