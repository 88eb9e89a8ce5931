"""`.npz` archives without pickle: shapes first, arrays when they are asked for."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.codecs import npy
from embaudit.io.codecs.arrays import Memory, Place, Read, Shape, Stream, read_exactly
from embaudit.io.codecs.unpacked import require_sense


class Npz:
    """The arrays of an `.npz` file; only headers are read before an array is asked for.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    InputError
        If it is no zip archive of arrays, or is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                members = [name for name in archive.namelist() if name.endswith(".npy")]
                _require_plain(archive.infolist(), path)
                self._headers = {name.removesuffix(".npy"): self._header(archive, name) for name in members}
        except npy.READ_ERRORS as error:
            raise npy.unreadable(str(path), "a whole .npz archive", error) from error
        self.tensors = {name: npy.tensor_of(shape, dtype) for name, (shape, _, dtype) in self._headers.items()}
        self.pickled = frozenset(name for name, (_, _, dtype) in self._headers.items() if dtype.hasobject)
        """Names of arrays that only pickle could read."""

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the whole path: another process may stand in another folder."""
        return {**vars(self), "path": self.path.resolve()}

    def file(self, name: str) -> Path:  # noqa: ARG002
        """Return the archive."""
        return self.path

    @staticmethod
    def _header(archive: zipfile.ZipFile, name: str) -> tuple[Shape, bool, np.dtype[Any]]:
        with archive.open(name) as member:
            header = npy.header(member)
            npy.require_length(header[0], header[2], archive.getinfo(name).file_size - member.tell())
            return header

    def __contains__(self, name: object) -> bool:
        return name in self.tensors

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                array = np.asarray(archive[name])
            npy.require_letters(array)
        except npy.READ_ERRORS as error:
            raise npy.unreadable(f"{name} in {self.path}", "a whole array", error) from error
        return array

    @contextmanager
    def open(self, name: str) -> Iterator[Read]:
        """Read pieces of one array, unpacked as they come; an array in column order has to be held whole."""
        _, by_columns, dtype = self._headers[name]
        if by_columns or name in self.pickled:
            with Memory({name: self[name]}).open(name) as read:
                yield read
            return
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as member:
                npy.header(member)
                yield lambda count: read_exactly(member, count, dtype, name)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise must_be(f"array {name!r} of {self.path}", "readable", "damaged bytes") from error

    def place(self, name: str) -> Place:
        """Return the place in the file of the numbers of an array that is not packed."""
        with zipfile.ZipFile(self.path) as archive:
            start = archive.getinfo(f"{name}.npy").header_offset
        with self.path.open("rb") as file:
            # A stored member begins after its local header: 30 bytes, its name, its extra field.
            file.seek(start + 26)
            lengths = np.frombuffer(file.read(4), "<u2")
            file.seek(start + 30 + int(lengths.sum()))
            shape, _, dtype = npy.header(file)
            return Place(self.path, file.tell(), dtype, shape)


def _require_plain(members: Collection[zipfile.ZipInfo], path: Path) -> None:
    """Refuse what unpacks to more than makes sense, or is packed as numpy never does, which unpacks without limit."""
    other = [member for member in members if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]
    if other:
        raise ValueError(f"{other[0].filename!r} is packed otherwise")
    require_sense(sum(member.file_size for member in members), path.stat().st_size)


def write(file: IO[bytes], arrays: Mapping[str, NDArray[Any]], streams: Mapping[str, Stream]) -> None:
    """Write small arrays as they are and others a block of rows at a time."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        for name, stream in streams.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write(member, stream)
