"""`.npy`: one array in numpy's file format."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import AbstractContextManager
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError
from embaudit.io.codecs.arrays import UNNAMED, Place, Read, Shape, Stream, Tensor
from embaudit.io.codecs.memory import Memory

BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, MemoryError, OverflowError, RuntimeError, SyntaxError,
    TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What numpy and zipfile raise at a file that is cut off, altered, or something else altogether."""


def reason(error: BaseException) -> str:
    """Return the first line of an error, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]


def header(file: IO[bytes]) -> tuple[Shape, bool, np.dtype[Any]]:
    """Read shape, whether columns come first, and dtype; the file is then at its first number."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(file)


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
        self._path = path
        try:
            self._array = np.lib.format.open_memmap(path, mode="r")
        except BROKEN as error:
            if "Python objects" in str(error):
                raise InputError(
                    f"{path} must be a plain array; it is pickled, which could run code; save it as numbers."
                ) from error
            raise InputError(
                f"{path} must be a whole .npy file, an array in numpy's file format; it is not ({reason(error)}); "
                "save it again."
            ) from error
        self.tensors = {UNNAMED: tensor_of(self._array.shape, self._array.dtype)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._array

    def place(self, name: str) -> Place:  # noqa: ARG002
        """Say where the numbers lie in the file."""
        x = self._array
        return Place(self._path, x.offset, x.dtype, x.shape)

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read pieces of the array; one in column order is mapped into memory."""
        in_rows = self._array.flags.c_contiguous
        return self.place(name).open(name) if in_rows else Memory({name: self._array}).open(name)


def write(file: IO[bytes], stream: Stream) -> None:
    """Write an array a block of rows at a time."""
    described = {"descr": stream.stored.str, "fortran_order": False, "shape": stream.shape}
    np.lib.format.write_array_header_1_0(file, described)
    stream.write(file)
