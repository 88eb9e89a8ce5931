"""What holds tensors: mappings, lists and arrays in memory, or a file read a piece at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.executors import Unchanged
from embaudit.io.codecs import open_arrays
from embaudit.io.codecs.arrays import Arrays, Located
from embaudit.io.codecs.memory import Memory


def _require_real(source: Arrays) -> None:
    for name, tensor in source.tensors.items():
        if not tensor.is_real:
            # Where a format refuses it itself, it says more.
            with source.open(name):
                raise must_be(f"tensor {name!r}", "an array of real numbers", f"dtype {tensor.dtype}")


def _is_numbers(given: Any) -> bool:
    """Tell whether nested lists hold plain numbers only."""
    if isinstance(given, (list, tuple)):
        return all(_is_numbers(part) for part in given)
    return isinstance(given, (int, float, np.number, np.bool_))


def _as_leaf(given: Any) -> Any | None:
    """Return an array-like with shape and dtype, or None where `given` holds several."""
    if hasattr(given, "detach") or (hasattr(given, "dtype") and hasattr(given, "reshape")):
        return given
    if isinstance(given, Mapping) or (isinstance(given, Sequence) and not isinstance(given, str)):
        if not isinstance(given, Mapping) and given and _is_numbers(given):
            try:
                return np.asarray(given)
            except ValueError:  # rows of different lengths: several arrays
                return None
        return None
    return np.asarray(given)


def _leaves(given: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    leaf = _as_leaf(given)
    if leaf is not None:
        yield prefix, leaf
        return
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    for key, value in pairs:
        yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key))


def file_of(source: Arrays, name: str) -> Unchanged | None:
    """Tell which file a tensor is read from, as it is now; None for one in memory."""
    path = source.file(name) if isinstance(source, Located) else None
    return None if path is None else Unchanged.of(path)


def as_source(given: Any, name: str) -> Arrays:
    """Understand what holds the tensors; nested mappings and lists are walked, keys joined by a dot.

    Raises
    ------
    InputError
        If a file is absent or of another kind, or nothing is in it.

    Examples
    --------
    >>> as_source({"layer": {"weight": [[1.0, 2.0]], "bias": [0.5]}}, "x").tensors["layer.weight"]
    Tensor(shape=(1, 2), dtype='float64')
    """
    if isinstance(given, (str, os.PathLike)):
        source: Arrays = open_arrays(Path(given))
    elif hasattr(given, "tensors") and hasattr(given, "open"):
        source = given
    else:
        pairs = list(_leaves(given, ""))
        arrays = dict(pairs)
        if len(arrays) < len(pairs):
            raise must_be(f"the names in {name}", "unique once nested keys are joined by a dot", "one of them twice")
        source = Memory(arrays)
    if not any(tensor.size for tensor in source.tensors.values()):
        raise must_be(name, "at least one array with an entry", "nothing")
    _require_real(source)
    return source
