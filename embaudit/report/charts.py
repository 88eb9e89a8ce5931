"""Charts of an audit as numbers to draw: what moved, what could move, and what is certain to stay.

A template draws them, so that a page needs neither scripts nor pictures.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from embaudit.foundation.words import counted, in_typical_rows
from embaudit.report.axis import Axis, LogAxis
from embaudit.report.certified_curve_display import CertifiedCurveDisplay
from embaudit.report.movement_display import SHOWN
from embaudit.report.summary import WIDTHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from embaudit.attacks import Attack
    from embaudit.auditing.limits import Certificate
    from embaudit.movements import Movement
    from embaudit.ranges import RangeSummary

WIDTH = 440.0
"""Of every chart, in its own units."""
NAMES = 196.0
"""Where the bars of a chart begin, behind the names of its rows."""
ROW, TALL = 26.0, 31.0
"""Height of a row, and of one whose name may take two lines."""
LOW, HIGH, LEFT, RIGHT = 196.0, 16.0, 40.0, 428.0
"""The frame of a chart of curves."""
CUT = 27
"""Characters of a name beside bars."""


@dataclass(frozen=True)
class Bar:
    """The middle 90 % and 50 % of |Δcos| in one equivalent model, and its mean, as places."""

    ends: tuple[float, float]
    middle: tuple[float, float]
    mean: float


@dataclass(frozen=True)
class BarRow:
    """The bars of one family of equivalent models."""

    name: str
    y: float
    bars: tuple[Bar, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """The name as it stands beside the bars: in two lines where one is too short.

        Examples
        --------
        >>> BarRow("users whitened (prediction cosine)", 0.0, ()).lines
        ('users whitened (prediction', 'cosine)')
        """
        return tuple(wrap(self.name, CUT, max_lines=2, placeholder=" …"))


@dataclass(frozen=True)
class BarChart:
    """How far the cosines of one role move, a row for each family of equivalent models."""

    SHAPE: ClassVar[str] = "bars"

    title: str
    axis: Axis
    rows: tuple[BarRow, ...]
    label: str
    """What the axis shows."""

    @property
    def height(self) -> float:
        """Of the picture."""
        return TALL * len(self.rows) + 52

    @property
    def has_several(self) -> bool:
        """Whether some row shows more models than one."""
        return any(len(row.bars) > 1 for row in self.rows)


def movement_chart(title: str, families: Mapping[str, Sequence[Movement]]) -> BarChart | None:
    """Place the movement of every equivalent model; None where nothing has a cosine.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> moved = movement(model, Gauge.diagonal([1.0, 4.0]).act(model))
    >>> chart = movement_chart("item-item", {"one": [moved]})
    >>> chart.axis.high, [bar.mean for bar in chart.rows[0].bars] == [chart.axis.at(moved.mean_abs)]
    (0.5, True)
    """
    levels = [[*(one.quantiles[level] for level in SHOWN), one.mean_abs] for many in families.values() for one in many]
    if not levels or not np.isfinite(levels).any():
        return None
    axis = Axis(0.0, _rounded_up(float(np.nanmax(levels))), NAMES, WIDTH - 12)
    rows = tuple(
        BarRow(name, 12 + TALL * (at + 0.5), tuple(_bar(axis, one) for one in many if np.isfinite(one.mean_abs)))
        for at, (name, many) in enumerate(families.items())
    )
    return BarChart(title, axis, rows, f"|Δcos| of {title} pairs")


def _bar(axis: Axis, one: Movement) -> Bar:
    low, lower, upper, high = (axis.at(one.quantiles[level]) for level in SHOWN)
    return Bar((low, high), (lower, upper), axis.at(one.mean_abs))


def _rounded_up(value: float) -> float:
    """Choose the end of an axis: the first of a few round numbers that is large enough."""
    return next((end for end in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 1.5) if value <= end), 2.0)


@dataclass(frozen=True)
class Curve:
    """A line, and the band around it where there is one."""

    name: str
    kind: str
    """What it is drawn as: "first", "second" or "third"."""
    line: str
    band: str = ""


@dataclass(frozen=True)
class Point:
    """A single value beside the curves."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class CurveChart:
    """Curves against the condition number of the gauges."""

    SHAPE: ClassVar[str] = "curves"

    title: str
    across: LogAxis
    up: Axis
    curves: tuple[Curve, ...]
    points: tuple[Point, ...]
    label: str
    """What the upward axis shows."""


KINDS = ("first", "second", "third")


def width_chart(title: str, found: Iterable[RangeSummary]) -> CurveChart | None:
    """Place how wide exact ranges are against κ: the median of each group of gauges, and the middle half of pairs.

    Where nothing is stretched, a range is a point; a shift opens it before that.
    """
    groups: dict[str, list[RangeSummary]] = {}
    for one in found:
        if one.group in WIDTHS and one.max_condition is not None and np.isfinite(one.width_mean):
            groups.setdefault(one.group, []).append(one)
    if not groups:
        return None
    last = max(one.max_condition or 1.0 for many in groups.values() for one in many)
    across, up = LogAxis(1.0, max(last, 1.1), LEFT, RIGHT), Axis(0.0, 2.0, LOW, HIGH)
    curves = tuple(_width(*each, across, up) for each in zip(groups.items(), KINDS, strict=False))
    return CurveChart(title, across, up, curves, (), "width of the exact ranges")


def _width(group: tuple[str, list[RangeSummary]], kind: str, across: LogAxis, up: Axis) -> Curve:
    name, found = group
    quantiles = [one.width_quantiles for one in sorted(found, key=lambda one: one.max_condition or 1.0)]
    start = [] if name == "affine" else [1.0]
    kappas = start + sorted(one.max_condition or 1.0 for one in found)
    places = [across.at(kappa) for kappa in kappas]
    low, middle, high = ([0.0] * len(start) + [one[level] for one in quantiles] for level in (0.25, 0.5, 0.75))
    band = f"{up.path(high, places)} {up.path(low[::-1], places[::-1])}"
    return Curve(WIDTHS[name], kind, up.path(middle, places), band)


def certified_chart(title: str, found: Iterable[Certificate], attacks: Iterable[Attack]) -> CurveChart | None:
    """Place the share of neighbours that is certain to stay against κ, and what attacks left in place."""
    found = list(found)
    if not found:
        return None
    last = max(kappa for one in found for kappa in (*one.entries, 1.1))
    across, up = LogAxis(1.0, last, LEFT, RIGHT), Axis(0.0, 1.0, LOW, HIGH)
    curves, points = [], []
    alone = "stays if nothing is shifted" if any(one.max_shift for one in found) else "proven to stay"
    for one, kind in zip(found, KINDS, strict=False):
        of = [attack for attack in attacks if attack.role == one.role and one.group == "linear"]
        shown = CertifiedCurveDisplay.of(one.found, kappas=np.geomspace(1, last, 121), attacks=of)
        places = [across.at(kappa) for kappa in shown.kappas]
        name = f"proven to stay, shifts up to {in_typical_rows(one.max_shift)}" if one.max_shift else alone
        curves.append(Curve(name, kind, up.path(shown.certified.tolist(), places)))
        left = zip(shown.attack_kappas, shown.survived, strict=True)
        lists = sum(len(attack.table) for attack in of if attack.objective == "neighbours")
        called = f"left by the worst gauge found, in the {counted(lists, 'list')} it was sought for"
        points += [Point(called, across.at(kappa), up.at(share)) for kappa, share in left]
    return CurveChart(title, across, up, tuple(curves), tuple(points), f"share of the {found[0].top_n} nearest")
