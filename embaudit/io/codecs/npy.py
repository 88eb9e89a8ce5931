"""`.npy`: one array in numpy's file format."""

from __future__ import annotations

import struct
import sys
import warnings
import zipfile
import zlib
from contextlib import AbstractContextManager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError
from embaudit.io.codecs.arrays import UNNAMED, Memory, Place, Read, Shape, Stream, Tensor

READ_ERRORS = (
    OSError, ValueError, EOFError, KeyError, TypeError, MemoryError, OverflowError, RuntimeError, SyntaxError,
    AttributeError, IndexError, TokenError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Errors of numpy and zipfile at a file that is cut off, altered, or something else altogether."""


MOST_AXES = 32
"""Axes that an array of any version of numpy can have."""


def reason(error: BaseException) -> str:
    """Return the first line of an error, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]


def unreadable(name: str, whole: str, error: BaseException) -> InputError:
    """Return the refusal of an array or a file that is pickled, cut off or altered."""
    if "Python objects" in str(error) or "allow_pickle" in str(error):
        return InputError(f"{name} must be a plain array; it is pickled, which could run code; save it as numbers.")
    return InputError(f"{name} must be {whole}; it is not ({reason(error)}); save it again.")


def header(file: IO[bytes]) -> tuple[Shape, bool, np.dtype[Any]]:
    """Read shape, whether columns come first, and dtype; the file is then at its first number.

    Raises
    ------
    ValueError
        If they are no shape and no type that an array can have.
    """
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    # What numpy will refuse one day it warns of today.
    with warnings.catch_warnings(action="error"):
        try:
            shape, by_columns, dtype = read(file)
        except Warning as warned:
            raise ValueError(f"its header is of no array: {str(warned)[:60]}") from warned
    if any(isinstance(length, bool) or length < 0 for length in shape) or len(shape) > MOST_AXES:
        raise ValueError(f"its header says shape {str(shape)[:60]}")
    return shape, by_columns, dtype


def require_length(shape: Shape, dtype: np.dtype[Any], length: int) -> None:
    """Refuse a header that says more or less than there is; numpy multiplies with a warning, or asks for the memory.

    Raises
    ------
    ValueError
        If the numbers do not fill `length` bytes.
    """
    declared = prod(shape) * dtype.itemsize
    if declared != length and not dtype.hasobject:
        raise ValueError(f"its header says {declared:,} bytes, and {length:,} follow")


def require_letters(array: NDArray[Any]) -> None:
    """Refuse text with numbers that stand for no letter, which Python cannot hold.

    Raises
    ------
    ValueError
        If there is one.
    """
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        codes = np.frombuffer(array.tobytes(), np.dtype("u4").newbyteorder(array.dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise ValueError("its text holds what is no letter")


def tensor_of(shape: Shape, dtype: np.dtype[Any]) -> Tensor:
    """Describe an array in words: real numbers by name, whatever the order of their bytes."""
    return Tensor(tuple(shape), dtype.name if dtype.kind in "fiub" else str(dtype))


class Npy:
    """The one array of a `.npy` file.

    Raises
    ------
    InputError
        If it is cut off, pickled or no `.npy` file.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                shape, _, dtype = header(file)
                require_length(shape, dtype, path.stat().st_size - file.tell())
            self._array = array = np.lib.format.open_memmap(path, mode="r")
            require_letters(array)
        except READ_ERRORS as error:
            raise unreadable(str(path), "a whole .npy file, an array in numpy's file format", error) from error
        self.tensors = {UNNAMED: tensor_of(array.shape, array.dtype)}
        self._place = Place(path, array.offset, array.dtype, array.shape)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._array

    def place(self, name: str) -> Place:  # noqa: ARG002
        """Return the place of the numbers in the file."""
        return self._place

    def file(self, name: str) -> Path:  # noqa: ARG002
        """Return the file."""
        return self._place.path

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read pieces of the array; one in column order is mapped into memory."""
        in_rows = self._array.flags.c_contiguous
        return self.place(name).open(name) if in_rows else Memory({name: self._array}).open(name)


def write(file: IO[bytes], stream: Stream) -> None:
    """Write an array a block of rows at a time."""
    described = {"descr": stream.stored.str, "fortran_order": False, "shape": stream.shape}
    np.lib.format.write_array_header_1_0(file, described)
    stream.write(file)
