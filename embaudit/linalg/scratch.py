"""Arrays backed by a temporary file without a name if they are large."""

from __future__ import annotations

import os
import tempfile
from math import prod
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

MEMORY_BYTES = 2**26
"""Size of an array up to which it lies in memory."""
WRITE_BYTES = 2**20
"""Number of zeros written at a time if the system cannot reserve space for a file."""


def scratch(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Make an array without values, which lies in a temporary file if it is large.

    It lies in memory if the disk has no space for the file.

    Examples
    --------
    >>> scratch((2, 3), np.float32).shape
    (2, 3)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= MEMORY_BYTES:
        return np.empty(shape, dtype=dtype)
    try:
        with tempfile.TemporaryFile(prefix="embaudit-") as file:
            _reserve(file, size)
            return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
    except OSError:
        return np.empty(shape, dtype=dtype)


def _reserve(file: IO[bytes], size: int) -> None:
    """Reserve disk space for a file, or raise OSError.

    Without it, the process would be killed once it writes to a memory map and the disk
    is full.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
        return
    for start in range(0, size, WRITE_BYTES):
        file.write(bytes(min(WRITE_BYTES, size - start)))
    file.flush()
