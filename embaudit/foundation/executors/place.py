"""Where the numbers of an array lie, so that a worker can open them itself: a file, or a part of one."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError
from embaudit.foundation.remote import copy_of, fetched


@dataclass(frozen=True)
class Unchanged:
    """A file as it was when work on it was handed out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     found = Unchanged.of(Path(file.name))
    ...     found.require()
    >>> found.changed[0]
    0
    """

    path: str
    """Every worker reaches it by this name."""
    changed: tuple[int, int]
    """Its size in bytes and the time it was last written to, in nanoseconds."""

    @classmethod
    def of(cls, path: Path) -> Unchanged:
        """Note the size of a file, and when it was last written to."""
        whole = path.resolve()
        found = whole.stat()
        return cls(str(whole), (found.st_size, found.st_mtime_ns))

    def require(self) -> None:
        """Refuse to read another file in its stead.

        Raises
        ------
        InputError
            If the file is not there, or was written to since.
        """
        try:
            now = self.of(Path(self.path))
        except OSError as error:
            raise InputError(
                f"every worker must reach {self.path!r}: {error.strerror}; name a folder that all of them share."
            ) from error
        if now != self:
            raise InputError(f"{self.path!r} must stay as it is while workers read it; it was written to since.")


@dataclass(frozen=True)
class Place:
    """An array in a file: what travels to a worker in its stead.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/x.npy", np.arange(6.0).reshape(3, 2))
    ...     x = np.load(f"{folder}/x.npy", mmap_mode="r")
    ...     Place.of(x[1:, ::2]).opened()
    array([[2.],
           [4.]])
    """

    file: Unchanged
    """The file."""
    elsewhere: tuple[str, str, str] | None
    """Of what was copied from a URL: the URL, the state it was in, and which file of it."""
    offset: int
    """The byte at which the first number lies."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes from one row, and one column, to the next."""
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, array: NDArray[Any]) -> Place | None:
        """Tell where an array lies; None where its numbers are in memory, or may differ there from the file's."""
        root: Any = array
        while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
            root = root.base
        if not isinstance(root, np.memmap) or root.mode != "r" or root.filename is None or min(array.strides) < 0:
            return None
        start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        try:
            file = Unchanged.of(Path(root.filename))
        except OSError:  # it has been deleted; who has it open may still read it
            return None
        copy = copy_of(file.path)
        elsewhere = None if copy is None else (copy[0].url, copy[0].state, copy[1])
        return cls(file, elsewhere, root.offset + start, array.shape, array.strides, array.dtype)

    def opened(self) -> NDArray[Any]:
        """Map the array, read-only.

        Raises
        ------
        InputError
            If the file is not there, or was written to since.
        """
        if self.elsewhere is not None and not Path(self.file.path).exists():
            return self._fetched(*self.elsewhere)
        self.file.require()
        numbers = np.memmap(self.file.path, dtype=np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, numbers, self.offset, self.strides)

    def _fetched(self, url: str, state: str, inside: str) -> NDArray[Any]:
        """Map a copy of this worker's own, where it does not reach that of the process that asked."""
        path = fetched(url) / inside
        copy = copy_of(str(path))
        if copy is None or copy[0].state != state:
            raise InputError(f"{url!r} must stay as it is while workers read it; it was written to since.")
        numbers = np.memmap(path, dtype=np.uint8, mode="r")
        return np.ndarray(self.shape, self.dtype, numbers, self.offset, self.strides)
