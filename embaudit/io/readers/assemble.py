"""From arrays with names to a model: transposed, biases flattened, a binary head completed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import Arrays
from embaudit.io.readers.layout import Layout, choose
from embaudit.io.request import Request
from embaudit.model import FactorModel


def assemble(arrays: Arrays, request: Request, where: object) -> FactorModel:
    """Make a model of named arrays.

    Raises
    ------
    InputError
        If the names leave more than one reading, or shapes do not fit.
    """
    layout = choose({name: tensor.shape for name, tensor in arrays.tensors.items()}, request, where)
    if request.kind == "vectors" and layout.left is not None:
        kept = {
            name: layout.extras[name] for name in ("right_ids", "right_names", "right_counts") if name in layout.extras
        }
        layout = Layout(layout.right, transposed=layout.transposed & {"right"}, extras=kept)
    extras = {name: _extra(arrays, source, name) for name, source in layout.extras.items()}
    right = _side(arrays, layout, "right")
    assert right is not None
    if layout.head and len(right) == 1:
        right, extras["right_bias"] = two_labels(right, extras.get("right_bias", np.zeros(1)))
    if layout.head:
        extras |= {"link": "softmax", "roles": ("input", "label")}
    return FactorModel(left=_side(arrays, layout, "left"), right=right, **extras)


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
    # Embedding layers keep a bias as a column.
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


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
