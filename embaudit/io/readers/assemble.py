"""From arrays with names to a model: transposed, biases flattened, a binary head completed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import UNNAMED, Arrays
from embaudit.io.codecs.held import as_stored
from embaudit.io.intake import Intake, Part
from embaudit.io.readers.layout import Layout, choose
from embaudit.io.readers.leftovers import left_over, require_settled
from embaudit.io.remote import with_urls
from embaudit.io.request import Request
from embaudit.model import FactorModel
from embaudit.model.lazy_array import LazyArray

OF_VECTORS = ("right_ids", "right_names", "right_counts")
"""What is kept of a pair where only its right vectors are asked for."""
OF_HEAD = ("input", "label")
"""What the sides of a softmax head are called."""


def assemble(arrays: Arrays, request: Request, where: object) -> FactorModel:
    """Make a model of named arrays.

    Raises
    ------
    InputError
        If the names leave more than one reading, or shapes do not fit.
    """
    layout = planned(arrays, request, where)
    extras = {name: _extra(arrays, source, name) for name, source in layout.extras.items()}
    right = _side(arrays, layout, "right")
    assert right is not None
    if layout.head and len(right) == 1:
        right, extras["right_bias"] = two_labels(right, extras.get("right_bias", np.zeros(1)))
    if layout.head:
        extras |= {"link": "softmax", "roles": OF_HEAD}
    left = _side(arrays, layout, "left")
    sides: dict[str, Any] = {"left": left, "right": right}
    for side, array in sides.items():
        if array is not None:
            sides[side] = _unread(array, *_home(arrays, getattr(layout, side), where))
    return FactorModel(**{"link": None, **sides, **extras})


def _home(arrays: Arrays, name: str, where: object) -> tuple[str, str]:
    """Say which file an array lies in, and what it is called there: nothing where it stands alone."""
    homes: Mapping[str, Path] = getattr(arrays, "homes", {})
    return (str(homes[name]), UNNAMED) if name in homes else (str(where), name)


def _unread(array: NDArray[Any], path: str, name: str) -> LazyArray:
    """Name an array as its file does; one that lies on disk is not looked through before it is used."""
    read = partial(as_stored, array)
    return LazyArray(with_urls(path), name, array.shape, array.dtype, read, on_disk=isinstance(array, np.memmap))


def planned(arrays: Arrays, request: Request, where: object) -> Layout:
    """Decide which array is what by headers alone, and refuse to leave over what could matter.

    Raises
    ------
    InputError
        If the names leave more than one reading, or an array that could be a bias has no part in it.
    """
    tensors = {name: tensor for name, tensor in arrays.tensors.items() if not request.ignores(name)}
    layout = choose({name: tensor.shape for name, tensor in tensors.items()}, request, where)
    if request.kind == "vectors" and layout.left is not None:
        extras = {name: source for name, source in layout.extras.items() if name in OF_VECTORS}
        layout = Layout(layout.right, transposed=layout.transposed & {"right"}, extras=extras)
    named = {"left_ids": request.left_ids, "right_ids": request.ids}
    extras = {field: name for field, name in named.items() if name is not None and name in tensors}
    layout = replace(layout, extras={**layout.extras, **extras})
    require_settled(layout, tensors, request, where)
    return layout


def looked(arrays: Arrays, request: Request, path: Path, kind: str) -> Intake:
    """Say which arrays of a file become what; nothing but headers is read.

    Raises
    ------
    InputError
        As `planned` does.
    """
    layout = planned(arrays, request, path)
    roles = {"left": layout.left, "right": layout.right, **layout.extras}
    found = ((role, name, arrays.tensors[name]) for role, name in roles.items() if name is not None)
    parts = (Part(name, role, tensor.shape, tensor.rounded) for role, name, tensor in found)
    rest = (Part(name, "", tensor.shape, tensor.rounded) for name, tensor in left_over(layout, arrays.tensors).items())
    link = (Part("its name", "link"),) if layout.head else ()
    titles = OF_HEAD if layout.head else Intake.titles
    return Intake(kind, (str(path),), (*parts, *link), tuple(rest), tuple(_assumed(layout, arrays, request)), titles)


def _assumed(layout: Layout, arrays: Arrays, request: Request) -> Iterator[str]:
    for side in sorted(layout.transposed):
        if request.transpose is None:
            yield f"{getattr(layout, side)} has one column an entity"
    shape = arrays.tensors[layout.right].shape
    if layout.head and len(shape) == 2 and shape[side_axis(layout)] == 1:
        yield "one row stands for two labels, the first with scores of 0"


def side_axis(layout: Layout) -> int:
    """Return the axis of the right array that counts entities."""
    return int("right" in layout.transposed)


def _side(arrays: Arrays, layout: Layout, side: str) -> NDArray[Any] | None:
    name = getattr(layout, side)
    if name is None:
        return None
    array = arrays[name]
    return array.T if side in layout.transposed and array.ndim == 2 else array


def _extra(arrays: Arrays, source: str, name: str) -> Any:
    array = arrays[source]
    if name == "offset":
        if array.size != 1 or array.dtype.kind not in "fiu":
            raise must_be(source, "one number", f"shape {array.shape} of {array.dtype}")
        return float(array.reshape(()))
    if name.endswith(("_ids", "_names")) and array.dtype.kind == "f" and (array != np.floor(array)).any():
        # Whatever it is called, it is none: a bias perhaps.
        got = f"fractions such as {array[array != np.floor(array)].flat[0]}"
        remedy = f"leave it out with ignore (--ignore {source})"
        raise must_be(source, "ids or names, whole numbers or text", got, remedy)
    # Embedding layers keep a bias as a column, networks that add it to all logits as a row.
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def two_labels(weight: NDArray[Any], bias: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Complete a binary head: one row w is the two labels 0 and w, `p = σ(x·w + b) = softmax((0, x·w + b))`.

    Examples
    --------
    >>> two_labels(np.array([[2.0]]), np.array([0.5]))
    (array([[0.], [2.]]), array([0. , 0.5]))
    """
    if bias.shape != (1,):
        raise InputError(f"the bias of a head with one row must be one number; got shape {bias.shape}.")
    return np.concatenate([np.zeros_like(weight), weight]), np.concatenate([np.zeros(1), bias])
