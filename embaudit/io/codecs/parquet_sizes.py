"""How large the columns of a Parquet file say they are, read from its footer and from the headers of its pages.

Arrow tells it, too, but ends the process where a footer is damaged in some ways.

Reference: https://parquet.apache.org/docs/file-format/metadata, and the compact protocol of Apache Thrift.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, TypeAlias

TAIL = 8
"""Bytes of the length of the footer and of the mark after it."""
ROW_GROUPS, COLUMNS, ABOUT = 4, 1, 3
"""Fields of the file, of a group of rows, and of a part of a column."""
KIND, CODEC, VALUES, UNPACKED, PACKED, DATA, DICTIONARY = 1, 4, 5, 6, 7, 9, 11
"""Fields of what is said about a part of a column; the last two say where its pages begin."""
PAGE_UNPACKED, PAGE_PACKED = 2, 3
"""Fields of the header of a page."""
WIDTHS = {0: 1, 1: 4, 3: 12, 4: 4}
"""Bytes in memory of a truth value, an INT32, an INT96 and a FLOAT; others, and places of texts, take 8."""
STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
"""Types of the compact protocol; those between bytes and doubles are whole numbers."""

Fields: TypeAlias = dict[int, Any]


def declared_size(path: Path) -> int:
    """Add up the bytes that all columns say they become in memory; texts that repeat count once.

    Raises
    ------
    ValueError, OSError
        If the footer is damaged.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from pyarrow import parquet
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "a.parquet")
    ...     parquet.write_table(pa.table({"x": [0.0] * 1000, "vector": [[1.0, 2.0, 3.0]] * 1000}), file)
    ...     declared_size(file)
    32000
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        length = int.from_bytes(data[-TAIL:-4], "little")
        try:
            groups = _Compact(data, len(data) - TAIL - length).fields().get(ROW_GROUPS, [])
            columns = [column.get(ABOUT, {}) for group in groups for column in group.get(COLUMNS, [])]
            return sum(
                max(one[VALUES] * WIDTHS.get(one[KIND], 8), one[UNPACKED], _size_of_pages(data, one)) for one in columns
            )
        except (IndexError, KeyError, AttributeError, TypeError) as error:
            raise ValueError("its footer is damaged") from error


def _size_of_pages(data: mmap.mmap, column: Fields) -> int:
    """Add up what the pages of a packed column become by their own headers, by which Arrow makes room for them."""
    if not column[CODEC]:
        return 0
    # A column without rows has no pages of data, and says that they begin at 0.
    place = min((start for start in (column[DATA], column.get(DICTIONARY, 0)) if start), default=0)
    stop, size = place + column[PACKED], 0
    while place < stop:
        header = _Compact(data, place)
        page = header.fields()
        size += page[PAGE_UNPACKED]
        if page[PAGE_PACKED] < 0:
            raise ValueError("a page is damaged")
        place = header.place + page[PAGE_PACKED]
    return size


class _Compact:
    """A walk through what Thrift wrote from some place on."""

    def __init__(self, data: mmap.mmap, place: int) -> None:
        if place < 0:
            raise IndexError(place)
        self._data, self.place = data, place

    def fields(self) -> Fields:
        """Read the numbered fields of a struct."""
        found: Fields = {}
        number = 0
        while (head := self._byte()) != STOP:
            number = number + (head >> 4) if head >> 4 else self._number()
            kind = head & 15
            found[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind)
        return found

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind in (DOUBLE, BINARY):
            length = 8 if kind == DOUBLE else self._count()
            self.place += length
            if self.place > len(self._data):
                raise IndexError(self.place)
            return None
        if kind in (LIST, SET):
            return self._list()
        if kind == MAP:
            return self._map()
        return self.fields() if kind == STRUCT else self._number()

    def _list(self) -> list[Any]:
        head = self._byte()
        size = self._count() if head >> 4 == 15 else head >> 4
        return [self._value(head & 15) for _ in range(size)]

    def _map(self) -> None:
        size = self._count()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._value(kinds >> 4)
            self._value(kinds & 15)

    def _number(self) -> int:
        count = self._count()
        return (count >> 1) ^ -(count & 1)

    def _count(self) -> int:
        found = shift = 0
        while (byte := self._byte()) & 128:
            found, shift = found | (byte & 127) << shift, shift + 7
            if shift > 63:
                raise ValueError("its numbers have no end")
        return found | byte << shift

    def _byte(self) -> int:
        self.place += 1
        return self._data[self.place - 1]
