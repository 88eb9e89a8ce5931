"""Models in named arrays: roles told by name and shape, or by the caller; then transposed, flattened, completed.

No array that could matter is left over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import UNNAMED, Arrays, Tensor, as_stored
from embaudit.io.contents import OF_VECTORS, Contents, Source
from embaudit.io.intake import Part
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.layouts.checkpoints.final_norm import with_norm
from embaudit.io.layouts.checkpoints.tokens import CLASSIFIERS, OF_TOKENS
from embaudit.io.layouts.checkpoints.tying import tying_of
from embaudit.io.options import Kind, Request, file_remedy
from embaudit.io.remote import with_urls
from embaudit.model import softmax_link
from embaudit.model.tying import Tying

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
HEADS = {f"{layer}.weight": f"{layer}.bias" for layer in (*CLASSIFIERS, *OF_TOKENS, "output", "linear", "unembed")} | {
    "weight": "bias", "weights": "bias", "W": "b", "kernel": "bias", "softmax_w": "softmax_b", "coef_": "intercept_",
    "unembeddings": "bias", "unembed.W_U": "unembed.b_U",
}  # fmt: skip
"""Names of the weights of heads, and of the bias of each."""
TIED = (
    "model.embed_tokens.weight", "model.language_model.embed_tokens.weight", "model.decoder.embed_tokens.weight",
    "language_model.model.embed_tokens.weight", "transformer.wte.weight", "wte.weight", "backbone.embeddings.weight",
    "transformer.word_embeddings.weight", "model.tok_embeddings.weight", "shared.weight", "biogpt.embed_tokens.weight",
    "token_embd.weight", "tok_embeddings.weight",
    "embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight",
)  # fmt: skip
"""Input embeddings that serve as the head where no other is stored."""
MASKED = TIED[-2:]
"""Names among them that every encoder has: the bias of a head says that one is there.
"""
APART = ("cls.predictions.bias", "predictions.bias", *(f"{layer}.bias" for layer in (*OF_TOKENS, "decoder")),
         "final_logits_bias")  # fmt: skip
"""Biases of heads whose weights are stored under another name."""
WRAPPED = re.compile(r"^(?:_orig_mod\.|module\.)+")
"""Prefixes of the names of arrays by torch.compile and parallel training."""
INNER = re.compile(r"(?:^|\.)(?:(?:layers?|blocks?|h)\.\d+|gate|router|experts?|moe)\.")
"""Beginning of a layer of many, or of a choice of experts, in the name of an array: a
classifier there is no head.
"""
TRANSPOSED = {"h", "vt", "vh", "components", "kernel", "unembedwu"}
ROWS_BY_CUSTOM = ("weight", "coef_")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "left_bias": ("userbias", "userbiases", "leftbias", "bu", "ubiases"),
    "right_bias": ("itembias", "itembiases", "rightbias", "bi", "ibiases"),
    "offset": (
        "offset",
        "globalbias",
        "globalmean",
        "mu",
        "mean",
        "meanrating",
        "ratingmean",
        "averagerating",
    ),
    "left_ids": ("userids", "leftids"),
    "left_names": ("usernames", "leftnames"),
    "left_counts": ("usercounts", "leftcounts"),
    "right_ids": ("itemids", "rightids", "ids", "words", "indextokey", "tokens"),
    "right_names": (
        "itemnames",
        "itemtitles",
        "rightnames",
        "labels",
        "classes",
        "classnames",
        "classlist",
    ),
    "right_counts": ("itemcounts", "rightcounts"),
}
"""Plain names of the arrays beside factors, by the field of a model that they hold."""
OF_ROWS = ("right_ids", "right_names", "right_counts")
"""Fields among them that one table has, too."""
INPUTS = ("inputs", "hiddenstates")
SINGULAR = ("s", "sigma", "singularvalues")
CODED = re.compile(
    r"(?:^|[._])(?:scales|weight_scale(?:_inv)?|kernel_scale|absmax|quant_(?:map|state)\S*|qzeros|zero_points?|SCB)$"
)
"""Names of arrays that numbers of a quantised matrix are multiplied with."""
OPTIONS = {"left": ("left_bias", "left_id_array"), "right": ("bias", "id_array")}
"""Options that name the bias and the ids of a side."""
ADAPTED = re.compile(r"\.(?:lora_\w+|base_layer|modules_to_save|original_module)\b")
"""Endings that PEFT puts behind the name of a layer that it changes."""
EMBEDS = re.compile("emb|wte|tok|shared")
"""Parts of the names of input embeddings."""
GENERIC = re.compile(r"(?:^|\.)(?:fc|linear|output|head)\.weight$")
"""Names of heads that other layers have, too."""
NAMED = {"left": "left", "right": "weight"}
"""How a bias and the factors of a side are named."""
OF_HEAD = ("input", "label")
"""Nouns for the rows of both sides of a softmax head."""


@dataclass(frozen=True)
class Layout:
    """The roles of a file's arrays."""

    fields: Mapping[str, str]
    """Names of arrays by the field of a model that they hold (`left`, `right`,
    `right_bias`, `left_ids`, …).
    """
    head: bool = False
    transposed: frozenset[str] = frozenset()
    """The sides stored with one column an entity."""

    @property
    def right(self) -> str:
        """Name of the right factors."""
        return self.fields["right"]

    def n_rows(self, tensors: Mapping[str, Tensor]) -> int:
        """Return the rows of the right side, which an array may hold in its columns."""
        return tensors[self.right].shape["right" in self.transposed]

    def left_over(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the arrays that play no part.

        Examples
        --------
        >>> layout = Layout({"right": "Q", "right_bias": "b"})
        >>> layout.left_over({"Q": Tensor((3, 2), "float64"), "x": Tensor((3,), "int64")})
        {'x': Tensor(shape=(3,), dtype='int64')}
        """
        return {
            name: tensor
            for name, tensor in tensors.items()
            if name not in self.fields.values()
        }


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

    What the caller names counts first, then pairs of factors and heads by their names;
    a single matrix is a table.

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
    for name in ("left", "weight", "bias", "left_bias", "id_array", "left_id_array"):
        array = getattr(request, name)
        if array is not None and array not in shapes:
            raise must_be(
                name,
                Sentence("one of {} in {}", _listed(shapes), File(where)),
                repr(array),
                file_remedy(name, array),
            )
    if request.weight is not None or (
        request.left is not None and request.kind != "head"
    ):
        return _named(shapes, request, where)
    matrices = {name: shape for name, shape in shapes.items() if len(shape) == 2}
    names = {plain(name): name for name in matrices}
    layouts: list[Layout] = []
    if request.kind in ("auto", "factors", "vectors"):
        pairs = [
            (names[left], names[right])
            for left, right in sorted(PAIRS)
            if left in names and right in names
        ]
        layouts += [_pair(shapes, request, left, right, where) for left, right in pairs]
    if request.kind in ("auto", "head"):
        # W beside H is a factor; W beside b is a head.
        factors = {
            layout.fields[side] for layout in layouts for side in ("left", "right")
        }
        heads = [
            _one_table(shapes, request, x, head=True)
            for x in _heads(shapes, list(matrices))
        ]
        layouts += [
            head
            for head in heads
            if head.right not in factors or "right_bias" in head.fields
        ]
    # Where no name tells, the only matrix can be nothing else; of two, none is chosen
    # by its shape. A bias that was named is that of a head. The weights of a layer are
    # no table unless somebody says so.
    is_head = request.kind == "head" or (
        request.kind == "auto" and request.bias is not None
    )
    is_said = is_head or request.kind == "vectors"
    if (
        not layouts
        and request.kind != "factors"
        and len(matrices) == 1
        and (is_said or not is_kernel(*matrices))
    ):
        (name,) = matrices
        layouts = [_one_table(shapes, request, name, head=is_head)]
    if len(layouts) != 1:
        got = (
            _listed({name: shape for name, shape in shapes.items() if len(shape) > 1})
            or "no matrix"
        )
        remedy = Sentence(
            "name two factors with {} and {}, or one table with {} and {} or {}",
            Option("left", placeholder="A"),
            Option("weight", placeholder="B"),
            Option("weight", placeholder="B"),
            Option("kind", "head"),
            Option("kind", "vectors"),
        )
        raise must_be(
            Sentence("the arrays of {}", File(where)),
            "one recognised table, pair or head",
            got,
            remedy,
        )
    return layouts[0]


def _listed(shapes: Shapes) -> str:
    return listed([f"{name} {shape}" for name, shape in shapes.items()], 12)


def _named(shapes: Shapes, request: Request, where: object) -> Layout:
    """Return the layout of two factor matrices, a head or a table that the caller names."""
    left, weight = request.left, request.weight
    if weight is None or (left is None and request.kind == "factors"):
        raise InputError(
            "the factors in {} must both be named, with {} and {}; one alone is a table "
            "of vectors, named with {} and {}.",
            where,
            Option("left", placeholder="A"),
            Option("weight", placeholder="B"),
            Option("weight", placeholder="B"),
            Option("kind", "vectors"),
        )
    if left is not None and request.kind != "head":
        return _pair(shapes, request, left, weight, where)
    is_customary = (
        any(_ends(weight, name) for name in (*HEADS, *TIED))
        or is_kernel(weight)
        or bool(request.bias)
    )
    is_head = request.kind == "head" or (request.kind == "auto" and is_customary)
    if not is_head and request.kind != "vectors":
        allowed = Sentence("given with {}", Option("weight"))
        remedy = Sentence(
            "say whether {} is one with {} or {}",
            weight,
            Option("kind", "head"),
            Option("kind", "vectors"),
        )
        raise must_be("kind", allowed, "auto", remedy)
    return _one_table(shapes, request, weight, head=is_head)


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


def _heads(shapes: Shapes, matrices: list[str]) -> list[str]:
    """Return the names of matrices that are heads by their names and biases."""
    # An encoder has word embeddings without predicting words: they are a head where the
    # bias of one is stored apart.
    masked = {
        name for name in matrices if any(_ends(name, ending) for ending in MASKED)
    }
    matrices = [
        name for name in matrices if name not in masked or _bias_apart(shapes, name)
    ]
    # Any layer has a weight: a bias beside it makes it that of a head.
    matrices = [name for name in matrices if name != "weight" or HEADS[name] in shapes]
    # A name of exactly that kind before one below a prefix, which layers inside a
    # network may also have.
    for endings in (HEADS, TIED):
        named = [name for name in matrices if name in endings]
        below = [
            name
            for name in matrices
            if any(_ends(name, x) for x in endings) and not INNER.search(name)
        ]
        if named or below:
            return named or below
    return []


def _find(shapes: Shapes, names: tuple[str, ...]) -> str | None:
    return next((name for name in shapes if plain(name) in names), None)


def _layout(fields: Mapping[str, str | None], **more: Any) -> Layout:
    return Layout(
        {field: name for field, name in fields.items() if name is not None}, **more
    )


def _pair(
    shapes: Shapes, request: Request, left: str, right: str, where: object
) -> Layout:
    """Return the layout of two factor matrices, with the biases, ids, names and counts of their rows."""
    # The factors of an SVD are defined up to where Σ goes, and cosines depend on it
    # (the reweighting of both sides).
    scale = _find(shapes, SINGULAR)
    if scale is not None and len(shapes[scale]) == 1 and request.left is None:
        raise InputError(
            "{} must hold two factor matrices; it holds {}, {} and {}, and where {} belongs decides the cosines; save left and right factors with {} multiplied in.",
            File(where),
            left,
            scale,
            right,
            scale,
            scale,
        )
    fields = {field: _find(shapes, names) for field, names in FIELDS.items()}
    # A mean of all ratings is one number; "mean" of another size is something else.
    fields["offset"] = _find(
        {name: shape for name, shape in shapes.items() if prod(shape) == 1},
        FIELDS["offset"],
    )
    fields |= {
        "left_bias": request.left_bias or fields["left_bias"],
        "right_bias": request.bias or fields["right_bias"],
    }
    transposed = _transposed_pair(request, shapes[left], shapes[right], plain(right))
    return _layout({"left": left, "right": right, **fields}, transposed=transposed)


def _transposed_pair(
    request: Request, left: tuple[int, ...], right: tuple[int, ...], name: str
) -> frozenset[str]:
    """Return the sides with one column an entity: by request, by name, else by the only shapes that fit."""
    if request.transpose is not None:
        return frozenset(side for side in ("left", "right") if request.transposes(side))
    if name in TRANSPOSED:
        return frozenset({"right"})
    if not len(left) == len(right) == 2:
        return frozenset()
    # The widths agree as the sides lie: each has its width in its rows where it is
    # transposed.
    ways = [
        frozenset[str](),
        frozenset({"right"}),
        frozenset({"left"}),
        frozenset({"left", "right"}),
    ]
    ways = [
        sides
        for sides in ways
        if left["left" not in sides] == right["right" not in sides]
    ]
    return ways[0] if len(ways) == 1 else frozenset()


def _one_table(shapes: Shapes, request: Request, weight: str, *, head: bool) -> Layout:
    """Return the layout of one table, or of a head with its inputs and the bias that its name or layer leads to."""
    bias, left = request.bias, request.left or _find(shapes, INPUTS) if head else None
    if head and bias is None:
        ending = max(
            (name for name in HEADS if _ends(weight, name)), key=len, default=None
        )
        # What torch, Keras and Flax call the bias of a layer whose weight was named.
        layer = re.fullmatch(r"(.*[./])(?:weight|kernel)", weight)
        beside = (
            weight.removesuffix(ending) + HEADS[ending]
            if ending
            else f"{layer[1]}bias"
            if layer
            else None
        )
        bias = beside if beside in shapes else _bias_apart(shapes, weight)
    fields = {
        "left": left,
        "right": weight,
        "left_bias": request.left_bias,
        "right_bias": bias,
    }
    fields |= {field: _find(shapes, FIELDS[field]) for field in OF_ROWS}
    transposed = _is_transposed(shapes, request, weight, bias)
    return _layout(
        fields, head=head, transposed=frozenset({"right"} if transposed else ())
    )


def _bias_apart(shapes: Shapes, weight: str) -> str | None:
    """Find the bias of tied embeddings, or one that is added to all logits."""
    names = APART if is_tied(weight) else APART[-1:]
    return next(
        (
            name
            for name in names
            if name in shapes and shapes[name][-1:] == shapes[weight][:1]
        ),
        None,
    )


def _is_transposed(
    shapes: Shapes, request: Request, weight: str, bias: str | None
) -> bool:
    """Determine whether a table has one column an entity: by request, by name, else by the bias of a head."""
    declared = request.transposes("right")
    if declared is not None:
        return declared
    if plain(weight) in TRANSPOSED or is_kernel(weight):
        return True
    # torch stores one row a label, TensorFlow one column: the length of the bias tells,
    # unless the matrix is square.
    if bias is None or len(shapes[weight]) != 2 or weight.endswith(ROWS_BY_CUSTOM):
        return False
    rows, columns = shapes[weight]
    size = shapes[bias][-1] if shapes[bias] else 1
    if rows == columns == size:
        remedy = Sentence(
            "choose {} if each row is a label, {} if each column is one",
            Option("transpose", "none"),
            Option("transpose", "right"),
        )
        got = f"{rows} × {columns}, which both could be"
        raise must_be(f"the labels of {weight}", "rows or columns", got, remedy)
    return size == columns


def require_settled(
    layout: Layout, tensors: Mapping[str, Tensor], request: Request, where: object
) -> None:
    """Refuse a reading that leaves over what could be a bias, ids, or a second table of a side.

    The vectors of one side, asked for as such, need no bias.

    Raises
    ------
    InputError
        For an array with one number for each entity or dimension of a side, or with the
        shape of a side of a pair.

    Examples
    --------
    >>> tensors = {"P": Tensor((5, 2), "float64"), "Q": Tensor((7, 2), "float64"), "u_bias": Tensor((5,), "float64")}
    >>> require_settled(Layout({"left": "P", "right": "Q"}), tensors, Request(), "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: every array of a.npz that could matter must be named or left out; got u_bias (5,), ...
    """
    if request.kind == "vectors":
        return
    for name, tensor in layout.left_over(tensors).items():
        for why, remedy in _could_be(name, tensor, layout, tensors):
            what, got = (
                Sentence("every array of {} that could matter", File(where)),
                f"{name} {tensor.shape}, {why}",
            )
            way_out = Sentence("leave it out with {}", Option("ignore", name))
            if remedy is not None:
                way_out = Sentence("{}, or {}", remedy, way_out)
            raise must_be(what, "named or left out", got, way_out)


def require_head(layout: Layout, tensors: Mapping[str, Tensor], where: object) -> None:
    """Refuse a head that a name alone chose where others could be it, change it, or come after it.

    Raises
    ------
    InputError
        For weights of adapters beside it, input embeddings beside another matrix of
        their shape, and a layer whose outputs another one takes.

    Examples
    --------
    >>> tensors = {"fc.weight": Tensor((3, 5), "float32"), "decoder.weight": Tensor((5, 3), "float32")}
    >>> require_head(Layout({"right": "fc.weight"}, head=True), tensors, "a.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the head of a.npz must be its last layer; got fc.weight (3, 5), whose outputs ...
    """
    # PEFT stores a change of low rank beside a layer that stays as it was: neither
    # alone is the head.
    changed = {
        name: f"{name[: match.start()]}.weight"
        for name in tensors
        if (match := ADAPTED.search(name))
    }
    is_head = {
        name: any(_ends(layer, x) for x in (*HEADS, *TIED))
        for name, layer in changed.items()
    }
    adapted = next(
        (
            name
            for name, layer in changed.items()
            if is_head[name] and not INNER.search(layer)
        ),
        None,
    )
    if adapted is not None:
        raise must_be(
            Sentence("the head of {}", File(where)),
            "one matrix",
            f"{adapted}, which changes it",
            "merge the adapters into the model (model.merge_and_unload() in PEFT) and "
            "save it again",
        )
    shape, matrices = (
        tensors[layout.right].shape,
        {name: x.shape for name, x in tensors.items() if len(x.shape) == 2},
    )
    remaining = [name for name in matrices if name != layout.right]
    if is_tied(layout.right):
        # Tied embeddings are the head, unless another matrix of their shape can be a
        # head of its own.
        rival = next(
            (
                x
                for x in remaining
                if matrices[x] in (shape, shape[::-1]) and not EMBEDS.search(x)
            ),
            None,
        )
        if rival is not None:
            remedy = Sentence(
                "name the head with {} and {}",
                Option("weight", rival),
                Option("kind", "head"),
            )
            got = f"{layout.right} and {rival}, both {shape}"
            raise must_be(
                Sentence("the head of {}", File(where)),
                "the only matrix of its shape",
                got,
                remedy,
            )
    if GENERIC.search(layout.right):
        remedy = Sentence(
            "name it with {} and {} if a softmax follows it",
            Option("weight", layout.right),
            Option("kind", "head"),
        )
        n_labels = layout.n_rows(tensors)
        # A layer whose number of outputs is the width of another one feeds it, and is
        # none of labels.
        takers = (
            x
            for x in remaining
            if matrices[x][1] == n_labels > 1 and x.endswith(".weight")
        )
        after = next(takers, None)
        if after is not None:
            got = f"{layout.right} {shape}, whose outputs {after} takes"
            raise must_be(
                Sentence("the head of {}", File(where)), "its last layer", got, remedy
            )
        beside = next(
            (x for x in remaining if 1 in shape and matrices[x][0] == max(shape) > 1),
            None,
        )
        if beside is not None:
            got = f"{layout.right} {shape}, one number for each row of {beside}"
            raise must_be(
                Sentence("the head of {}", File(where)), "rows of labels", got, remedy
            )


def require_told(head: str, config: Config, request: Request, where: object) -> None:
    """Refuse a head that a name alone chose where the configuration says that it is none, or no softmax follows it.

    Raises
    ------
    InputError
        For input embeddings of a network that has another head or none, and layers of
        other tasks.
    """
    if is_tied(head) and config.no_head:
        if config.has_own_head:
            first_way = Sentence("fetch the rest of the checkpoint")
        else:
            first_way = Sentence(
                "name its head with {}", Option("weight", placeholder="NAME")
            )
        remedy = Sentence(
            "{}, or read these with {} and {}",
            first_way,
            Option("kind", "vectors"),
            Option("weight", head),
        )
        raise must_be(
            Sentence("the head of {}", File(where)),
            f"there, for {config.no_head}",
            f"only {head}",
            remedy,
        )
    if (
        not is_tied(head)
        and config.other_task is not None
        and request.kind != "head"
        and request.link is None
    ):
        remedy = Sentence(
            "say {} if a softmax follows {}, or {} for labels apart",
            Option("kind", "head"),
            head,
            Option("link", "sigmoid"),
        )
        raise must_be(
            Sentence("the head of {}", File(where)),
            "a softmax over labels",
            config.other_task,
            remedy,
        )


def require_floats(name: str, tensors: Mapping[str, Tensor], where: object) -> None:
    """Refuse codes of a quantised matrix, whose cosines are not those of the numbers that they stand for.

    Raises
    ------
    InputError
        For integers, types of eight bits and fewer, and numbers with scales beside
        them.
    """
    dtype, what = (
        tensors[name].dtype,
        name if name == str(where) else Sentence("{} of {}", name, File(where)),
    )
    # What the format itself has undone is float32.
    if dtype != "bfloat16" and dtype not in ("float16", "float32", "float64"):
        if dtype.startswith("complex"):
            raise must_be(
                what,
                "real numbers",
                dtype,
                "store real and imaginary parts as columns of their own",
            )
        remedy = "store the numbers they stand for as float32"
        # Numbers of less than 16 bits are called in capitals.
        got = (
            f"{dtype}, counts or codes"
            if re.match("u?int|bool|[A-Z]", dtype)
            else dtype
        )
        raise must_be(what, "floating-point numbers", got, remedy)
    layer = name.rpartition(".")[0]
    for other in tensors:
        beside = other.rpartition(".")[0] == layer or other.startswith(
            (f"{name}.", f"{name}_")
        )
        if other != name and beside and CODED.search(other):
            got = f"{other} beside it, as quantised matrices have"
            raise must_be(
                what, "numbers as they are", got, "store the product as float32"
            )


def _could_be(
    name: str, tensor: Tensor, layout: Layout, tensors: Mapping[str, Tensor]
) -> Iterator[tuple[str, Sentence | None]]:
    """Yield what an array could be, and how to name it as that."""
    # Integers may be ids or counts, floating-point numbers a bias or a scale of the
    # dimensions.
    numeric = (
        tensor.is_real
        and np.dtype("f4" if tensor.dtype == "bfloat16" else tensor.dtype).kind == "f"
    )
    pair = "left" in layout.fields and not layout.head
    sides = {
        side: layout.fields[side] for side in ("right", "left") if side in layout.fields
    }
    shapes = {
        side: tensors[source].shape[:: -1 if side in layout.transposed else 1]
        for side, source in sides.items()
    }
    if (
        any(len(shape) != 2 for shape in shapes.values())
        or len({shape[1] for shape in shapes.values()}) > 1
    ):
        # A pair that does not fit is refused later.
        sides = {}
    for side, source in sides.items():
        rows, columns = shapes[side]
        if _is_vector(tensor, rows) and not _of_another_layer(name, layout, tensors):
            yield (
                f"one value for each entity of {source}",
                Sentence("name it with {}", Option(OPTIONS[side][not numeric], name)),
            )
        by_custom = source.endswith(ROWS_BY_CUSTOM) or is_kernel(source)
        if numeric and _is_vector(tensor, columns) and not (layout.head and by_custom):
            yield f"one number for each dimension of {source}", None
        if pair and tensor.shape == tensors[source].shape:
            yield (
                f"the shape of {source}",
                Sentence("name it with {}", Option(NAMED[side], name)),
            )
    is_layer = (
        (name.endswith(".weight") or is_kernel(name))
        and len(tensor.shape) > 1
        and 1 not in tensor.shape
    )
    if pair and numeric and is_layer:
        yield (
            "a layer beside the tables",
            Sentence("export the outputs of both towers and read these"),
        )


def _is_vector(tensor: Tensor, size: int) -> bool:
    return (
        len(tensor.shape) in (1, 2)
        and size in tensor.shape
        and prod(tensor.shape) == size
    )


def _of_another_layer(name: str, layout: Layout, tensors: Mapping[str, Tensor]) -> bool:
    """Return whether an array of a network with a head lies beside others of its size, as that of a norm does."""
    layer, dot, _ = name.rpartition(".")
    beside = [
        x
        for x in tensors
        if x not in (name, layout.right) and x.rpartition(".")[0] == layer
    ]
    sizes = (
        tensors[x].shape[-1:] if is_kernel(x) else tensors[x].shape[:1] for x in beside
    )
    return layout.head and bool(dot) and (max(tensors[name].shape),) in sizes


def contents_of(
    arrays: Arrays, request: Request, where: object, config: Config | None = None
) -> Contents:
    """Determine which fields of a model named arrays hold; nothing but headers is read.

    Raises
    ------
    InputError
        If the names leave more than one reading, or an array that could be a bias has
        no part in it.
    """
    return contents_of_layout(
        arrays, planned(arrays, request, where, config), request, where, config
    )


def contents_beside(
    arrays: Arrays, names: Mapping[str, str], request: Request, where: object
) -> Contents:
    """Determine what one array is by those beside it, whose names are given by option; its own is that of `weight`."""
    # Beside a left side that comes from elsewhere a bias is that of factors.
    apart = request.left_file is not None and request.kind in ("auto", "factors")
    told: Kind = "head" if "bias" in names and not apart else "vectors"
    kind = told if apart or request.kind == "auto" else request.kind
    options: dict[str, Any] = {**names, "kind": kind}
    return contents_of(arrays, replace(request, **options), where)


def contents_of_layout(
    arrays: Arrays,
    layout: Layout,
    request: Request,
    where: object,
    config: Config | None = None,
) -> Contents:
    """Return the fields of a model whose arrays have the roles of a layout, and what a configuration says of a head."""
    tensors = arrays.tensors
    fields: dict[str, Source] = {}
    for field, name in layout.fields.items():
        shape, is_side = tensors[name].shape, field in ("left", "right")
        read = partial(_extra, arrays, name, field)
        if is_side:
            read = partial(_rows_of_side, arrays, name, field in layout.transposed)
        source = Source(name, read, shape, tensors[name].rounded)
        if is_side:
            # An array that has a file of its own has no name there.
            array = UNNAMED if name == str(where) else name
            source = replace(
                source, shape=squeezed(shape), path=with_urls(str(where)), array=array
            )
        fields[field] = source
    sides = (
        [layout.fields[side] for side in sorted(layout.transposed)]
        if request.transpose is None
        else []
    )
    assumed = [f"{name} has one column an entity" for name in sides]
    if layout.head:
        cap = None if config is None else config.soft_cap
        fields["link"] = Source.of(
            "its name", softmax_link(soft_cap=cap) if cap else "softmax"
        )
        stored = Config() if config is None else config
        fields["tying"] = Source("", partial(_tying, arrays, layout.right, stored))
        if layout.n_rows(tensors) == 1:
            weight, bias = (
                fields["right"],
                fields.get("right_bias", Source.of("", np.zeros(1))),
            )
            # Weights and bias are completed together, once, when one of them is used.
            both = cache(lambda: two_labels(weight.read(), bias.read()))
            fields["right"] = replace(weight, read=lambda: both()[0])
            fields["right_bias"] = replace(bias, read=lambda: both()[1])
            assumed.append("one row stands for two labels, the first with scores of 0")
    rest = (
        Part(name, "", tensor.shape, tensor.rounded)
        for name, tensor in layout.left_over(tensors).items()
    )
    contents = Contents(
        fields, tuple(rest), tuple(assumed), OF_HEAD if layout.head else Contents.roles
    )
    return (
        contents
        if config is None
        else with_norm(contents, arrays, config, request, where)
    )


def _tying(arrays: Arrays, head: str, config: Config) -> Tying | None:
    """Determine whether a head is also the input embeddings; None if it is not."""
    tensors = arrays.tensors
    same_shape = [
        name
        for name, tensor in tensors.items()
        if name != head and tensor.shape == tensors[head].shape
    ]
    if is_tied(head):
        # The audited matrix is named like input embeddings: the reader chose it because
        # there is no other head, or the caller named it although there is one.
        heads = [name for name in same_shape if any(_ends(name, x) for x in HEADS)]
        if heads:
            return tying_of(head, heads, arrays, config, predicts_tokens=True)
        if config.has_own_head:
            return None
        reason = "the checkpoint holds no other head"
        if config.ties_head:
            reason = "tie_word_embeddings of config.json is true"
        return Tying("tied", head, reason)
    embeddings = [name for name in same_shape if is_tied(name) or EMBEDS.search(name)]
    predicts_tokens = any(_ends(head, f"{layer}.weight") for layer in OF_TOKENS)
    return tying_of(head, embeddings, arrays, config, predicts_tokens=predicts_tokens)


def _rows_of_side(arrays: Arrays, name: str, transposed: bool) -> NDArray[Any]:
    """Read the rows of a side; those in the type of models stay on disk."""
    stored = arrays[name]
    matrix = stored if stored.ndim <= 2 else stored.reshape(squeezed(stored.shape))
    return as_stored(matrix.T if transposed else matrix)


def planned(
    arrays: Arrays, request: Request, where: object, config: Config | None = None
) -> Layout:
    """Decide which array is what by headers alone, and refuse to leave over what could matter.

    Raises
    ------
    InputError
        If the names leave more than one reading, or an array that could be a bias has
        no part in it.
    """
    tensors = {
        name: tensor
        for name, tensor in arrays.tensors.items()
        if not request.ignores(name)
    }
    layout = choose(
        {name: squeezed(tensor.shape) for name, tensor in tensors.items()},
        request,
        where,
    )
    # Vectors are the right side alone: what belongs to the left side is left over.
    fields = dict(layout.fields)
    if request.kind == "vectors" and "left" in fields:
        fields = {field: name for field, name in fields.items() if field in OF_VECTORS}
    named = {"left_ids": request.left_id_array, "right_ids": request.id_array}
    fields |= {field: name for field, name in named.items() if name is not None}
    layout = replace(layout, fields=fields, transposed=layout.transposed & set(fields))
    # Codes are refused first: whoever was asked about their scales would call them
    # biases.
    for name in (
        layout.fields[side] for side in ("left", "right") if side in layout.fields
    ):
        require_floats(name, arrays.tensors, where)
    require_settled(layout, tensors, request, where)
    if layout.head and request.weight is None:
        require_head(layout, tensors, where)
        require_told(
            layout.right, Config() if config is None else config, request, where
        )
    return layout


def _extra(arrays: Arrays, source: str, name: str) -> Any:
    """Read a bias, an offset, ids, names or counts as a model takes them."""
    array = arrays[source]
    if name == "offset":
        if array.size != 1 or array.dtype.kind not in "fiu":
            got = f"shape {array.shape} of {array.dtype}"
            raise must_be(f"the array {source}", "one number", got)
        return float(array.reshape(()))
    if (
        name.endswith(("_ids", "_names"))
        and array.dtype.kind == "f"
        and (array != np.floor(array)).any()
    ):
        # Ids are no fractions, so the array may be a bias under another name.
        got = f"fractions such as {array[array != np.floor(array)].flat[0]}"
        remedy = Sentence("leave it out with {}", Option("ignore", source))
        allowed = "ids or names, whole numbers or text"
        raise must_be(f"the array {source}", allowed, got, remedy)
    # Embedding layers keep a bias as a column, networks that add it to all logits as a
    # row.
    return array.reshape(-1) if array.ndim == 2 and 1 in array.shape else array


def two_labels(
    weight: NDArray[Any], bias: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Complete a binary head: one row w is the two labels 0 and w, `p = σ(x·w + b) = softmax((0, x·w + b))`.

    Examples
    --------
    >>> two_labels(np.array([[2.0]]), np.array([0.5]))
    (array([[0.], [2.]]), array([0. , 0.5]))
    """
    if bias.shape != (1,):
        raise InputError(
            f"the bias of a head with one row must be one number; got shape {bias.shape}."
        )
    return np.concatenate([np.zeros_like(weight), weight]), np.concatenate(
        [np.zeros(1), bias]
    )
