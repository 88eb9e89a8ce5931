"""Numbers of half precision as float32: in memory, or, where there are very many, in a file that is gone afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.workers import row_blocks

HELD = 2**28
"""Bytes in float32 up to which numbers are held in memory."""


def widened(raw: NDArray[Any], widen: Callable[[NDArray[Any]], NDArray[np.float32]]) -> NDArray[np.float32]:
    """Widen an array, a block of rows at a time where it is large.

    What becomes large is written to a temporary file without a name and mapped from there, so that the operating system
    may drop it from memory. Where that file finds no room, memory has to hold it.

    Examples
    --------
    >>> widened(np.array([[1.0, 0.5]], dtype=np.float16), lambda raw: raw.astype(np.float32))
    array([[1. , 0.5]], dtype=float32)
    """
    if raw.ndim != 2 or 4 * raw.size <= HELD:
        return widen(raw)
    try:
        with tempfile.TemporaryFile(prefix="embaudit-") as file:
            for rows in row_blocks(*raw.shape):
                file.write(np.ascontiguousarray(widen(raw[rows])).data)
            file.flush()
            return np.memmap(file, dtype=np.float32, mode="r", shape=raw.shape)
    except OSError:
        return widen(raw)
