"""Columns of lists of numbers in Arrow, as matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be

if TYPE_CHECKING:
    import pyarrow as pa


def stacked(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Stack a column of lists of numbers, of fixed size or not, into a matrix of shape (n, k), chunk by chunk.

    Raises
    ------
    InputError
        If a list is missing, or the lists differ in length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> stacked(pa.chunked_array([[[1.0, 2.0]], [[3.0, 4.0]]]), "vectors")
    array([[1., 2.], [3., 4.]])
    """
    if not is_vectors(column.type):
        raise must_be(name, "lists of numbers", str(column.type))
    parts: list[NDArray[Any]] = []
    for chunk in column.chunks:
        if len(chunk):
            parts.append(stack(chunk, name, sum(map(len, parts)), parts[0].shape[1] if parts else None))
    return np.concatenate(parts)


def stack(lists: pa.Array, name: str, row: int = 0, width: int | None = None) -> NDArray[Any]:
    """Stack lists of one length, the first of which is that of some row of the table."""
    from pyarrow import compute

    if lists.null_count:
        place = row + compute.index(lists.is_null(), True).as_py()
        raise must_be(name, "a vector in every row", f"none in row {place}", "drop that row")
    lengths = compute.list_value_length(lists).to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if width is None else width
    if not width:
        raise must_be(name, "vectors of one number at least", "empty lists")
    wrong = np.flatnonzero(lengths != width)
    if len(wrong):
        got = f"{lengths[wrong[0]]} in row {row + wrong[0]}"
        raise must_be(name, f"vectors of {width} numbers, as the first is", got)
    values = lists.flatten()
    if values.null_count:
        raise must_be(name, "free of missing numbers", f"{values.null_count} missing")
    return np.asarray(values.to_numpy(zero_copy_only=False).reshape(len(lists), width))


def is_vectors(kind: pa.DataType) -> bool:
    """Check for a column of lists of numbers."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))
