"""Rows that have to be decoded first: in memory, or, where they are very many, in a file that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.foundation.checked import storage_of
from embaudit.foundation.workers import row_blocks

HELD = 2**26
"""Bytes up to which decoded numbers are held in memory."""


def held(shape: tuple[int, ...], dtype: DTypeLike, blocks: Callable[[], Iterable[NDArray[Any]]]) -> NDArray[Any]:
    """Hold an array whose rows come in blocks, in order.

    What is large is written to a temporary file without a name and mapped from there, so that the operating system
    may drop it from memory. Where that file finds no room, the blocks begin anew and memory has to hold them.

    Raises
    ------
    ValueError
        If the blocks have more or fewer rows in all than the shape says.

    Examples
    --------
    >>> held((3, 1), np.float32, lambda: [np.array([[1.0], [2.0]]), np.array([[3.0]])])
    array([[1.],
           [2.],
           [3.]], dtype=float32)
    """
    if prod(shape) * np.dtype(dtype).itemsize > HELD:
        try:
            return _on_disk(shape, np.dtype(dtype), blocks())
        except OSError:
            pass
    found, done = np.empty(shape, dtype=dtype), 0
    for block in blocks():
        found[done : done + len(block)] = block
        done += len(block)
    _require_rows(done, shape)
    return found


def _on_disk(shape: tuple[int, ...], dtype: np.dtype[Any], blocks: Iterable[NDArray[Any]]) -> NDArray[Any]:
    done = 0
    with tempfile.TemporaryFile(prefix="embaudit-") as file:
        for block in blocks:
            file.write(np.ascontiguousarray(block, dtype=dtype).data)
            done += len(block)
        file.flush()
        _require_rows(done, shape)
        return np.memmap(file, dtype=dtype, mode="r", shape=shape)


def _require_rows(done: int, shape: tuple[int, ...]) -> None:
    if done != shape[0]:
        raise ValueError(f"{done} of {shape[0]} rows")


def as_stored(raw: NDArray[Any]) -> NDArray[Any]:
    """Widen numbers to the type that models hold them in, as `held` does; those of that type stay where they are.

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
    """Widen a matrix as `held` does, a block of rows at a time; a vector is held in memory.

    Examples
    --------
    >>> widened(np.array([[3, 4]], dtype=np.uint8), lambda block: block / 2, np.float64)
    array([[1.5, 2. ]])
    """
    if raw.ndim != 2:
        return widen(raw)
    return held(raw.shape, kind, lambda: (widen(raw[rows]) for rows in row_blocks(*raw.shape)))
