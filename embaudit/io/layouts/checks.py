"""Check that no array that a layout leaves over makes it a wrong reading.

`CHECKS` is one list in the order in which its checks run. Each check raises
`InputError` with its own question, or returns. A check sees names, shapes and types of
the arrays, and no numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NoReturn

import numpy as np

from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import Tensor
from embaudit.io.layouts.beside import SINGULAR_VALUES
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.layouts.layout import Layout, Shape
from embaudit.io.layouts.names import first_of, is_inside, is_kernel
from embaudit.io.layouts.one_table import ROWS_BY_CUSTOM
from embaudit.io.layouts.recipes import head_recipe, is_tied
from embaudit.io.options import Request

FLOATS = ("float16", "bfloat16", "float32", "float64")
"""Types whose numbers are used. Numbers that a format dequantises count as float32."""
SCALES = (
    "scales",  # GPTQ, AWQ, MLX
    "qzeros",  # GPTQ, AWQ
    "zero_point",
    "zero_points",
    "weight_scale",  # compressed-tensors
    "weight_scale_inv",  # float8 of DeepSeek
    "kernel_scale",  # Keras
    "absmax",  # bitsandbytes
    "SCB",  # bitsandbytes, int8
)
"""Endings of the names of numbers that a quantised matrix is multiplied with."""
QUANTISED_STATES = ("quant_map", "quant_state")
"""Parts of the names of numbers next to a matrix that bitsandbytes has quantised."""
ADAPTERS = ("base_layer", "modules_to_save", "original_module")
"""Parts that PEFT appends to the name of a layer that it changes, next to `lora_…`."""
EMBEDDINGS = ("emb", "wte", "tok", "shared")
"""Parts of the names of input embeddings."""
ID_OPTIONS = {"left": "left_id_array", "right": "id_array"}
BIAS_OPTIONS = {"left": "left_bias", "right": "bias"}
FACTOR_OPTIONS = {"left": "left", "right": "weight"}
"""Options that name the ids, the bias and the factors of a side."""


@dataclass(frozen=True)
class Chosen:
    """A layout, and the arrays and options that the checks compare it with."""

    layout: Layout
    """The fields that are read: without those of the left side if the caller wants the
    vectors of one side.
    """
    whole: Layout
    """The layout with both sides."""
    tensors: Mapping[str, Tensor]
    """The arrays of the file without those that the caller ignores."""
    all_tensors: Mapping[str, Tensor]
    """All arrays of the file."""
    request: Request
    where: object
    """The file, as an error names it."""
    config: Config

    @property
    def left_over(self) -> Mapping[str, Tensor]:
        """The arrays that are no field of the model."""
        return self.layout.left_over(self.tensors)

    @property
    def matrices(self) -> dict[str, Shape]:
        """Shapes of all matrices except the right side."""
        return {
            name: tensor.shape
            for name, tensor in self.tensors.items()
            if len(tensor.shape) == 2 and name != self.layout.right
        }

    @property
    def is_head_by_name(self) -> bool:
        """True if only the name of an array says that it is a head."""
        return self.layout.head and self.request.weight is None

    def refuse_head(self, allowed: str, got: str, remedy: str | Sentence) -> NoReturn:
        """Raise the error for a head: what it must be, what it is, and a remedy."""
        raise must_be(
            Sentence("the head of {}", File(self.where)), allowed, got, remedy
        )

    def refuse_left_over(
        self, name: str, reason: str, remedy: Sentence | None = None
    ) -> NoReturn:
        """Raise the error for an array that is left over and could matter."""
        whole_remedy = Sentence("ignore it with {}", Option("ignore", name))
        if remedy is not None:
            whole_remedy = Sentence("{}, or {}", remedy, whole_remedy)
        raise must_be(
            Sentence("every array of {} that could matter", File(self.where)),
            "named or ignored",
            f"{name} {self.tensors[name].shape}, {reason}",
            whole_remedy,
        )


def codes(chosen: Chosen) -> None:
    """Refuse codes, because cosines of codes are not cosines of the coded numbers."""
    for side in ("left", "right"):
        if side in chosen.layout.fields:
            require_floats(chosen.layout.fields[side], chosen.all_tensors, chosen.where)


def require_floats(name: str, tensors: Mapping[str, Tensor], where: object) -> None:
    """Refuse an array of integers, of eight bits or fewer, or with scales next to it.

    Raises
    ------
    InputError
        If the array holds no floating-point numbers, or if an array next to it holds
        scales that these numbers are multiplied with.
    """
    dtype = tensors[name].dtype
    what: File | Sentence = File(where)
    if name != str(where):
        what = Sentence("{} of {}", name, File(where))
    if dtype.startswith("complex"):
        remedy = "store real and imaginary parts as columns of their own"
        raise must_be(what, "real numbers", dtype, remedy)
    if dtype not in FLOATS:
        # safetensors and GGUF write numbers of less than 16 bits in capitals.
        is_code = dtype.startswith(("int", "uint", "bool")) or dtype[:1].isupper()
        got = f"{dtype}, counts or codes" if is_code else dtype
        remedy = _as_numbers(name, dtype, where)
        raise must_be(what, "floating-point numbers", got, remedy)
    layer = name.rpartition(".")[0]
    for other in tensors:
        is_next_to_it = other.rpartition(".")[0] == layer
        is_below_it = other.startswith((f"{name}.", f"{name}_"))
        if other != name and (is_next_to_it or is_below_it) and _is_scale(other):
            got = f"{other} next to it, as in quantised files"
            raise must_be(
                what, "unquantised numbers", got, "store the product as float32"
            )


def _as_numbers(name: str, dtype: str, where: object) -> str:
    """Return a remedy for integers: how to store the numbers that they stand for."""
    stored = "store the original numbers as float32"
    suffix = Path(str(where)).suffix.lower()
    if suffix not in (".npy", ".npz"):
        return stored
    array = f"numpy.load({str(where)!r})"
    if suffix == ".npz":
        array += f"[{name!r}]"
    lines = (
        "if they count as they are: import numpy; "
        f"numpy.save('vectors.npy', {array}.astype('float32'))"
    )
    if dtype == "uint8":
        lines += (
            "; if they are packed bits: import numpy; "
            f"numpy.save('vectors.npy', numpy.unpackbits({array}, axis=1) * 2.0 - 1)"
        )
    return f"{stored}; {lines}"


def _is_scale(name: str) -> bool:
    words = "_" + name.replace(".", "_")
    if words.endswith(tuple(f"_{scale}" for scale in SCALES)):
        return True
    return any(f"_{state}" in words for state in QUANTISED_STATES)


def singular_values(chosen: Chosen) -> None:
    """Refuse U, Σ and V: the cosines depend on the side that Σ is multiplied into."""
    layout, tensors = chosen.whole, chosen.tensors
    if not layout.is_pair or chosen.request.left is not None:
        return
    name = first_of(tensors, SINGULAR_VALUES)
    if name is None or len(tensors[name].shape) != 1:
        return
    raise InputError(
        "{} must hold two factor matrices; it holds {}, {} and {}, and the cosines "
        "depend on the side that {} belongs to; multiply the left or right factors by "
        "{}, and save the products.",
        File(chosen.where),
        layout.fields["left"],
        name,
        layout.right,
        name,
        name,
    )


def number_for_each_entity(chosen: Chosen) -> None:
    """Refuse an array with one value for each row of a side: a bias, ids or counts."""
    for name, tensor in chosen.left_over.items():
        for side, (n_rows, _) in _sides(chosen):
            if not _is_vector(tensor, n_rows) or _is_in_other_layer(name, chosen):
                continue
            # Integers can be ids or counts, floating-point numbers a bias.
            options = BIAS_OPTIONS if _is_float(tensor) else ID_OPTIONS
            chosen.refuse_left_over(
                name,
                f"one value for each entity of {chosen.layout.fields[side]}",
                Sentence("name it with {}", Option(options[side], name)),
            )


def number_for_each_dimension(chosen: Chosen) -> None:
    """Refuse an array with one number for each column of a side: a scale of the axes.

    Next to a head whose weights have one row per label by custom, such an array belongs
    to the layer before, for example to a norm.
    """
    layout = chosen.layout
    for name, tensor in chosen.left_over.items():
        for side, (_, n_columns) in _sides(chosen):
            source = layout.fields[side]
            by_custom = source.endswith(ROWS_BY_CUSTOM) or is_kernel(source)
            if layout.head and by_custom:
                continue
            if _is_float(tensor) and _is_vector(tensor, n_columns):
                chosen.refuse_left_over(
                    name, f"one number for each dimension of {source}"
                )


def second_table(chosen: Chosen) -> None:
    """Refuse a table with the shape of one of the two tables: it could replace it."""
    layout = chosen.layout
    if not layout.is_pair:
        return
    for name, tensor in chosen.left_over.items():
        for side, _ in _sides(chosen):
            source = layout.fields[side]
            if tensor.shape == chosen.tensors[source].shape:
                chosen.refuse_left_over(
                    name,
                    f"the shape of {source}",
                    Sentence("name it with {}", Option(FACTOR_OPTIONS[side], name)),
                )


def layer_beside_two_tables(chosen: Chosen) -> None:
    """Refuse two tables next to a layer, which their rows can pass through first.

    A matrix with the shape of one of the tables is left to `second_table`.
    """
    layout = chosen.layout
    if not layout.is_pair:
        return
    shapes = [chosen.tensors[layout.fields[side]].shape for side, _ in _sides(chosen)]
    for name, tensor in chosen.left_over.items():
        if tensor.shape in shapes:
            continue
        is_layer = name.endswith(".weight") or is_kernel(name)
        is_matrix = len(tensor.shape) > 1 and 1 not in tensor.shape
        if is_layer and is_matrix and _is_float(tensor):
            remedy = Sentence("export the outputs of both towers and read these")
            chosen.refuse_left_over(name, "a layer beside the tables", remedy)


def adapters(chosen: Chosen) -> None:
    """Refuse a head that PEFT changes: the head is the sum of several arrays."""
    if not chosen.is_head_by_name:
        return
    for name in chosen.tensors:
        layer = _adapted_layer(name)
        if layer is None or is_inside(layer) or head_recipe(layer) is None:
            continue
        chosen.refuse_head(
            "one matrix",
            f"{name}, which changes it",
            "merge the adapters into the model (model.merge_and_unload() in PEFT) and "
            "save it again",
        )


def _adapted_layer(name: str) -> str | None:
    """Return the name of the weights that an array of PEFT changes; None for others."""
    parts = name.split(".")
    for number, part in enumerate(parts):
        if number > 0 and (part in ADAPTERS or part.startswith("lora_")):
            return ".".join([*parts[:number], "weight"])
    return None


def rival_of_tied_embeddings(chosen: Chosen) -> None:
    """Refuse input embeddings if another matrix of their shape can be the head."""
    name = chosen.layout.right
    if not chosen.is_head_by_name or not is_tied(name):
        return
    shape = chosen.tensors[name].shape
    for other, other_shape in chosen.matrices.items():
        has_shape = other_shape in (shape, shape[::-1])
        if has_shape and not any(part in other for part in EMBEDDINGS):
            chosen.refuse_head(
                "the only matrix of its shape",
                f"{name} and {other}, both {shape}",
                Sentence(
                    "name the head with {} and {}",
                    Option("weight", other),
                    Option("kind", "head"),
                ),
            )


def last_layer(chosen: Chosen) -> None:
    """Refuse a layer with a common name if it is not the last one, or has no labels."""
    name = chosen.layout.right
    recipe = head_recipe(name)
    if not chosen.is_head_by_name or recipe is None or not recipe.is_common:
        return
    shape = chosen.tensors[name].shape
    n_labels = chosen.layout.n_rows(chosen.tensors)
    remedy = Sentence(
        "name it with {} and {} if a softmax follows it",
        Option("weight", name),
        Option("kind", "head"),
    )
    # A layer that takes as many inputs as this one has outputs comes after it.
    for other, (_, n_inputs) in chosen.matrices.items():
        takes_outputs = n_inputs == n_labels and n_labels > 1
        if takes_outputs and other.endswith(".weight"):
            got = f"{name} {shape}, whose outputs {other} takes"
            chosen.refuse_head("its last layer", got, remedy)
    # A factorisation machine has one number for each row of its factors.
    is_vector = 1 in shape and max(shape) > 1
    for other, (n_rows, _) in chosen.matrices.items():
        if is_vector and n_rows == max(shape):
            got = f"{name} {shape}, one number for each row of {other}"
            chosen.refuse_head("rows of labels", got, remedy)


def embeddings_without_head(chosen: Chosen) -> None:
    """Refuse input embeddings if the configuration says that they are not the head."""
    if chosen.is_head_by_name:
        require_head_of_network(chosen.layout.right, chosen.config, chosen.where)


def other_task(chosen: Chosen) -> None:
    """Refuse a last layer that is no softmax over its rows by its configuration."""
    if chosen.is_head_by_name:
        require_softmax(
            chosen.layout.right, chosen.config, chosen.request, chosen.where
        )


def require_head_of_network(head: str, config: Config, where: object) -> None:
    """Refuse input embeddings of a network that has another head, or none.

    Raises
    ------
    InputError
        If the configuration unties the head, or is that of an encoder.
    """
    if not is_tied(head) or not config.no_head_reason:
        return
    if config.has_own_head:
        way_to_head = Sentence("fetch the rest of the checkpoint")
    else:
        way_to_head = Sentence(
            "name its head with {}", Option("weight", placeholder="NAME")
        )
    remedy = Sentence(
        "{}, or read these vectors with {} and {}",
        way_to_head,
        Option("kind", "vectors"),
        Option("weight", head),
    )
    raise must_be(
        Sentence("the head of {}", File(where)),
        f"in the file, because {config.no_head_reason}",
        f"only {head}",
        remedy,
    )


def require_softmax(head: str, config: Config, request: Request, where: object) -> None:
    """Refuse the last layer of a network that predicts no label by a softmax.

    Raises
    ------
    InputError
        If the configuration names another task, unless the caller says that the layer
        is a head, or says the link.
    """
    is_declared = request.kind == "head" or request.link is not None
    if is_tied(head) or config.other_task is None or is_declared:
        return
    remedy = Sentence(
        "say {} if a softmax follows {}, or {} if each label is predicted on its own",
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


CHECKS = (
    # Codes come before the checks of single arrays: a check of arrays that are left
    # over would ask the caller to name the scales of codes as a bias.
    codes,
    singular_values,
    # Layers come before their biases: the checks below would ask the caller to name the
    # bias of a layer as a bias of the tables.
    layer_beside_two_tables,
    number_for_each_entity,
    number_for_each_dimension,
    second_table,
    adapters,
    rival_of_tied_embeddings,
    last_layer,
    embeddings_without_head,
    other_task,
)
"""All checks, in the order in which they run."""
OF_PREDICTIONS = (
    number_for_each_entity,
    number_for_each_dimension,
    second_table,
    layer_beside_two_tables,
)
"""Checks of arrays that change predictions. Vectors of one side have no predictions."""


def require_settled(chosen: Chosen) -> None:
    """Run the checks that apply to a layout.

    Raises
    ------
    InputError
        If one of them finds that the layout can be a wrong reading.

    Examples
    --------
    >>> shapes = {"P": (5, 2), "Q": (7, 2), "u_bias": (5,)}
    >>> tensors = {name: Tensor(shape, "float64") for name, shape in shapes.items()}
    >>> layout = Layout({"left": "P", "right": "Q"})
    >>> require_settled(
    ...     Chosen(layout, layout, tensors, tensors, Request(), "a.npz", Config())
    ... )
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: every array of a.npz that could matter must be named or
    ignored; got u_bias (5,), ...
    """
    for check in CHECKS:
        if chosen.request.kind == "vectors" and check in OF_PREDICTIONS:
            continue
        check(chosen)


def _sides(chosen: Chosen) -> Iterator[tuple[str, Shape]]:
    """Yield each side with (rows, columns).

    Nothing is yielded if the sides have different numbers of columns. Such sides are
    refused later, when a model is built of them.
    """
    shapes = chosen.layout.shapes(chosen.tensors)
    are_matrices = all(len(shape) == 2 for shape in shapes.values())
    if are_matrices and len({shape[1] for shape in shapes.values()}) == 1:
        yield from shapes.items()


def _is_float(tensor: Tensor) -> bool:
    if tensor.dtype == "bfloat16":
        return True
    return tensor.is_real and np.dtype(tensor.dtype).kind == "f"


def _is_vector(tensor: Tensor, size: int) -> bool:
    """Return True for an array of `size` numbers along one axis of at most two."""
    n_axes = len(tensor.shape)
    return n_axes in (1, 2) and size in tensor.shape and prod(tensor.shape) == size


def _is_in_other_layer(name: str, chosen: Chosen) -> bool:
    """Return True for an array of another layer of a network with a head.

    Then an array of the same layer has the size of this array as its number of outputs:
    for example the weight of a norm next to its bias.
    """
    layer, dot, _ = name.rpartition(".")
    if not chosen.layout.head or not dot:
        return False
    size = max(chosen.tensors[name].shape)
    for other, tensor in chosen.tensors.items():
        if other in (name, chosen.layout.right) or other.rpartition(".")[0] != layer:
            continue
        outputs = tensor.shape[-1:] if is_kernel(other) else tensor.shape[:1]
        if outputs == (size,):
            return True
    return False
