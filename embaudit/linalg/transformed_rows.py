"""Matrices by rows, and float32 rows for the search for neighbours."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Matrix, Vector

Singles: TypeAlias = NDArray[np.float32]


class Rows(Protocol):
    """Protocol of matrices whose rows can be taken: ndarray, memmap or `Mapped`."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Number of rows, and of columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that the rows are stored in."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any:
        """Take some rows, by a slice or by their numbers."""


def single(x: Rows, rows: slice) -> tuple[Singles, Vector]:
    """Take rows in float32, and return by which factor rounding grew in each."""
    with np.errstate(over="ignore"):
        block = np.asarray(x[rows], dtype=np.float32)
    return block, np.ones(len(block))


def lengths(block: Matrix) -> Vector:
    """Lengths of rows in their own precision, which may overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", block, block)))
