"""SlopeChart: the line through all rows against the line of each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from embaudit.foundation.words import cut, visible
from embaudit.report.axis import Axis
from embaudit.report.charts import HIGH, LOW, RIGHT
from embaudit.report.simpson_display import SimpsonDisplay

if TYPE_CHECKING:
    from embaudit.foundation.checked import Floats
    from embaudit.reversals import Grouping, SimpsonReport

MOST = 40
"""Groups that are drawn, the largest."""
START = 56.0
"""Where the frame begins: its marks may be long numbers."""
NAME = 60
"""Characters of what x or y is called."""


@dataclass(frozen=True)
class Sloped:
    """A line between two places, and the middle of its group."""

    ends: tuple[float, float, float, float]
    middle: tuple[float, float]
    size: float
    """Radius of the middle: its area is the number of rows."""
    opposed: bool
    """Whether it leads the other way than the line of all rows."""


@dataclass(frozen=True)
class SlopeChart:
    """The line of each group, and that of all rows."""

    SHAPE: ClassVar[str] = "slopes"

    title: str
    across: Axis
    up: Axis
    groups: tuple[Sloped, ...]
    pooled: tuple[float, float, float, float]
    labels: tuple[str, str]
    """What x and y are called."""
    left_out: int
    """Groups that are not drawn."""


def slope_chart(report: SimpsonReport, grouping: Grouping) -> SlopeChart | None:
    """Place the lines of the largest groups, as far as their rows reach, and the line of all rows.

    Nothing is drawn of single rows. None where no group has a line.
    """
    shown = SimpsonDisplay.of(report, grouping=grouping)
    order = np.argsort(-shown.n, kind="stable")
    order = order[~np.isnan(shown.slopes[order])]
    if not len(order):
        return None
    drawn = order[:MOST]
    lines = {int(group): shown.group_line(int(group)) for group in drawn}
    pooled = shown.pooled_line()
    reached = [_around([line[i] for line in (*lines.values(), pooled)]) for i in (0, 1)]
    across, up = Axis(*reached[0], START, RIGHT), Axis(*reached[1], LOW, HIGH)
    largest = float(np.sqrt(shown.n[drawn[0]]))
    groups = tuple(
        Sloped(
            _placed(across, up, line),
            (across.at(shown.means[0][group]), up.at(shown.means[1][group])),
            round(2 + 5 * float(np.sqrt(shown.n[group])) / largest, 1),
            bool(grouping.opposes[group]),
        )
        for group, line in lines.items()
    )
    labels = cut(visible(shown.labels[0]), NAME), cut(visible(shown.labels[1]), NAME)
    return SlopeChart(
        f"lines by {cut(visible(grouping.name), NAME)}", across, up, groups, _placed(across, up, pooled), labels,
        len(order) - len(drawn),
    )  # fmt: skip


def _placed(across: Axis, up: Axis, line: tuple[Floats, Floats]) -> tuple[float, float, float, float]:
    (x1, x2), (y1, y2) = line
    return across.at(x1), up.at(y1), across.at(x2), up.at(y2)


def _around(values: list[Floats]) -> tuple[float, float]:
    """Choose ends a little beyond all values."""
    low, high = float(np.min(values)), float(np.max(values))
    room = 0.04 * (high - low) or 0.5 * abs(low) or 1.0
    return low - room, high + room
