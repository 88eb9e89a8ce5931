"""Vectors written into one cell of text: `[0.1, 0.2]`, `{0.1,0.2}`, `0.1 0.2` or what numpy prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
CUT = r"(?:\s*[,;]\s*|\s+)"
SEVERAL = re.compile(rf"\s*{NUMBER}(?:{CUT}{NUMBER})+\s*")
BRACKETED = re.compile(r"\s*(?:array\()?[\[({][-+\d.,;\seEinfaINFA]*\d[-+\d.,;\seEinfaINFA]*[\])}]\)?\s*")
AROUND = "array[](){} \t\r\n"
"""What may stand around the numbers."""


def is_list(cell: str) -> bool:
    """Whether a cell holds several numbers, or such in brackets.

    Examples
    --------
    >>> [is_list(cell) for cell in ("[0.5]", "0.5 1e-3", "(1, 2)", "0.5", "(500) Days (2009)")]
    [True, True, True, False, False]
    """
    return SEVERAL.fullmatch(cell) is not None or BRACKETED.fullmatch(cell) is not None


def matrix(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Read a column of such cells into a matrix of shape (n, k).

    Raises
    ------
    InputError
        For an empty cell, one that holds something else, or lists of different length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> matrix(pa.chunked_array([["[1, 2.5]", "[ 3.  -4. ]"]]), "vectors")
    array([[ 1. ,  2.5],
           [ 3. , -4. ]])
    """
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise must_be(name, "a vector in every row", f"none in row {row}", "drop that row")
    parts = list(_parts(column, name))
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise must_be(name, "vectors of one length", f"{' and '.join(map(str, sorted(widths)))} numbers")
    return np.concatenate(parts)


def _parts(column: pa.ChunkedArray, name: str) -> Iterator[NDArray[Any]]:
    import pyarrow as pa
    from pyarrow import compute

    done = 0
    for chunk in column.chunks:
        if not len(chunk):
            continue
        inner = compute.utf8_trim(chunk, AROUND)
        cells = compute.split_pattern_regex(inner, r"\s*[,;]\s*|\s+")
        lengths = compute.list_value_length(cells).to_numpy(zero_copy_only=False)
        try:
            numbers = cells.flatten().cast(pa.float64())
        except ValueError as error:
            raise _no_list(chunk, name, done) from error
        wrong = np.flatnonzero(lengths != lengths[0])
        if len(wrong):
            got = f"{lengths[wrong[0]]} in row {done + wrong[0]}"
            raise must_be(name, f"vectors of {lengths[0]} numbers, as the first is", got)
        yield numbers.to_numpy(zero_copy_only=False).reshape(len(chunk), -1)
        done += len(chunk)


def _no_list(chunk: pa.Array, name: str, done: int) -> InputError:
    """Find the first cell that is no list of numbers."""
    cells = chunk.to_pylist()
    numbers = re.compile(rf"{NUMBER}|[-+]?(?:nan|inf)", re.IGNORECASE)

    def reads(cell: str) -> bool:
        return all(numbers.fullmatch(one) for one in re.split(CUT, cell.strip(AROUND)))

    row = next((i for i, cell in enumerate(cells) if not reads(cell)), 0)
    shortened = "..." in cells[row]
    remedy = "numpy printed it shortened: write it with .tolist()" if shortened else "repair that row"
    return must_be(name, "lists of numbers", f"{cells[row][:60]!r} in row {done + row}", remedy)
