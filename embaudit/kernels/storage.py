"""What the numbers of a matrix were rounded to before they were stored: read from the numbers themselves.

A matrix that was widened to float32 still holds float16 numbers; a matrix of bytes times a scale still lies on a grid.
No matrix that was never rounded does so by accident. Numbers of few binary digits (counts, half stars) do, and are told
nothing of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from embaudit.foundation.checked import Floats, Matrix, Vector
from embaudit.kernels.rows import sample_rows

ROWS = 400
"""Rows looked at."""
ENTRIES = 256
"""Entries other than 0 below which nothing is told."""
SIMPLE_BITS = 4
"""Binary digits up to which numbers are plain ones that were never rounded."""
LEVELS = 256
"""Values that a byte can hold."""
OFF_GRID = 0.01
"""Part of a step that a value on a grid may lie beside it."""


class Storage(Protocol):
    """A way to store numbers."""

    @property
    def title(self) -> str:
        """What the numbers are, in words."""

    def half_steps(self, block: Floats) -> Floats:
        """Return how far each number may lie from what was rounded to it."""

    def farthest(self, norms: Vector, n_columns: int) -> Vector:
        """Return how far at most rows of these lengths may lie from what was rounded to them."""


@dataclass(frozen=True)
class ShortFloats:
    """Floating point of few binary digits."""

    name: str
    bits: int
    """Digits of the significand, the hidden one included."""
    least: int
    """The smallest step is 2 to this power."""

    @property
    def title(self) -> str:
        """What the numbers are, in words."""
        return f"{self.name} numbers"

    def half_steps(self, block: Floats) -> Floats:
        """Return half the distance to the next such number."""
        numbers, exponents = np.frexp(block)
        steps = np.where(numbers == 0, self.least, np.maximum(exponents - self.bits, self.least))
        return np.asarray(np.ldexp(0.5, steps))

    def farthest(self, norms: Vector, n_columns: int) -> Vector:
        """Return how far at most rows may lie from what was rounded to them: a share of each number, or least steps."""
        return np.asarray(np.ldexp(norms, -self.bits) + np.sqrt(n_columns) * 2.0 ** (self.least - 1))

    def holds(self, block: Floats) -> bool:
        """Whether every number is one of them."""
        units = block / (2 * self.half_steps(block))
        return bool((units == np.rint(units)).all())


@dataclass(frozen=True)
class Grid:
    """Evenly spaced numbers, the same for all rows."""

    step: float

    @property
    def title(self) -> str:
        """What the numbers are, in words."""
        return f"numbers of an even grid (step {self.step:.2g})"

    def half_steps(self, block: Floats) -> Floats:
        """Return half a step."""
        return np.full(block.shape, self.step / 2)

    def farthest(self, norms: Vector, n_columns: int) -> Vector:
        """Return how far at most rows may lie from what was rounded to them: half a step in each column."""
        return np.full(norms.shape, np.sqrt(n_columns) * self.step / 2)

    @staticmethod
    def of(block: Floats) -> Grid | None:
        """Find the grid that all numbers lie on; None where there is none."""
        values = np.unique(block)
        if not SIMPLE_BITS < len(values) <= LEVELS or block.size < 2 * len(values):
            return None
        span = values[-1] - values[0]
        n_steps = np.rint(span / np.diff(values).min())
        on_it = n_steps < LEVELS and _whole((values - values[0]) / (span / n_steps))
        return Grid(float(span / n_steps)) if on_it else None


@dataclass(frozen=True)
class ByteRows:
    """Whole numbers up to 127, times a scale of each row."""

    title = "bytes with a scale for each row"

    def half_steps(self, block: Floats) -> Floats:
        """Return half of the scale of each row."""
        return np.broadcast_to(self._scales(block) / 2, block.shape)

    def farthest(self, norms: Vector, n_columns: int) -> Vector:
        """Return how far at most rows may lie from what was rounded to them: no number is larger than its row."""
        return np.asarray(np.sqrt(n_columns) * norms / (LEVELS - 2))

    @staticmethod
    def _scales(block: Floats) -> Floats:
        return np.asarray(np.abs(block).max(axis=1, keepdims=True) / (LEVELS // 2 - 1))

    def holds(self, block: Floats) -> bool:
        """Whether every row is of that kind, and the rows are no plain patterns of a few numbers."""
        scales = self._scales(block)
        levels = np.divide(block, scales, out=np.zeros_like(block), where=scales > 0)
        return _whole(levels) and float(np.median([len(np.unique(row)) for row in np.rint(levels)])) > SIMPLE_BITS


def _whole(values: Floats) -> bool:
    return bool((np.abs(values - np.rint(values)) <= OFF_GRID).all())


BFLOAT16, FLOAT16 = ShortFloats("bfloat16", 8, -133), ShortFloats("float16", 11, -24)
SIMPLE = ShortFloats("simple", SIMPLE_BITS, -1000)


def storage_of(x: Matrix, rng: np.random.Generator) -> Storage | None:
    """Tell what the numbers of a matrix were rounded to; None where they were not, or it cannot be told.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows; may lie on disk.
    rng : numpy Generator
        Draws the rows looked at.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(40, 8))
    >>> [storage_of(y, np.random.default_rng(0)) for y in (x, x.astype(np.float32))]
    [None, None]
    >>> storage_of(x.astype(np.float16).astype(np.float64), np.random.default_rng(0)).title
    'float16 numbers'
    """
    block = np.asarray(x[sample_rows(len(x), ROWS, rng)], dtype=np.float64)
    if np.count_nonzero(block) < ENTRIES:
        return None
    grid = Grid.of(block)
    if SIMPLE.holds(block) or (grid is not None and SIMPLE.holds(np.array(grid.step))):
        return None
    found: list[Storage] = [kind for kind in (BFLOAT16, FLOAT16, ByteRows()) if kind.holds(block)]
    return next(iter([*found[:1], *([grid] if grid is not None else [])]), None)
