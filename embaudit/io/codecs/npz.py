"""Reading `.npz` archives without pickle: shapes first, arrays when they are asked for."""

from __future__ import annotations

import zipfile
import zlib
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

BROKEN = (
    OSError, ValueError, EOFError, KeyError, TypeError, MemoryError, OverflowError, RuntimeError, SyntaxError,
    TokenError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What numpy and zipfile raise at a file that is cut off, altered, or something else altogether."""


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
                headers = {name.removesuffix(".npy"): self._header(archive, name) for name in members}
        except BROKEN as error:
            raise InputError(
                f"{path} must be a whole .npz archive; it is cut off or no archive ({reason(error)}); save it again."
            ) from error
        self.shapes: dict[str, tuple[int, ...]] = {name: shape for name, (shape, _) in headers.items()}
        self.pickled = frozenset(name for name, (_, pickled) in headers.items() if pickled)
        """Names of arrays that only pickle could read."""

    @staticmethod
    def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], bool]:
        with archive.open(name) as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(member)
            return tuple(shape), dtype.hasobject

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return np.asarray(archive[name])
        except BROKEN as error:
            if "allow_pickle" in str(error):
                raise InputError(
                    f"{name} in {self.path} must be a plain array; it is pickled, which could run code; "
                    "save it as numbers or as text."
                ) from error
            raise InputError(f"{name} in {self.path} cannot be read: {reason(error)}; save it again.") from error


def reason(error: BaseException) -> str:
    """Return the first line of an error, short enough for a sentence."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]
