"""Room for arrays that are larger than memory should hold: a temporary file without a name."""

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
    """Make an array to be filled; a large one lies in a file that the operating system may write out.

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
    """Take the room of a file beforehand: a mapped one that finds none later ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, PIECE):
        file.write(bytes(min(PIECE, size - start)))
    file.flush()
