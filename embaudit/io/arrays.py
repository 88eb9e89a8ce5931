"""Arrays by name, in a file or in memory.

Shapes and dtypes are read first, then numbers: whole, in pieces or decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import IO, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import as_whole_array, storage_of
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.core.progress import track
from embaudit.errors import File, InputError
from embaudit.linalg.scratch import scratch

Shape: TypeAlias = tuple[int, ...]
Read: TypeAlias = "Callable[[int, int], NDArray[Any]]"
"""Return the entries of a tensor in C order from one number to another, as real numbers
numpy computes with.
"""
UNNAMED = ""
"""The name of an array that stands alone: whatever its file is called, it matches
another one.
"""


@dataclass(frozen=True)
class Tensor:
    """One named array, not yet read."""

    shape: Shape
    dtype: str
    """Type as stored, in words of numpy, or "bfloat16"."""
    rounded: str = field(default="", repr=False)
    """The type that its numbers are rounded to in blocks, such as "Q8_0"; empty where
    they are not.
    """

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    @property
    def is_real(self) -> bool:
        """True if numpy can compute with its entries as real numbers."""
        try:
            return self.dtype == "bfloat16" or np.dtype(self.dtype).kind in "fiub"
        except (
            TypeError,
            ValueError,
            SyntaxError,
        ):  # a type that numpy has no numbers for
            return False


class Arrays(Protocol):
    """Named arrays, in memory or in a file."""

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """Names, shapes and dtypes, in the order of the source.

        Nothing else is read for them.
        """
        ...

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read one array.

        It stays on disk if its numbers lie there as NumPy has them.
        """
        ...


class Readable(Arrays, Protocol):
    """Arrays that are read a piece at a time."""

    def open(self, name: str) -> Read:
        """Return a reader of pieces of one array."""
        ...


@dataclass(frozen=True)
class Place:
    """Numbers that lie in a file row by row, as numpy has them in memory."""

    path: Path
    start: int
    """Their first byte in the file."""
    dtype: np.dtype[Any]
    shape: Shape

    def __getstate__(self) -> dict[str, Any]:
        """Travel with the whole path: another process may stand in another folder."""
        return {**vars(self), "path": self.path.resolve()}

    def mapped(self) -> NDArray[Any]:
        """Map them into memory, so that they stay on disk."""
        return np.memmap(self.path, self.dtype, "r", self.start, self.shape)

    def entries(self, start: int, stop: int) -> NDArray[Any]:
        """Read some entries with plain reads.

        Mapped pages count as memory, which checkpoints would fill.

        Raises
        ------
        InputError
            If the file ends before.
        """
        numbers = np.fromfile(
            self.path,
            self.dtype,
            stop - start,
            offset=self.start + start * self.dtype.itemsize,
        )
        if len(numbers) < stop - start:
            raise InputError(
                "{} must be complete; it ends after {} of {} numbers; fetch or save "
                "it again.",
                File(self.path),
                len(numbers),
                stop - start,
            )
        return numbers

    def rows(self, rows: slice) -> NDArray[Any]:
        """Read some rows and not the others."""
        width = prod(self.shape[1:])
        return self.entries(rows.start * width, rows.stop * width).reshape(
            -1, *self.shape[1:]
        )


def type_name(dtype: Any) -> str:
    """Name a type of numpy or torch: numbers whatever the order of their bytes.

    Examples
    --------
    >>> [type_name(np.dtype(code)) for code in (">f4", "U1", "?")]
    ['float32', '<U1', 'bool']
    """
    return str(
        dtype.name if getattr(dtype, "kind", "O") in "fiub" else dtype
    ).removeprefix("torch.")


def as_array(values: Any) -> NDArray[Any]:
    """Copy nothing that is an array already; bring tensors from wherever they are."""
    # A map of a file stays one, so that its numbers stay there.
    if isinstance(values, np.memmap):
        return values
    array = np.asarray(
        as_whole_array(
            values.to_numpy() if hasattr(values, "to_numpy") else values, "the array"
        )
    )
    # Integers of a matrix that is typed as a list are no codes.
    if (
        isinstance(values, (list, tuple))
        and array.ndim == 2
        and array.dtype.kind in "iu"
    ):
        return array.astype(np.float64)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


class Memory:
    """Arrays or torch tensors in memory.

    Examples
    --------
    >>> Memory({"w": np.ones((2, 3))}).tensors
    {'w': Tensor(shape=(2, 3), dtype='float64')}
    """

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._arrays = arrays
        self.tensors = {
            name: Tensor(tuple(int(n) for n in array.shape), type_name(array.dtype))
            for name, array in arrays.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        """Travel as arrays of numpy, which a worker opens where they lie."""
        return {
            "_arrays": {name: as_array(array) for name, array in self._arrays.items()},
            "tensors": self.tensors,
        }

    def __getitem__(self, name: str) -> NDArray[Any]:
        return as_array(self._arrays[name])

    def open(self, name: str) -> Read:
        """Return a reader of pieces of one array; only a piece is ever copied."""
        array = self._arrays[name]
        # What is sliced in C order without a copy of the whole array.
        strided = isinstance(array, np.ndarray) and not array.flags.c_contiguous
        flat: Any = array.flat if strided else array.reshape(-1)
        return lambda start, stop: as_array(flat[start:stop])


def decode_to_buffer(
    shape: tuple[int, int], dtype: DTypeLike, block: Callable[[slice], NDArray[Any]]
) -> NDArray[Any]:
    """Decode a matrix into a buffer.

    Threads decode blocks of rows and write them side by side.

    Examples
    --------
    >>> def count(rows):
    ...     return np.arange(rows.start, rows.stop)[:, None]
    >>> decode_to_buffer((3, 1), np.int64, count).ravel()
    array([0, 1, 2])
    """
    matrix = scratch(shape, dtype)

    def fill(rows: slice) -> None:
        matrix[rows] = block(rows)

    fill_in_threads(fill, row_blocks(*shape))
    matrix.flags.writeable = False
    return matrix


def are_signs(array: NDArray[Any]) -> bool:
    """Check that every number of an array is 1 or -1, and that both occur.

    Examples
    --------
    >>> are_signs(np.array([[1, -1]])), are_signs(np.array([[1, 1]]))
    (True, False)
    """
    rows = array.reshape(len(array), -1) if array.size else array
    lowest = highest = 0
    for block in row_blocks(*rows.shape) if array.size else ():
        if not (np.abs(rows[block]) == 1).all():
            return False
        lowest = min(lowest, int(rows[block].min()))
        highest = max(highest, int(rows[block].max()))
    return (lowest, highest) == (-1, 1)


def as_stored(raw: NDArray[Any]) -> NDArray[Any]:
    """Widen numbers to the type of models, as `decode_to_buffer` does.

    Numbers of that type stay where they are.

    Examples
    --------
    >>> as_stored(np.array([[1.0, 0.5]], dtype=np.float16))
    array([[1. , 0.5]], dtype=float32)
    """
    kind = storage_of(raw.dtype) if raw.dtype.kind in "fiu" else raw.dtype
    return (
        raw
        if kind == raw.dtype
        else widened(raw, lambda block: np.array(block, dtype=kind), kind)
    )


def widened(
    raw: NDArray[Any],
    widen: Callable[[NDArray[Any]], NDArray[Any]],
    kind: DTypeLike = np.float32,
) -> NDArray[Any]:
    """Widen a matrix as `decode_to_buffer` does, a block of rows at a time.

    A vector is held in memory.

    Examples
    --------
    >>> widened(np.array([[3, 4]], dtype=np.uint8), lambda block: block / 2, np.float64)
    array([[1.5, 2. ]])
    """
    if raw.ndim != 2:
        return widen(raw)
    rows, columns = raw.shape
    return decode_to_buffer((rows, columns), kind, lambda block: widen(raw[block]))


@dataclass(frozen=True)
class Stream:
    """An array to be written a block of rows at a time, perhaps computed only then."""

    shape: Shape
    """Rows first."""
    dtype: np.dtype[Any]
    blocks: Callable[[], Iterator[tuple[slice, NDArray[Any]]]]
    """Starts computing: yields `(rows, block)` in order."""
    n_blocks: int | None = None
    """How many blocks there will be, where that is known."""

    @classmethod
    def from_array(cls, array: NDArray[Any]) -> Stream:
        """Make a stream of an array that is there already.

        Examples
        --------
        >>> [block.tolist() for block in Stream.from_array(np.eye(2)).rows()]
        [[[1.0, 0.0], [0.0, 1.0]]]
        """
        width = prod(array.shape[1:])
        return cls(
            array.shape,
            array.dtype,
            lambda: ((rows, array[rows]) for rows in row_blocks(len(array), width)),
        )

    @property
    def stored(self) -> np.dtype[Any]:
        """The dtype with its bytes in the order that files have."""
        return self.dtype.newbyteorder("<")

    def rows(self) -> Iterator[NDArray[Any]]:
        """Yield the rows as contiguous little-endian blocks, announcing progress."""
        for _, block in track(self.blocks(), "writing vectors", self.n_blocks):
            yield np.ascontiguousarray(block, dtype=self.stored)

    def write(self, file: IO[bytes]) -> None:
        """Write the bytes of all rows."""
        for block in self.rows():
            file.write(block.data.cast("B"))
