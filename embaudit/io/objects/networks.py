"""Live networks and layers of torch, Keras, transformers and TransformerLens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.io.arrays import Memory, as_array
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.formats.hdf5 import of_keras
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.layouts.checkpoints.final_norm import with_norm
from embaudit.io.layouts.checkpoints.row_names import classes_of, named_by
from embaudit.io.layouts.checks import require_softmax
from embaudit.io.layouts.reading import contents_of
from embaudit.io.objects.helpers import (
    comes_from,
    has,
    needed,
    softmax_head,
)
from embaudit.io.options import Request
from embaudit.model import FactorModel, softmax_link
from embaudit.model.tying import Tying

TAKEN = {"right": "weight", "right_bias": "bias"}
SOFTMAX = ("Softmax", "LogSoftmax")
PASSED = ("Dropout", "Identity", "Flatten", *SOFTMAX)
"""Layers behind the last linear one that leave it a head of labels."""
LINKS = {"linear": "softmax", "softmax": "softmax", "sigmoid": "sigmoid"}
"""Link of a Dense layer of Keras by its activation."""
FEW = 8
"""Pairs of example inputs that are compared."""
LAST = (
    "score.",
    "classifier.",
    "classification_head.",
    "logits_proj.",
    "fc.",
    "qa_outputs.",
)
"""Beginnings of the names of the last layers of a classifier."""


def _weights(layer: Any) -> NDArray[Any]:
    """Return the weights of a layer.

    Raises
    ------
    InputError
        If they are quantised.
    """
    # Quantised layers of torch return theirs from a method, those of bitsandbytes hold
    # packed integers.
    weights = None if callable(layer.weight) else as_array(layer.weight)
    if weights is None or weights.dtype.kind != "f":
        remedy = (
            "read the network before it is quantised, or pass its dequantised weights "
            "to FactorModel.from_softmax"
        )
        raise must_be(
            f"the weights of {type(layer).__name__}",
            "floating-point numbers",
            "quantised ones",
            remedy,
        )
    return weights


def linear(layer: Any, request: Request) -> Contents:
    """Read a layer: a Linear one of torch as a softmax head, a Dense one of Keras.

    The activation of a Dense layer tells its link.

    Raises
    ------
    InputError
        If its outputs are no probabilities, or one that the caller does not say is a
        head of two labels.
    """
    # The kernel of Keras holds one column a label.
    is_dense, name = has(layer, "kernel"), type(layer).__name__
    weights = _values(layer.kernel).T if is_dense else _weights(layer)
    activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
    if activation not in LINKS:
        raise must_be(
            f"the activation of a {name} layer",
            "softmax, sigmoid or linear",
            activation,
        )
    if (
        len(weights) == 1
        and activation != "sigmoid"
        and request.kind not in ("head", "vectors")
    ):
        remedy = (
            'pass kind="head" if its sigmoid is the probability of a second label; a '
            "regression is no head"
        )
        raise must_be(
            f"the outputs of a {name} layer", "labels, at least 2", "one", remedy
        )
    places = (
        {"right": "kernel", "right_bias": "bias", "link": "its activation"}
        if is_dense
        else TAKEN
    )
    bias, link = _values(getattr(layer, "bias", None)), LINKS[activation]
    if request.kind == "vectors":
        # A row of zeros for a second label is no vector of the layer.
        head = FactorModel.from_softmax(weights, bias, link=link)
    else:
        head = softmax_head(weights, bias, link=link)
    return Contents.from_model(head, places)


def embedding(layer: Any, request: Request) -> Contents:
    """Read an Embedding layer of torch as vectors: nothing says that it is a head."""
    make = (
        FactorModel.from_softmax if request.kind == "head" else FactorModel.from_vectors
    )
    return Contents.from_model(make(_weights(layer)), TAKEN)


def module(network: Any, request: Request) -> Contents:
    """Read the arrays of a network by their names.

    Its predictions are compared with those of `forward`.

    Raises
    ------
    InputError
        If the network trains, or its predictions can be compared neither with a
        `forward` of users and items nor with what it makes of example inputs, and the
        caller says no link.
    """
    try:
        contents = mapping(network.state_dict(), request)
    except InputError:
        head = _of_last_layer(network, request)
        if head is None:
            raise
        if request.inputs is None:
            return head
        contents = head
    paired, link = "left" in contents.fields, contents.link
    is_softmax = link is not None and link.name == "softmax"
    if not paired and not is_softmax and request.inputs is None:
        return contents
    takes = needed(network.forward) if has(network, "forward") else []
    swapped = _swapped(takes)
    if paired and swapped is not None:
        table = next(iter(network.state_dict().values()))

        def scores(users: Indices, items: Indices) -> Floats:
            rows = [_tensor(row, table) for row in (users, items)]
            return _called(network, *rows[:: -1 if swapped else 1])

        return replace(contents, own=OwnScores(scores, "forward"))
    if request.inputs is not None:
        return _of_examples(network, contents, request.inputs)
    if request.link is None and request.kind != "head":
        says = (
            'kind="head" if a softmax follows'
            if is_softmax
            else 'link="identity" if it gives'
        )
        remedy = (
            f"pass example inputs of forward as inputs=, or say {says} the product of "
            "what was read"
        )
        got = f"forward({', '.join(takes)}), which was not compared"
        raise must_be(
            f"the predictions of {type(network).__name__}",
            "compared with its own",
            got,
            remedy,
        )
    return contents


def _of_last_layer(network: Any, request: Request) -> Contents | None:
    """Read the last linear layer of a network whose names do not tell which one it is.

    Layers of `Sequential` run in their order. Of other networks, the layers are found
    that `forward` calls on its way from example inputs.

    Returns
    -------
    Contents or None
        None if the caller names arrays or wants other things than a head, or if the
        last layer is not linear or not known.

    Raises
    ------
    InputError
        If the network is no `Sequential` and the caller gives no example inputs.
    """
    options = (request.weight, request.left, request.bias, request.left_file)
    linears = {
        name: layer
        for name, layer in network.named_modules()
        if comes_from(layer, ("torch",), ("Linear",)) and has(layer, "weight")
    }
    is_named = any(option is not None for option in options)
    tables = [
        layer
        for layer in network.modules()
        if comes_from(layer, ("torch",), ("Embedding", "EmbeddingBag"))
    ]
    # The linear layers behind two tables are those of towers.
    is_other = is_named or len(tables) > 1 or request.kind not in ("auto", "head")
    if not linears or is_other:
        return None
    if request.inputs is not None:
        layers = _layers_called(network, request.inputs)
    elif comes_from(network, ("torch",), ("Sequential",)):
        layers = _layers_in_order(network)
    else:
        got = ", ".join(linears)
        remedy = Sentence(
            "pass example inputs of forward with {}, or name one with {}",
            Option("inputs", placeholder="INPUTS"),
            Option("weight", f"{[*linears][-1]}.weight"),
        )
        what = f"the last linear layer of {type(network).__name__}"
        raise must_be(what, "known", f"the layers {got}", remedy)
    is_softmax = False
    while layers and comes_from(layers[-1][1], ("torch",), PASSED):
        is_softmax |= comes_from(layers.pop()[1], ("torch",), SOFTMAX)
    if not layers or layers[-1][0] not in linears:
        return None
    name, layer = layers[-1]
    if request.kind != "head" and not is_softmax:
        raise must_be(
            f"the outputs of {type(network).__name__}",
            "probabilities of labels",
            f"those of its linear layer {name} as they are",
            Sentence("say {} if they are scores of labels", Option("kind", "head")),
        )
    contents = linear(layer, request)
    fields = {
        field: replace(source, name=f"{name}.{source.name}")
        for field, source in contents.fields.items()
        if source.name
    }
    return replace(contents, fields={**contents.fields, **fields})


def _layers_in_order(network: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the names and layers of a `Sequential`, those inside others included."""
    layers = []
    for name, layer in network.named_children():
        if comes_from(layer, ("torch",), ("Sequential",)):
            layers += _layers_in_order(layer, f"{prefix}{name}.")
        else:
            layers.append((f"{prefix}{name}", layer))
    return layers


def _layers_called(network: Any, inputs: Any) -> list[tuple[str, Any]]:
    """Return the names and layers without others inside.

    They are in the order in which `forward` calls them.
    """
    layers: list[tuple[str, Any]] = []

    def record(name: str, layer: Any, *_: Any) -> None:
        layers.append((name, layer))

    hooks = [
        layer.register_forward_pre_hook(partial(record, name))
        for name, layer in network.named_modules()
        if not [*layer.children()]
    ]
    try:
        _outputs_of(network, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return layers


def _outputs_of(network: Any, inputs: Any) -> NDArray[Any]:
    """Return what a network makes of example inputs, of which several can be given."""
    table = next(iter(network.state_dict().values()))
    is_several = isinstance(inputs, tuple | list) and any(
        hasattr(each, "shape") for each in inputs
    )
    several = inputs if is_several else (inputs,)
    return _called(network, *(_tensor(each, table) for each in several))


def _called(network: Any, *inputs: Any) -> NDArray[Any]:
    """Return what `forward` makes of inputs."""
    name = type(network).__name__
    if getattr(network, "training", False):
        # Dropout would give other numbers each time, batch norms would learn from the
        # inputs.
        raise must_be(
            name, "in evaluation mode", "one that trains", "call its eval() first"
        )
    try:
        outputs = network(*inputs)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise must_be(
            f"the inputs of {name}", "what its forward takes", reason
        ) from error
    if not hasattr(outputs, "shape"):
        remedy = "say link= if it multiplies the arrays that were read"
        raise must_be(
            f"the outputs of {name}", "one array", type(outputs).__name__, remedy
        )
    return np.asarray(as_array(outputs), dtype=float)


def _swapped(names: Sequence[str]) -> bool | None:
    """Determine from the names of two inputs whether items come before users.

    None if the names are others.
    """
    return {"ui": False, "iu": True}.get("".join(name[:1] for name in names))


def _of_examples(network: Any, contents: Contents, inputs: Any) -> Contents:
    """Return the fields with the outputs of `forward` for example inputs.

    The rows or vectors that the inputs become on their way are recorded.
    """
    fields = contents.fields
    names = {
        side: fields[side].name.rpartition(".")[0]
        for side in ("left", "right")
        if side in fields
    }
    reaching: dict[str, Any] = {}

    def record(side: str, _: Any, args: tuple[Any, ...]) -> None:
        reaching[side] = as_array(args[0])

    layers = {side: network.get_submodule(name) for side, name in names.items()}
    # What reaches the layers on the way is what the factors multiply: rows of two
    # tables, or the inputs of a head.
    hooks = [
        layer.register_forward_pre_hook(partial(record, side))
        for side, layer in layers.items()
    ]
    try:
        theirs = _outputs_of(network, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    name = type(network).__name__
    if len(reaching) < len(hooks):
        remedy = Sentence(
            "say {} if it multiplies them all the same, or read them with {}",
            Option("link", placeholder="LINK"),
            Option("kind", "vectors"),
        )
        raise must_be(
            f"the arrays read from {name}",
            "layers that forward calls",
            "others",
            remedy,
        )
    # Two tables: a few examples, which choose the pairs that are compared.
    if "left" in fields:
        left, right, theirs = (
            array.ravel()[:FEW]
            for array in (reaching["left"], reaching["right"], theirs)
        )
        own = OwnScores(lambda *_: theirs, "forward", pairs=(left, right))
        return replace(contents, own=own)
    # A head: its inputs are the states before it, also those of sequences, one a
    # position.
    states = reaching["right"].reshape(-1, reaching["right"].shape[-1])
    n_right = contents.model().n_right
    if theirs.shape[-1] != n_right or theirs.size != len(states) * n_right:
        remedy = Sentence(
            "read the layer with {} if it is no head", Option("kind", "vectors")
        )
        raise must_be(
            f"the outputs of {name}",
            f"{n_right} scores an input, one a label",
            theirs.shape,
            remedy,
        )
    theirs = theirs.reshape(-1, n_right)
    own = OwnScores(lambda rows, labels: theirs[rows, labels], "forward", probes=states)
    return replace(contents, own=own, inputs=states)


def _tensor(values: Any, like: Any) -> Any:
    """Make a tensor of numbers, and of each array of a batch by name.

    Whole numbers are rows of a table.
    """
    if hasattr(values, "detach"):
        return values
    if isinstance(values, Mapping):
        return {name: _tensor(each, like) for name, each in values.items()}
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise must_be(
            "the inputs of a network", "numbers, or a dictionary of them", repr(values)
        )
    # A tensor of the table's own type would round row numbers: above 2**24 in single
    # precision, 2,048 in half.
    like = like.reshape(-1)[:0].long() if array.dtype.kind in "iu" else like
    return like.new_tensor(array.tolist())


def state_dictionary(tensors: Mapping[str, Any], request: Request) -> Memory:  # noqa: ARG001
    """Take the arrays of a state dictionary."""
    return Memory(
        {str(name): value for name, value in tensors.items() if hasattr(value, "shape")}
    )


def mapping(tensors: Mapping[str, Any], request: Request) -> Contents:
    """Read the arrays of a state dictionary by their names."""
    arrays = state_dictionary(tensors, request)
    return contents_of(arrays, request, "the state dictionary")


def transformer_lens(model: Any, request: Request) -> Contents:  # noqa: ARG001
    """Read the unembedding of TransformerLens, which holds one column a token."""
    cap = float(
        getattr(getattr(model, "cfg", None), "output_logits_soft_cap", -1.0) or -1.0
    )
    weight, bias = as_array(model.unembed.W_U).T, as_array(model.unembed.b_U)
    places = {"right": "unembed.W_U", "right_bias": "unembed.b_U", "link": "its class"}
    return Contents.from_model(
        FactorModel.from_softmax(
            weight, bias, link=softmax_link(soft_cap=cap if cap > 0 else None)
        ),
        places,
    )


def keras_model(model: Any, request: Request) -> Contents:
    """Read the layers of a model of Keras.

    Two tables are compared with the outputs of the model for users and items.
    """
    # Paths of variables have slashes; the names that layouts know have dots.
    arrays = Memory(
        {
            variable.path.replace("/", "."): _values(variable)
            for variable in model.weights
        }
    )
    contents = of_keras(
        arrays, {"config": model.get_config()}, request, type(model).__name__
    )
    swapped = _swapped([tensor.name for tensor in getattr(model, "inputs", None) or ()])
    paired = "left" in contents.fields
    if (
        paired
        and swapped is None
        and "link" not in contents.fields
        and request.link is None
    ):
        what, got = (
            f"the predictions of {type(model).__name__}",
            "layers that its configuration does not name",
        )
        raise must_be(
            what,
            "compared with its own",
            got,
            Sentence(
                "say {} if it multiplies its two tables", Option("link", "identity")
            ),
        )
    if not paired or swapped is None:
        return contents

    def scores(users: Indices, items: Indices) -> Floats:
        pairs = [users[:, None], items[:, None]]
        return np.asarray(model.predict(pairs[:: -1 if swapped else 1], verbose=0))

    return replace(contents, own=OwnScores(scores))


def _values(variable: Any) -> Any:
    by_numpy = hasattr(variable, "numpy") and not hasattr(variable, "detach")
    return (
        None
        if variable is None
        else as_array(variable.numpy() if by_numpy else variable)
    )


def transformer(model: Any, request: Request) -> Contents:
    """Read a model of transformers.

    The head of a language model is its output embeddings, that of a classifier its last
    layer.

    Raises
    ------
    InputError
        If it has no head, because input embeddings are no head, or if the inputs are no
        states before the head.
    """
    request = _with_states(model, request)
    if request.kind == "vectors" and callable(
        getattr(model, "get_input_embeddings", None)
    ):
        rows = as_array(model.get_input_embeddings().weight)
        return Contents.from_model(
            FactorModel.from_vectors(rows), {"right": "get_input_embeddings()"}
        )
    head = model.get_output_embeddings()
    config = Config.of(
        {**model.config.to_dict(), "architectures": [type(model).__name__]}
    )
    if head is None:
        contents = _classifier(model, config, request)
    else:
        contents = _language_model(model, head, config, request)
    arrays = Memory(model.state_dict())
    return with_norm(contents, arrays, config, request, type(model).__name__)


def _with_states(model: Any, request: Request) -> Request:
    """Put the states of all positions of sequences one below another.

    Raises
    ------
    InputError
        If the inputs are numbers of tokens, which are the inputs of the whole network.
    """
    inputs = request.inputs
    if inputs is None or isinstance(inputs, str | PathLike):
        return request
    # A tokenizer gives several arrays by name.
    states = np.empty(0, np.int64) if isinstance(inputs, Mapping) else as_array(inputs)
    if states.dtype.kind in "iub":
        got, call = f"{states.dtype} numbers", "ids"
        if isinstance(inputs, Mapping):
            got, call = ", ".join(map(str, inputs)), "**inputs"
        remedy = "pass what its last layer gets, one row per text"
        if model.get_output_embeddings() is not None:
            remedy = f"pass model({call}, output_hidden_states=True).hidden_states[-1]"
        raise must_be(
            Sentence("{} of {}", Parameter("inputs"), type(model).__name__),
            "hidden states, which its head multiplies",
            f"{got}, which are token ids",
            remedy,
        )
    if states.ndim > 2:
        states = states.reshape(-1, states.shape[-1])
    return replace(request, inputs=states)


def _classifier(model: Any, config: Config, request: Request) -> Contents:
    """Read the last layer of a network that chooses among classes.

    Its configuration names the classes.
    """
    last = {
        name: tensor
        for name, tensor in model.state_dict().items()
        if name.startswith(LAST)
    }
    if not last:
        remedy = (
            'load it with its head, or pass kind="vectors" for its input embeddings'
        )
        raise must_be(
            "a model of transformers", "one with a head", type(model).__name__, remedy
        )
    require_softmax("its last layer", config, request, type(model).__name__)
    contents = mapping(last, replace(request, kind="head"))
    classes = classes_of(config.content, contents.model().n_right, "id2label")
    return replace(contents, fields={**contents.fields, **named_by(classes)})


def _language_model(
    model: Any, head: Any, config: Config, request: Request
) -> Contents:
    """Read the output embeddings of a language model.

    All biases of its logits and its soft cap are read, too.
    """
    if comes_from(head, ("peft",)):
        remedy = "merge the adapters into the model with merge_and_unload()"
        raise must_be(
            f"the head of {type(model).__name__}",
            "one matrix",
            "one with adapters of PEFT",
            remedy,
        )
    # Some networks keep a bias of their own beside that of the head.
    biases = [getattr(head, "bias", None), getattr(model, "final_logits_bias", None)]
    added = [as_array(bias).reshape(-1) for bias in biases if bias is not None]
    bias = sum(added[1:], added[0]) if added else None
    made = FactorModel.from_softmax(
        _weights(head), bias, link=softmax_link(soft_cap=config.soft_cap)
    )
    # What multiplies all logits belongs to the states, as with a final norm.
    factor = (
        1.0
        if config.architecture is None
        else config.architecture.logit_scale(config.values)
    )
    inputs = None if request.inputs is None else factor * np.asarray(request.inputs)
    places = {
        "right": "get_output_embeddings()",
        "right_bias": "its bias",
        "link": "its head",
    }
    embedding = getattr(model, "get_input_embeddings", lambda: None)()
    if getattr(embedding, "weight", None) is head.weight:
        because = "get_input_embeddings() has the same weights"
        made = made.replace(tying=Tying("tied", "get_input_embeddings()", because))
    return Contents.from_model(made, places, inputs=inputs)
