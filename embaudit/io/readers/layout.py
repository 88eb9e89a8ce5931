"""Roles of a file's named arrays (factors, heads, biases and ids): told by name and shape, or by the caller."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TypeAlias

from embaudit.core.words import listed
from embaudit.errors import InputError, must_be
from embaudit.io.request import Request

Shapes: TypeAlias = "Mapping[str, tuple[int, ...]]"

PAIRS = {
    ("userfactors", "itemfactors"), ("userembedding", "itemembedding"), ("userembeddings", "itemembeddings"),
    ("useremb", "itememb"), ("embeduser", "embeditem"), ("embeddinguser", "embeddingitem"),
    ("userembed", "itemembed"), ("uservectors", "itemvectors"), ("users", "items"), ("ufactors", "ifactors"),
    ("uembeddings", "iembeddings"), ("left", "right"), ("pu", "qi"), ("u", "v"), ("p", "q"),
    ("w", "h"), ("u", "vt"), ("u", "vh"),
    ("queries", "documents"), ("queryembeddings", "documentembeddings"),
}  # fmt: skip
FACTORS = {name for pair in PAIRS for name in pair}
HEADS = {
    "lm_head.weight": "lm_head.bias", "classifier.weight": "classifier.bias", "score.weight": "score.bias",
    "classifier.out_proj.weight": "classifier.out_proj.bias", "logits_proj.weight": "logits_proj.bias",
    "classification_head.out_proj.weight": "classification_head.out_proj.bias", "fc.weight": "fc.bias",
    "head.weight": "head.bias", "output.weight": "output.bias", "linear.weight": "linear.bias", "weight": "bias",
    "weights": "bias", "W": "b", "embed_out.weight": "embed_out.bias", "lm_head.decoder.weight": "lm_head.decoder.bias",
    "cls.predictions.decoder.weight": "cls.predictions.decoder.bias", "vocab_projector.weight": "vocab_projector.bias",
    "generator_lm_head.weight": "generator_lm_head.bias", "predictions.decoder.weight": "predictions.decoder.bias",
    "softmax_w": "softmax_b", "coef_": "intercept_", "kernel": "bias", "unembeddings": "bias",
    "unembed.W_U": "unembed.b_U", "unembed.weight": "unembed.bias",
}  # fmt: skip
BARE = ("weight",)
"""Names of the weights of any layer, which alone say nothing of labels."""
TIED = (
    "model.embed_tokens.weight", "model.language_model.embed_tokens.weight", "model.decoder.embed_tokens.weight",
    "language_model.model.embed_tokens.weight", "transformer.wte.weight", "wte.weight", "backbone.embeddings.weight",
    "transformer.word_embeddings.weight", "model.tok_embeddings.weight", "shared.weight", "biogpt.embed_tokens.weight",
    "token_embd.weight", "tok_embeddings.weight",
    "embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight",
)  # fmt: skip
"""Input embeddings that serve as the head where no other is stored."""
MASKED = TIED[-2:]
"""Names among them that every encoder has: the bias of a head says that one is there."""
APART = (
    "cls.predictions.bias", "cls.predictions.decoder.bias", "lm_head.bias", "lm_head.decoder.bias", "predictions.bias",
    "predictions.decoder.bias", "vocab_projector.bias", "generator_lm_head.bias", "decoder.bias", "final_logits_bias",
)  # fmt: skip
"""Biases of heads whose weights are stored under another name."""
WRAPPED = re.compile(r"^(?:_orig_mod\.|module\.)+")
"""Prefixes of the names of arrays by torch.compile and parallel training."""
INNER = re.compile(r"(?:^|\.)(?:(?:layers?|blocks?|h)\.\d+|gate|router|experts?|moe)\.")
"""Beginning of a layer of many, or of a choice of experts, in the name of an array: a classifier there is no head."""
TRANSPOSED = {"h", "vt", "vh", "components", "kernel", "unembedwu"}
ROWS_BY_CUSTOM = ("weight", "coef_")
BIASES = {
    "left": ("userbias", "userbiases", "leftbias", "bu", "ubiases"),
    "right": ("itembias", "itembiases", "rightbias", "bi", "ibiases"),
}
OFFSETS = ("offset", "globalbias", "globalmean", "mu", "mean", "meanrating", "ratingmean", "averagerating")
IDS = {"left": ("userids", "leftids"), "right": ("itemids", "rightids", "ids", "words", "indextokey", "tokens")}
NAMES = {"left": ("usernames", "leftnames"), "right": ("itemnames", "itemtitles", "rightnames", "labels", "classes")}
COUNTS = {"left": ("usercounts", "leftcounts"), "right": ("itemcounts", "rightcounts")}
KNOWN_OF_ROWS: Mapping[str, Mapping[str, tuple[str, ...]]] = {"ids": IDS, "names": NAMES, "counts": COUNTS}
INPUTS = ("inputs", "hiddenstates")
SINGULAR = ("s", "sigma", "singularvalues")


@dataclass(frozen=True)
class Layout:
    """The roles of a file's arrays."""

    right: str
    left: str | None = None
    head: bool = False
    transposed: frozenset[str] = frozenset()
    """The sides stored with one column an entity."""
    extras: Mapping[str, str] = field(default_factory=dict)
    """Fields of a model (`right_bias`, `left_ids`, …) and the arrays that hold them."""


def plain(name: str) -> str:
    """Return an array's name without case, punctuation and a `.weight` or `.embeddings` at its end.

    Examples
    --------
    >>> plain("user_embedding.weight")
    'userembedding'
    """
    name = WRAPPED.sub("", name).removesuffix(".weight").removesuffix(".embeddings")
    return re.sub(r"[\W_]", "", name).lower()


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Drop axes of length 1 of an array with more than two axes, where a matrix is left; convolutions end in two.

    Examples
    --------
    >>> squeezed((1, 9, 512)), squeezed((2, 9, 512)), squeezed((16, 8, 1, 1))
    ((9, 512), (2, 9, 512), (16, 8, 1, 1))
    """
    sizes = tuple(size for size in shape if size != 1)
    return sizes if len(shape) > 2 == len(sizes) and shape[-2:] != (1, 1) else shape


def is_kernel(name: str) -> bool:
    """Return whether an array is what Keras and Flax call the weights of a layer, one column an output.

    Examples
    --------
    >>> is_kernel("dense.kernel"), is_kernel("params/Dense_1/kernel"), is_kernel("kernel.weight")
    (True, True, False)
    """
    return re.split("[./]", name)[-1] == "kernel"


def choose(shapes: Shapes, request: Request, where: object) -> Layout:
    """Determine which of the arrays is what, by what the caller said and by their names and shapes.

    Raises
    ------
    InputError
        If a named array is not there, or the names leave more than one reading.

    Examples
    --------
    >>> choose({"P": (5, 2), "Q": (7, 2)}, Request(), "a.npz").right
    'Q'
    >>> choose({"a": (5, 2), "b": (7, 2)}, Request(), "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the arrays of a.npz must be one recognised table, pair or head; got a (5, 2), ...
    """
    for option in ("left", "right", "weight", "bias", "left_bias", "embedding"):
        name = getattr(request, option)
        if name is not None and name not in shapes:
            raise must_be(option, f"one of {_listed(shapes)} in {where}", repr(name))
    if request.left is not None or request.right is not None:
        return _chosen_pair(shapes, request, where)
    if request.weight is not None:
        return _chosen_weight(shapes, request, where)
    layouts: list[Layout] = []
    if request.kind in ("auto", "factors", "vectors"):
        layouts += [_pair(shapes, request, left, right, where) for left, right in _pairs(shapes)]
    if request.kind in ("auto", "head"):
        # W beside H is a factor; W beside b is a head.
        factors = {name for layout in layouts for name in (layout.left, layout.right)}
        heads = [_head(shapes, request, name, where) for name in _heads(shapes)]
        layouts += [head for head in heads if head.right not in factors or "right_bias" in head.extras]
    if not layouts and request.kind != "factors":
        layouts = _only_table(shapes, request, where)
    if len(layouts) != 1:
        raise _ambiguous(shapes, where)
    return layouts[0]


def _listed(shapes: Shapes) -> str:
    return listed([f"{name} {shape}" for name, shape in shapes.items()], 12)


def _ambiguous(shapes: Shapes, where: object) -> InputError:
    return must_be(
        f"the arrays of {where}",
        "one recognised table, pair or head",
        _listed({name: shape for name, shape in shapes.items() if len(shape) > 1}) or "no matrix",
        "name two factors with --left=A and --weight=B, or one table with --weight=B and --kind=head or --kind=vectors",
    )


def _chosen_pair(shapes: Shapes, request: Request, where: object) -> Layout:
    """Return the layout of two factor matrices that the caller names."""
    if request.right is not None and request.weight is not None:
        raise InputError("weight must not be given with right; both name the right factors.")
    right = request.right or request.weight
    if request.left is None or right is None:
        raise InputError(
            f"the factors in {where} must both be named, with --left=A and --weight=B; one alone is a table "
            "of vectors, named with --weight=B and --kind=vectors."
        )
    if request.kind == "head":
        raise InputError("a head must be chosen with --weight, its inputs with embedding, in Python alone.")
    return _pair(shapes, request, request.left, right, where)


def _chosen_weight(shapes: Shapes, request: Request, where: object) -> Layout:
    """Return the layout of a head or a table that the caller names."""
    assert request.weight is not None
    is_customary = any(_ends(request.weight, name) for name in (*HEADS, *TIED)) or is_kernel(request.weight)
    is_customary = is_customary or bool(request.bias or request.embedding)
    if request.kind == "factors":
        raise InputError("factors must be named on both sides, with --left=A and --weight=B.")
    if request.kind == "head" or (request.kind == "auto" and is_customary):
        return _head(shapes, request, request.weight, where)
    if request.kind == "vectors":
        return _table(shapes, request, request.weight)
    raise must_be(
        "kind",
        "given with --weight",
        "auto",
        f"say whether {request.weight} is one with --kind=head or --kind=vectors",
    )


def _matrices(shapes: Shapes) -> list[str]:
    return [name for name, shape in shapes.items() if len(shape) == 2]


def _pairs(shapes: Shapes) -> list[tuple[str, str]]:
    names = {plain(name): name for name in _matrices(shapes)}
    return [(names[left], names[right]) for left, right in sorted(PAIRS) if left in names and right in names]


def _ends(name: str, ending: str) -> bool:
    return name == ending or ("." in ending and name.endswith("." + ending))


def is_tied(name: str) -> bool:
    """Return whether an array holds input embeddings, which serve as the head only where both are one.

    Examples
    --------
    >>> is_tied("model.embed_tokens.weight"), is_tied("lm_head.weight")
    (True, False)
    """
    return any(_ends(name, ending) for ending in TIED)


def is_head(layer: str) -> bool:
    """Return whether the weights of a layer are called as those of a head, or as embeddings that may be tied to it.

    Examples
    --------
    >>> is_head("base_model.model.lm_head"), is_head("model.layers.0.self_attn.q_proj")
    (True, False)
    """
    return any(_ends(f"{layer}.weight", ending) for ending in (*HEADS, *TIED)) and not INNER.search(layer)


def _heads(shapes: Shapes) -> list[str]:
    """Return the names of matrices that are heads by their names and biases."""
    masked = {name for name in _matrices(shapes) if any(_ends(name, ending) for ending in MASKED)}
    matrices = [name for name in _matrices(shapes) if name not in masked or _bias_apart(shapes, name)]
    # Any layer has weights: a bias beside them makes them those of a head.
    matrices = [name for name in matrices if name not in BARE or HEADS[name] in shapes]
    # A name of exactly that kind before one below a prefix, which layers inside a network may also have.
    for ending in (HEADS, TIED):
        named = [name for name in matrices if name in ending]
        below = [name for name in matrices if any(_ends(name, ending) for ending in ending) and not INNER.search(name)]
        if named or below:
            return named or below
    return []


def _find(shapes: Shapes, names: Iterable[str]) -> str | None:
    wanted = tuple(names)
    return next((name for name in shapes if plain(name) in wanted), None)


def _pair(shapes: Shapes, request: Request, left: str, right: str, where: object) -> Layout:
    """Return the layout of two factor matrices, with the biases, ids, names and counts of their rows."""
    scale = _find(shapes, SINGULAR)
    if scale is not None and len(shapes[scale]) == 1 and request.left is None:
        raise InputError(
            f"{where} must hold two factor matrices; it holds {left}, {scale} and {right}, and where {scale} "
            f"belongs decides the cosines; save left and right factors with {scale} multiplied in."
        )
    extras = {
        "left_bias": request.left_bias or _find(shapes, BIASES["left"]),
        "right_bias": request.bias or _find(shapes, BIASES["right"]),
        "offset": _find({name: shape for name, shape in shapes.items() if prod(shape) == 1}, OFFSETS),
        **_known_of_rows(shapes, "left"),
        **_known_of_rows(shapes, "right"),
    }
    transposed = _transposed_pair(request, (left, shapes[left]), (right, shapes[right]))
    return Layout(right, left, transposed=transposed, extras=_present(extras))


def _known_of_rows(shapes: Shapes, side: str) -> dict[str, str | None]:
    return {f"{side}_{what}": _find(shapes, of[side]) for what, of in KNOWN_OF_ROWS.items()}


def _present(extras: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in extras.items() if value is not None}


def _transposed_pair(
    request: Request, left: tuple[str, tuple[int, ...]], right: tuple[str, tuple[int, ...]]
) -> frozenset[str]:
    """Return the sides with one column an entity: by request, by name, else by the only shapes that fit."""
    if request.transpose is not None:
        return frozenset(side for side in ("left", "right") if request.transposes(side))
    if plain(right[0]) in TRANSPOSED:
        return frozenset({"right"})
    if len(left[1]) == len(right[1]) == 2:
        fits = {
            frozenset[str](): left[1][1] == right[1][1],
            frozenset({"right"}): left[1][1] == right[1][0],
            frozenset({"left"}): left[1][0] == right[1][1],
            frozenset({"left", "right"}): left[1][0] == right[1][0],
        }
        readings = [sides for sides, fit in fits.items() if fit]
        if not fits[frozenset()] and len(readings) == 1:
            return readings[0]
    return frozenset()


def _head(shapes: Shapes, request: Request, weight: str, where: object) -> Layout:
    bias = request.bias
    if bias is None:
        endings = sorted((name for name in HEADS if _ends(weight, name)), key=len)
        beside = weight.removesuffix(endings[-1]) + HEADS[endings[-1]] if endings else _beside(weight)
        bias = beside if beside in shapes else _bias_apart(shapes, weight)
    extras = _present({"right_bias": bias, **_known_of_rows(shapes, "right")})
    left = request.embedding or _find(shapes, INPUTS)
    transposed = _transposed_head(shapes, request, weight, bias, where)
    return Layout(weight, left, head=True, transposed=frozenset({"right"} if transposed else ()), extras=extras)


def _bias_apart(shapes: Shapes, weight: str) -> str | None:
    """Find the bias of tied embeddings, or one that is added to all logits."""
    names = APART if is_tied(weight) else APART[-1:]
    return next((name for name in names if name in shapes and shapes[name][-1:] == shapes[weight][:1]), None)


def _beside(weight: str) -> str | None:
    """Return what torch, Keras and Flax call the bias of a layer whose weight was named."""
    layer = re.fullmatch(r"(.*[./])(?:weight|kernel)", weight)
    return f"{layer[1]}bias" if layer else None


def _transposed_head(shapes: Shapes, request: Request, weight: str, bias: str | None, where: object) -> bool:
    """Determine whether a head has one column a label: by request, by name, else by its bias."""
    declared = request.transposes("right")
    if declared is not None:
        return declared
    if plain(weight) in TRANSPOSED or is_kernel(weight):
        return True
    if bias is None or len(shapes[weight]) != 2 or weight.endswith(ROWS_BY_CUSTOM):
        return False
    rows, columns = shapes[weight]
    size = shapes[bias][-1] if shapes[bias] else 1
    if rows == columns == size:
        raise must_be(
            f"the labels of {weight} in {where}",
            "rows or columns",
            f"{rows} × {columns}, which both could be",
            "choose --transpose=none if each row is a label, --transpose=right if each column is one",
        )
    return size == columns


def _table(shapes: Shapes, request: Request, name: str) -> Layout:
    transposed = request.transposes("right")
    if transposed is None:
        transposed = plain(name) in TRANSPOSED or is_kernel(name)
    extras = _present(_known_of_rows(shapes, "right"))
    return Layout(name, transposed=frozenset({"right"} if transposed else ()), extras=extras)


def _only_table(shapes: Shapes, request: Request, where: object) -> list[Layout]:
    matrices = _matrices(shapes)
    if len(matrices) != 1:
        return []
    # A bias that was named is that of a head.
    head = request.kind == "head" or (request.kind == "auto" and request.bias is not None)
    return [_head(shapes, request, matrices[0], where) if head else _table(shapes, request, matrices[0])]
