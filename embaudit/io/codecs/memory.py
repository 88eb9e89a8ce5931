"""Arrays and tensors in memory, read like those in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import detached
from embaudit.io.codecs.arrays import Read, Tensor


def as_array(values: Any) -> NDArray[Any]:
    """Copy nothing that is an array already; bring tensors from wherever they are."""
    if hasattr(values, "detach"):
        return detached(values)
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
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
            name: Tensor(tuple(int(n) for n in array.shape), str(array.dtype).removeprefix("torch."))
            for name, array in arrays.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        """Travel as arrays of numpy, which a worker opens where they lie."""
        return {"_arrays": {name: as_array(array) for name, array in self._arrays.items()}, "tensors": self.tensors}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return as_array(self._arrays[name])

    @contextmanager
    def open(self, name: str) -> Iterator[Read]:
        """Read pieces of one array; only a piece is ever copied."""
        flat, position = _flat(self._arrays[name]), 0

        def read(count: int) -> NDArray[Any]:
            nonlocal position
            position += count
            return as_array(flat[position - count : position])

        yield read


def _flat(array: Any) -> Any:
    """Return something to slice in C order without copying the whole array."""
    if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
        return array.flat
    return array.reshape(-1)
