"""How large the packed columns of an Arrow file say they are; Arrow itself tells only once they are unpacked.

Reference: https://arrow.apache.org/docs/format/Columnar.html (serialisation), https://flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = b"ARROW1\0\0"
"""What a file begins with; a stream has no such mark."""
HEADER_KIND, HEADER = 1, 2
"""Fields of a message."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
"""Kinds of header that have columns."""
BATCH_OF_DICTIONARY = 1
BLOCKS = (2, 3)
"""Fields of the footer of a file that list where dictionaries and batches lie."""
CONTINUED = b"\xff\xff\xff\xff"
"""What stands before the length of a header, but in files of old."""
LENGTH, BUFFERS, COMPRESSION = 0, 2, 3
"""Fields of a batch."""


def unpacked_size(path: Path) -> int:
    """Add up the bytes that the packed columns of an Arrow file or stream say they become.

    Raises
    ------
    ValueError, OSError
        If it is no such file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import feather
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.feather")
    ...     feather.write_feather(pa.table({"x": [0.0] * 1000}), str(file), compression="zstd")
    ...     unpacked_size(file)
    8000
    """
    return _summed(path, lambda header, body: sum(_sizes(header, body)))


def row_count(path: Path) -> int:
    """Add up the rows that the batches of an Arrow file or stream say they have.

    Raises
    ------
    ValueError, OSError
        If it is no such file.
    """
    return _summed(path, lambda header, _: _rows(header))


def _summed(path: Path, each: Callable[[bytes, Any], int]) -> int:
    with path.open("rb") as file:
        messages = _in_file(path) if file.read(len(MAGIC)) == MAGIC else _in_stream(path)
    try:
        return sum(each(header, body) for header, body in messages)
    except (struct.error, IndexError) as error:
        raise ValueError("its header leads nowhere") from error


def _in_stream(path: Path) -> Iterator[tuple[bytes, Any]]:
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(str(path)) as file:
        yield from ((message.metadata.to_pybytes(), message.body) for message in ipc.MessageReader.open_stream(file))


def _in_file(path: Path) -> Iterator[tuple[bytes, Any]]:
    """Yield what the footer of a file lists; between the messages, others may stand."""
    data = np.memmap(path, np.uint8, "r").data
    length = _int("<i", data, len(data) - 10)
    footer = bytes(data[max(len(data) - 10 - length, 0) : len(data) - 10])
    for number in BLOCKS:
        blocks = _table(footer, _int("<I", footer, 0), number)
        for place in range(0 if blocks is None else _int("<I", footer, blocks)):
            start, before, size = struct.unpack_from("<qi4xq", footer, blocks + 4 + 24 * place)  # type: ignore[operator]
            message = bytes(data[start : start + before])
            yield message[8 if message[:4] == CONTINUED else 4 :], data[start + before : start + before + size]


def _sizes(header: bytes, body: object) -> Iterator[int]:
    """Yield the size of every packed buffer of a message, which stands before it."""
    message = _int("<I", header, 0)
    kind = _field(header, message, HEADER_KIND)
    batch = _table(header, message, HEADER)
    if kind is None or batch is None or header[kind] not in (DICTIONARY_BATCH, RECORD_BATCH):
        return
    if header[kind] == DICTIONARY_BATCH:
        batch = _table(header, batch, BATCH_OF_DICTIONARY)
    buffers = None if batch is None else _table(header, batch, BUFFERS)
    if batch is None or buffers is None or _field(header, batch, COMPRESSION) is None:
        return
    for place in range(_int("<I", header, buffers)):
        start, length = struct.unpack_from("<qq", header, buffers + 4 + 16 * place)
        if length >= 8:
            # -1 says that the buffer is not packed.
            yield max(_int("<q", memoryview(body), start), 0)  # type: ignore[arg-type]


def _rows(header: bytes) -> int:
    """Return how many rows the batch of a message has; none of what is no batch of rows."""
    message = _int("<I", header, 0)
    kind = _field(header, message, HEADER_KIND)
    batch = _table(header, message, HEADER)
    if kind is None or batch is None or header[kind] != RECORD_BATCH:
        return 0
    length = _field(header, batch, LENGTH)
    return 0 if length is None else _int("<q", header, length)


def _field(data: bytes, table: int, number: int) -> int | None:
    """Find a field of a table of flatbuffers; None where it has its default."""
    places = table - _int("<i", data, table)
    here = 4 + 2 * number
    offset = _int("<H", data, places + here) if here < _int("<H", data, places) else 0
    return table + offset if offset else None


def _table(data: bytes, table: int, number: int) -> int | None:
    """Follow a field to the table or the list it leads to."""
    place = _field(data, table, number)
    return None if place is None else place + _int("<I", data, place)


def _int(form: str, data: bytes | memoryview, place: int) -> int:
    return int(struct.unpack_from(form, data, place)[0])
