"""Networks of torch: their arrays by name, compared with what `forward` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from numpy.typing import NDArray

from embaudit.core.checked import Indices
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io.arrays import Memory, as_array
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.layouts.reading import contents_of
from embaudit.io.objects.forward import (
    as_tensor,
    call,
    first_table,
    items_come_first,
    run_examples,
)
from embaudit.io.objects.helpers import has, required_parameters
from embaudit.io.objects.torch_last_layer import read_last_layer
from embaudit.io.options import Request

MOST_PAIRS = 8
"""Number of pairs of example inputs that are compared."""


def arrays_of_state(tensors: Mapping[str, Any], request: Request) -> Memory:  # noqa: ARG001
    """Return the arrays of a state dictionary; other entries are skipped."""
    return Memory(
        {str(name): value for name, value in tensors.items() if hasattr(value, "shape")}
    )


def contents_of_state(tensors: Mapping[str, Any], request: Request) -> Contents:
    """Return the fields of a model that a state dictionary holds, by the names."""
    arrays = arrays_of_state(tensors, request)
    return contents_of(arrays, request, "the state dictionary")


def read(network: Any, request: Request) -> Contents:
    """Read a network: two tables, a head or vectors.

    The names of its arrays tell which of them are read. If they do not, the last linear
    layer is read. The predictions of two tables and of heads are compared with those of
    `forward`.

    Raises
    ------
    InputError
        If nothing tells which arrays are the model, if the network is not in evaluation
        mode, or if its predictions cannot be compared and the caller does not say the
        link.
    """
    try:
        contents = contents_of_state(network.state_dict(), request)
    except InputError:
        head = read_last_layer(network, request)
        if head is None:
            raise
        if request.inputs is None:
            return head
        contents = head
    has_two_tables = "left" in contents.fields
    link = contents.link
    is_softmax = link is not None and link.name == "softmax"
    if not has_two_tables and not is_softmax and request.inputs is None:
        # Vectors have no predictions.
        return contents
    parameters = required_parameters(network.forward) if has(network, "forward") else []
    items_first = items_come_first(parameters)
    if has_two_tables and items_first is not None:
        own = _scores_of_forward(network, items_first)
        return replace(contents, own=own)
    if request.inputs is not None:
        return _compared_with_examples(network, contents, request.inputs)
    if request.link is None and request.kind != "head":
        _refuse_uncompared(network, parameters, is_softmax)
    return contents


def _scores_of_forward(network: Any, items_first: bool) -> OwnScores:
    """Return the scores of a network whose `forward` takes users and items."""
    table = first_table(network)

    def scores(users: Indices, items: Indices) -> NDArray[Any]:
        inputs = [as_tensor(users, table), as_tensor(items, table)]
        if items_first:
            inputs.reverse()
        return call(network, *inputs)

    return OwnScores(scores, "forward")


def _refuse_uncompared(
    network: Any, parameters: list[str], is_softmax: bool
) -> NoReturn:
    if is_softmax:
        declaration = 'kind="head" if a softmax follows'
    else:
        declaration = 'link="identity" if it returns'
    raise must_be(
        f"the predictions of {type(network).__name__}",
        "compared with the output of forward",
        f"forward({', '.join(parameters)}), which was not called",
        f"pass example inputs of forward as inputs=, or say {declaration} the product "
        "of what was read",
    )


def _compared_with_examples(network: Any, contents: Contents, inputs: Any) -> Contents:
    """Add the outputs of a network for example inputs, which are its own scores.

    The inputs of the layers that were read are recorded on the way. These are what the
    factors multiply: numbers of rows of two tables, or the states before a head.

    Raises
    ------
    InputError
        If `forward` does not call the layers, or its outputs are not their scores.
    """
    name = type(network).__name__
    layers = {}
    for side in ("left", "right"):
        if side in contents.fields:
            array_name = contents.fields[side].name
            layers[side] = network.get_submodule(array_name.rpartition(".")[0])
    inputs_of_layers: dict[str, NDArray[Any]] = {}

    def record(side: str, arguments: tuple[Any, ...]) -> None:
        if arguments:
            inputs_of_layers[side] = as_array(arguments[0])

    outputs = run_examples(network, inputs, layers, record)
    if len(inputs_of_layers) < len(layers):
        raise must_be(
            f"the arrays read from {name}",
            "in layers that forward calls with an array",
            "arrays of other layers",
            Sentence(
                "say {} if forward multiplies them nevertheless, or read them with {}",
                Option("link", placeholder="LINK"),
                Option("kind", "vectors"),
            ),
        )
    if "left" in contents.fields:
        # The examples choose the pairs of rows that are compared.
        left = inputs_of_layers["left"].ravel()[:MOST_PAIRS]
        right = inputs_of_layers["right"].ravel()[:MOST_PAIRS]
        own_scores = outputs.ravel()[:MOST_PAIRS]
        own = OwnScores(lambda *_: own_scores, "forward", pairs=(left, right))
        return replace(contents, own=own)
    # A network of sequences has one state per position.
    states = inputs_of_layers["right"]
    states = states.reshape(-1, states.shape[-1])
    n_labels = contents.model().n_right
    if outputs.shape[-1] != n_labels or outputs.size != len(states) * n_labels:
        raise must_be(
            f"the outputs of {name}",
            f"{n_labels} scores per input, one per label",
            outputs.shape,
            Sentence(
                "read the layer with {} if it is not a head", Option("kind", "vectors")
            ),
        )
    scores = outputs.reshape(-1, n_labels)
    own = OwnScores(lambda rows, labels: scores[rows, labels], "forward", probes=states)
    return replace(contents, own=own, inputs=states)
