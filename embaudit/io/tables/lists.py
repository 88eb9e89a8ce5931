"""Columns of lists of Arrow: which of them hold vectors, and their matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import Sentence, must_be

if TYPE_CHECKING:
    import pyarrow as pa


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


def stack_lists(
    lists: pa.Array,
    name: str | Sentence,
    first_row: int = 0,
    width: int | None = None,
) -> NDArray[Any]:
    """Stack lists of equal length as the rows of a matrix.

    Parameters
    ----------
    lists : Array of lists, of length n >= 1
        Some consecutive rows of a column.
    name : str or Sentence
        Name of the column in errors.
    first_row : int
        Row of the first list in the column, for errors.
    width : int, optional
        Length k of the lists before these ones. By default, the first list decides.

    Returns
    -------
    array of shape (n, k)

    Raises
    ------
    InputError
        If a list or a number is missing, or if lists are empty or differ in length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> stack_lists(pa.array([[1.0, 2.0], [3.0, 4.0]]), "vectors")
    array([[1., 2.],
           [3., 4.]])
    >>> stack_lists(pa.array([[1.0, 2.0], [3.0]]), "vectors", first_row=10)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: vectors must be vectors of 2 numbers, like the first
    one; got 1 in row 11.
    """
    from pyarrow import compute

    if lists.null_count:
        row = first_row + compute.index(lists.is_null(), True).as_py()
        raise must_be(
            name, "a vector in every row", f"no vector in row {row}", "drop that row"
        )
    lengths = compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    if width is None:
        width = int(lengths[0])
    if width == 0:
        raise must_be(name, "vectors of at least one number", "empty lists")
    others = np.flatnonzero(lengths != width)
    if len(others):
        place = others[0]
        raise must_be(
            name,
            f"vectors of {width} numbers, like the first one",
            f"{lengths[place]} in row {first_row + place}",
        )
    # All lists have one length, so their numbers one after another are the matrix row
    # by row.
    numbers = lists.flatten()
    if numbers.null_count:
        place = compute.index(numbers.is_null(), True).as_py() // width
        raise must_be(
            name,
            "free of missing numbers",
            f"{numbers.null_count} missing, the first in row {first_row + place}",
        )
    matrix = numbers.to_numpy(zero_copy_only=False).reshape(len(lists), width)
    return np.asarray(matrix)
