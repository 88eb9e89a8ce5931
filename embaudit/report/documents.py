"""The document of a result of each type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, singledispatch
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from embaudit.auditing.audit import Audit
from embaudit.auditing.lora import LoraAudit
from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.comparison.change import N_EXAMPLES, OUTCOMES, PARTS, RoleChange
from embaudit.comparison.verdict import (
    is_weighted,
    share_kept,
    share_kept_by_prediction,
    weights_of,
)
from embaudit.core.results import Result
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import (
    change_size,
    counted,
    down,
    drawn_of,
    in_decimals,
    percent,
    percent_with_interval,
    percents,
    percents_apart,
    row_called,
    snapped,
    three_decimals,
    three_digits,
    up,
)
from embaudit.evaluation import Evaluation
from embaudit.evaluation.result import MEASURE_TITLES, RAW
from embaudit.linalg.pairs import n_pairs
from embaudit.model import SideName
from embaudit.networks import AttentionAudit, LoraComparison
from embaudit.report.audit_document import audit_document
from embaudit.report.copies_document import copies_document
from embaudit.report.document import (
    Charted,
    Document,
    Section,
    glossary,
    lists_of,
    named,
)
from embaudit.report.figures import (
    BlockDisplay,
    IntervalDisplay,
    SimpsonDisplay,
    StackDisplay,
)
from embaudit.report.tables import Table
from embaudit.report.threshold_document import threshold_document
from embaudit.serving import CopyComparison, SpaceMap, StableNeighbours, Threshold
from embaudit.serving.runs import popularity_text
from embaudit.simpson import SimpsonReport

if TYPE_CHECKING:
    import pandas as pd

NEVER_LISTED, POPULAR_PLACES = "never listed", "popular tenth"
"""Columns of the table of an evaluation.

They hold the share of candidates that are in no list, and the share of all places of
lists that the most popular tenth takes.
"""
SIMPSON_COLUMNS = ("n", "r", "slope", "mean_x", "mean_y", "votes", "opposes")
"""Columns of the table of groups, the most important first."""
CHANGED = {
    "by a change of axes": "blue",
    "by dimensions no prediction sees": "teal",
    "by a real change": "amber",
}
"""Parts of a change, and the names of their colours."""
BECAME = {
    "kept": "soft",
    "lost to a change of axes": "blue",
    "lost to dimensions no prediction sees": "teal",
    "lost to a real change": "amber",
}
"""Outcomes of former neighbours, and the names of their colours."""
HEADINGS = "in the first model", "in the second model"
N_ENTRIES = 30
"""Entries of the lists of several runs that are shown; `--out` writes all of them."""


@singledispatch
def document(result: Result) -> Document:
    """Build the document of a result.

    A type that registers no function of its own has its sentences and its table.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> made = document(movement(model, model))
    >>> made.question, len(made.conclusion), made.embedded[0].table.title
    ('Movement', 1, 'Movement')
    """
    title = type(result).__name__
    table = Table(title, _with_index(result.to_frame()))
    return Document(
        title,
        tuple(result.explain().splitlines()),
        sections=(Section.of("numbers", "Numbers", "In numbers", table),),
    )


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose first column is its index, if the index has a name."""
    if frame.index.name is None:
        return frame
    return frame.reset_index(allow_duplicates=True)


def block_document(blocks: BlockCosines) -> Document:
    """Build the document of block cosines.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> made = block_document(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in made.shown_sections]
    ['gaps']
    >>> list(made.top[0].columns["name"])
    ['[0]', '[1]']
    """
    drawn, frame = BlockDisplay.from_blocks(blocks), blocks.largest_gaps(share=None)
    note = (
        f"{len(frame)} of {counted(len(blocks), 'block')}"
        if len(frame) < len(blocks)
        else ""
    )
    columns = frame.drop(columns=["x_profile", "y_profile"])
    essential = ("cosine", "weight", "contribution", "gap_share")
    table = Table(
        "blocks by their part of the gap to 1",
        _with_index(columns),
        note,
        essential=essential,
    )
    rounding = change_size(blocks.identity_error)
    return Document(
        "How do the cosines of the parts make up the cosine of the whole?",
        tuple(blocks.explain().splitlines()),
        top=(drawn,) if len(drawn.columns["cosine"]) else (),
        sections=(
            Section.of(
                "gaps", "Gaps", "What each block takes from a cosine of 1", table
            ),
        ),
        notes=blocks.notes,
        facts=(
            ("blocks", f"{counted(len(blocks), 'block')} by {blocks.partition}"),
            ("entries", f"{int(blocks.sizes.sum()):,}"),
            ("lengths", f"{blocks.x_norm:.6g} and {blocks.y_norm:.6g}"),
            (
                "rounding",
                f"{rounding} between the two ways to compute the global cosine",
            ),
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
    >>> model = FactorModel.from_vectors(items)
    >>> found = evaluate_similarities(model, ["a", "a", "b", "b"], n_neighbours=1)
    >>> report = evaluation_document(found)
    >>> report.question
    'Which similarity finds items that share a label?'
    >>> list(report.top[0].names)
    ['cosine', 'dot product', 'centred cosine', 'CSLS']
    """
    scores = Section.of(
        "scores",
        "Scores",
        _capitalised(_scores_title(evaluation)),
        evaluation_table(evaluation),
        thirds_table(evaluation),
    )
    all_numbers = Table("every number", _with_index(evaluation.to_frame()))
    differences = Section(
        "differences",
        "Differences",
        "How far each similarity is from the cosine",
        parts=(Charted("", all_numbers, tuple(_difference_displays(evaluation))),),
    )
    needed = "direction"
    if evaluation.users is None:
        needed = "label or direction"
    return Document(
        f"Which similarity finds {evaluation.title}s that {evaluation.relation}?",
        tuple(evaluation.explain().splitlines()),
        top=(_value_display(evaluation),),
        n_embedded=len(scores.parts),
        sections=(scores, differences),
        facts=(
            ("queries", _queries(evaluation)),
            ("candidates", counted(evaluation.n_candidates, evaluation.title)),
            (f"skipped, because they have no {needed}", f"{evaluation.n_left_out:,}"),
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


def _value_display(evaluation: Evaluation) -> IntervalDisplay:
    """Draw the first measure of each similarity, next to the value by chance."""
    first = evaluation.measures[0]
    label = f"{MEASURE_TITLES[first]} at {evaluation.n}"
    records = [record for record in evaluation.records() if record["measure"] == first]
    return _intervals(
        evaluation,
        records,
        what="",
        title=f"{label} of each similarity, with its 95 % interval",
        key=("mean, 95 % interval", "not the cosine's"),
        label=label,
        level=("chance", evaluation.chance),
    )


def _difference_displays(evaluation: Evaluation) -> Iterator[IntervalDisplay]:
    """Yield, for each measure, a figure of the differences from the cosine."""
    for measure in evaluation.measures:
        records = [
            record
            for record in evaluation.records()
            if record["measure"] == measure and record["similarity"] != RAW
        ]
        label = f"{MEASURE_TITLES[measure]}, less that of the cosine"
        if records:
            yield _intervals(
                evaluation,
                records,
                what="difference",
                title=f"{label}; 95 % intervals, all of a measure together",
                key=("difference", "beyond chance"),
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
    >>> found = evaluate_similarities(model, ["a", "a", "b", "b"], n_neighbours=1)
    >>> table = evaluation_table(found)
    >>> table.headings, len(table.rows)
    (('similarity', 'precision', 'AUC', 'NDCG', 'never listed'), 4)
    """
    import pandas as pd

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
        f"{evaluation.n} nearest, {_queries(evaluation)} as queries, 95 % intervals in "
        "brackets"
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


def _queries(evaluation: Evaluation) -> str:
    """Say how many queries there are, and of how many users."""
    queries = counted(len(evaluation.queries), evaluation.title)
    if evaluation.users is None:
        return queries
    return f"{queries} of {counted(evaluation.n_units, evaluation.user_title)}"


def thirds_table(evaluation: Evaluation) -> Table:
    """Tabulate the first measure by the interactions of the queries."""
    import pandas as pd

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


def _intervals(
    evaluation: Evaluation,
    records: Sequence[Mapping[str, Any]],
    what: str,
    title: str,
    key: tuple[str, str],
    label: str,
    level: tuple[str, float] | None = None,
) -> IntervalDisplay:
    """Draw the values or the differences of some records, with their intervals.

    Parameters
    ----------
    evaluation : Evaluation
        The evaluation that the records are of.
    records : sequence of mapping
        Records of one measure, as `Evaluation.records` returns them.
    what : str
        "difference" for differences from the cosine; empty for values.
    title, key, label : str, pair of str and str
        Title, key and label of the axis.
    level : pair of str and float, optional
        Name and place of a line to compare with.
    """
    fields = {"value": "value", "low": "ci_low", "high": "ci_high"}
    if what:
        fields = {"value": what, "low": f"{what}_ci_low", "high": f"{what}_ci_high"}
    columns: dict[str, Any] = {"name": [record["similarity"] for record in records]}
    columns |= {
        name: np.array([record[field] for record in records], np.float64)
        for name, field in fields.items()
    }
    columns["marked"] = np.array([_differs(evaluation, record) for record in records])
    return IntervalDisplay(columns, title, key, label, level)


def _differs(evaluation: Evaluation, record: Mapping[str, Any]) -> bool:
    """Return True if a similarity differs from the cosine beyond chance.

    The interval of the difference must exclude 0, over enough queries.
    """
    return evaluation.decides and bool(
        record["difference_ci_low"] > 0 or record["difference_ci_high"] < 0
    )


def simpson_document(report: SimpsonReport) -> Document:
    """Build the document of a Simpson report.

    Examples
    --------
    >>> from embaudit.simpson import simpson
    >>> table = {"x": [1, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4], "g": list("aaabbb")}
    >>> built = simpson_document(simpson(table, "x", "y", "g", min_size=3))
    >>> [section.id for section in built.shown_sections]
    ['groups']
    >>> built.top[0].frame()["slope"].tolist()
    [-1.0, -1.0]
    """
    # The groups can be called "n", which sort_values would take for two columns.
    groups = report.to_frame()
    largest_first = np.argsort(-groups["n"].to_numpy(), kind="stable")
    table = Table(
        f"groups of {named(report.name)}",
        _with_index(groups.iloc[largest_first][list(SIMPSON_COLUMNS)]),
        counted(len(groups), "group"),
        essential=SIMPSON_COLUMNS[:3],
    )
    title = f"{report.kind.capitalize()} by {named(report.name)}"
    has_lines = bool(groups["slope"].notna().any())
    lines = SimpsonDisplay(report, draws_rows=False)
    if isnan(report.p_value):
        p_value = "not tested"
    else:
        permutations = counted(report.n_permutations, "permutation")
        p_value = f"{report.p_value:.3g} ({permutations})"
    return Document(
        f"Does {named(report.y)} go with {named(report.x)} in groups as it does in "
        f"all {report.row_noun}s?",
        (report.explain(),),
        top=(lines,) if has_lines else (),
        sections=(Section.of("groups", "Groups", title, table),),
        notes=report.notes,
        facts=(
            (f"{report.row_noun}s", f"{report.n_rows:,}"),
            ("skipped, because x, y or the group is missing", f"{report.n_missing:,}"),
            ("p-value of the change", p_value),
            ("level of significance", f"{report.alpha:g}"),
        ),
        glossary=glossary("simpson"),
    )


def comparison_document(comparison: Comparison) -> Document:
    """Build the document of a comparison.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 2)), draw.standard_normal((30, 2))
    >>> model = FactorModel.from_user_item(users, items)
    >>> stretched = Gauge.diagonal([5.0, 1.0]).act(model)
    >>> made = comparison_document(compare(model, stretched))
    >>> [drawn.label for drawn in made.top]
    ['mean |Δcos|', 'share of former neighbours']
    >>> [section.id for section in made.shown_sections]
    ['changed', 'moved', 'thresholds', 'neighbours']
    """
    moved, thresholds = (
        [make(comparison, role) for role in comparison.changes]
        for make in (moved_table, threshold_table)
    )
    return Document(
        "May the second model replace the first?",
        comparison.paragraphs,
        next=comparison.next_step,
        top=tuple(_drawn(comparison)),
        n_embedded=1 + sum(len(table.frame) > 0 for table in moved),
        sections=(
            Section.of(
                "changed",
                "Changes",
                "What changed, in numbers",
                summary_table(comparison),
                *_unweighted_tables(comparison),
            ),
            Section.of("moved", "Moved most", "What moved most, and why", *moved),
            Section.of(
                "thresholds", "Thresholds", "Thresholds that carry over", *thresholds
            ),
            _neighbours(comparison),
        ),
        facts=()
        if comparison.too_few_for
        else (("gauge", f"{comparison.group}, κ = {comparison.condition_number:.4g}"),),
        glossary=glossary("compare"),
    )


def _drawn(comparison: Comparison) -> Iterator[StackDisplay]:
    """Yield figures of the parts of the mean change and of the former neighbours.

    There are none if there are too few rows to split a change into parts.
    """
    if comparison.too_few_for:
        return
    changes = comparison.changes.items()
    moved = np.array(
        [
            [getattr(change, f"mean_{cause}") for cause in PARTS[1:]]
            for _, change in changes
        ]
    )
    became = np.array(
        [[change.neighbour_shares[name] for name in OUTCOMES] for _, change in changes]
    )
    sides = [f"{comparison.title(role)}s" for role, _ in changes]
    lists = [
        f"{change.n_neighbours} nearest {comparison.title(role)}s"
        for role, change in changes
    ]
    whole, lost = (
        "mean change of cosines, and what it consists of",
        "what became of former neighbours",
    )
    if any(is_weighted(comparison, change) for _, change in changes):
        lost += ", each row counted once"
    for rows, title, parts, sizes, label in (
        (sides, whole, CHANGED, moved, "mean |Δcos|"),
        (lists, lost, BECAME, became, "share of former neighbours"),
    ):
        if sizes.any():
            columns = {"name": rows, **dict(zip(parts, sizes.T, strict=True))}
            yield StackDisplay(columns, title, tuple(parts.values()), label)


def _neighbours(comparison: Comparison) -> Section:
    """List the neighbours of a few rows of each side in both models."""
    changes = {
        comparison.title(role): change
        for role, change in comparison.changes.items()
        if change.examples
    }
    lists = []
    for title, change in changes.items():
        row_title = "" if change.match.has_names else title
        for place, example in enumerate(change.examples):
            note = f"moved about as much as the median {title}"
            if place < N_EXAMPLES:
                note = "among those that moved most"
            lists.append(lists_of(example, HEADINGS, title=row_title, note=note))
    among = " and ".join(
        counted(len(change.match), title) for title, change in changes.items()
    )
    texts = (
        (f"Nearest by the cosine of either model, among the {among} that both hold.",)
        if changes
        else ()
    )
    return Section(
        "neighbours",
        "Neighbours",
        "Neighbours, before and after",
        texts,
        lists=tuple(lists),
    )


def summary_table(comparison: Comparison) -> Table:
    r"""Return a row for each measure that says something, with a column for each side.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 2)), draw.standard_normal((30, 2))
    >>> model = FactorModel.from_user_item(users, items)
    >>> print("\n".join(str(summary_table(compare(model, model))).splitlines()[:4]))
    what changed
    measure                 users  items
    shared                     40     30
    10 nearest kept         100 %  100 %
    """
    import pandas as pd

    changes = comparison.changes
    sides = [f"{comparison.title(role)}s" for role in changes]
    # A small side has shorter lists; a length is named only if it is that of every
    # column.
    lengths = [change.n_neighbours for change in changes.values()]
    has_one_length = len(set(lengths)) == 1
    columns = [
        list(
            _measures(
                comparison,
                change,
                nearest=f"{lengths[0]} nearest" if has_one_length else "nearest",
            )
        )
        for change in changes.values()
    ]
    # A measure stays if it says something of either side, since both columns share its
    # row.
    rows = [
        (cells[0][0], *(text for _, text, _ in cells))
        for cells in zip(*columns, strict=True)
        if any(says_something for *_, says_something in cells)
    ]
    has_intervals = any("(" in text for _, *texts in rows for text in texts)
    notes = []
    weights = weights_of(comparison)
    if weights and any(is_weighted(comparison, change) for change in changes.values()):
        notes.append(f"kept: {weights}")
    if has_intervals:
        notes.append("95 % intervals in brackets")
    if not has_one_length:
        pairs = zip(lengths, sides, strict=True)
        notes.append(f"nearest: {', '.join(f'{n} {side}' for n, side in pairs)}")
    return Table(
        "what changed",
        pd.DataFrame(rows, columns=["measure", *sides]),
        "; ".join(notes),
        # Each row has a unit of its own, so its cells are texts already.
        formats=dict.fromkeys(sides, str),
        has_intervals=has_intervals,
    )


def _measures(
    comparison: Comparison, change: RoleChange, *, nearest: str
) -> Iterator[tuple[str, str, bool]]:
    """Yield name and figure of each measure of a side, and whether it says something.

    Parameters
    ----------
    comparison : Comparison
    change : RoleChange
    nearest : str
        Name of a list of neighbours.
    """
    is_split = not comparison.too_few_for
    has_weights = is_weighted(comparison, change)

    def share_text(name: str, share: float) -> str:
        """Write a share and its interval, unless these digits show none."""
        return percent_with_interval(share, change.interval(name))

    def mean_text(name: str, mean: float) -> str:
        """Write a mean and its interval, unless these digits show none."""
        text = f"{mean:.3f}"
        low, high = change.interval(name)
        if f"{low:.3f}" == f"{high:.3f}" == text:
            return text
        return f"{text} ({low:.3f} to {high:.3f})"

    match, shares = change.match, change.neighbour_shares
    gauge, unseen, otherwise = percents([shares[name] for name in OUTCOMES[1:]])
    yield "shared", f"{len(match):,}", True
    yield "only in the first model", f"{match.only_before:,}", match.only_before > 0
    yield "only in the second model", f"{match.only_after:,}", match.only_after > 0
    yield (
        "without a cosine",
        f"{change.n_without_direction:,}",
        change.n_without_direction > 0,
    )
    kept = share_kept(comparison, change)
    predicted = share_kept_by_prediction(comparison, change)
    # Intervals are those of shares in which rows count equally.
    if has_weights:
        stay, stay_by_prediction = percent(kept), "–"
        if predicted is not None:
            stay_by_prediction = percent(predicted)
    else:
        stay, stay_by_prediction = share_text("kept", kept), "–"
        if predicted is not None:
            stay_by_prediction = share_text("predicted_kept", predicted)
    yield f"{nearest} kept", stay, True
    yield (
        f"{nearest} by prediction cosine kept",
        stay_by_prediction,
        predicted is not None,
    )
    # The reasons of lost neighbours count rows equally, too.
    yield "lost to a change of axes", gauge, is_split and not has_weights
    has_unseen = shares["lost_to_unseen"] > 0 and not has_weights
    yield "lost to dimensions no prediction sees", unseen, has_unseen
    yield "lost to a real change", otherwise, is_split and not has_weights
    yield (
        "mean change of cosines",
        mean_text("total", change.mean_total),
        True,
    )
    yield (
        "mean over",
        drawn_of(
            change.n_pairs, n_pairs(len(match) - change.n_without_direction), "pair"
        ),
        True,
    )
    yield "by a change of axes", f"{change.mean_gauge:.3f}", is_split
    yield (
        "by dimensions no prediction sees",
        f"{change.mean_unseen:.3f}",
        change.mean_unseen > 0,
    )
    yield "by a real change", f"{change.mean_remainder:.3f}", is_split
    correlations = {
        "correlation of cosines": change.correlation,
        "correlation on the same axes": change.gauged_correlation,
    }
    for name, value in correlations.items():
        yield (
            name,
            "–" if np.isnan(value) else f"{value:.3f}",
            is_split or name == "correlation of cosines",
        )


def _unweighted_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield what became of neighbours if each row counts once.

    There is a table only for the sides whose rows have weights in `summary_table`.
    """
    import pandas as pd

    rows = []
    for role, change in comparison.changes.items():
        if not is_weighted(comparison, change):
            continue
        shares = change.neighbour_shares
        lost = percents([shares[name] for name in OUTCOMES[1:]])
        by_prediction = "–"
        if change.predicted_kept is not None:
            by_prediction = percent(change.predicted_kept)
        row = {
            "neighbours": f"{change.n_neighbours} nearest {comparison.title(role)}s",
            "kept": percent(shares["kept"]),
            "kept by prediction cosine": by_prediction,
        }
        if not comparison.too_few_for:
            row |= dict(zip(list(BECAME)[1:], lost, strict=True))
        rows.append(row)
    if rows:
        frame = pd.DataFrame(rows)
        formats = dict.fromkeys(list(frame.columns)[1:], str)
        title = "what became of former neighbours, each row counted once"
        yield Table(title, frame, formats=formats)


def threshold_table(comparison: Comparison, role: SideName) -> Table:
    r"""Return the thresholds of the second model that keep as many pairs as before.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> rows = np.random.default_rng(0).standard_normal((40, 4))
    >>> models = (FactorModel.from_vectors(rows), FactorModel.from_vectors(rows**3))
    >>> table = threshold_table(compare(*models), "right")
    >>> print("\n".join(str(table).splitlines()[:3]))
    thresholds that keep as many item-item pairs (all 780 pairs)
    before   now  pairs above
    0.50    0.40         20 %
    """
    import pandas as pd

    change, title = comparison.changes[role], comparison.title(role)
    # Where no cosine changed, thresholds stay as they are.
    thresholds = change.thresholds if change.mean_total > FLOAT32_TIE else ()
    rows = [
        (threshold.before, threshold.after, threshold, threshold.share)
        for threshold in thresholds
    ]
    frame = pd.DataFrame(rows, columns=["before", "now", "95 %", "pairs above"])
    # Counts of all pairs have no interval.
    if all(
        threshold.low == threshold.after == threshold.high for threshold in thresholds
    ):
        frame = frame.drop(columns="95 %")
    note = ""
    if thresholds:
        n_rows = len(change.match) - change.n_without_direction - change.n_duplicates
        note = drawn_of(thresholds[0].n_pairs, n_pairs(n_rows), "pair")
    # Shares have as many decimals as it takes to tell them apart.
    shares = [threshold.share for threshold in thresholds]
    texts = dict(zip(shares, percents_apart(shares), strict=True))
    return Table(
        f"thresholds that keep as many {title}-{title} pairs",
        frame,
        note,
        formats={
            "before": "{:.2f}",
            "now": "{:.2f}",
            "95 %": "{0.low:.2f} to {0.high:.2f}",
            "pairs above": texts.__getitem__,
        },
    )


def moved_table(comparison: Comparison, role: SideName, n: int = 10) -> Table:
    """Return the rows of a side that moved most, with the parts of their change.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> rows = np.random.default_rng(0).standard_normal((9, 2))
    >>> labels = list("12345678a")
    >>> before = FactorModel.from_softmax(rows, labels=labels)
    >>> after = FactorModel.from_softmax(rows**3, labels=labels)
    >>> table = moved_table(compare(before, after), "right")
    >>> sorted(row[0] for row in table.rows)[:3]
    ["'1'", "'2'", "'3'"]
    """
    import pandas as pd

    change, title = comparison.changes[role], comparison.title(role)
    names = {"total": "mean change"}
    if not comparison.too_few_for:
        names["gauge"] = "by a change of axes"
    if change.mean_unseen > 0:
        names["unseen"] = "by unseen dimensions"
    if not comparison.too_few_for:
        names["remainder"] = "by a real change"
    # Rows that three digits show as 0 have not moved as far as this table can tell.
    records = [
        record
        for record in comparison.moved_most(role, n).to_dict("records")
        if float(f"{record['total']:.3f}") > 0
    ]
    row_name = partial(row_called, "" if change.match.has_names else title)
    columns = {title: [row_name(str(record["name"])) for record in records]}
    for part, heading in names.items():
        columns[heading] = [record[part] for record in records]
    frame = pd.DataFrame(columns)
    return Table(
        f"{title}s that moved most",
        frame,
        formats=dict.fromkeys(names.values(), "{:.3f}"),
    )


def runs_document(found: StableNeighbours) -> Document:
    """Build the document of the neighbours that stay in several runs.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import stable_neighbours
    >>> rows = np.random.default_rng(0).standard_normal((9, 3))
    >>> model = FactorModel.from_vectors(rows)
    >>> made = runs_document(stable_neighbours([model, model], n_neighbours=2))
    >>> print(made.tables[0])
    in how many runs a neighbour of the first run is listed (2 nearest items)
    runs  neighbours
       2       100 %
       1         0 %
    """
    return Document(
        f"Which neighbours of the first run do all {found.n_runs} runs list?",
        found.paragraphs,
        sections=(
            Section.of(
                "runs",
                "Runs",
                "Neighbours by number of runs",
                frequency_table(found),
                run_table(found),
            ),
            Section.of(
                "popularity",
                "Popularity",
                "Neighbours by popularity",
                popularity_table(found),
            ),
            Section.of("neighbours", "Neighbours", "Neighbours", entry_table(found)),
        ),
        facts=_facts_of_runs(found),
    )


def frequency_table(found: StableNeighbours) -> Table:
    """Tabulate how many neighbours of the first run are listed in how many runs."""
    import pandas as pd

    records = found.frequencies()
    # The shares are parts of a whole, so the written figures add up to 100 %.
    shares = percents([record["share"] for record in records])
    rows = [
        (record["n_runs"], share) for record, share in zip(records, shares, strict=True)
    ]
    return Table(
        "in how many runs a neighbour of the first run is listed",
        pd.DataFrame(rows, columns=["runs", "neighbours"]),
        f"{found.n} nearest {found.row_title}s",
        formats={"runs": str, "neighbours": str},
    )


def run_table(found: StableNeighbours) -> Table:
    """Tabulate how many neighbours of the first run each run lists."""
    import pandas as pd

    rows = [(record["run"], _share_cell(record, "share")) for record in found.by_run()]
    has_intervals = any("(" in text for _, text in rows)
    return Table(
        "share of the first run's neighbours that each run lists",
        pd.DataFrame(rows, columns=["run", "neighbours"]),
        "95 % intervals in brackets" if has_intervals else "",
        formats={"run": str, "neighbours": str},
        has_intervals=has_intervals,
    )


def popularity_table(found: StableNeighbours) -> Table:
    """Tabulate the stable share of rows of low, middle and high popularity."""
    import pandas as pd

    rows = [
        (
            popularity_text(found.popularity_measure, record["least"], record["most"]),
            record["n_lists"],
            _share_cell(record, "stable_share"),
        )
        for record in found.by_popularity()
    ]
    rows_title = f"{found.row_title}s"
    has_intervals = any("(" in text for *_, text in rows)
    return Table(
        f"share of the neighbours that all {found.n_runs} runs list",
        pd.DataFrame(rows, columns=[rows_title, "lists", "stable neighbours"]),
        "95 % intervals in brackets" if has_intervals else "",
        formats={"stable neighbours": str},
        has_intervals=has_intervals,
    )


def _share_cell(record: Mapping[str, Any], name: str) -> str:
    """Write a share of a record with its interval."""
    return percent_with_interval(record[name], (record["ci_low"], record["ci_high"]))


def entry_table(found: StableNeighbours) -> Table:
    """List the first neighbours of the first run, with their numbers of runs."""
    import pandas as pd

    title = found.row_title
    records = found.to_frame()
    own, other = ("id", "neighbour")
    if found.names is not None:
        own, other = ("title", "neighbour_title")
    frame = pd.DataFrame(
        {
            title: records[own],
            "neighbour": records[other],
            "place": records["place"],
            "runs": records["runs"],
            "mean cosine": records["mean_cosine"],
            "standard deviation": records["sd_cosine"],
        }
    )
    return Table(
        "neighbours of the first run, and number of runs that list them",
        frame,
        formats={
            title: str,
            "neighbour": str,
            "place": str,
            "runs": str,
            "mean cosine": three_decimals,
            "standard deviation": three_decimals,
        },
        essential=("neighbour", "runs", "mean cosine"),
    ).head(N_ENTRIES)


def _facts_of_runs(found: StableNeighbours) -> tuple[tuple[str, str], ...]:
    """Return what was compared."""
    title = found.row_title
    facts = [
        ("runs", str(found.n_runs)),
        (f"{title}s that all runs hold", f"{found.n_shared:,}"),
        ("compared by", found.similarity),
        ("lists", f"of {drawn_of(len(found.rows), found.n_rows, title)}"),
    ]
    if found.n_without_direction:
        skipped = f"{found.n_without_direction:,}"
        facts.append((f"{title}s without a cosine in a run", skipped))
    if found.n_duplicates:
        facts.append(("duplicates in all runs", f"{found.n_duplicates:,}"))
    return tuple(facts)


def space_map_document(found: SpaceMap) -> Document:
    """Build the document of a map between two encoders.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving import space_map
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> model = FactorModel.from_vectors(rows)
    >>> print(space_map_document(space_map(model, model)).tables[0])
    share of the new encoder's top 6 that is found (95 % intervals in brackets)
    by          mapped items           mapped queries         mean angle  nine in ...
    no map      100 % (85 % to 100 %)                      –  –           –
    rotation    100 % (85 % to 100 %)  100 % (85 % to 100 %)  0.0°        0.0°
    linear map  100 % (85 % to 100 %)  100 % (85 % to 100 %)  0.0°        0.0°
    """
    return Document(
        "Can a map bring the old vectors into the new space?",
        (found.conclusion, *found.details),
        sections=(Section.of("maps", "Maps", "Maps", map_table(found)),),
        facts=(
            (f"{found.title}s of both encoders", f"{found.n_paired:,}"),
            ("columns", f"{found.columns[0]:,} and {found.columns[1]:,}"),
            ("fitted to", counted(found.n_fitted, found.title)),
            ("judged by", counted(found.n_judged, found.title)),
        ),
    )


def map_table(found: SpaceMap) -> Table:
    """Tabulate the lists and angles of each map."""
    import pandas as pd

    titles = {"none": "no map", "rotation": "rotation", "linear": "linear map"}
    rows = []
    for record in found.records():
        cells = [titles[record["map"]]]
        for name in ("mapped_rows", "mapped_queries"):
            if record[name] is None:
                cells.append("–")
                continue
            interval = (record[f"{name}_ci_low"], record[f"{name}_ci_high"])
            cells.append(percent_with_interval(record[name], interval))
        for name in ("mean_angle", "covering_angle"):
            angle = record[name]
            cells.append("–" if angle is None else f"{angle:.1f}°")
        rows.append(cells)
    columns = [
        "by",
        f"mapped {found.title}s",
        "mapped queries",
        "mean angle",
        "nine in ten within",
    ]
    has_intervals = any("(" in cell for cells in rows for cell in cells)
    return Table(
        f"share of the new encoder's top {found.n} that is found",
        pd.DataFrame(rows, columns=columns),
        "95 % intervals in brackets" if has_intervals else "",
        formats=dict.fromkeys(columns, str),
        has_intervals=has_intervals,
        is_whole=True,
    )


def lora_document(audited: LoraAudit) -> Document:
    """Build the document of the audit of a low-rank adapter.

    Examples
    --------
    >>> from embaudit.auditing.lora import audit_lora
    >>> draw = np.random.default_rng(0)
    >>> found = audit_lora(draw.normal(size=(200, 4)), draw.normal(size=(4, 100)))
    >>> made = lora_document(found)
    >>> made.question, made.tables[0].headings[:3]
    ('Do cosines of the factors of this adapter say anything?',
     ('module', 'outputs', 'inputs'))
    """
    import pandas as pd

    rows = [
        {
            "module": record["module"],
            "outputs": record["outputs"],
            "inputs": record["inputs"],
            "r": record["rank"],
            "length": record["norm"],
            "effective rank": record["effective_rank"],
            "rows of B kept": record["output_kept_by_pair"],
            "columns of A kept": record["input_kept_by_pair"],
            "rows in update": record["output_kept_by_update"],
            "columns in update": record["input_kept_by_update"],
        }
        for record in audited.records()
    ]
    shares = ("rows of B kept", "columns of A kept", *_IN_UPDATE)
    table = Table(
        "nearest rows of B and columns of A of each module",
        pd.DataFrame(rows),
        "kept by another pair of factors with the same update, and nearest in the "
        "update",
        formats={
            **dict.fromkeys(shares, percent),
            "length": "{:.3g}",
            "effective rank": "{:.1f}",
        },
        essential=("r", "effective rank", "rows of B kept", "columns of A kept"),
    )
    return Document(
        "Do cosines of the factors of this adapter say anything?",
        (audited.conclusion, *audited.details),
        sections=(
            Section("findings", "Findings", "Findings", findings=audited.findings),
            Section.of("modules", "Modules", "Modules", table),
        ),
        facts=(("modules", f"{len(audited.modules):,}"),),
    )


_IN_UPDATE = ("rows in update", "columns in update")
"""Columns of the share of neighbours that are neighbours in the update, too."""


def _known(share: float | None) -> float:
    """Return a share without the rounding that would print 100 % as 99.9 %."""
    return np.nan if share is None else snapped(share)


def lora_comparison_document(found: LoraComparison) -> Document:
    """Build the document of a comparison of two low-rank adapters.

    Examples
    --------
    >>> from embaudit.networks import compare_lora
    >>> draw = np.random.default_rng(0)
    >>> pair = draw.normal(size=(30, 2)), draw.normal(size=(2, 20))
    >>> made = lora_comparison_document(compare_lora(pair, pair))
    >>> made.question, made.conclusion[0]
    ('Are these two adapters alike?',
     'The adapters have the same factors, up to rounding.')
    """
    import pandas as pd

    rows = [
        {
            "module": record["module"],
            "cosine": record["cosine"],
            "by chance ±": record["cosine_deviation_by_chance"],
            "of factors": record["factor_cosine"],
            "outputs shared": _known(record["output_overlap"]),
            "inputs shared": _known(record["input_overlap"]),
            "first length": record["first_norm"],
            "second length": record["second_norm"],
        }
        for record in found.records()
    ]
    table = Table(
        "cosine of the updates of each module",
        pd.DataFrame(rows),
        "the least alike first",
        formats={
            "cosine": partial(in_decimals, decimals=3),
            "by chance ±": "{:.2g}",
            "of factors": partial(in_decimals, decimals=3),
            "outputs shared": percent,
            "inputs shared": percent,
            "first length": "{:.3g}",
            "second length": "{:.3g}",
        },
        essential=("cosine", "by chance ±", "of factors"),
    )
    return Document(
        "Are these two adapters alike?",
        (found.conclusion, *found.details),
        sections=(Section.of("modules", "Modules", "Modules", table),),
        facts=(("common modules", f"{len(found.modules):,}"),),
    )


document.register(Audit, audit_document)
document.register(BlockCosines, block_document)
document.register(Comparison, comparison_document)
document.register(CopyComparison, copies_document)
document.register(Evaluation, evaluation_document)
document.register(LoraAudit, lora_document)
document.register(LoraComparison, lora_comparison_document)
document.register(SimpsonReport, simpson_document)


def attention_document(found: AttentionAudit) -> Document:
    """Build the document of an attention head."""
    rows = f"{len(found.rows.keys):,}"
    return Document(
        f"Are the cosines fixed in head {found.head} of layer {found.layer}?",
        tuple(found.sentences),
        sections=(
            Section.of(
                "attention", "Cosines", "Cosines of the head", attention_table(found)
            ),
        ),
        facts=(
            ("layer", f"{found.layer}"),
            ("head", f"{found.head}"),
            ("columns", f"{found.width:,}"),
            ("rotary planes", f"{len(found.freedom.planes):,}"),
            ("query heads that share the keys", f"{len(found.group):,}"),
            ("tensors", ", ".join(found.tensors)),
            ("inputs", rows),
            *(
                (
                    f"ranges of {table.name}",
                    f"{table.range_set}; {table.n_ranges:,} pairs",
                )
                for table in found.tables
            ),
        ),
    )


def attention_table(found: AttentionAudit) -> Table:
    """Tabulate how far the cosines of queries, keys and values of a head move."""
    import pandas as pd

    rows = []
    for table in found.tables:
        kept = "–"
        if table.predicted.top_n:
            kept = percent(table.predicted.top_n_overlap)
        rows.append(
            (
                table.name,
                str(table.answer),
                three_digits(table.range_width),
                three_digits(table.shown.mean_abs),
                three_digits(table.predicted.mean_abs),
                kept,
            )
        )
    top_n = max(table.predicted.top_n for table in found.tables)
    columns = [
        "rows",
        "fixed?",
        "mean width of ranges",
        "moved in a drawn head",
        "from prediction cosines",
        f"nearest {top_n} by both",
    ]
    return Table(
        "cosines in heads with the same outputs",
        pd.DataFrame(rows, columns=columns),
        f"ranges at stretches of at most {found.max_condition:g}",
        formats=dict.fromkeys(columns, str),
    )


document.register(AttentionAudit, attention_document)
document.register(SpaceMap, space_map_document)
document.register(StableNeighbours, runs_document)
document.register(Threshold, threshold_document)
