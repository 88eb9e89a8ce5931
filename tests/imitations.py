"""Imitations of objects of libraries that are not installed for the tests."""

from __future__ import annotations

from types import MethodType
from typing import Any

import numpy as np


def imitation(of: str, *inherited: str, **attributes: Any) -> Any:
    """Make an object of a class called `of`, such as `package.module.Name`.

    It inherits from the classes called `inherited`, each of them from the one before.
    Attributes that are Python functions become methods of the object.
    """
    bases: tuple[type, ...] = ()
    for path in (*inherited, of):
        module, _, name = path.rpartition(".")
        bases = (type(name, bases, {"__module__": module}),)
    imitated = bases[0]()
    for name, value in attributes.items():
        is_function = callable(value) and hasattr(value, "__code__")
        bound = MethodType(value, imitated) if is_function else value
        object.__setattr__(imitated, name, bound)
    return imitated


class Tensor:
    """An array that behaves like a tensor of torch, as far as readers use one.

    As in torch, `numpy()` needs `detach()` first and knows no bfloat16.
    """

    def __init__(
        self, array: Any, dtype: str = "torch.float32", detached: bool = False
    ) -> None:
        self.array = np.asarray(array)
        self.dtype = dtype
        self.detached = detached
        self.shape = np.shape(array)

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
