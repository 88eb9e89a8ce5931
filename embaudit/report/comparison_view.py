"""What the page of a comparison shows: the gauge's part and the rest, who moved most, and lists before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.texts import WORDS
from embaudit.comparison.change import EACH, PARTS
from embaudit.comparison.fates import OUTCOMES
from embaudit.foundation.words import counted
from embaudit.report.comparison import moved_grid, summary_grid, threshold_grid
from embaudit.report.display import AMBER, BLUE, SOFT, TEAL
from embaudit.report.stack_display import StackDisplay
from embaudit.report.view import LONGEST, Charted, ResultView, Section, lists_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.comparison import Comparison
    from embaudit.foundation.checked import Floats
    from embaudit.model import SideName

CHANGED = {"by the gauge": BLUE, "by dimensions no prediction sees": TEAL, "remains": AMBER}
"""Parts of a change, and how they are drawn."""
BECAME = {"kept": SOFT, **{f"lost {part}": colour for part, colour in (
    ("to the gauge", BLUE), ("to dimensions no prediction sees", TEAL), ("otherwise", AMBER))}}  # fmt: skip
"""The same of former neighbours."""
HEADINGS = "in the first model", "in the second model"
GLOSSARY = (
    ("gauge", WORDS["gauge"].meaning),
    ("κ", WORDS["κ"].meaning),
    ("by the gauge", "What the gauge takes away of the change, on rows that were not used to find it."),
    (
        "by dimensions no prediction sees",
        "What a side holds in a direction that no row of the other side has. It moves cosines and no score.",
    ),
    ("remains", "What is left between the gauged model and the other one. The parts add up to the change."),
    ("lost to the gauge", "Former neighbours that the gauge alone drives out."),
    ("lost otherwise", "Former neighbours that the gauge would have kept and that are gone all the same."),
    ("prediction cosine", WORDS["prediction cosine"].meaning),
)


def comparison_view(found: Comparison) -> ResultView:
    """Collect what the page of a comparison shows.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.comparison import compare
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> view = comparison_view(compare(model, Gauge.diagonal([5.0, 1.0]).act(model)))
    >>> [drawn.label for drawn in view.top], [section.id for section in view.shown_sections]
    (['mean |Δcos|', 'share of former neighbours'], ['changed', 'moved', 'thresholds', 'neighbours'])
    """
    *said, last = found.statements
    table = summary_grid(found)
    return ResultView(
        question="What changed between two models, and how much of it does a gauge explain?",
        said=tuple(said),
        next=last,
        top=tuple(_drawn(found)),
        n_embedded=2,
        sections=(
            Section("changed", "Changes", "What changed, in numbers", parts=(Charted("", table),)),
            Section("moved", "Moved most", "What moved most, and why", parts=tuple(_moved(found))),
            Section("thresholds", "Thresholds", "Thresholds that carry over", parts=tuple(_thresholds(found))),
            _neighbours(found),
        ),
        facts=(("gauge", f"{found.group}, κ = {found.condition_number:.4g}"),),
        glossary=GLOSSARY,
    )


def _drawn(found: Comparison) -> Iterator[StackDisplay]:
    """Take the parts of the mean change, if anything changed, and of the former neighbours."""
    changes = found.changes.items()
    moved = np.array([[getattr(change, f"mean_{part}") for part in PARTS[1:]] for _, change in changes])
    became = np.array([[change.neighbour_shares[name] for name in OUTCOMES] for _, change in changes])
    if moved.any():
        rows = [f"{found.title(role)}s" for role, _ in changes]
        yield _stacked(rows, "mean change of cosines, and what it consists of", CHANGED, moved, "mean |Δcos|")
    rows = [f"{change.n_neighbours} nearest {found.title(role)}s" for role, change in changes]
    yield _stacked(rows, "what became of former neighbours", BECAME, became, "share of former neighbours")


def _stacked(rows: list[str], title: str, parts: dict[str, str], sizes: Floats, label: str) -> StackDisplay:
    return StackDisplay(rows, title, dict(zip(parts, sizes.T, strict=True)), tuple(parts.values()), label)


def _thresholds(found: Comparison) -> Iterator[Charted]:
    for role in found.changes:
        grid = threshold_grid(found, role)
        if grid.rows:
            yield Charted("", grid)


def _moved(found: Comparison) -> Iterator[Charted]:
    for role in found.changes:
        grid = moved_grid(found, role)
        if grid.rows:
            yield Charted("", grid.shortened(LONGEST))


def _neighbours(found: Comparison) -> Section:
    roles: list[SideName] = [role for role, change in found.changes.items() if change.examples]
    lists = []
    for role in roles:
        examples = found.changes[role].examples
        for at, one in enumerate(examples):
            note = (
                "among those that moved most" if at < EACH else f"moved about as much as the median {found.title(role)}"
            )
            lists.append(lists_of(one, HEADINGS, title=found.title(role), note=note))
    among = " and ".join(counted(len(found.changes[role].match), found.title(role)) for role in roles)
    said = f"Nearest by the cosine of either model, among the {among} that both hold." if roles else ""
    return Section(
        "neighbours", "Neighbours", "Neighbours, before and after", said=(said,) * bool(said), lists=tuple(lists)
    )
