"""Rows that have to be decoded first: in memory, or, where they are very many, in a file that is gone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import storage_of
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.scratch import scratch


def decode_to_buffer(shape: tuple[int, int], dtype: DTypeLike, block: Callable[[slice], NDArray[Any]]) -> NDArray[Any]:
    """Hold a matrix any rows of which can be had at any time: threads decode and write them side by side.

    Examples
    --------
    >>> decode_to_buffer((3, 1), np.int64, lambda rows: np.arange(rows.start, rows.stop)[:, None]).ravel()
    array([0, 1, 2])
    """
    matrix = scratch(shape, dtype)

    def fill(rows: slice) -> None:
        matrix[rows] = block(rows)

    list(parallel_map(fill, row_blocks(*shape), in_threads=True))
    matrix.flags.writeable = False
    return matrix


def as_stored(raw: NDArray[Any]) -> NDArray[Any]:
    """Widen numbers to the type of models, as `decode_to_buffer` does; those of that type stay where they are.

    Examples
    --------
    >>> as_stored(np.array([[1.0, 0.5]], dtype=np.float16))
    array([[1. , 0.5]], dtype=float32)
    """
    kind = storage_of(raw.dtype) if raw.dtype.kind in "fiu" else raw.dtype
    return raw if kind == raw.dtype else widened(raw, lambda block: np.array(block, dtype=kind), kind)


def widened(
    raw: NDArray[Any], widen: Callable[[NDArray[Any]], NDArray[Any]], kind: DTypeLike = np.float32
) -> NDArray[Any]:
    """Widen a matrix as `decode_to_buffer` does, a block of rows at a time; a vector is held in memory.

    Examples
    --------
    >>> widened(np.array([[3, 4]], dtype=np.uint8), lambda block: block / 2, np.float64)
    array([[1.5, 2. ]])
    """
    if raw.ndim != 2:
        return widen(raw)
    rows, columns = raw.shape
    return decode_to_buffer((rows, columns), kind, lambda block: widen(raw[block]))
