"""Live modules of torch: layers, and networks whose names `load` knows from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.codecs.memory import Memory, as_array
from embaudit.io.objects.library import needed
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.assemble import contents_of, two_labels
from embaudit.io.request import Request
from embaudit.model import FactorModel, Softmax

TAKEN = {"right": "weight", "right_bias": "bias"}


def linear(layer: Any, given: Given) -> Reading:
    """Take a Linear layer as a softmax head.

    Raises
    ------
    InputError
        If it has one output, and the caller has not said that this is a head of two labels.
    """
    weight, bias = as_array(layer.weight), getattr(layer, "bias", None)
    if given.request.kind == "vectors":
        return Reading(FactorModel.from_vectors(weight), taken=TAKEN)
    if len(weight) == 1:
        if given.request.kind != "head":
            remedy = 'pass kind="head" if its sigmoid is the probability of a second label; a regression is no head'
            raise must_be("the outputs of a Linear layer", "labels, at least 2", "one", remedy)
        made = FactorModel.from_softmax(*two_labels(weight, np.zeros(1) if bias is None else as_array(bias)))
        return Reading(made, taken=TAKEN)
    return Reading(FactorModel.from_softmax(weight, None if bias is None else as_array(bias)), taken=TAKEN)


def embedding(layer: Any, given: Given) -> Reading:
    """Take an Embedding layer as vectors: nothing says that it is anybody's head."""
    if given.request.kind == "head":
        return Reading(FactorModel.from_softmax(as_array(layer.weight)), taken=TAKEN)
    return Reading(FactorModel.from_vectors(as_array(layer.weight)), taken=TAKEN)


def module(network: Any, given: Given) -> Reading:
    """Take the arrays of a network by their names, and hold the scores against `forward(users, items)`."""
    reading = from_mapping(network.state_dict(), given.request)
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


def from_mapping(tensors: Mapping[str, Any], request: Request) -> Reading:
    """Take the arrays of a state dictionary by their names."""
    arrays = Memory({str(name): value for name, value in tensors.items() if hasattr(value, "shape")})
    contents = contents_of(arrays, request, "the state dictionary")
    return Reading(contents.model(), found=contents.intake("torch", ""))


def lens(model: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the unembedding of TransformerLens, which holds one column a token."""
    cap = float(getattr(getattr(model, "cfg", None), "output_logits_soft_cap", -1.0) or -1.0)
    weight, bias = as_array(model.unembed.W_U).T, as_array(model.unembed.b_U)
    taken = {"right": "unembed.W_U", "right_bias": "unembed.b_U", "link": "its class"}
    return Reading(FactorModel.from_softmax(weight, bias, link=Softmax(soft_cap=cap if cap > 0 else None)), taken=taken)
