"""Results as bytes, and back: numbers, texts, arrays and the frozen types of this package, nothing pickled.

Arrays are members of an `npz` archive, one of which is JSON that says how they hang together. A digest stands before
it all: what was cut off or changed is told from what is whole.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

PACKAGE = "embaudit."
DIGEST = 32


class UnknownError(ValueError):
    """A value that cannot be written, or bytes that are no value."""


def packed(value: Any, known: Sequence[NDArray[Any]] = (), title: str = "") -> bytes:
    """Write a value under a title; of arrays that are known only the number.

    Examples
    --------
    >>> from embaudit.gauges import Diagonal
    >>> unpacked(packed({1.5: (np.arange(3), Diagonal(2, max_condition=3.0))}))
    {1.5: (array([0, 1, 2]), Diagonal(rank=2, max_condition=3.0))}
    """
    writer = _Writer([_place(array) for array in known])
    text = json.dumps([title, writer.node(value)]).encode()
    archive = io.BytesIO()
    arrays = {f"a{number}": array for number, array in enumerate(writer.arrays)}
    np.savez(archive, allow_pickle=False, value=np.frombuffer(text, np.uint8), **arrays)
    return digest([archive.getvalue()]) + archive.getvalue()


def told_apart(value: Any) -> str:
    """Hash a value, so that it can be told from others.

    Examples
    --------
    >>> told_apart((1, "a")) == told_apart((1, "a")), told_apart(1) == told_apart(1.0)
    (True, False)
    """
    writer = _Writer([])
    text = json.dumps(writer.node(value)).encode()
    shapes = [f"{array.dtype.str}{array.shape}".encode() for array in writer.arrays]
    return digest([text, *shapes, *(np.ascontiguousarray(array).tobytes() for array in writer.arrays)]).hex()


def unpacked(stored: bytes, known: Sequence[NDArray[Any]] = (), title: str = "") -> Any:
    """Read the value of a title; its arrays are read-only.

    Raises
    ------
    UnknownError
        If the bytes are not those that were written, or have another title.
    """
    whole, archive = stored[:DIGEST], stored[DIGEST:]
    if whole != digest([archive]):
        raise UnknownError("what is kept must be whole")
    with np.load(io.BytesIO(archive), allow_pickle=False) as members:
        arrays = {name: members[name] for name in members.files}
    for array in arrays.values():
        array.flags.writeable = False
    # What is known to another piece is not known here.
    called, node = json.loads(arrays["value"].tobytes())
    if called != title:
        raise UnknownError("what is kept must be what was asked for")
    return _Reader(arrays, known).value(node)


def digest(parts: Iterable[bytes]) -> bytes:
    """Hash bytes, one part after the other."""
    found = hashlib.blake2b(digest_size=DIGEST)
    for part in parts:
        found.update(part)
    return found.digest()


def _place(array: NDArray[Any]) -> tuple[Any, ...]:
    """Tell which memory an array shows, and how."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


class _Writer:
    """Turns a value into what JSON can hold, and puts its arrays aside."""

    def __init__(self, known: Sequence[tuple[Any, ...]]) -> None:
        self.known, self.arrays = known, list[NDArray[Any]]()

    def node(self, value: Any) -> Any:
        """Return the part of the JSON that stands for a value."""
        if isinstance(value, np.ndarray | np.generic):
            return self._numbers(value)
        if isinstance(value, Enum):
            return {"enum": [_name(type(value)), value.name]}
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"row": [_name(type(value)), [self.node(one) for one in value]]}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.node(one) for one in value]}
        if type(value) is dict:
            return {"dict": [[self.node(key), self.node(one)] for key, one in value.items()]}
        if is_dataclass(value):
            parts = {field.name: self.node(getattr(value, field.name)) for field in fields(value)}
            return {"made": [_name(type(value)), parts]}
        raise UnknownError(f"what is kept must be made of numbers, texts and arrays; got {type(value).__name__}.")

    def _numbers(self, value: NDArray[Any] | np.generic) -> dict[str, Any]:
        if isinstance(value, np.generic):
            return {"one": self._aside(np.asarray(value))}
        place = _place(value)
        return {"known": self.known.index(place)} if place in self.known else {"array": self._aside(value)}

    def _aside(self, array: NDArray[Any]) -> str:
        if array.dtype.hasobject:
            raise UnknownError("what is kept must be made of arrays without objects.")
        self.arrays.append(np.asarray(array))
        return f"a{len(self.arrays) - 1}"


class _Reader:
    """Puts a value together again."""

    def __init__(self, arrays: dict[str, NDArray[Any]], known: Sequence[NDArray[Any]]) -> None:
        self.arrays, self.known = arrays, known

    def value(self, node: Any) -> Any:
        """Return what a part of the JSON stands for."""
        if not isinstance(node, dict):
            return node
        ((kind, given),) = node.items()
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(self.value(one) for one in given)
        if kind == "dict":
            return {self.value(key): self.value(one) for key, one in given}
        if kind == "one":
            return self.arrays[given][()]
        if kind in ("array", "known"):
            return self.arrays[given] if kind == "array" else self.known[given]
        name, of = given
        if kind == "enum":
            return _type(name)[of]
        if kind == "row":
            return _type(name)(*(self.value(one) for one in of))
        return _type(name)(**{field: self.value(one) for field, one in of.items()})


def _name(of: type) -> str:
    if not of.__module__.startswith(PACKAGE):
        raise UnknownError(f"what is kept must be made of types of this package; got {of.__name__}.")
    return f"{of.__module__}:{of.__qualname__}"


def _type(name: str) -> Any:
    module, _, qualified = name.partition(":")
    if not module.startswith(PACKAGE):
        raise UnknownError("what is kept must be made of types of this package")
    found: Any = getattr(import_module(module), qualified, None)
    if not (isinstance(found, type) and (is_dataclass(found) or issubclass(found, (Enum, tuple)))):
        raise UnknownError("what is kept must be made of types that hold values")
    return found
