"""Matrices by rows, and lengths of rows."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from embaudit.core.checked import Matrix, Vector


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


def lengths(block: Matrix) -> Vector:
    """Lengths of rows in their own precision, which may overflow or vanish."""
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", block, block)))
