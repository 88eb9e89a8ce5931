"""Arrays backed by a temporary file without a name if they are large."""

from __future__ import annotations

import os
import tempfile
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

HELD = 2**26
"""Bytes up to which an array lies in memory."""
PIECE = 2**20
"""Bytes written at a time where a system cannot set room aside."""


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an empty array; a large array lies in a temporary file.

    Where such a file finds no room, memory has to hold it.

    Examples
    --------
    >>> scratch((2, 3), np.float32).shape
    (2, 3)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= HELD:
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(prefix="embaudit-") as file:
            _set_aside(file, size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError:
        return np.empty(shape, dtype=dtype)


def _set_aside(file: IO[bytes], size: int) -> None:
    """Reserve the size of a file, because a full disk later would end the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, PIECE):
        file.write(bytes(min(PIECE, size - start)))
    file.flush()
