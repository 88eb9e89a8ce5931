"""The document of a comparison of two models."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from embaudit.comparison import Comparison
from embaudit.comparison.change import N_EXAMPLES, OUTCOMES, PARTS
from embaudit.comparison.verdict import is_weighted
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import (
    counted,
    drawn_of,
    percent,
    percents,
    percents_apart,
    row_called,
)
from embaudit.linalg.pairs import n_pairs
from embaudit.model import SideName
from embaudit.report.comparison_summary import (
    OUTCOME_TITLES,
    PART_TITLES,
    summary_table,
)
from embaudit.report.document import Document, Lists, Section, glossary, lists_of
from embaudit.report.figures import StackDisplay
from embaudit.report.tables import Table

COLOURS = {
    "kept": "soft",
    "gauge": "blue",
    "lost_to_gauge": "blue",
    "unseen": "teal",
    "lost_to_unseen": "teal",
    "remainder": "amber",
    "lost_to_learning": "amber",
}
"""Names of the colours of the parts of a change, and of the outcomes of neighbours."""
HEADINGS = ("in the first model", "in the second model")
"""Headings of the two lists of a row."""


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
    >>> document = comparison_document(compare(model, stretched))
    >>> [figure.label for figure in document.top]
    ['mean |Δcos|', 'share of former neighbours']
    >>> [section.id for section in document.shown_sections]
    ['changed', 'moved', 'thresholds', 'neighbours']
    """
    summary_tables = [summary_table(comparison)]
    if any(is_weighted(comparison, change) for change in comparison.changes.values()):
        summary_tables.append(unweighted_table(comparison))
    moved = [moved_table(comparison, role) for role in comparison.changes]
    thresholds = [threshold_table(comparison, role) for role in comparison.changes]
    n_moved_tables = sum(len(table.frame) > 0 for table in moved)
    top: tuple[StackDisplay, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    # With too few rows, no gauge is fitted, and no change is split into parts.
    if not comparison.too_few_for:
        figures = (_change_figure(comparison), _outcome_figure(comparison))
        top = tuple(figure for figure in figures if figure is not None)
        gauge = f"{comparison.group}, κ = {comparison.condition_number:.4g}"
        facts = (("gauge", gauge),)
    return Document(
        "May the second model replace the first?",
        comparison.paragraphs,
        next=comparison.next_step,
        top=top,
        n_embedded=1 + n_moved_tables,
        sections=(
            Section.from_tables(
                "changed", "Changes", "What changed, in numbers", *summary_tables
            ),
            Section.from_tables(
                "moved", "Moved most", "What moved most, and why", *moved
            ),
            Section.from_tables(
                "thresholds", "Thresholds", "Thresholds that carry over", *thresholds
            ),
            _neighbour_section(comparison),
        ),
        facts=facts,
        glossary=glossary("compare"),
    )


def _change_figure(comparison: Comparison) -> StackDisplay | None:
    """Draw the parts of the mean change of each side; None if no cosine changed."""
    columns: dict[str, list[str] | list[float]] = {
        "name": [f"{comparison.title(role)}s" for role in comparison.changes]
    }
    causes = PARTS[1:]
    for cause in causes:
        means = [
            getattr(change, f"mean_{cause}") for change in comparison.changes.values()
        ]
        columns[PART_TITLES[cause]] = means
    return _stack(
        columns,
        "mean change of cosines, and what it consists of",
        [COLOURS[cause] for cause in causes],
        "mean |Δcos|",
    )


def _outcome_figure(comparison: Comparison) -> StackDisplay | None:
    """Draw the outcomes of the former neighbours of each side."""
    changes = comparison.changes
    columns: dict[str, list[str] | list[float]] = {
        "name": [
            f"{change.n_neighbours} nearest {comparison.title(role)}s"
            for role, change in changes.items()
        ]
    }
    for outcome in OUTCOMES:
        shares = [change.neighbour_shares[outcome] for change in changes.values()]
        columns[OUTCOME_TITLES[outcome]] = shares
    title = "what became of former neighbours"
    if any(is_weighted(comparison, change) for change in changes.values()):
        title += ", each row counted once"
    return _stack(
        columns,
        title,
        [COLOURS[outcome] for outcome in OUTCOMES],
        "share of former neighbours",
    )


def _stack(
    columns: dict[str, list[str] | list[float]],
    title: str,
    colours: list[str],
    label: str,
) -> StackDisplay | None:
    """Make a figure of stacked bars; None if all bars have length 0."""
    names = columns["name"]
    sizes = {
        part: np.array(values) for part, values in columns.items() if part != "name"
    }
    if not any(values.any() for values in sizes.values()):
        return None
    return StackDisplay({"name": names, **sizes}, title, tuple(colours), label)


def _neighbour_section(comparison: Comparison) -> Section:
    """List the neighbours of a few rows of each side in both models."""
    lists: list[Lists] = []
    counts = []
    for role, change in comparison.changes.items():
        if not change.examples:
            continue
        title = comparison.title(role)
        counts.append(counted(len(change.match), title))
        row_title = "" if change.match.has_names else title
        for place, example in enumerate(change.examples):
            note = f"moved about as much as the median {title}"
            if place < N_EXAMPLES:
                note = "among those that moved most"
            lists.append(lists_of(example, HEADINGS, title=row_title, note=note))
    paragraphs: tuple[str, ...] = ()
    if counts:
        rows = " and ".join(counts)
        paragraphs = (
            f"Nearest by the cosine of either model, among the {rows} that both hold.",
        )
    return Section(
        "neighbours",
        "Neighbours",
        "Neighbours, before and after",
        paragraphs,
        lists=tuple(lists),
    )


def unweighted_table(comparison: Comparison) -> Table:
    """Tabulate the outcomes of former neighbours if each row counts once.

    The rows are the sides whose shares are weighted in `summary_table`.
    """
    records = []
    for role, change in comparison.changes.items():
        if not is_weighted(comparison, change):
            continue
        shares = change.neighbour_shares
        kept_by_prediction = "–"
        if change.predicted_kept is not None:
            kept_by_prediction = percent(change.predicted_kept)
        record = {
            "neighbours": f"{change.n_neighbours} nearest {comparison.title(role)}s",
            "kept": percent(shares["kept"]),
            "kept by prediction cosine": kept_by_prediction,
        }
        if not comparison.too_few_for:
            reasons = OUTCOMES[1:]
            lost = percents([shares[reason] for reason in reasons])
            for reason, text in zip(reasons, lost, strict=True):
                record[OUTCOME_TITLES[reason]] = text
        records.append(record)
    frame = pd.DataFrame(records)
    return Table(
        "what became of former neighbours, each row counted once",
        frame,
        formats=dict.fromkeys(list(frame.columns)[1:], str),
    )


def threshold_table(comparison: Comparison, role: SideName) -> Table:
    r"""Tabulate the thresholds of the second model that keep as many pairs as before.

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
    change = comparison.changes[role]
    title = comparison.title(role)
    # Where no cosine changed, thresholds stay as they are.
    thresholds = change.thresholds if change.mean_total > FLOAT32_TIE else ()
    # If all pairs were counted, no threshold has an interval.
    has_intervals = any(
        not threshold.low == threshold.after == threshold.high
        for threshold in thresholds
    )
    columns = {
        "before": [f"{threshold.before:.2f}" for threshold in thresholds],
        "now": [f"{threshold.after:.2f}" for threshold in thresholds],
    }
    if has_intervals:
        columns["95 %"] = [
            f"{threshold.low:.2f} to {threshold.high:.2f}" for threshold in thresholds
        ]
    # Shares have as many decimals as it takes to tell them apart.
    shares = [threshold.share for threshold in thresholds]
    columns["pairs above"] = percents_apart(shares)
    note = ""
    if thresholds:
        n_rows = len(change.match) - change.n_without_direction - change.n_duplicates
        note = drawn_of(thresholds[0].n_pairs, n_pairs(n_rows), "pair")
    return Table(
        f"thresholds that keep as many {title}-{title} pairs",
        pd.DataFrame(columns),
        note,
        formats=dict.fromkeys(columns, str),
    )


def moved_table(comparison: Comparison, role: SideName, n: int = 10) -> Table:
    """Tabulate the rows of a side that moved most, with the parts of their change.

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
    change = comparison.changes[role]
    title = comparison.title(role)
    headings = {"total": "mean change"}
    if not comparison.too_few_for:
        headings["gauge"] = PART_TITLES["gauge"]
    if change.mean_unseen > 0:
        headings["unseen"] = "by unseen dimensions"
    if not comparison.too_few_for:
        headings["remainder"] = PART_TITLES["remainder"]
    # A row whose change is written as 0.000 has not moved as far as readers can see.
    records = [
        record
        for record in comparison.moved_most(role, n).to_dict("records")
        if float(f"{record['total']:.3f}") > 0
    ]
    row_name = partial(row_called, "" if change.match.has_names else title)
    columns = {title: [row_name(str(record["name"])) for record in records]}
    for part, heading in headings.items():
        columns[heading] = [record[part] for record in records]
    return Table(
        f"{title}s that moved most",
        pd.DataFrame(columns),
        formats=dict.fromkeys(headings.values(), "{:.3f}"),
    )
