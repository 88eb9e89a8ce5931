"""Turn named arrays into the fields of a model, whose numbers are read later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.arrays import UNNAMED, Arrays, Tensor, are_signs, as_stored
from embaudit.io.contents import OF_VECTORS, Contents, Source
from embaudit.io.intake import Part
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.layouts.checkpoints.final_norm import with_norm
from embaudit.io.layouts.checkpoints.tying import tying_of
from embaudit.io.layouts.checks import EMBEDDINGS, Chosen, require_settled
from embaudit.io.layouts.choosing import choose
from embaudit.io.layouts.layout import Layout, squeezed
from embaudit.io.layouts.recipes import head_recipe, is_tied
from embaudit.io.options import Kind, Request
from embaudit.io.remote import with_urls
from embaudit.model import softmax_link
from embaudit.model.tying import Tying

OF_HEAD = ("input", "label")
"""Nouns for the rows of both sides of a softmax head."""


@dataclass(frozen=True, eq=False)
class Signs:
    """Arrays in which a matrix of the integers 1 and -1 has the type float32.

    Binary embeddings are stored like this. Matrices of other integers keep their type,
    and are refused as counts or codes.
    """

    arrays: Arrays
    tensors: Mapping[str, Tensor]

    @classmethod
    def in_place_of(cls, arrays: Arrays) -> Arrays:
        """Return the arrays, with float32 as the type of each matrix of 1 and -1."""
        signs = {
            name: replace(tensor, dtype="float32")
            for name, tensor in arrays.tensors.items()
            if tensor.dtype.startswith("int")
            and len(squeezed(tensor.shape)) == 2
            and are_signs(arrays[name])
        }
        return cls(arrays, {**arrays.tensors, **signs}) if signs else arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read one array."""
        return self.arrays[name]


def contents_of(
    arrays: Arrays, request: Request, where: object, config: Config | None = None
) -> Contents:
    """Determine which fields of a model named arrays hold.

    Raises
    ------
    InputError
        If the names allow more than one reading, or an array that could be a bias is
        left over.
    """
    arrays = Signs.in_place_of(arrays)
    layout = layout_of(arrays, request, where, config)
    return contents_of_layout(arrays, layout, request, where, config)


def contents_beside(
    arrays: Arrays, names: Mapping[str, str], request: Request, where: object
) -> Contents:
    """Determine whether one array is a head or vectors, by the arrays next to it.

    Parameters
    ----------
    arrays : Arrays
        The array and those next to it.
    names : mapping
        Names of the arrays by option; the array itself is `weight`.
    request : Request
        What the caller says.
    where : path or str
        The file, as an error names it.
    """
    # If the left side comes from elsewhere, a bias belongs to factors, not to a head.
    has_left = request.left_file is not None and request.kind in ("auto", "factors")
    kind: Kind = request.kind
    if has_left:
        kind = "vectors"
    elif kind == "auto":
        kind = "head" if "bias" in names else "vectors"
    options: dict[str, Any] = {**names, "kind": kind}
    contents = contents_of(arrays, replace(request, **options), where)
    # A file of one array has no names.
    return replace(contents, layout=None)


def layout_of(
    arrays: Arrays, request: Request, where: object, config: Config | None = None
) -> Layout:
    """Choose the layout of named arrays, and check the arrays that are left over.

    Raises
    ------
    InputError
        If the names allow more than one reading, or an array that could be a bias is
        left over.
    """
    tensors = {
        name: tensor
        for name, tensor in arrays.tensors.items()
        if not request.ignores(name)
    }
    shapes = {name: squeezed(tensor.shape) for name, tensor in tensors.items()}
    whole = choose(shapes, request, where)
    fields = dict(whole.fields)
    if request.kind == "vectors" and "left" in fields:
        # Vectors are only the right side, so arrays of the left side are left over.
        fields = {field: name for field, name in fields.items() if field in OF_VECTORS}
    if request.left_id_array is not None:
        fields["left_ids"] = request.left_id_array
    if request.id_array is not None:
        fields["right_ids"] = request.id_array
    transposed = whole.transposed & fields.keys()
    layout = replace(whole, fields=fields, transposed=transposed)
    stored = Config() if config is None else config
    require_settled(
        Chosen(layout, whole, tensors, arrays.tensors, request, where, stored)
    )
    return layout


def contents_of_layout(
    arrays: Arrays,
    layout: Layout,
    request: Request,
    where: object,
    config: Config | None = None,
) -> Contents:
    """Return the fields of a model whose arrays have the roles of a layout.

    For a head these include what its configuration says: the soft cap of its logits,
    whether it is tied to the input embeddings, and the final norm before it.
    """
    tensors = arrays.tensors
    fields = {field: _source(arrays, layout, field, where) for field in layout.fields}
    assumed = []
    if request.transpose is None:
        assumed = [
            f"{layout.fields[side]} has one column per entity"
            for side in sorted(layout.transposed)
        ]
    roles = Contents.roles
    if layout.head:
        roles = OF_HEAD
        stored = Config() if config is None else config
        link = softmax_link(soft_cap=stored.soft_cap)
        fields["link"] = Source.from_value("its name", link)
        fields["tying"] = Source("", partial(_tying, arrays, layout.right, stored))
        if layout.n_rows(tensors) == 1:
            fields |= _two_labels_of(fields)
            assumed.append("one row stands for two labels, the first with scores of 0")
    left_over = tuple(
        Part(name, "", tensor.shape, tensor.rounded)
        for name, tensor in layout.left_over(tensors).items()
    )
    contents = Contents(fields, left_over, tuple(assumed), roles, layout=layout.title)
    if config is None:
        return contents
    return with_norm(contents, arrays, config, request, where)


def _source(arrays: Arrays, layout: Layout, field: str, where: object) -> Source:
    """Return the place of one field, whose numbers are read when a model is made."""
    name = layout.fields[field]
    tensor = arrays.tensors[name]
    if field not in ("left", "right"):
        read = partial(_values_beside, arrays, name, field)
        return Source(name, read, tensor.shape, tensor.rounded)
    return Source(
        name,
        partial(_rows_of_side, arrays, name, field in layout.transposed),
        squeezed(tensor.shape),
        tensor.rounded,
        path=with_urls(str(where)),
        # An array that has a file of its own has no name there.
        array=UNNAMED if name == str(where) else name,
    )


def _rows_of_side(arrays: Arrays, name: str, transposed: bool) -> NDArray[Any]:
    """Read the rows of a side. They stay on disk if models can use their type."""
    matrix = arrays[name]
    if matrix.ndim > 2:
        matrix = matrix.reshape(squeezed(matrix.shape))
    return as_stored(matrix.T if transposed else matrix)


def _values_beside(arrays: Arrays, name: str, field: str) -> Any:
    """Read a bias, an offset, ids, names or counts as a model takes them."""
    array = arrays[name]
    if field == "offset":
        if array.size != 1 or array.dtype.kind not in "fiu":
            got = f"shape {array.shape} of {array.dtype}"
            raise must_be(f"the array {name}", "one number", got)
        return float(array.reshape(()))
    if field.endswith(("_ids", "_names")) and array.dtype.kind == "f":
        # Ids are no fractions, so the array can be a bias under another name.
        fractions = array[array != np.floor(array)]
        if fractions.size:
            raise must_be(
                f"the array {name}",
                "ids or names (integers or text)",
                f"fractions such as {fractions.flat[0]}",
                Sentence("ignore it with {}", Option("ignore", name)),
            )
    # Embedding layers store a bias as a column. Networks that add it to all logits
    # store it as a row.
    if array.ndim == 2 and 1 in array.shape:
        return array.reshape(-1)
    return array


def _tying(arrays: Arrays, head: str, config: Config) -> Tying | None:
    """Determine whether a head is also the input embeddings; None if it is not."""
    tensors = arrays.tensors
    same_shape = [
        name
        for name, tensor in tensors.items()
        if name != head and tensor.shape == tensors[head].shape
    ]
    recipe = head_recipe(head)
    if not is_tied(head):
        embeddings = [
            name
            for name in same_shape
            if is_tied(name) or any(part in name for part in EMBEDDINGS)
        ]
        predicts_tokens = recipe is not None and recipe.rows == "tokens"
        return tying_of(
            head, embeddings, arrays, config, predicts_tokens=predicts_tokens
        )
    # The matrix has the name of input embeddings. It was chosen because the checkpoint
    # holds no other head, or the caller chose it although there is another head.
    heads = [
        name
        for name in same_shape
        if head_recipe(name) is not None and not is_tied(name)
    ]
    if heads:
        return tying_of(head, heads, arrays, config, predicts_tokens=True)
    if config.has_own_head:
        return None
    reason = "the checkpoint holds no other head"
    if config.ties_head:
        reason = "tie_word_embeddings of config.json is true"
    return Tying("tied", head, reason)


def _two_labels_of(fields: Mapping[str, Source]) -> dict[str, Source]:
    """Return weights and bias of two labels for a head that stores one row."""
    weight = fields["right"]
    bias = fields.get("right_bias", Source.from_value("", np.zeros(1)))
    # Weights and bias are completed together, when the first of them is read.
    both = cache(lambda: two_labels(weight.read(), bias.read()))
    return {
        "right": replace(weight, read=lambda: both()[0]),
        "right_bias": replace(bias, read=lambda: both()[1]),
    }


def two_labels(
    weight: NDArray[Any], bias: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Complete a binary head: one row w is the two labels 0 and w.

    The probability of the second label is p = σ(x·w + b) = softmax((0, x·w + b)).

    Raises
    ------
    InputError
        If the bias is not one number.

    Examples
    --------
    >>> two_labels(np.array([[2.0]]), np.array([0.5]))
    (array([[0.], [2.]]), array([0. , 0.5]))
    """
    if bias.shape != (1,):
        raise InputError(
            "the bias of a head with one row must be one number; got shape "
            f"{bias.shape}."
        )
    weights = np.concatenate([np.zeros_like(weight), weight])
    return weights, np.concatenate([np.zeros(1), bias])
