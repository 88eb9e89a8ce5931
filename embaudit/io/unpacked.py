"""Limits for packed files: a few kilobytes can unpack to more than any memory holds."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

FREE = 2**25
"""So many bytes may come of anything."""
TEXT_FREE = 2**22
"""So many of text, which is slow to read."""
RATIO = 100
"""Beyond that, so many of each byte: numbers and text that say something shrink to a
tenth at best.
"""


def require_sense(unpacked: int, packed: int, *, free: int = FREE) -> None:
    """Refuse what would become many times larger than it is.

    Raises
    ------
    ValueError
        If it would.

    Examples
    --------
    >>> require_sense(2**25, 10)
    >>> require_sense(2**26, 2**20)
    >>> require_sense(2**30, 2**20)
    Traceback (most recent call last):
        ...
    ValueError: 1,048,576 bytes would become 1,073,741,824 or more, ...
    """
    if unpacked > max(free, RATIO * packed):
        raise ValueError(
            f"{packed:,} bytes would become {unpacked:,} or more, as those of no model "
            "or table do"
        )


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a member of a zip archive whose size makes sense.

    Raises
    ------
    ValueError
        If it would become too large, or is packed by anything but deflate.
    """
    told = archive.getinfo(name)
    if told.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name!r} is packed otherwise")
    require_sense(told.file_size, told.compress_size)
    with archive.open(told) as file:
        # Without a size, all that follows is unpacked, whatever the archive says.
        return file.read(told.file_size)


class Gunzipped(io.RawIOBase):
    """A gzipped file as it is unpacked, for as long as that makes sense."""

    def __init__(self, path: Path) -> None:
        self._packed = path.open("rb")
        self._stream = gzip.GzipFile(fileobj=self._packed)

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer.

        Raises
        ------
        OSError
            If more comes out than makes sense, or the file is damaged.
        """
        try:
            # Both ends are measured as it goes on: a header may say less than follows.
            got = self._stream.readinto(buffer)
            require_sense(self._stream.tell(), self._packed.tell(), free=TEXT_FREE)
        except (ValueError, EOFError, zlib.error) as error:
            raise OSError(str(error).rstrip(".")) from error
        return got

    def close(self) -> None:
        """Close the file."""
        self._packed.close()
        super().close()


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacking gzip."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    return io.BufferedReader(Gunzipped(path), 2**16)
