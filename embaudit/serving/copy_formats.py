"""Formats that store a copy of vectors in fewer bits or dimensions.

A new format is a class with a name, and an entry in `FORMATS` or `SIZED_FORMATS`. It
says how many bytes a vector takes, and which rows a search in the copy compares.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.tolerances import KRYLOV_VECTOR_ERROR
from embaudit.core.words import nearest_to
from embaudit.errors import must_be
from embaudit.linalg.duplicates import SHORT_FORMATS, spaced_places, spacing_of
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.moments import moments
from embaudit.linalg.rows import float64_blocks
from embaudit.linalg.transformed_rows import Rows

SCALE_BYTES = 4
"""Bytes of the scale of a row, a number of float32."""
CODE_LEVELS = 127
"""Largest code of int8; codes run from -127 to 127, so that 0 stays 0."""
RANGE_LEVELS = 255
"""Steps between the smallest and the largest number of a column in 8 bits."""
SIZED = re.compile(r"(?P<name>[a-z]+):(?P<size>\d{1,9})")
"""Name of a format with a number of columns."""


@dataclass(frozen=True, eq=False)
class CopiedRows:
    """The rows of a copy, as a search compares them."""

    rows: Rows
    """(p, d) the rows. A factor of a row changes no cosine and can be left out."""
    bytes_per_vector: float
    """Bytes that a vector takes in the copy."""
    axes: Floats | None = None
    """(d, k) orthonormal rows: the axes of the copy in the space of the original.

    None if they are the first d axes of the original."""


class Format(ABC):
    """A way to store vectors."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name that a user types, such as "int8" or "first:128"."""

    @abstractmethod
    def copy(self, x: Rows) -> CopiedRows:
        """Return the copy of rows (p, k), which is computed while it is read."""

    @property
    def n_kept(self) -> int | None:
        """Number of leading columns that are kept; None for all of them."""
        return None


@dataclass(frozen=True)
class Float16(Format):
    """Numbers of 16 bits: 11 binary digits, and magnitudes of at most 65,504.

    Examples
    --------
    >>> Float16().copy(np.array([[1.0, 0.1]])).rows[:]
    array([[1.        , 0.09997559]])
    """

    name: ClassVar[str] = "float16"

    def copy(self, x: Rows) -> CopiedRows:
        """Return rows rounded to float16."""

        def rounded(block: Floats) -> Floats:
            with np.errstate(over="ignore"):
                short = block.astype(np.float16)
            wide: Floats = short.astype(np.float64)
            _require_finite(wide, block, self.name, "65,504")
            return wide

        return CopiedRows(Mapped(x, rounded, x.shape[1]), 2 * x.shape[1])


@dataclass(frozen=True)
class BFloat16(Format):
    """The upper 16 bits of float32: 8 binary digits.

    Examples
    --------
    >>> BFloat16().copy(np.array([[1.0, 0.1]])).rows[:]
    array([[1.        , 0.10009766]])
    """

    name: ClassVar[str] = "bfloat16"

    def copy(self, x: Rows) -> CopiedRows:
        """Return rows rounded to bfloat16."""

        def rounded(block: Floats) -> Floats:
            with np.errstate(over="ignore"):
                single = block.astype(np.float32)
            bits = single.view(np.uint32)
            # Round to the nearest, and half way to an even last bit: add half a unit
            # of the last bit that stays, less 1 if that bit is 0. A number that is too
            # large becomes infinite by the carry.
            half_unit = bits >> np.uint32(16)
            half_unit &= np.uint32(1)
            half_unit += np.uint32(0x7FFF)
            bits += half_unit
            bits &= np.uint32(0xFFFF0000)
            wide: Floats = single.astype(np.float64)
            _require_finite(wide, block, self.name, "3.38e+38")
            return wide

        return CopiedRows(Mapped(x, rounded, x.shape[1]), 2 * x.shape[1])


@dataclass(frozen=True)
class Int8(Format):
    """Codes from -127 to 127 with one scale per row, which its largest entry sets.

    Examples
    --------
    >>> Int8().copy(np.array([[2.0, -1.0, 0.0]])).rows[:]
    array([[127., -64.,   0.]])
    """

    name: ClassVar[str] = "int8"

    def copy(self, x: Rows) -> CopiedRows:
        """Return the codes. The scale of a row changes no cosine, so it is left out."""

        def codes(block: Floats) -> Floats:
            largest = np.abs(block).max(axis=1, keepdims=True)
            largest[largest == 0] = 1
            # The quotient first, because the inverse of a tiny number overflows.
            return np.asarray(np.rint(block / largest * CODE_LEVELS))

        n_bytes = x.shape[1] + SCALE_BYTES
        return CopiedRows(Mapped(x, codes, x.shape[1]), n_bytes)


@dataclass(frozen=True)
class Int8ByColumn(Format):
    """Codes of 8 bits, with the smallest and the largest number of each column.

    FAISS (`SQ8`) and sentence-transformers (`int8`) store ranges of columns. The
    columns of all rows share two numbers, which take no room per vector.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [1.0, 0.3], [255.0, 0.0]])
    >>> Int8ByColumn().copy(x).rows[1:2]
    array([[1. , 0.3]])
    """

    name: ClassVar[str] = "int8-columns"

    def copy(self, x: Rows) -> CopiedRows:
        """Return rows whose numbers are rounded to 256 levels of their column."""
        low = np.full(x.shape[1], np.inf)
        high = np.full(x.shape[1], -np.inf)
        for _, block in float64_blocks(x):
            low = np.minimum(low, block.min(axis=0))
            high = np.maximum(high, block.max(axis=0))
        step = (high - low) / RANGE_LEVELS
        # A constant column has one level.
        divisor = np.where(step > 0, step, 1)

        def levels(block: Floats) -> Floats:
            return np.asarray(low + np.rint((block - low) / divisor) * step)

        return CopiedRows(Mapped(x, levels, x.shape[1]), x.shape[1])


@dataclass(frozen=True)
class Binary(Format):
    """Signs: one bit per number, 1 if it is above 0, as `numpy.packbits` packs them.

    Examples
    --------
    >>> Binary().copy(np.array([[0.3, -2.0, 0.0]])).rows[:]
    array([[ 1., -1., -1.]])
    """

    name: ClassVar[str] = "binary"

    def copy(self, x: Rows) -> CopiedRows:
        """Return rows of 1 and -1. Their cosine is 1 less 2/k per different bit."""

        def signs(block: Floats) -> Floats:
            return np.where(block > 0, 1.0, -1.0)

        return CopiedRows(Mapped(x, signs, x.shape[1]), -(-x.shape[1] // 8))


@dataclass(frozen=True)
class FirstColumns(Format):
    """The first columns, with their numbers as they are.

    Examples
    --------
    >>> FirstColumns(1).copy(np.array([[0.3, -2.0]])).rows[:]
    array([[0.3]])
    """

    n_columns: int

    @property
    def name(self) -> str:
        """Such as "first:128"."""
        return f"first:{self.n_columns}"

    @property
    def n_kept(self) -> int:
        """Number of columns that are kept."""
        return self.n_columns

    def copy(self, x: Rows) -> CopiedRows:
        """Return the first columns."""
        _require_fewer(self.name, self.n_columns, x.shape[1])

        def head(block: Floats) -> Floats:
            return np.ascontiguousarray(block[:, : self.n_columns])

        rows = Mapped(x, head, self.n_columns)
        return CopiedRows(rows, self.n_columns * bytes_per_number(x))


@dataclass(frozen=True)
class PrincipalAxes(Format):
    """The coordinates on the first principal axes, with their numbers as they are.

    `principal_axes` says which axes these are. They are the first columns of the
    vectors that `embaudit fix --rotate pca` writes.

    Examples
    --------
    >>> copied = PrincipalAxes(1).copy(np.array([[3.0, 4.0], [-3.0, -4.0]]))
    >>> np.abs(copied.rows[:]).round(12)
    array([[5.],
           [5.]])
    """

    n_columns: int

    @property
    def name(self) -> str:
        """Such as "pca:128"."""
        return f"pca:{self.n_columns}"

    @property
    def n_kept(self) -> int:
        """Number of axes that are kept."""
        return self.n_columns

    def copy(self, x: Rows) -> CopiedRows:
        """Return the coordinates on the first principal axes."""
        _require_fewer(self.name, self.n_columns, x.shape[1])
        axes = principal_axes(x)[: self.n_columns]

        def coordinates(block: Floats) -> Floats:
            return np.asarray(block @ axes.T)

        rows = Mapped(x, coordinates, self.n_columns)
        n_bytes = self.n_columns * bytes_per_number(x)
        return CopiedRows(rows, n_bytes, axes)


FORMATS: dict[str, Format] = {
    kind.name: kind
    for kind in (Float16(), BFloat16(), Int8(), Int8ByColumn(), Binary())
}
"""Formats that keep all columns, by their names."""
SIZED_FORMATS: dict[str, type[FirstColumns] | type[PrincipalAxes]] = {
    "first": FirstColumns,
    "pca": PrincipalAxes,
}
"""Formats of the leading columns. A user types the number of columns behind a colon."""


def is_format_name(text: str) -> bool:
    """Return True for the name of a format, and for a sized one with any number.

    Examples
    --------
    >>> is_format_name("int8"), is_format_name("first:99"), is_format_name("int8.npy")
    (True, True, False)
    """
    return text in FORMATS or _sized(text) is not None


def format_named(text: str) -> Format:
    """Return the format that a user names.

    Raises
    ------
    InputError
        If there is no format of this name.

    Examples
    --------
    >>> format_named("first:128").name
    'first:128'
    >>> format_named("int4")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: formats must be names of float16, bfloat16, int8,
    int8-columns, binary, first:COLUMNS and pca:COLUMNS; got 'int4'; the nearest one is
    int8.
    """
    if text in FORMATS:
        return FORMATS[text]
    sized = _sized(text)
    if sized is not None and sized.n_columns > 0:
        return sized
    names = [*FORMATS, *(f"{name}:COLUMNS" for name in SIZED_FORMATS)]
    *others, last = names
    allowed = f"names of {', '.join(others)} and {last}"
    nearest = nearest_to(text, FORMATS)
    raise must_be("formats", allowed, repr(text), nearest)


def _sized(text: str) -> FirstColumns | PrincipalAxes | None:
    """Return the format of leading columns that a text names, if it names one."""
    found = SIZED.fullmatch(text)
    if found is None or found["name"] not in SIZED_FORMATS:
        return None
    return SIZED_FORMATS[found["name"]](int(found["size"]))


def principal_axes(x: Rows) -> Floats:
    """Return the principal axes of rows (k, k), one per row, the longest first.

    They are the eigenvectors of the second moment `Σ x̂ᵀ x̂` of the rows divided by their
    lengths. The rows are not centred, because a shift would change cosines. No other d
    axes hold more of the squared length of the unit rows than the first d.

    The first of the largest entries of each axis is positive, so the signs do not
    depend on the decomposition.

    Examples
    --------
    >>> principal_axes(np.array([[3.0, 4.0], [-3.0, -4.0]])).round(12)
    array([[ 0.6,  0.8],
           [ 0.8, -0.6]])
    """
    _, _, axes = np.linalg.svd(moments(x, normalise=True).root)
    sizes = np.abs(axes)
    # Entries that only rounding tells apart count as equal.
    is_largest = sizes >= sizes.max(axis=1, keepdims=True) * (1 - KRYLOV_VECTOR_ERROR)
    places = np.argmax(is_largest, axis=1)
    signs = np.sign(axes[np.arange(len(axes)), places])
    return np.asarray(axes * signs[:, None])


def bytes_per_number(x: Rows) -> int:
    """Return the bytes of a number in the shortest format that holds the rows.

    The format is determined from up to 256 rows. Numbers that were read from float16 or
    bfloat16 take 2 bytes, also if float32 holds them now.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(9, 4))
    >>> kinds = (np.float16, np.float32, np.float64)
    >>> [bytes_per_number(x.astype(kind)) for kind in kinds]
    [2, 4, 8]
    """
    sample = np.asarray(x[spaced_places(len(x))], dtype=np.float64)
    spacing = spacing_of(sample)
    shortest = 8
    for (digits, _), n_bytes in zip(SHORT_FORMATS, (2, 2, 4), strict=True):
        if spacing == 2.0 ** (1 - digits):
            shortest = n_bytes
            break
    return min(shortest, x.dtype.itemsize)


def _require_finite(stored: Floats, block: Floats, name: str, limit: str) -> None:
    """Raise InputError if a number is too large for a format."""
    if np.isfinite(stored).all():
        return
    largest = float(np.abs(block).max())
    raise must_be(
        f"vectors to store as {name}",
        f"numbers of at most {limit}",
        f"{largest:.3g}",
        "divide the rows by their lengths, which changes no cosine",
    )


def _require_fewer(name: str, n_columns: int, width: int) -> None:
    """Raise InputError unless a format keeps fewer columns than there are."""
    if n_columns >= width:
        raise must_be(
            f"the columns of {name}",
            f"an integer from 1 to {width - 1:,}, because the vectors have {width:,}",
            f"{n_columns:,}",
        )
