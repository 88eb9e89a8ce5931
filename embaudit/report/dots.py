"""DotChart: a value a row, with whiskers, or with the value it is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from embaudit.foundation.words import cut_within, visible
from embaudit.report.axis import Axis
from embaudit.report.charts import CUT, NAMES, ROW, WIDTH

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Valued:
    """A row of a chart before it is placed."""

    name: str
    value: float
    ends: tuple[float, float] | None = None
    """Of an interval."""
    marked: bool = False
    """Whether it is drawn so that it stands out."""
    other: float | None = None
    """A second value, which a line leads to the first from."""


@dataclass(frozen=True)
class DotRow:
    """A value as places."""

    name: str
    y: float
    at: float
    ends: tuple[float, float] | None
    marked: bool
    other: float | None


@dataclass(frozen=True)
class Level:
    """A value that all rows are compared with."""

    name: str
    at: float


@dataclass(frozen=True)
class DotChart:
    """Values of rows along one axis."""

    SHAPE: ClassVar[str] = "dots"

    title: str
    axis: Axis
    rows: tuple[DotRow, ...]
    label: str
    """What the axis shows."""
    key: tuple[tuple[str, str], ...]
    """What a "dot", a "marked" one, "other" and "whisker" mean."""
    level: Level | None = None

    @property
    def height(self) -> float:
        """Of the picture."""
        return ROW * len(self.rows) + 52

    @property
    def zero(self) -> float | None:
        """Where 0 lies, if values may lie on either side of it."""
        return self.axis.at(0.0) if self.axis.low < 0 < self.axis.high else None


def dot_chart(
    title: str,
    label: str,
    rows: Sequence[Valued],
    *,
    key: Sequence[tuple[str, str]],
    level: tuple[str, float] | None = None,
    within: tuple[float, float] = (-1.0, 1.0),
    among: tuple[float, ...] = (0.0,),
) -> DotChart | None:
    """Place values along one axis; rows without a value are left out, and None is returned where none has one.

    Parameters
    ----------
    title, label : str
        What the chart and its axis show.
    rows : sequence of Valued
        From the top down.
    key : sequence of (str, str)
        What is drawn and what it means.
    level : (str, float), optional
        What all are compared with.
    within : (float, float)
        Ends that the axis never passes: nothing lies beyond.
    among : tuple of float
        Values that the axis shows besides; 0 by default, which signs turn around.

    Examples
    --------
    >>> rows = [Valued("a", 0.4, (0.3, 0.5), marked=True), Valued("b", -0.1), Valued("c", float("nan"))]
    >>> chart = dot_chart("shares", "share", rows, key=[("dot", "mean")], level=("chance", 0.25))
    >>> chart.axis.low, chart.axis.high, chart.level.at, [(row.name, row.at, row.ends) for row in chart.rows]
    (-0.2, 0.6, 326.5, [('a', 370.0, (341.0, 399.0)), ('b', 225.0, None)])
    """
    shown = [row for row in rows if np.isfinite(row.value)]
    if not shown:
        return None
    values = [value for row in shown for value in (row.value, *(row.ends or ()), *_known(row.other))]
    axis = Axis.around([*values, *among, *([level[1]] if level else [])], (NAMES, WIDTH - 12), within)
    return DotChart(
        title,
        axis,
        tuple(_placed(axis, row, 12 + ROW * (at + 0.5)) for at, row in enumerate(shown)),
        label,
        tuple(key),
        Level(level[0], axis.at(level[1])) if level else None,
    )


def _known(value: float | None) -> tuple[float, ...]:
    return () if value is None or not np.isfinite(value) else (value,)


def _placed(axis: Axis, row: Valued, y: float) -> DotRow:
    ends = None if row.ends is None else (axis.at(row.ends[0]), axis.at(row.ends[1]))
    other = next(map(axis.at, _known(row.other)), None)
    return DotRow(cut_within(visible(row.name), CUT), y, axis.at(row.value), ends, row.marked, other)
