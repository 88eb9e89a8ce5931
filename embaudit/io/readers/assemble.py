"""From arrays with names to a model: transposed, biases flattened, a binary head completed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be, option
from embaudit.io.checkpoints.config import Config
from embaudit.io.checkpoints.final_norm import with_norm
from embaudit.io.checkpoints.tokens import Tokens, tokens_of
from embaudit.io.codecs.arrays import UNNAMED, Arrays, as_stored
from embaudit.io.intake import OF_VECTORS, Contents, Part, Source
from embaudit.io.readers.layout import (
    Layout,
    choose,
    require_floats,
    require_head,
    require_settled,
    require_told,
    squeezed,
)
from embaudit.io.remote import with_urls
from embaudit.io.request import Kind, Request
from embaudit.model import Softmax
from embaudit.model.lazy_array import LazyArray

OF_HEAD = ("input", "label")
"""Nouns for the rows of both sides of a softmax head."""


def contents_of(arrays: Arrays, request: Request, where: object, config: Config | None = None) -> Contents:
    """Determine which fields of a model named arrays hold; nothing but headers is read.

    Raises
    ------
    InputError
        If the names leave more than one reading, or an array that could be a bias has no part in it.
    """
    return contents_of_layout(arrays, planned(arrays, request, where, config), request, where, config)


def contents_beside(arrays: Arrays, names: Mapping[str, str], request: Request, where: object) -> Contents:
    """Determine what one array is by those beside it, whose names are given by option; its own is that of `weight`."""
    told: Kind = "factors" if "left" in names else "head" if "bias" in names else "vectors"
    options: dict[str, Any] = {**names, "kind": told if request.kind == "auto" else request.kind}
    return contents_of(arrays, replace(request, **options), where)


def contents_of_layout(
    arrays: Arrays, layout: Layout, request: Request, where: object, config: Config | None = None
) -> Contents:
    """Return the fields of a model whose arrays have the roles of a layout, and what a configuration says of a head."""
    tensors = arrays.tensors
    fields: dict[str, Source] = {}
    for field, name in layout.fields.items():
        shape, is_side = tensors[name].shape, field in ("left", "right")
        read = (
            partial(_side, arrays, name, where, field in layout.transposed)
            if is_side
            else partial(_extra, arrays, name, field)
        )
        fields[field] = Source(name, read, squeezed(shape) if is_side else shape, tensors[name].rounded)
    sides = [layout.fields[side] for side in sorted(layout.transposed)] if request.transpose is None else []
    assumed = [f"{name} has one column an entity" for name in sides]
    if layout.head:
        cap = None if config is None else config.soft_cap
        fields["link"] = Source.of("its name", Softmax(soft_cap=cap) if cap else "softmax")
        if layout.n_rows(tensors) == 1:
            weight, bias = fields["right"], fields.get("right_bias", Source.of("", np.zeros(1)))
            # Weights and bias are completed together, once, when one of them is used.
            both = cache(lambda: two_labels(weight.read().read(), bias.read()))
            fields["right"] = replace(weight, read=lambda: both()[0])
            fields["right_bias"] = replace(bias, read=lambda: both()[1])
            assumed.append("one row stands for two labels, the first with scores of 0")
    rest = (Part(name, "", tensor.shape, tensor.rounded) for name, tensor in layout.left_over(tensors).items())
    contents = Contents(fields, tuple(rest), tuple(assumed), OF_HEAD if layout.head else Contents.roles)
    return contents if config is None else with_norm(contents, arrays, config, request, where)


def _side(arrays: Arrays, name: str, where: object, transposed: bool) -> LazyArray:
    """Name an array as its file does; one that lies on disk is not looked through before it is used."""
    # An array that has a file of its own has no name there.
    called = UNNAMED if name == str(where) else name
    stored = arrays[name]
    matrix = stored if stored.ndim <= 2 else stored.reshape(squeezed(stored.shape))
    array = matrix.T if transposed else matrix
    read = partial(as_stored, array)
    return LazyArray(
        with_urls(str(where)), called, array.shape, array.dtype, read, on_disk=isinstance(array, np.memmap)
    )


def planned(arrays: Arrays, request: Request, where: object, config: Config | None = None) -> Layout:
    """Decide which array is what by headers alone, and refuse to leave over what could matter.

    Raises
    ------
    InputError
        If the names leave more than one reading, or an array that could be a bias has no part in it.
    """
    tensors = {name: tensor for name, tensor in arrays.tensors.items() if not request.ignores(name)}
    layout = choose({name: squeezed(tensor.shape) for name, tensor in tensors.items()}, request, where)
    # Vectors are the right side alone: what belongs to the left side is left over.
    fields = dict(layout.fields)
    if request.kind == "vectors" and "left" in fields:
        fields = {field: name for field, name in fields.items() if field in OF_VECTORS}
    named = {"left_ids": request.left_ids, "right_ids": request.ids}
    fields |= {field: name for field, name in named.items() if isinstance(name, str) and name in tensors}
    layout = replace(layout, fields=fields, transposed=layout.transposed & set(fields))
    # Codes are refused first: whoever was asked about their scales would call them biases.
    for name in (layout.fields[side] for side in ("left", "right") if side in layout.fields):
        require_floats(name, arrays.tensors, where)
    require_settled(layout, tensors, request, where)
    if layout.head and request.weight is None:
        require_head(layout, tensors, where)
        require_told(layout.right, Config() if config is None else config, request, where)
    return layout


def named_by(tokens: Tokens | None) -> dict[str, Source]:
    """Return the fields that call the rows of a head by its tokens, where these are known."""
    if tokens is None:
        return {}
    names = Source(tokens.source, lambda: tokens.names, (tokens.n_known,))
    return {"right_names": names, "right_aside": Source.of("", tokens.aside)}


def tokens_beside(folder: Path, contents: Contents) -> dict[str, Source]:
    """Call the rows of one table by the tokens of its folder, where it has a row for each of them and no others."""
    (n_rows, *_) = contents.fields["right"].shape or (None,)
    if n_rows is None or {"left", "right_ids", "right_names"} & set(contents.fields):
        return {}
    tokens = tokens_of(folder, n_rows)
    return named_by(tokens) if tokens is not None and tokens.n_known == n_rows else {}


def _extra(arrays: Arrays, source: str, name: str) -> Any:
    """Read a bias, an offset, ids, names or counts as a model takes them."""
    array = arrays[source]
    if name == "offset":
        if array.size != 1 or array.dtype.kind not in "fiu":
            raise must_be(source, "one number", f"shape {array.shape} of {array.dtype}")
        return float(array.reshape(()))
    if name.endswith(("_ids", "_names")) and array.dtype.kind == "f" and (array != np.floor(array)).any():
        # Whatever it is called, it is none: a bias perhaps.
        got = f"fractions such as {array[array != np.floor(array)].flat[0]}"
        remedy = f"leave it out with {option('ignore', source)}"
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
