"""Columns of vectors: lists of Arrow, or texts such as `[0.1, 0.2]` and `{0.1,0.2}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import Sentence, must_be

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
CUT = r"(?:\s*[,;]\s*|\s+)"
SEVERAL = re.compile(rf"\s*{NUMBER}(?:{CUT}{NUMBER})+\s*")
BRACKETED = re.compile(
    r"\s*(?:array\()?[\[({][-+\d.,;\seEinfaINFA]*\d[-+\d.,;\seEinfaINFA]*[\])}]\)?\s*"
)
DECIMAL = re.compile(
    r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][-+]?\d+)?\s*"
    r"|\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*"
    r"|\s*[-+]?\d{1,3}(?:\s\d{3})+(?:[.,]\d+)?\s*"
)
"""Pattern of a number with a decimal comma, or with a sign between thousands.

A list of whole numbers, such as `1,5`, can look the same.
"""
DECIMAL_COMMA = r"\d,[-+]?\d"
"""Pattern of a comma within a number, or between two numbers without a space."""
OTHER_CUT = r"\d\s*(?:;\s*|\s)[-+.\d]"
"""Pattern of two numbers that are cut by a semicolon or a space without a comma."""
AROUND = "array[](){} \t\r\n"
"""Characters that may surround the numbers."""


def is_list(cell: str) -> bool:
    """Return True for a cell with several numbers, or with numbers in brackets.

    Examples
    --------
    >>> is_list("[0.5]"), is_list("0.5 1e-3"), is_list("(1, 2)")
    (True, True, True)
    >>> is_list("0.5"), is_list("(500) Days (2009)")
    (False, False)
    """
    return SEVERAL.fullmatch(cell) is not None or BRACKETED.fullmatch(cell) is not None


def n_numbers(cell: str) -> int:
    """Count the numbers in a cell that is a list.

    Examples
    --------
    >>> n_numbers("[0.5, 1]"), n_numbers("1 2 3"), n_numbers("(500)")
    (2, 3, 1)
    """
    return len(re.split(CUT, cell.strip(AROUND)))


def matrix(column: pa.ChunkedArray, name: str | Sentence) -> NDArray[Any]:
    """Read a column of such cells as a matrix of shape (n, k).

    Raises
    ------
    InputError
        If a cell is empty or not a list of numbers, or lists differ in length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix(pa.chunked_array([["[1, 2.5]"], ["[ 3.  -4. ]"]]), "vectors")
    array([[ 1. ,  2.5],
           [ 3. , -4. ]])
    """
    parts: list[NDArray[Any]] = []
    row = 0
    for chunk in filter(len, column.chunks):
        width = parts[0].shape[1] if parts else None
        parts.append(stack(_parsed(chunk, name, row), name, row, width))
        row += len(chunk)
    return np.concatenate(parts)


def _parsed(chunk: pa.Array, name: str | Sentence, start: int) -> pa.Array:
    """Read cells as lists of numbers. A missing cell remains missing."""
    import pyarrow as pa
    from pyarrow import compute

    _require_no_decimal_commas(chunk, name, start)
    cells = compute.split_pattern_regex(
        compute.utf8_trim(chunk, AROUND), r"\s*[,;]\s*|\s+"
    )
    try:
        return cells.cast(pa.list_(pa.float64()))
    except ValueError as error:
        # Find and name the first cell that fails on its own.
        if len(chunk) > 1:
            for place in range(len(chunk)):
                _parsed(chunk.slice(place, 1), name, start + place)
        cell = chunk[0].as_py()
        remedy = "repair that row"
        if "..." in cell:
            remedy = "numpy printed it shortened: write it with .tolist()"
        raise must_be(
            name, "lists of numbers", f"{cell[:60]!r} in row {start}", remedy
        ) from error


def _require_no_decimal_commas(
    chunk: pa.Array, name: str | Sentence, start: int
) -> None:
    """Refuse lists such as `1,5 2,5` and `1,5; 2,5`, which would be four numbers."""
    from pyarrow import compute

    has_both = compute.and_(
        compute.match_substring_regex(chunk, DECIMAL_COMMA),
        compute.match_substring_regex(chunk, OTHER_CUT),
    )
    place = compute.index(has_both, True).as_py()
    if place >= 0:
        cell = chunk[place].as_py()
        raise must_be(
            name,
            "lists of numbers that one separator cuts",
            f"{cell[:60]!r} in row {start + place}",
            "write decimals with a point",
        )


def stack(
    lists: pa.Array, name: str | Sentence, row: int = 0, width: int | None = None
) -> NDArray[Any]:
    """Stack lists of equal length as a matrix.

    `row` is the row of the first list in the table, and `width` the length of the lists
    before it, for messages and checks.
    """
    from pyarrow import compute

    if lists.null_count:
        place = row + compute.index(lists.is_null(), True).as_py()
        raise must_be(
            name, "a vector in every row", f"none in row {place}", "drop that row"
        )
    # If all lists have one length, their concatenated values are the matrix row by row.
    lengths = compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if width is None else width
    if not width:
        raise must_be(name, "vectors of at least one number", "empty lists")
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        got = f"{lengths[wrong[0]]} in row {row + wrong[0]}"
        raise must_be(name, f"vectors of {width} numbers, as the first is", got)
    values = lists.flatten()
    if values.null_count:
        raise must_be(name, "free of missing numbers", f"{values.null_count} missing")
    return np.asarray(values.to_numpy(zero_copy_only=False).reshape(len(lists), width))


def is_list_type(kind: pa.DataType) -> bool:
    """Return True for the type of a column of lists, of fixed or of any size."""
    from pyarrow import types

    return bool(
        types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
    )


def is_vectors(kind: pa.DataType) -> bool:
    """Return True for the type of a column of lists of numbers."""
    from pyarrow import types

    if not is_list_type(kind):
        return False
    number = kind.value_type
    return bool(types.is_floating(number) or types.is_integer(number))
