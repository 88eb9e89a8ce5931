"""StackChart: what a whole consists of, a row for each whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from embaudit.foundation.words import cut_within, visible
from embaudit.report.axis import Axis
from embaudit.report.charts import CUT, NAMES, ROW, WIDTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Piece:
    """One part of a whole, as places."""

    kind: str
    """What it is drawn as: "first", "second", "third" or "rest"."""
    start: float
    stop: float


@dataclass(frozen=True)
class StackRow:
    """A whole and its parts, one behind the other."""

    name: str
    y: float
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class StackChart:
    """Wholes, and what each consists of."""

    SHAPE: ClassVar[str] = "stacks"

    title: str
    axis: Axis
    rows: tuple[StackRow, ...]
    label: str
    """What the axis shows."""
    key: tuple[tuple[str, str], ...]
    """How a part is drawn, and what it is; parts too small to be drawn are left out."""

    @property
    def height(self) -> float:
        """Of the picture."""
        return ROW * len(self.rows) + 52


def stack_chart(
    title: str, label: str, parts: Mapping[str, str], rows: Sequence[tuple[str, Sequence[float]]], *, whole: float = 0.0
) -> StackChart | None:
    """Place the parts of every row behind each other; None where no row has any.

    Parameters
    ----------
    title, label : str
        What the chart and its axis show.
    parts : mapping of str to str
        How each part is drawn, and what it is called.
    rows : sequence of (str, sequence of float)
        What a row is called, and its parts, none below 0.
    whole : float
        End of the axis; by default a round number that no row exceeds.

    Examples
    --------
    >>> chart = stack_chart("moves", "|Δcos|", {"first": "gauge", "rest": "remains"}, [("items", [0.1, 0.4])])
    >>> chart.axis.high, [(piece.kind, piece.start, piece.stop) for piece in chart.rows[0].pieces]
    (0.5, [('first', 196.0, 242.4), ('rest', 242.4, 428.0)])
    """
    largest = max((sum(values) for _, values in rows), default=0.0)
    if not largest:
        return None
    axis = Axis.around([0.0, whole or largest], (NAMES, WIDTH - 12), (0.0, np.inf))
    placed = tuple(
        StackRow(cut_within(visible(name), CUT), 12 + ROW * (at + 0.5), _pieces(axis, tuple(parts), values))
        for at, (name, values) in enumerate(rows)
    )
    drawn = {piece.kind for row in placed for piece in row.pieces}
    key = tuple((kind, name) for kind, name in parts.items() if kind in drawn)
    return StackChart(title, axis, placed, label, key)


def _pieces(axis: Axis, kinds: Sequence[str], values: Sequence[float]) -> tuple[Piece, ...]:
    ends = pairwise(map(axis.at, accumulate(values, initial=0.0)))
    return tuple(Piece(kind, *each) for kind, each in zip(kinds, ends, strict=True) if each[1] > each[0])
