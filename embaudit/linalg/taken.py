"""Some rows of a matrix, taken block by block whenever they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from embaudit.core.checked import Indices, Matrix
from embaudit.linalg.transformed_rows import Rows


@dataclass(frozen=True, eq=False)
class TakenRows:
    """Rows of a matrix by their numbers, of which no copy is kept.

    Examples
    --------
    >>> rows = TakenRows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0]))
    >>> rows.shape, rows[1:].tolist()
    ((2, 1), [[1.0]])
    """

    x: Rows
    """(p, k), may lie on disk."""
    numbers: Indices
    """(m,) row numbers."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return len(self.numbers), self.x.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type that the rows are stored in."""
        return self.x.dtype

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, places: Any, /) -> Matrix:
        return np.asarray(self.x[self.numbers[places]])


def taken_rows(x: Rows, numbers: Indices) -> Rows:
    """Return rows of a matrix by their numbers.

    The matrix itself is returned if these are all of its rows in their order, because
    slices of it are read faster.

    Examples
    --------
    >>> x = np.eye(2)
    >>> taken_rows(x, np.array([0, 1])) is x, len(taken_rows(x, np.array([1])))
    (True, 1)
    """
    if len(numbers) == len(x) and bool((numbers == np.arange(len(x))).all()):
        return x
    return TakenRows(x, numbers)
