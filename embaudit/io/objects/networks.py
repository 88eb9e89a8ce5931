"""Live networks and layers of torch, Keras, transformers and TransformerLens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.checkpoints.classes import classes_of
from embaudit.io.checkpoints.config import Config
from embaudit.io.checkpoints.tokens import called
from embaudit.io.codecs.memory import Memory, as_array
from embaudit.io.intake import Part
from embaudit.io.objects.library import needed, require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.assemble import contents_of, two_labels
from embaudit.io.readers.layout import TIED
from embaudit.io.readers.safetensors import soft_cap
from embaudit.io.request import Request
from embaudit.model import FactorModel, Softmax

TAKEN = {"right": "weight", "right_bias": "bias"}
LINKS = {"linear": "softmax", "softmax": "softmax", "sigmoid": "sigmoid"}
"""Link of a Dense layer of Keras by its activation."""
LAST = ("score.", "classifier.", "classification_head.", "logits_proj.", "fc.", "qa_outputs.")
"""Beginnings of the names of the last layers of a classifier."""


def linear(layer: Any, given: Given) -> Reading:
    """Read a Linear layer of torch as a softmax head.

    Raises
    ------
    InputError
        If it has one output, and the caller has not said that this is a head of two labels.
    """
    weight, bias = as_array(layer.weight), getattr(layer, "bias", None)
    if given.request.kind == "vectors":
        return Reading(FactorModel.from_vectors(weight), taken=TAKEN)
    if len(weight) == 1 and given.request.kind != "head":
        remedy = 'pass kind="head" if its sigmoid is the probability of a second label; a regression is no head'
        raise must_be("the outputs of a Linear layer", "labels, at least 2", "one", remedy)
    return Reading(_head(weight, None if bias is None else as_array(bias)), taken=TAKEN)


def _head(weight: Any, bias: Any, **link: Any) -> FactorModel:
    """Make a softmax head; one row stands for two labels."""
    if len(weight) > 1:
        return FactorModel.from_softmax(weight, bias, **link)
    return FactorModel.from_softmax(*two_labels(weight, np.zeros(1) if bias is None else bias))


def embedding(layer: Any, given: Given) -> Reading:
    """Read an Embedding layer of torch as vectors: nothing says that it is a head."""
    make = FactorModel.from_softmax if given.request.kind == "head" else FactorModel.from_vectors
    return Reading(make(as_array(layer.weight)), taken=TAKEN)


def module(network: Any, given: Given) -> Reading:
    """Read the arrays of a network by their names, and hold the scores against `forward(users, items)`."""
    reading = mapping(network.state_dict(), given)
    made = reading.model
    if made.left is None or made.link == "softmax" or not _scores_pairs(network):
        return reading
    table = next(iter(network.state_dict().values()))

    def own(users: Indices, items: Indices) -> Floats:
        pairs = np.stack([np.repeat(users, len(items)), np.tile(items, len(users))])
        left, right = (table.new_tensor(rows.tolist()).long() for rows in pairs)
        return np.asarray(as_array(network(left, right)), dtype=float).reshape(len(users), len(items))

    return replace(reading, own=own, method="forward")


def _scores_pairs(network: Any) -> bool:
    """Whether `forward` takes a user and an item."""
    return [name[0] for name in needed(network.forward)] == ["u", "i"]


def mapping(tensors: Mapping[str, Any], given: Given) -> Reading:
    """Read the arrays of a state dictionary by their names."""
    return _by_names(tensors, given.request)


def _by_names(tensors: Mapping[str, Any], request: Request) -> Reading:
    arrays = Memory({str(name): value for name, value in tensors.items() if hasattr(value, "shape")})
    contents = contents_of(arrays, request, "the state dictionary")
    return Reading(contents.model(), found=contents.intake("torch", ""))


def transformer_lens(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Read the unembedding of TransformerLens, which holds one column a token."""
    cap = float(getattr(getattr(model, "cfg", None), "output_logits_soft_cap", -1.0) or -1.0)
    weight, bias = as_array(model.unembed.W_U).T, as_array(model.unembed.b_U)
    taken = {"right": "unembed.W_U", "right_bias": "unembed.b_U", "link": "its class"}
    return Reading(FactorModel.from_softmax(weight, bias, link=Softmax(soft_cap=cap if cap > 0 else None)), taken=taken)


def dense(layer: Any, given: Given) -> Reading:  # noqa: ARG001
    """Read kernel and bias of a Dense layer of Keras; the kernel holds one column a label.

    Raises
    ------
    InputError
        If its outputs are no probabilities, or it has one output that is no probability.
    """
    require_fitted(layer, "kernel")
    weights, bias = _values(layer.kernel).T, _values(getattr(layer, "bias", None))
    activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
    if activation not in LINKS:
        raise must_be("the activation of a Dense layer", "softmax, sigmoid or linear", activation)
    if len(weights) == 1 and activation != "sigmoid":
        got = f"one, with {activation} activation"
        raise must_be("the outputs of a Dense layer", "labels", got, "a regression is no head")
    taken = {"right": "kernel", "right_bias": "bias", "link": "its activation"}
    return Reading(_head(weights, bias, link=LINKS[activation]), taken=taken)


def _values(variable: Any) -> Any:
    by_numpy = hasattr(variable, "numpy") and not hasattr(variable, "detach")
    return None if variable is None else as_array(variable.numpy() if by_numpy else variable)


def transformer(model: Any, given: Given) -> Reading:
    """Read the output embeddings of a language model of transformers, or the last layer of a classifier.

    Raises
    ------
    InputError
        If it has no head: its input embeddings are none.
    """
    if given.request.kind == "vectors" and callable(getattr(model, "get_input_embeddings", None)):
        rows = as_array(model.get_input_embeddings().weight)
        return Reading(FactorModel.from_vectors(rows), taken={"right": "get_input_embeddings()"})
    head = model.get_output_embeddings()
    if head is not None:
        return _language_model(model, head, given)
    last = {name: tensor for name, tensor in model.state_dict().items() if name.startswith(LAST) and name not in TIED}
    if not last:
        remedy = 'load it with its head, or pass kind="vectors" for its input embeddings'
        raise must_be("a model of transformers", "one with a head", type(model).__name__, remedy)
    reading = _by_names(last, replace(given.request, kind="head"))
    names = classes_of({"id2label": getattr(model.config, "id2label", None)}, reading.model.n_right)
    if names is None or reading.found is None:
        return reading
    found = reading.found.beside(Part("id2label", "right_names"))
    return replace(reading, model=called(reading.model, names), found=found)


def _language_model(model: Any, head: Any, given: Given) -> Reading:
    config = Config.of(model.config.to_dict())
    # Some networks keep a bias of their own beside that of the head.
    biases = [getattr(head, "bias", None), getattr(model, "final_logits_bias", None)]
    added = [as_array(bias).reshape(-1) for bias in biases if bias is not None]
    bias = sum(added[1:], added[0]) if added else None
    made = FactorModel.from_softmax(as_array(head.weight), bias, link=Softmax(soft_cap=soft_cap(config.values)))
    # What multiplies all logits belongs to the states, as with a final norm.
    factor = 1.0 if config.known is None else config.known.after(config.values)
    inputs = None if given.inputs is None else factor * np.asarray(given.inputs)
    taken = {"right": "get_output_embeddings()", "right_bias": "its bias", "link": "its head"}
    return Reading(made, inputs=inputs, taken=taken)
