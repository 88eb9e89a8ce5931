"""Arrays that a reading leaves over although they could matter: a bias under another name stops the read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from embaudit.errors import must_be, option
from embaudit.io.codecs.arrays import Tensor
from embaudit.io.readers.layout import ROWS_BY_CUSTOM, Layout, is_head, is_kernel, is_tied
from embaudit.io.request import Request

CODED = re.compile(
    r"(?:^|[._])(?:scales|weight_scale(?:_inv)?|kernel_scale|absmax|quant_(?:map|state)\S*|qzeros|zero_points?|SCB)$"
)
"""Names of arrays that numbers of a quantised matrix are multiplied with."""
OPTIONS = {"left": "left-bias", "right": "bias"}
ADAPTED = re.compile(r"\.(?:lora_\w+|base_layer|modules_to_save|original_module)\b")
"""Endings that PEFT puts behind the name of a layer that it changes."""
EMBEDS = re.compile("emb|wte|tok|shared")
"""Parts of the names of input embeddings."""
GENERIC = re.compile(r"(?:^|\.)(?:fc|linear|output|head)\.weight$")
"""Names of heads that other layers have, too."""
NAMED = {"left": "left", "right": "weight"}
"""How a bias and the factors of a side are named."""


def left_over(layout: Layout, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the arrays that play no part.

    Examples
    --------
    >>> left_over(Layout("Q", extras={"right_bias": "b"}), {"Q": Tensor((3, 2), "float64"), "x": Tensor((3,), "int64")})
    {'x': Tensor(shape=(3,), dtype='int64')}
    """
    used = {layout.right, layout.left, *layout.extras.values()}
    return {name: tensor for name, tensor in tensors.items() if name not in used}


def require_settled(layout: Layout, tensors: Mapping[str, Tensor], request: Request, where: object) -> None:
    """Refuse a reading that leaves over what could be a bias, ids, or a second table of a side.

    The vectors of one side, asked for as such, need no bias.

    Raises
    ------
    InputError
        For an array with one number for each entity or dimension of a side, or with the shape of a side of a pair.

    Examples
    --------
    >>> tensors = {"P": Tensor((5, 2), "float64"), "Q": Tensor((7, 2), "float64"), "u_bias": Tensor((5,), "float64")}
    >>> require_settled(Layout("Q", "P"), tensors, Request(), "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: every array of a.npz that could matter must be named or left out; got u_bias (5,), ...
    """
    if request.kind == "vectors":
        return
    for name, tensor in left_over(layout, tensors).items():
        for why, remedy in _could_be(name, tensor, layout, tensors):
            what = f"every array of {where} that could matter"
            ways = [remedy] if remedy else []
            ways.append(f"leave it out with {option('ignore', name)}")
            raise must_be(what, "named or left out", f"{name} {tensor.shape}, {why}", ", or ".join(ways))


def require_head(layout: Layout, tensors: Mapping[str, Tensor], where: object) -> None:
    """Refuse a head that a name alone chose where others could be it, change it, or come after it.

    Raises
    ------
    InputError
        For weights of adapters beside it, input embeddings beside another matrix of their shape, and a layer whose
        outputs another one takes.

    Examples
    --------
    >>> tensors = {"fc.weight": Tensor((3, 5), "float32"), "decoder.weight": Tensor((5, 3), "float32")}
    >>> require_head(Layout("fc.weight", head=True), tensors, "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the head of a.npz must be its last layer; got fc.weight (3, 5), whose outputs ...
    """
    adapted = next(
        (name for name in tensors if (match := ADAPTED.search(name)) and is_head(name[: match.start()])), None
    )
    if adapted is not None:
        remedy = "merge the adapters into the model (model.merge_and_unload() in PEFT) and save it again"
        raise must_be(f"the head of {where}", "one matrix", f"{adapted}, which changes it", remedy)
    shape, matrices = tensors[layout.right].shape, {name: x.shape for name, x in tensors.items() if len(x.shape) == 2}
    remaining = [name for name in matrices if name != layout.right]
    if is_tied(layout.right):
        rival = next((x for x in remaining if matrices[x] in (shape, shape[::-1]) and not EMBEDS.search(x)), None)
        if rival is not None:
            remedy = f"name the head with {option('weight', rival)} and --kind=head"
            got = f"{layout.right} and {rival}, both {shape}"
            raise must_be(f"the head of {where}", "the only matrix of its shape", got, remedy)
    if GENERIC.search(layout.right):
        remedy = f"name it with {option('weight', layout.right)} and --kind=head if a softmax follows it"
        n_labels = shape["right" in layout.transposed]
        after = next(
            (x for x in remaining if matrices[x][1] == n_labels and n_labels > 1 and x.endswith(".weight")), None
        )
        if after is not None:
            got = f"{layout.right} {shape}, whose outputs {after} takes"
            raise must_be(f"the head of {where}", "its last layer", got, remedy)
        beside = next((x for x in remaining if 1 in shape and matrices[x][0] == max(shape) > 1), None)
        if beside is not None:
            got = f"{layout.right} {shape}, one number for each row of {beside}"
            raise must_be(f"the head of {where}", "rows of labels", got, remedy)


def require_floats(name: str, tensors: Mapping[str, Tensor], where: object, *, alone: bool = False) -> None:
    """Refuse codes of a quantised matrix, whose cosines are not those of the numbers that they stand for.

    Raises
    ------
    InputError
        For integers, types of eight bits and fewer, and numbers with scales beside them.
    """
    dtype, what = tensors[name].dtype, f"{where}" if alone else f"{name} of {where}"
    # What the format itself has undone is float32.
    if dtype != "bfloat16" and dtype not in ("float16", "float32", "float64"):
        remedy = "store the numbers they stand for as float32"
        raise must_be(what, "floating-point numbers", f"{dtype}, counts or codes", remedy)
    layer = name.rpartition(".")[0]
    for other in tensors:
        beside = other.rpartition(".")[0] == layer or other.startswith((f"{name}.", f"{name}_"))
        if other != name and beside and CODED.search(other):
            got = f"{other} beside it, as quantised matrices have"
            raise must_be(what, "numbers as they are", got, "store the product as float32")


def _could_be(
    name: str, tensor: Tensor, layout: Layout, tensors: Mapping[str, Tensor]
) -> Iterator[tuple[str, str | None]]:
    """Yield what an array could be, and how to name it as that."""
    numeric = tensor.is_real and np.dtype("f4" if tensor.dtype == "bfloat16" else tensor.dtype).kind == "f"
    pair = layout.left is not None and not layout.head
    for side, source, (rows, columns) in _sides(layout, tensors):
        if _is_vector(tensor, rows) and not _of_another_layer(name, layout, tensors):
            yield (
                f"one value for each entity of {source}",
                f"name it with {option(OPTIONS[side], name)}" if numeric else None,
            )
        by_custom = source.endswith(ROWS_BY_CUSTOM) or is_kernel(source)
        if numeric and _is_vector(tensor, columns) and not (layout.head and by_custom):
            yield f"one number for each dimension of {source}", None
        if pair and tensor.shape == tensors[source].shape:
            yield f"the shape of {source}", f"name it with {option(NAMED[side], name)}"
    is_layer = (name.endswith(".weight") or is_kernel(name)) and len(tensor.shape) > 1 and 1 not in tensor.shape
    if pair and numeric and is_layer:
        yield "a layer beside the tables", "export the outputs of both towers and read these"


def _sides(layout: Layout, tensors: Mapping[str, Tensor]) -> list[tuple[str, str, tuple[int, ...]]]:
    """Return side, array and shape as rows and columns; none of a pair that does not fit, which is refused later."""
    named = [(side, getattr(layout, side)) for side in ("right", "left")]
    sides = [
        (side, source, tensors[source].shape[:: -1 if side in layout.transposed else 1])
        for side, source in named
        if source is not None
    ]
    fits = all(len(shape) == 2 for _, _, shape in sides) and len({shape[1] for _, _, shape in sides}) == 1
    return sides if fits else []


def _is_vector(tensor: Tensor, size: int) -> bool:
    return len(tensor.shape) in (1, 2) and size in tensor.shape and prod(tensor.shape) == size


def _of_another_layer(name: str, layout: Layout, tensors: Mapping[str, Tensor]) -> bool:
    """Return whether an array of a network with a head lies beside others of its size, as that of a norm does."""
    layer, dot, _ = name.rpartition(".")
    beside = (x for x in tensors if x not in (name, layout.right) and x.rpartition(".")[0] == layer)
    size = max(tensors[name].shape)
    return layout.head and bool(dot) and any(_is_of(tensors[x].shape, size, kernel=is_kernel(x)) for x in beside)


def _is_of(shape: tuple[int, ...], size: int, *, kernel: bool) -> bool:
    return (shape[-1:] if kernel else shape[:1]) == (size,)
