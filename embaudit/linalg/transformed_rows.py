"""Rows of a matrix as an equivalent model has them, mapped when they are taken, so that no changed copy is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.linalg.structured import Linear, StructuredLinearMap, stretches

Singles: TypeAlias = NDArray[np.float32]
LONGER, VANISHING = 1 + 2.0**-10, 1e-15
"""Factor by which float32 may underestimate lengths, and the length up to which squares may vanish there."""


class Rows(Protocol):
    """Protocol of row-sliceable matrices: ndarray, memmap or `TransformedRows`."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Number of rows, and of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that the rows are stored in."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any:
        """Take some rows, by a slice or by their numbers."""


@dataclass(frozen=True, eq=False)
class TransformedRows:
    """The rows `x · linear + shift`, computed in float64 whenever some of them are taken.

    Examples
    --------
    >>> seen = TransformedRows(np.eye(2, dtype=np.float32), np.diag([2.0, 1.0]), np.array([0.0, 1.0]))
    >>> seen.shape, seen.dtype, seen[:1]
    ((2, 2), dtype('float32'), array([[2., 1.]]))
    >>> TransformedRows(np.eye(2, dtype=np.float32), np.array([[3.0], [4.0]]), np.zeros(1)).single(slice(0, 2))
    (array([[3.],
           [4.]], dtype=float32), array([1.66829427, 1.2512207 ]))
    """

    x: Rows
    """(p, k), may lie on disk."""
    linear: Linear
    """(k, m)."""
    shift: Vector
    """Shift added to every row (m,)."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns after the map."""
        return len(self.x), self.linear.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of what is stored: results are no more precise than that, whatever they are computed in."""
        return self.x.dtype

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any, /) -> Floats:
        mapped = np.asarray(np.asarray(self.x[rows], dtype=np.float64) @ self.linear)
        return mapped + self.shift if self.shift.any() else mapped

    def single(self, rows: slice) -> tuple[Singles, Vector]:
        """Compute rows in float32, and how much rounding may have grown in each."""
        with np.errstate(over="ignore", invalid="ignore"):
            # Transforms round less than the k products of a matrix, which the growth below allows for.
            stored = single(self.x, rows)[0]
            block: Singles = np.asarray(
                stored @ self.linear.astype(np.float32), dtype=np.float32
            )
            if self.shift.any():
                block += self.shift.astype(np.float32)
        return block, self._amplified(stored, block)

    def _amplified(self, stored: Singles, block: Singles) -> Vector:
        """Compare the sizes that were added up with the lengths that came out."""
        # ‖x M‖ is at least the least stretch times ‖x‖: where nothing is shifted, one number bounds all rows.
        size, least = self._norms
        if least > 0 and not self.shift.any():
            return np.full(len(block), size / least)
        far = LONGER * lengths(stored).astype(np.float64)
        vanish = ~(far > VANISHING)
        far[vanish] = lengths(stored[vanish].astype(np.float64))
        # The terms added up are at most ‖x‖‖linear‖ + ‖shift‖ long; over the length that came out, that is how much
        # rounding grew.
        added = far * size + np.linalg.norm(self.shift)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(added > 0, added / lengths(block), 0.0))

    @cached_property
    def _norms(self) -> tuple[float, float]:
        """The Frobenius norm of the map, and the least stretch of any direction."""
        if self.linear.shape[0] != self.linear.shape[1]:
            return float(np.linalg.norm(np.asarray(self.linear))), 0.0
        s = stretches(self.linear)
        if (
            isinstance(self.linear, StructuredLinearMap)
            and self.linear.first is None
            and self.linear.last is None
        ):
            # Each entry is one product, with no sum that its rounding could grow in.
            return 4 * float(s[0]) / len(s), float(s[-1])
        return float(np.linalg.norm(s)), float(s[-1])


def with_shift(x: Rows, shift: Vector) -> TransformedRows:
    """Add a shift to all rows.

    Examples
    --------
    >>> once = with_shift(np.eye(2), np.array([1.0, 0.0]))
    >>> with_shift(once, np.array([1.0, 2.0]))[:]
    array([[3., 2.],
           [2., 3.]])
    """
    if isinstance(x, TransformedRows):
        return replace(x, shift=x.shift + shift)
    return TransformedRows(x, StructuredLinearMap.identity(x.shape[1]), shift)


def single(x: Rows, rows: slice) -> tuple[Singles, Vector]:
    """Take rows in float32, and tell for each how much larger what was added up may be than what came out."""
    if isinstance(x, TransformedRows):
        return x.single(rows)
    with np.errstate(over="ignore"):
        block = np.asarray(x[rows], dtype=np.float32)
    return block, np.ones(len(block))


def lengths(block: Matrix) -> Vector:
    """Lengths of rows in their own precision, which may overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", block, block)))
