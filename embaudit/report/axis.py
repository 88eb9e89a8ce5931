"""Axis: where a value lies in a chart, and which round values stand below it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

STEPS = (1, 2, 5, 10)
"""Round numbers, before they are scaled by a power of ten."""
MOST = 6
"""Marks of an axis at most."""
CONDITIONS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0)
"""Marks of a logarithmic axis of condition numbers."""


@dataclass(frozen=True)
class Axis:
    """A line from one value to another, between two places of a picture.

    Examples
    --------
    >>> axis = Axis(0.0, 2.0, 100.0, 300.0)
    >>> axis.at(0.5), [(mark.place, mark.text) for mark in axis.marks]
    (150.0, [(100.0, '0'), (150.0, '0.5'), (200.0, '1'), (250.0, '1.5'), (300.0, '2')])
    """

    low: float
    """The value at the start."""
    high: float
    """The value at the end."""
    start: float
    """The place of the lowest value."""
    stop: float
    """The place of the highest value."""

    def at(self, value: float) -> float:
        """Place a value; what lies beyond an end is placed there."""
        share = (self._scaled(value) - self._scaled(self.low)) / (self._scaled(self.high) - self._scaled(self.low))
        return round(self.start + (self.stop - self.start) * min(max(share, 0.0), 1.0), 1)

    def path(self, values: Sequence[float], places: Sequence[float]) -> str:
        """Write the points of a line whose other coordinates are placed already.

        Examples
        --------
        >>> Axis(0.0, 1.0, 10.0, 0.0).path([0.0, 0.5], [1.0, 2.0])
        '1.0,10.0 2.0,5.0'
        """
        return " ".join(f"{place},{self.at(value)}" for value, place in zip(values, places, strict=True))

    @classmethod
    def around(cls, values: Sequence[float], places: tuple[float, float], within: tuple[float, float]) -> Self:
        """Choose round ends that hold all values and lie within what is possible.

        Examples
        --------
        >>> axis = Axis.around([0.42, 0.57], (0.0, 10.0), (0.0, 1.0))
        >>> axis.low, axis.high
        (0.4, 0.6)
        >>> Axis.around([0.99], (0.0, 10.0), (0.0, 1.0)).low
        0.94
        """
        low, high = min(values), max(values)
        low, high = (low, high) if high > low else (low - 0.05, high + 0.05)
        step = _step(high - low)
        first, last = step * floor(low / step + 1e-9), step * ceil(high / step - 1e-9)
        return cls(max(round(first, 12), within[0]), min(round(last, 12), within[1]), *places)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Round values, at most six of them, with their places."""
        return tuple(Mark(self.at(value), f"{value:g}") for value in self._round())

    def _scaled(self, value: float) -> float:
        return value

    def _round(self) -> Iterator[float]:
        step = _step(self.high - self.low)
        for i in range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1):
            yield round(i * step, 12)


def _step(length: float) -> float:
    """Choose the round distance of marks along a length."""
    rough = length / (MOST - 1)
    power = 10.0 ** floor(log10(rough))
    return next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))


class LogAxis(Axis):
    """The same for condition numbers, whose ratios count.

    Examples
    --------
    >>> axis = LogAxis(1.0, 4.0, 0.0, 100.0)
    >>> axis.at(2.0), [mark.text for mark in axis.marks]
    (50.0, ['1', '1.25', '1.5', '2', '3', '4'])
    """

    def _scaled(self, value: float) -> float:
        return log(value)

    def _round(self) -> Iterator[float]:
        last = -1.0
        for value in CONDITIONS:
            share = log(value / self.low) / log(self.high / self.low)
            # Marks closer than this would run into each other.
            if self.low <= value <= self.high and share - last >= 0.12:
                last = share
                yield value


@dataclass(frozen=True)
class Mark:
    """A round value below an axis."""

    place: float
    text: str
