"""Sources of tensors: containers in memory, or a file that is read in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.array_files import open_arrays
from embaudit.io.arrays import UNNAMED, Memory, Readable


def _is_numbers(values: Any) -> bool:
    """Return True if nested lists hold plain numbers only."""
    if isinstance(values, (list, tuple)):
        return all(_is_numbers(value) for value in values)
    return isinstance(values, (int, float, np.number, np.bool_))


def _as_leaf(values: Any) -> Any | None:
    """Return one array, or None for a container of arrays.

    A list is an array if it holds numbers only, in rows of equal length. Any other list
    is a container.
    """
    is_torch_tensor = hasattr(values, "detach")
    is_array = hasattr(values, "dtype") and hasattr(values, "reshape")
    if is_torch_tensor or is_array:
        return values
    if isinstance(values, Mapping):
        return None
    if not isinstance(values, Sequence) or isinstance(values, str):
        return np.asarray(values)
    if not values or not _is_numbers(values):
        return None
    try:
        return np.asarray(values)
    except ValueError:
        # Rows of different lengths are several arrays.
        return None


def _leaves(values: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the array of each leaf of nested containers."""
    leaf = _as_leaf(values)
    if leaf is not None:
        yield prefix, leaf
        return
    children = values.items() if isinstance(values, Mapping) else enumerate(values)
    for key, value in children:
        name = f"{prefix}.{key}" if prefix else str(key)
        yield from _leaves(value, name)


def is_single(source: Readable) -> bool:
    """Return True for one array without a name, in memory or in a .npy file."""
    return list(source.tensors) == [UNNAMED]


def as_source(values: Any, side: str) -> Readable:
    """Return tensors by name. The keys of nested mappings and lists are joined by dots.

    Raises
    ------
    InputError
        If a file is absent or of another kind, an array does not hold real numbers, or
        there is no entry.

    Examples
    --------
    >>> source = as_source({"layer": {"weight": [[1.0, 2.0]], "bias": [0.5]}}, "x")
    >>> source.tensors["layer.weight"]
    Tensor(shape=(1, 2), dtype='float64')
    >>> lists = [[1.0, 2.0], [3.0]], [[1.0], [2.0]], {"a": ([1.0], [2.0])}
    >>> [list(as_source(values, "x").tensors) for values in lists]
    [['0', '1'], [''], ['a']]
    >>> as_source({"a.b": [1.0], "a": {"b": [2.0]}}, "x")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the names in x must be unique once nested keys are ...
    """
    if isinstance(values, (str, os.PathLike)):
        source: Readable = open_arrays(Path(values))
    else:
        pairs = list(_leaves(values, ""))
        arrays = dict(pairs)
        if len(arrays) < len(pairs):
            raise must_be(
                f"the names in {side}",
                "unique once nested keys are joined by a dot",
                "the same name twice",
            )
        source = Memory(arrays)
    if not any(tensor.size for tensor in source.tensors.values()):
        raise must_be(side, "one or more arrays with at least one entry", "no entries")
    for name, tensor in source.tensors.items():
        if not tensor.is_real:
            # A format that refuses the array itself names the remedy.
            source.open(name)
            raise must_be(
                f"tensor {name!r}", "an array of real numbers", f"dtype {tensor.dtype}"
            )
    return source
