"""Protocol of matrices that are read by rows, and lengths of rows."""

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
    """Compute the lengths of rows in the precision of the rows.

    Squares of entries can overflow to infinity or vanish; `row_norms` avoids this.
    """
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", block, block)))
