"""A column of lists, as Parquet and Arrow keep vectors, as a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def is_vectors(kind: pa.DataType) -> bool:
    """Whether a column holds lists of numbers."""
    from pyarrow import types

    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return bool(is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))


def stacked(column: pa.ChunkedArray, name: str) -> NDArray[Any]:
    """Stack a column of lists into a matrix of shape (n, k), chunk by chunk.

    Parameters
    ----------
    column : pyarrow ChunkedArray
        Lists of numbers, fixed in size or not.
    name : str
        What to call it in an error.

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
    from pyarrow import compute

    if not is_vectors(column.type):
        raise must_be(name, "lists of numbers", str(column.type))
    if column.null_count:
        row = compute.index(column.is_null(), True).as_py()
        raise must_be(name, "a vector in every row", f"none in row {row}", "drop that row")
    parts: list[NDArray[Any]] = []
    width: int | None = None
    done = 0
    for chunk in column.chunks:
        if not len(chunk):
            continue
        lengths = compute.list_value_length(chunk).to_numpy(zero_copy_only=False)
        width = int(lengths[0]) if width is None else width
        wrong = np.flatnonzero(lengths != width)
        if len(wrong):
            got = f"{lengths[wrong[0]]} in row {done + wrong[0]}"
            raise must_be(name, f"vectors of {width} numbers, as the first is", got)
        values = chunk.flatten()
        if values.null_count:
            raise must_be(name, "free of missing numbers", f"{values.null_count} missing")
        parts.append(values.to_numpy(zero_copy_only=False).reshape(len(chunk), width))
        done += len(chunk)
    return np.concatenate(parts)
