"""The memory that a Parquet or Arrow file claims by its metadata, against the memory that is available."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embaudit.errors import must_be

if TYPE_CHECKING:
    import pyarrow as pa

UNPACKED = 10
"""Times its size that a file of vectors unpacks to at most; one that is larger than memory is read in batches."""
MEMORY = Path("/proc/meminfo")


def claimed_bytes(kinds: Sequence[pa.DataType], rows: int) -> int:
    """Return the bytes that some rows take at least: texts and lists, whose lengths are not told, take their places.

    Examples
    --------
    >>> import pyarrow as pa
    >>> claimed_bytes([pa.string(), pa.list_(pa.float32(), 8)], 100)
    3600
    """
    return rows * sum(_width(kind) for kind in kinds)


def _width(kind: pa.DataType) -> int:
    from pyarrow import types

    if types.is_fixed_size_list(kind):
        return int(kind.list_size) * _width(kind.value_type)
    # Truth values take a bit in Arrow and a byte in NumPy.
    return max(1, kind.bit_width // 8) if types.is_primitive(kind) else 4


def require_room(path: Path, claimed: int) -> None:
    """Refuse a file that claims more memory than there is.

    Raises
    ------
    InputError
        If it does, and also more than a file of its size can unpack to.
    """
    available = available_memory()
    if claimed > max(available, UNPACKED * path.stat().st_size):
        got = f"{claimed:,} bytes of columns by its metadata"
        raise must_be(f"{path}", f"a table that fits into the {available:,} bytes of memory available", got)


def available_memory() -> int:
    """Return the bytes of memory that are free for programs; where a system does not tell, all that it has."""
    if MEMORY.exists():
        sizes = dict(line.split(":") for line in MEMORY.read_text().splitlines())
        return 1024 * int(sizes["MemAvailable"].split()[0])
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return sys.maxsize
