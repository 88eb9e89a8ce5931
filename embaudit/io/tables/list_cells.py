"""Cells of text that hold a list of numbers, such as `[0.1, 0.2]` and `{0.1,0.2}`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, Sentence, must_be
from embaudit.io.tables.lists import stack_lists

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
"""Pattern of a number with a decimal point."""
SEPARATOR = r"(?:\s*[,;]\s*|\s+)"
"""Pattern of what stands between two numbers: a comma, a semicolon or blanks."""
SEVERAL_NUMBERS = re.compile(rf"\s*{NUMBER}(?:{SEPARATOR}{NUMBER})+\s*")
"""Pattern of a list without brackets."""
CHARACTERS_OF_NUMBERS = r"[-+\d.,;\seEinfaINFA]"
"""Pattern of a character of numbers and separators, of `nan`, `inf` and `...`."""
IN_BRACKETS = re.compile(
    r"\s*(?:array\()?[\[({]"
    rf"{CHARACTERS_OF_NUMBERS}*\d{CHARACTERS_OF_NUMBERS}*"
    r"[\])}]\)?\s*"
)
"""Pattern of a list in brackets, in which at least one digit stands.

The order of the characters is not checked. So a list with a mistake is still a list,
and the mistake is reported with its row when the list is parsed.
"""
BRACKETS = "array[](){} \t\r\n"
"""Characters that are removed from both ends of a list."""
DECIMAL = re.compile(
    # 1.234.567,8 and 0,5e-3
    r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][-+]?\d+)?\s*"
    # 1,234,567.8
    r"|\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*"
    # 1 234 567,8 and 1 234 567.8
    r"|\s*[-+]?\d{1,3}(?:\s\d{3})+(?:[.,]\d+)?\s*"
)
"""Pattern of one number with a decimal comma, or with separated thousands.

A list of whole numbers, such as `1,5`, can look the same.
"""
COMMA_WITHOUT_BLANK = r"\d,[-+]?\d"
"""Pattern of a comma within a number, or between two numbers without a blank."""
OTHER_SEPARATOR = r"\d\s*(?:;\s*|\s)[-+.\d]"
"""Pattern of a semicolon, or of blanks without a comma, between two numbers."""
DECIMAL_COMMAS = (
    r"^[\[({\s]*"
    r"[-+]?\d+,\d+(?:,[ \t]+[-+]?\d+,\d+)+"
    r"[\])}\s]*$"
)
"""Pattern of a list such as `[0,5, 0,25]`, in which every number between two blanks has
a comma.
"""


def is_list(cell: str) -> bool:
    """Return True for a cell with several numbers, or with numbers in brackets.

    Examples
    --------
    >>> is_list("[0.5]"), is_list("0.5 1e-3"), is_list("(1, 2)")
    (True, True, True)
    >>> is_list("0.5"), is_list("(500) Days (2009)")
    (False, False)
    """
    return bool(SEVERAL_NUMBERS.fullmatch(cell) or IN_BRACKETS.fullmatch(cell))


def count_numbers(cell: str) -> int:
    """Count the numbers in a cell that is a list.

    Examples
    --------
    >>> count_numbers("[0.5, 1]"), count_numbers("1 2 3"), count_numbers("(500)")
    (2, 3, 1)
    """
    return len(re.split(SEPARATOR, cell.strip(BRACKETS)))


def parse_lists(column: pa.ChunkedArray, name: str | Sentence) -> NDArray[Any]:
    """Parse a column of texts that are lists of numbers.

    Parameters
    ----------
    column : ChunkedArray of str, of length n
        The cells, one list in each.
    name : str or Sentence
        Name of the column in errors.

    Returns
    -------
    array of float64, shape (n, k)
        One list per row; (0, 0) if there are no rows.

    Raises
    ------
    InputError
        If a cell is empty or not a list of numbers, if numbers have decimal commas, or
        if lists differ in length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> parse_lists(pa.chunked_array([["[1, 2.5]"], ["[ 3.  -4. ]"]]), "vectors")
    array([[ 1. ,  2.5],
           [ 3. , -4. ]])
    """
    blocks: list[NDArray[Any]] = []
    first_row = 0
    width = None
    for cells in column.chunks:
        if not len(cells):
            continue
        _require_decimal_points(cells, name, first_row)
        try:
            lists = _split(cells)
        except ValueError as error:
            raise _not_numbers(cells, name, first_row) from error
        block = stack_lists(lists, name, first_row, width)
        blocks.append(block)
        width = block.shape[1]
        first_row += len(cells)
    if not blocks:
        return np.empty((0, 0))
    return np.concatenate(blocks)


def _require_decimal_points(
    cells: pa.Array, name: str | Sentence, first_row: int
) -> None:
    """Raise InputError for a list whose numbers seem to have decimal commas.

    For example, `1,5 2,5`, `1,5; 2,5` and `1,5, 2,5` would be read as four numbers.
    `first_row` is the row of the first cell.
    """
    from pyarrow import compute

    has_two_separators = compute.and_(
        compute.match_substring_regex(cells, COMMA_WITHOUT_BLANK),
        compute.match_substring_regex(cells, OTHER_SEPARATOR),
    )
    has_decimal_commas = compute.match_substring_regex(cells, DECIMAL_COMMAS)
    is_refused = compute.or_(has_two_separators, has_decimal_commas)
    place = compute.index(is_refused, True).as_py()
    if place >= 0:
        raise must_be(
            name,
            "lists of numbers with one separator between them",
            _quoted(cells, place, first_row),
            "write decimals with a point",
        )


def _split(cells: pa.Array) -> pa.Array:
    """Split cells into lists of numbers. A missing cell remains missing.

    Raises
    ------
    ValueError
        If a part of a cell is no number.
    """
    import pyarrow as pa
    from pyarrow import compute

    texts = compute.split_pattern_regex(compute.utf8_trim(cells, BRACKETS), SEPARATOR)
    return texts.cast(pa.list_(pa.float64()))


def _not_numbers(cells: pa.Array, name: str | Sentence, first_row: int) -> InputError:
    """Build the error for the first cell that cannot be split into numbers.

    pyarrow does not say in which cell the conversion failed, so the cells are split
    again, one by one.
    """
    for place in range(len(cells)):
        try:
            _split(cells.slice(place, 1))
        except ValueError:
            break
    remedy = "repair that row"
    if "..." in cells[place].as_py():
        remedy = "numpy printed it shortened: write it with .tolist()"
    return must_be(name, "lists of numbers", _quoted(cells, place, first_row), remedy)


def _quoted(cells: pa.Array, place: int, first_row: int) -> str:
    """Quote the beginning of a cell, and name its row."""
    return f"{cells[place].as_py()[:60]!r} in row {first_row + place}"
