"""Rows of a matrix that a function changes while they are read, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.rows import cached_blocks
from embaudit.linalg.transformed_rows import Rows

LONG = 256
"""Columns from which a block takes longer to compute than to send to a process."""
RowMap: TypeAlias = "Callable[[Floats], Floats]"
"""Function of a block of rows in float64, which returns one row in float64 for each of
them. It must not keep the block, because the next block overwrites it."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """Rows of a matrix that a function changes whenever they are taken.

    Rows taken by index are in float64. No changed copy of the matrix is kept.

    Examples
    --------
    >>> halves = Mapped(np.array([[2.0, 4.0], [6.0, 8.0]]), lambda block: block / 2, 2)
    >>> halves[:1], halves.stored()
    (array([[1., 2.]]), array([[1., 2.],
           [3., 4.]]))
    """

    x: Rows
    """(p, k), may lie on disk."""
    function: RowMap
    """Changes a block of rows."""
    width: int
    """Number of columns of the result."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns of the result."""
        return len(self.x), self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the stored rows, which says how precise they are."""
        return self.x.dtype

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any, /) -> Floats:
        return self.function(np.array(self.x[rows], dtype=np.float64))

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield `(rows, self[rows])` chunk by chunk, in the stored precision."""

        def computed(chunk: slice) -> tuple[slice, Matrix]:
            result = np.empty((chunk.stop - chunk.start, self.width), dtype=self.dtype)
            for rows, block in cached_blocks(self.x, chunk):
                places = slice(rows.start - chunk.start, rows.stop - chunk.start)
                result[places] = self.function(block)
            return chunk, result

        # Sending short rows to another process takes longer than changing them.
        is_short = self.x.shape[1] < LONG
        chunks = row_blocks(*self.x.shape)
        yield from parallel_map(computed, chunks, in_threads=is_short)

    def stored(self) -> Matrix:
        """Compute all rows in the stored precision."""
        result = np.empty(self.shape, dtype=self.dtype)
        for rows, block in self.blocks():
            result[rows] = block
        return result


def shifted_rows(x: Rows, shift: Vector) -> Mapped:
    """Add a shift to all rows.

    Examples
    --------
    >>> shifted_rows(np.eye(2), np.array([1.0, 2.0]))[:]
    array([[2., 2.],
           [1., 3.]])
    """
    return Mapped(x, lambda block: block + shift, x.shape[1])


def multiplied_rows(x: Rows, linear: Matrix) -> Mapped:
    """Multiply all rows (p, k) by a matrix (k, m)."""
    return Mapped(x, lambda block: np.asarray(block @ linear), linear.shape[1])


def affine(centre: Vector, linear: Matrix, precision: float) -> RowMap:
    """Return the function `x → (x − centre) · linear` for rows of a given precision.

    A result that is zero except for rounding becomes zero. Otherwise it would have a
    direction that consists of rounding errors.
    """
    shift = centre @ linear
    lengths_of_rows = np.linalg.norm(linear, axis=1)

    def function(block: Floats) -> Floats:
        """Map a few rows."""
        result: Floats = block @ linear
        result -= shift
        lengths = np.sqrt(np.einsum("ij,ij->i", result, result))
        # Use a cheap bound for all rows first, and test only the rows below it.
        largest = np.linalg.norm(block) + np.abs(centre).max()
        suspects = np.flatnonzero(
            lengths <= precision * largest * lengths_of_rows.sum()
        )
        # Each column has a rounding of its own, because `linear` can stretch one far.
        sizes = (np.abs(block[suspects]) + np.abs(centre)) @ np.abs(linear)
        is_zero = (np.abs(result[suspects]) <= precision * sizes).all(axis=1)
        result[suspects[is_zero]] = 0
        return result

    return function
