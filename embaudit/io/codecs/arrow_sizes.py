"""How large the packed columns of an Arrow file say they are; Arrow itself tells only once they are unpacked.

Reference: https://arrow.apache.org/docs/format/Columnar.html (serialisation), https://flatbuffers.dev/internals.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

MAGIC = b"ARROW1\0\0"
"""What a file begins with, whereupon it is a stream."""
HEADER_KIND, HEADER = 1, 2
"""Fields of a message."""
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
"""Kinds of header that have columns."""
BATCH_OF_DICTIONARY = 1
BUFFERS, COMPRESSION = 2, 3
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
    from pyarrow import ipc

    total = 0
    with path.open("rb") as file:
        # A stream begins without a mark.
        if file.read(len(MAGIC)) != MAGIC:
            file.seek(0)
        try:
            for message in ipc.MessageReader.open_stream(file):
                total += sum(_sizes(message.metadata.to_pybytes(), message.body))
        except (struct.error, IndexError) as error:
            raise ValueError("its header leads nowhere") from error
    return total


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
