"""Room for arrays that are larger than memory should hold: a temporary file without a name."""

from __future__ import annotations

import os
import tempfile
from math import prod
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

HELD = 2**28
"""Bytes up to which an array lies in memory."""


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array to be filled; a large one lies in a file that the operating system may write out.

    Where such a file finds no room, memory has to hold it.

    Examples
    --------
    >>> scratch((2, 3), np.float32).shape
    (2, 3)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= HELD or not hasattr(os, "posix_fallocate"):
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(prefix="embaudit-") as file:
            # Room that is not set aside beforehand ends the process when it is missing.
            os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError:
        return np.empty(shape, dtype=dtype)
