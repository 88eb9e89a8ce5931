"""Objects whose class says that it comes from a library that is not installed here."""

from __future__ import annotations

from types import MethodType
from typing import Any

import numpy as np


def imitation(of: str, *inherited: str, **attributes: Any) -> Any:
    """Make an object of the class `package.module.Name`, which inherits from others; functions become its methods."""
    parents: tuple[type, ...] = ()
    for path in (*inherited, of):
        module, _, name = path.rpartition(".")
        parents = (type(name, parents, {"__module__": module}),)
    made = parents[0]()
    for name, value in attributes.items():
        bound = (
            MethodType(value, made)
            if callable(value) and hasattr(value, "__code__")
            else value
        )
        object.__setattr__(made, name, bound)
    return made


class Tensor:
    """What a torch tensor looks like from outside; it refuses NumPy while it carries a gradient."""

    def __init__(
        self, array: Any, dtype: str = "torch.float32", detached: bool = False
    ) -> None:
        self.array, self.dtype, self.detached, self.shape = (
            np.asarray(array),
            dtype,
            detached,
            np.shape(array),
        )

    def detach(self) -> Tensor:
        return Tensor(self.array, self.dtype, True)

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.array, "torch.float32", self.detached)

    def long(self) -> Tensor:
        return Tensor(self.array.astype(int), "torch.int64", True)

    def reshape(self, *shape: int) -> Tensor:
        return Tensor(self.array.reshape(shape), self.dtype, self.detached)

    def __getitem__(self, rows: Any) -> Tensor:
        return Tensor(self.array[rows], self.dtype, self.detached)

    def new_tensor(self, values: Any) -> Tensor:
        return Tensor(
            np.asarray(values, self.dtype.removeprefix("torch.")), self.dtype, True
        )

    def numpy(self) -> Any:
        assert self.detached
        assert self.dtype != "torch.bfloat16"
        return self.array

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("call detach first")
