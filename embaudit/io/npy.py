"""NumPy's own files: `.npy` of one array, which stays on disk, and `.npz` archives.

Shapes are read first. Pickles are never opened.
"""

from __future__ import annotations

import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import Sentence
from embaudit.io.arrays import (
    UNNAMED,
    Memory,
    Place,
    Read,
    Shape,
    Stream,
    Tensor,
    type_name,
)
from embaudit.io.damaged import READ_ERRORS, unreadable
from embaudit.io.unpacked import require_sense


def header(
    file: IO[bytes], size: int | None = None
) -> tuple[Shape, bool, np.dtype[Any]]:
    """Read shape, whether columns come first, and dtype.

    The file, of `size` bytes, is then at its first number.

    Raises
    ------
    ValueError
        If they are no shape and no type of an array, or the numbers do not fill the
        rest of the file.
    """
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    # numpy reads headers of Python 2, such as (50L, 8L), and warns that they are slow.
    # What it warns of otherwise is read as numpy reads it, too: a warning is no damage.
    with warnings.catch_warnings(action="ignore"):
        shape, by_columns, dtype = read(file)
    # numpy multiplies with a warning, or asks for the memory.
    declared = prod(shape) * dtype.itemsize
    if size is not None and declared != size - file.tell() and not dtype.hasobject:
        raise ValueError(
            f"its header says {declared:,} bytes, and {size - file.tell():,} follow"
        )
    return shape, by_columns, dtype


def require_letters(array: NDArray[Any]) -> None:
    """Refuse text with numbers that stand for no letter, which Python cannot hold.

    Raises
    ------
    ValueError
        If there is one.
    """
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        codes = np.frombuffer(
            array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder)
        )
        if codes.max() > sys.maxunicode:
            raise ValueError("its text holds what is no letter")


class Npy:
    """The one array of a `.npy` file.

    Raises
    ------
    InputError
        If it is cut off, pickled or no `.npy` file.
    """

    def __init__(self, path: Path) -> None:
        """Check the header against the size of the file, then map the numbers."""
        try:
            with path.open("rb") as file:
                header(file, path.stat().st_size)
            # The header is checked first, for mapping believes it.
            with warnings.catch_warnings(action="ignore"):
                self._array = array = np.lib.format.open_memmap(path, mode="r")
            require_letters(array)
        except READ_ERRORS as error:
            raise unreadable(
                path, "a valid .npy file, an array in numpy's file format", error
            ) from error
        self.tensors = {UNNAMED: Tensor(array.shape, type_name(array.dtype))}
        self._place = Place(path, array.offset, array.dtype, array.shape)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._array

    def place(self, name: str) -> Place:  # noqa: ARG002
        """Return the place of the numbers in the file."""
        return self._place

    def open(self, name: str) -> Read:
        """Return a reader of pieces; an array in column order is mapped into memory."""
        return (
            self._place.entries
            if self._array.flags.c_contiguous
            else Memory({name: self._array}).open(name)
        )


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
        """Read the names, shapes and types of the arrays, and no numbers."""
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                members = archive.infolist()
                for member in members:
                    # What numpy never writes unpacks without limit.
                    if member.compress_type not in (
                        zipfile.ZIP_STORED,
                        zipfile.ZIP_DEFLATED,
                    ):
                        raise ValueError(f"{member.filename!r} is packed otherwise")
                require_sense(
                    sum(member.file_size for member in members), path.stat().st_size
                )
                names = [
                    name.removesuffix(".npy")
                    for name in archive.namelist()
                    if name.endswith(".npy")
                ]
                if len(set(names)) < len(names):
                    twice = Counter(names).most_common(1)[0][0]
                    raise ValueError(f"the array {twice!r} twice")
                stored = {
                    member.filename
                    for member in members
                    if member.compress_type == zipfile.ZIP_STORED
                }
                self._stored = frozenset(
                    name for name in names if f"{name}.npy" in stored
                )
                self._headers = {
                    name: self._header(archive, f"{name}.npy") for name in names
                }
        except READ_ERRORS as error:
            raise unreadable(path, "a valid .npz archive", error) from error
        self.tensors = {
            name: Tensor(shape, type_name(dtype))
            for name, (shape, _, dtype) in self._headers.items()
        }
        self.pickled = frozenset(
            name for name, (_, _, dtype) in self._headers.items() if dtype.hasobject
        )
        """Names of arrays that only pickle could read."""

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the whole path: another process may stand in another folder."""
        return {**vars(self), "path": self.path.resolve()}

    @staticmethod
    def _header(
        archive: zipfile.ZipFile, name: str
    ) -> tuple[Shape, bool, np.dtype[Any]]:
        with archive.open(name) as member:
            return header(member, archive.getinfo(name).file_size)

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                array = np.asarray(archive[name])
            require_letters(array)
        except READ_ERRORS as error:
            raise unreadable(
                Sentence("{} in {}", name, self.path), "a valid array", error
            ) from error
        return array

    def open(self, name: str) -> Read:
        """Return a reader of pieces of one array.

        An array that is packed, or in column order, is held whole.
        """
        if name not in self._stored or self._headers[name][1]:
            return Memory({name: self[name]}).open(name)
        try:
            # Plain reads check no sums: these are checked before.
            with (
                zipfile.ZipFile(self.path) as archive,
                archive.open(f"{name}.npy") as member,
            ):
                while member.read(2**20):
                    pass
        except READ_ERRORS as error:
            raise unreadable(
                Sentence("{} in {}", name, self.path), "a valid array", error
            ) from error
        return self.place(name).entries

    def place(self, name: str) -> Place:
        """Return the place of the numbers of an array that is not packed."""
        with zipfile.ZipFile(self.path) as archive:
            start = archive.getinfo(f"{name}.npy").header_offset
        with self.path.open("rb") as file:
            # A stored member begins after its local header: 30 bytes, its name, its
            # extra field.
            file.seek(start + 26)
            lengths = np.frombuffer(file.read(4), "<u2")
            file.seek(start + 30 + int(lengths.sum()))
            shape, _, dtype = header(file)
            return Place(self.path, file.tell(), dtype, shape)


def write_npy(file: IO[bytes], stream: Stream) -> None:
    """Write an array a block of rows at a time."""
    described = {
        "descr": stream.stored.str,
        "fortran_order": False,
        "shape": stream.shape,
    }
    np.lib.format.write_array_header_1_0(file, described)
    stream.write(file)


def write_npz(
    file: IO[bytes], arrays: Mapping[str, NDArray[Any]], streams: Mapping[str, Stream]
) -> None:
    """Write small arrays as they are and others a block of rows at a time."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(
                    member, np.asanyarray(array), allow_pickle=False
                )
        for name, stream in streams.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                write_npy(member, stream)
