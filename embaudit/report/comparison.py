"""The document of a comparison: the gauge's part and the rest, who moved most, and lists before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.comparison.change import EACH, OUTCOMES, PARTS, TIED
from embaudit.core.words import counted, percent, visible
from embaudit.report.definitions import glossary
from embaudit.report.display import AMBER, BLUE, SOFT, TEAL
from embaudit.report.document import Document, Section, lists_of
from embaudit.report.figures import StackDisplay
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.comparison import Comparison
    from embaudit.comparison.change import RoleChange
    from embaudit.core.checked import Floats
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
        facts=(("gauge", f"{comparison.group}, κ = {comparison.condition_number:.4g}"),),
        glossary=glossary("compare"),
    )


def _drawn(comparison: Comparison) -> Iterator[StackDisplay]:
    """Take the parts of the mean change, if anything changed, and of the former neighbours."""
    changes = comparison.changes.items()
    moved = np.array([[getattr(change, f"mean_{cause}") for cause in PARTS[1:]] for _, change in changes])
    became = np.array([[change.neighbour_shares[name] for name in OUTCOMES] for _, change in changes])
    if moved.any():
        rows = [f"{comparison.title(role)}s" for role, _ in changes]
        yield _stacked(rows, "mean change of cosines, and what it consists of", CHANGED, moved, "mean |Δcos|")
    rows = [f"{change.n_neighbours} nearest {comparison.title(role)}s" for role, change in changes]
    yield _stacked(rows, "what became of former neighbours", BECAME, became, "share of former neighbours")


def _stacked(rows: list[str], title: str, parts: dict[str, str], sizes: Floats, label: str) -> StackDisplay:
    return StackDisplay(rows, title, dict(zip(parts, sizes.T, strict=True)), tuple(parts.values()), label)


def _neighbours(comparison: Comparison) -> Section:
    """Lay the neighbours of a few rows of each side beside each other, before and after."""
    roles: list[SideName] = [role for role, change in comparison.changes.items() if change.examples]
    lists = []
    for role in roles:
        examples = comparison.changes[role].examples
        for at, each in enumerate(examples):
            note = (
                "among those that moved most"
                if at < EACH
                else f"moved about as much as the median {comparison.title(role)}"
            )
            lists.append(lists_of(each, HEADINGS, title=comparison.title(role), note=note))
    among = " and ".join(counted(len(comparison.changes[role].match), comparison.title(role)) for role in roles)
    text = f"Nearest by the cosine of either model, among the {among} that both hold." if roles else ""
    return Section(
        "neighbours", "Neighbours", "Neighbours, before and after", paragraphs=(text,) * bool(text), lists=tuple(lists)
    )


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
    nearest = {c.n_neighbours for c in comparison.changes.values()}
    length = f"{nearest.pop()} nearest" if len(nearest) == 1 else "nearest"
    rows = [
        (name.replace("nearest", length, 1), *(tell(c) for c in comparison.changes.values()))
        for name, tell in {**_COUNTS, **_NEIGHBOURS, **_CHANGES}.items()
        if name not in _OPTIONAL or any(_OPTIONAL[name](c) for c in comparison.changes.values())
    ]
    note = "95 % intervals in brackets" if any("(" in cell for _, *cells in rows for cell in cells) else ""
    headings = ("measure", *(f"{comparison.title(role)}s" for role in comparison.changes))
    return Grid("what changed", note, headings, tuple(rows))


def threshold_grid(comparison: Comparison, role: SideName) -> Grid:
    """Return the cosine in the second model that as many pairs exceed, for thresholds in the first."""
    change, title = comparison.changes[role], comparison.title(role)
    rows = tuple(
        (f"{each.before:.2f}", f"{each.after:.2f}", f"{each.low:.2f} to {each.high:.2f}", percent(each.share))
        for each in change.thresholds
        if change.mean_total > TIED
    )
    headings = ("before", "now", "95 %", "pairs above")
    return Grid(f"thresholds on {title}-{title} cosines", "the same share of pairs lies above", headings, rows)


def moved_grid(comparison: Comparison, role: SideName, n: int = 10) -> Grid:
    """Return the entities of a side that moved most, with the parts of their change; no rows where nothing moved."""
    parts = {"total": "mean change", "gauge": "by the gauge", "unseen": "by unseen dimensions",
             "remainder": "remains"}  # fmt: skip
    shown = [name for name in parts if name != "unseen" or comparison.changes[role].mean_unseen > 0]
    records = comparison.moved_most(role, n).to_dict("records")
    rows = tuple((visible(str(row["name"])), *(f"{row[name]:.3f}" for name in shown)) for row in records)
    title = comparison.title(role)
    return Grid(f"{title}s that moved most", "", (title, *(parts[name] for name in shown)), rows)


def _correlation(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def _estimate(change: RoleChange, name: str, value: float, write: Callable[[float], str]) -> str:
    """Write a value and its interval, unless these digits show none."""
    low, high = map(write, change.interval(name))
    return write(value) if low == high == write(value) else f"{write(value)} ({low} to {high})"


def _share(change: RoleChange, name: str) -> str:
    return _estimate(change, name, change.neighbour_shares[name], percent)


def _predicted(change: RoleChange) -> str:
    share = change.predicted_kept
    return "–" if share is None else _estimate(change, "predicted_kept", share, percent)


_Tell = dict[str, "Callable[[RoleChange], str]"]
_COUNTS: _Tell = {
    "shared": lambda c: f"{len(c.match):,}",
    "only in the first model": lambda c: f"{c.match.only_before:,}",
    "only in the second model": lambda c: f"{c.match.only_after:,}",
    "without a direction": lambda c: f"{c.n_without_direction:,}",
}
_CHANGES: _Tell = {
    "mean change of cosines": lambda c: _estimate(c, "total", c.mean_total, "{:.3f}".format),
    "by the gauge": lambda c: _estimate(c, "gauge", c.mean_gauge, "{:.3f}".format),
    "by dimensions no prediction sees": lambda c: _estimate(c, "unseen", c.mean_unseen, "{:.3f}".format),
    "remains": lambda c: _estimate(c, "remainder", c.mean_remainder, "{:.3f}".format),
    "correlation of cosines": lambda c: _correlation(c.correlation),
    "correlation without the gauge": lambda c: _correlation(c.gauged_correlation),
}
_NEIGHBOURS: _Tell = {
    "nearest kept": lambda c: _share(c, "kept"),
    "nearest by prediction cosine kept": _predicted,
    "lost to the gauge": lambda c: _share(c, "lost_to_gauge"),
    "lost to dimensions no prediction sees": lambda c: _share(c, "lost_to_unseen"),
    "lost otherwise": lambda c: _share(c, "lost_to_learning"),
}
_OPTIONAL: dict[str, Callable[[RoleChange], bool]] = {
    "only in the first model": lambda c: c.match.only_before > 0,
    "only in the second model": lambda c: c.match.only_after > 0,
    "without a direction": lambda c: c.n_without_direction > 0,
    "nearest by prediction cosine kept": lambda c: c.predicted_kept is not None,
    "by dimensions no prediction sees": lambda c: c.mean_unseen > 0,
    "lost to dimensions no prediction sees": lambda c: c.neighbour_shares["lost_to_unseen"] > 0,
}
"""Measures that are left out where they say nothing."""
