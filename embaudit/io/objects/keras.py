"""Live layers of Keras: a Dense layer as a head."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.library import require_fitted
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.assemble import two_labels
from embaudit.model import FactorModel

LINKS = {"linear": "softmax", "softmax": "softmax", "sigmoid": "sigmoid"}
"""How the outputs of an activation are read."""

TAKEN = {"right": "kernel", "right_bias": "bias", "link": "its activation"}


def read(layer: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take kernel and bias of a Dense layer; the kernel holds one column a label.

    Raises
    ------
    InputError
        If its outputs are no probabilities, or it has one output that is no probability.
    """
    require_fitted(layer, "kernel")
    weights = _values(layer.kernel).T
    bias = _values(layer.bias) if getattr(layer, "bias", None) is not None else np.zeros(len(weights))
    activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
    if activation not in LINKS:
        raise must_be("the activation of a Dense layer", "softmax, sigmoid or linear", activation)
    if len(weights) == 1:
        if activation != "sigmoid":
            got = f"one, with {activation} activation"
            raise must_be("the outputs of a Dense layer", "labels", got, "a regression is no head")
        return Reading(FactorModel.from_softmax(*two_labels(weights, bias)), taken=TAKEN)
    stored = None if getattr(layer, "bias", None) is None else bias
    return Reading(FactorModel.from_softmax(weights, stored, link=LINKS[activation]), taken=TAKEN)


def _values(variable: Any) -> Any:
    return as_array(variable.numpy() if hasattr(variable, "numpy") and not hasattr(variable, "detach") else variable)
