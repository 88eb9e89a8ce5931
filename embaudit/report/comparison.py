"""The document of a comparison: the gauge's part and the rest, who moved most, and lists before and after."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from embaudit.comparison.change import EACH, OUTCOMES, PARTS, TIED
from embaudit.core.words import counted, percent, row_called
from embaudit.report.definitions import glossary
from embaudit.report.display import AMBER, BLUE, SOFT, TEAL
from embaudit.report.document import Document, Section, lists_of
from embaudit.report.figures import StackDisplay
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.comparison import Comparison
    from embaudit.comparison.change import RoleChange
    from embaudit.model import SideName


CHANGED = {"by the gauge": BLUE, "by dimensions no prediction sees": TEAL, "remains": AMBER}
"""Parts of a change, and how they are drawn."""
BECAME = {"kept": SOFT, **{f"lost {reason}": colour for reason, colour in (
    ("to the gauge", BLUE), ("to dimensions no prediction sees", TEAL), ("otherwise", AMBER))}}  # fmt: skip
"""The same of former neighbours."""
HEADINGS = "in the first model", "in the second model"


def comparison_document(comparison: Comparison) -> Document:
    """Build the document of a comparison.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> made = comparison_document(compare(model, Gauge.diagonal([5.0, 1.0]).act(model)))
    >>> [drawn.label for drawn in made.top], [section.id for section in made.shown_sections]
    (['mean |Δcos|', 'share of former neighbours'], ['changed', 'moved', 'thresholds', 'neighbours'])
    """
    # The last statement is the next step, where there is one, and stands apart from what was found.
    *texts, last = comparison.statements
    moved, thresholds = (
        [make(comparison, role) for role in comparison.changes] for make in (moved_grid, threshold_grid)
    )
    return Document(
        "What changed between two models, and how much of it does a gauge explain?",
        tuple(texts),
        next=last,
        top=tuple(_drawn(comparison)),
        n_embedded=1 + sum(bool(grid.rows) for grid in moved),
        sections=(
            Section.of("changed", "Changes", "What changed, in numbers", summary_grid(comparison)),
            Section.of("moved", "Moved most", "What moved most, and why", *moved),
            Section.of("thresholds", "Thresholds", "Thresholds that carry over", *thresholds),
            _neighbours(comparison),
        ),
        facts=()
        if comparison.too_few_for
        else (("gauge", f"{comparison.group}, κ = {comparison.condition_number:.4g}"),),
        glossary=glossary("compare"),
    )


def _drawn(comparison: Comparison) -> Iterator[StackDisplay]:
    """Take the parts of the mean change, if anything changed, and of the former neighbours, where they can be told."""
    if comparison.too_few_for:
        return
    changes = comparison.changes.items()
    moved = np.array([[getattr(change, f"mean_{cause}") for cause in PARTS[1:]] for _, change in changes])
    became = np.array([[change.neighbour_shares[name] for name in OUTCOMES] for _, change in changes])
    sides = [f"{comparison.title(role)}s" for role, _ in changes]
    lists = [f"{change.n_neighbours} nearest {comparison.title(role)}s" for role, change in changes]
    whole, lost = "mean change of cosines, and what it consists of", "what became of former neighbours"
    for rows, title, parts, sizes, label in (
        (sides, whole, CHANGED, moved, "mean |Δcos|"),
        (lists, lost, BECAME, became, "share of former neighbours"),
    ):
        if sizes.any():
            yield StackDisplay(rows, title, dict(zip(parts, sizes.T, strict=True)), tuple(parts.values()), label)


def _neighbours(comparison: Comparison) -> Section:
    """Lay the neighbours of a few rows of each side beside each other, before and after."""
    changes = {comparison.title(role): change for role, change in comparison.changes.items() if change.examples}
    lists = [
        lists_of(each, HEADINGS, title="" if change.match.has_names else title,
                 note="among those that moved most" if at < EACH else f"moved about as much as the median {title}")
        for title, change in changes.items() for at, each in enumerate(change.examples)
    ]  # fmt: skip
    among = " and ".join(counted(len(change.match), title) for title, change in changes.items())
    texts = (f"Nearest by the cosine of either model, among the {among} that both hold.",) if changes else ()
    return Section("neighbours", "Neighbours", "Neighbours, before and after", texts, lists=tuple(lists))


def summary_grid(comparison: Comparison) -> Grid:
    r"""Return a row for each measure that says something, with a column for each side.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> print("\n".join(str(summary_grid(compare(model, model))).splitlines()[:4]))
    what changed
    measure                 users  items
    shared                     40     30
    10 nearest kept         100 %  100 %
    """
    columns = [list(_measures(change, is_split=not comparison.too_few_for)) for change in comparison.changes.values()]
    # A measure stays if it says something of either side, since both columns share its row.
    rows = [
        (cells[0][0], *(text for _, text, _ in cells))
        for cells in zip(*columns, strict=True)
        if any(says_something for *_, says_something in cells)
    ]
    # A small side has shorter lists; a length is named only if it is that of every column.
    lengths = {change.n_neighbours for change in comparison.changes.values()}
    if len(lengths) == 1:
        rows = [(name.replace("nearest", f"{min(lengths)} nearest", 1), *cells) for name, *cells in rows]
    note = "95 % intervals in brackets" if any("(" in cell for _, *cells in rows for cell in cells) else ""
    headings = ("measure", *(f"{comparison.title(role)}s" for role in comparison.changes))
    return Grid("what changed", note, headings, tuple(rows))


def _measures(change: RoleChange, *, is_split: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield name and figure of each measure of a side, and whether it says something."""

    def estimate(name: str, value: float, write: Callable[[float], str]) -> str:
        """Write a value and its interval, unless these digits show none."""
        low, high = map(write, change.interval(name))
        return write(value) if low == high == write(value) else f"{write(value)} ({low} to {high})"

    match, shares, predicted = change.match, change.neighbour_shares, change.predicted_kept
    yield "shared", f"{len(match):,}", True
    yield "only in the first model", f"{match.only_before:,}", match.only_before > 0
    yield "only in the second model", f"{match.only_after:,}", match.only_after > 0
    yield "without a direction", f"{change.n_without_direction:,}", change.n_without_direction > 0
    yield "nearest kept", estimate("kept", shares["kept"], percent), True
    stay = "–" if predicted is None else estimate("predicted_kept", predicted, percent)
    yield "nearest by prediction cosine kept", stay, predicted is not None
    yield "lost to the gauge", percent(shares["lost_to_gauge"]), is_split
    yield "lost to dimensions no prediction sees", percent(shares["lost_to_unseen"]), shares["lost_to_unseen"] > 0
    yield "lost otherwise", percent(shares["lost_to_learning"]), is_split
    yield "mean change of cosines", estimate("total", change.mean_total, "{:.3f}".format), True
    yield "by the gauge", f"{change.mean_gauge:.3f}", is_split
    yield "by dimensions no prediction sees", f"{change.mean_unseen:.3f}", change.mean_unseen > 0
    yield "remains", f"{change.mean_remainder:.3f}", is_split
    correlations = {"correlation of cosines": change.correlation,
                    "correlation without the gauge": change.gauged_correlation}  # fmt: skip
    for name, value in correlations.items():
        yield name, "–" if np.isnan(value) else f"{value:.3f}", is_split or name == "correlation of cosines"


def threshold_grid(comparison: Comparison, role: SideName) -> Grid:
    """Return the cosine in the second model that as many pairs exceed, for thresholds in the first."""
    change, title = comparison.changes[role], comparison.title(role)
    # Where no cosine changed, thresholds carry over as they are.
    rows = tuple(
        (f"{each.before:.2f}", f"{each.after:.2f}", f"{each.low:.2f} to {each.high:.2f}", percent(each.share))
        for each in change.thresholds
        if change.mean_total > TIED
    )
    headings = ("before", "now", "95 %", "pairs above")
    return Grid(f"thresholds on {title}-{title} cosines", "the same share of pairs lies above", headings, rows)


def moved_grid(comparison: Comparison, role: SideName, n: int = 10) -> Grid:
    """Return the entities of a side that moved most, with the parts of their change; no rows where nothing moved.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> rows, labels = np.random.default_rng(0).standard_normal((9, 2)), list("12345678a")
    >>> heads = FactorModel.from_softmax(rows, labels=labels), FactorModel.from_softmax(rows**3, labels=labels)
    >>> sorted(row[0] for row in moved_grid(compare(*heads), "right").rows)[:3]
    ["'1'", "'2'", "'3'"]
    """
    parts = {"total": "mean change", "gauge": "by the gauge", "unseen": "by unseen dimensions",
             "remainder": "remains"}  # fmt: skip
    shown = [name for name in parts if name != "unseen" or comparison.changes[role].mean_unseen > 0]
    shown = [name for name in shown if name in ("total", "unseen") or not comparison.too_few_for]
    records = comparison.moved_most(role, n).to_dict("records")
    title = comparison.title(role)
    called = partial(row_called, "" if comparison.changes[role].match.has_names else title)
    rows = tuple((called(str(row["name"])), *(f"{row[name]:.3f}" for name in shown)) for row in records)
    return Grid(f"{title}s that moved most", "", (title, *(parts[name] for name in shown)), rows)
