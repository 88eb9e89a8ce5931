"""Single layers: Linear and Embedding of torch, and Dense of Keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.arrays import as_array
from embaudit.io.contents import Contents
from embaudit.io.objects.helpers import softmax_head
from embaudit.io.options import Request
from embaudit.model import FactorModel

PLACES_OF_TORCH = {"right": "weight", "right_bias": "bias"}
PLACES_OF_KERAS = {"right": "kernel", "right_bias": "bias", "link": "its activation"}
LINK_OF_ACTIVATION = {"linear": "softmax", "softmax": "softmax", "sigmoid": "sigmoid"}
"""Link of a Dense layer of Keras by its activation."""


def read_linear(layer: Any, request: Request) -> Contents:
    """Read a Linear layer of torch as a softmax head, with one row per label.

    Raises
    ------
    InputError
        If the weights are quantised, or if the layer has one output and the caller does
        not say that this is the score of a second label.
    """
    bias = getattr(layer, "bias", None)
    return _read_head(
        layer,
        float_weights(layer),
        None if bias is None else as_array(bias),
        "softmax",
        PLACES_OF_TORCH,
        request,
    )


def read_dense(layer: Any, request: Request) -> Contents:
    """Read a Dense layer of Keras as a head whose link follows from its activation.

    Raises
    ------
    InputError
        If no link describes the activation, or if the layer has one output without a
        sigmoid and the caller does not say that this is the score of a second label.
    """
    activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
    if activation not in LINK_OF_ACTIVATION:
        raise must_be(
            f"the activation of a {type(layer).__name__} layer",
            "softmax, sigmoid or linear",
            activation,
        )
    bias = getattr(layer, "bias", None)
    return _read_head(
        layer,
        # The kernel has one column per label.
        values_of_variable(layer.kernel).T,
        None if bias is None else values_of_variable(bias),
        LINK_OF_ACTIVATION[activation],
        PLACES_OF_KERAS,
        request,
    )


def _read_head(
    layer: Any,
    weights: NDArray[Any],
    bias: NDArray[Any] | None,
    link: str,
    places: Mapping[str, str],
    request: Request,
) -> Contents:
    """Return a head whose weights have one row per label, or one row for two labels."""
    is_settled = request.kind in ("head", "vectors")
    if len(weights) == 1 and link != "sigmoid" and not is_settled:
        raise must_be(
            f"the outputs of a {type(layer).__name__} layer",
            "scores of at least 2 labels",
            "one score",
            'pass kind="head" if its sigmoid is the probability of a second label; a '
            "regression has no head",
        )
    if request.kind == "vectors":
        # A head of two labels would add a row of zeros, which is no vector of the
        # layer.
        model = FactorModel.from_softmax(weights, bias, link=link)
    else:
        model = softmax_head(weights, bias, link=link)
    return Contents.from_model(model, places)


def read_embedding(layer: Any, request: Request) -> Contents:
    """Read an Embedding layer of torch as vectors, or as a head if the caller says so.

    Raises
    ------
    InputError
        If the weights are quantised.
    """
    weights = float_weights(layer)
    if request.kind == "head":
        model = FactorModel.from_softmax(weights)
    else:
        model = FactorModel.from_vectors(weights)
    return Contents.from_model(model, PLACES_OF_TORCH)


def float_weights(layer: Any) -> NDArray[Any]:
    """Return the weights of a layer of torch.

    Raises
    ------
    InputError
        If they are quantised.
    """
    # Quantised layers of torch return their weights from a method. Those of
    # bitsandbytes hold packed integers.
    weights = None if callable(layer.weight) else as_array(layer.weight)
    if weights is None or weights.dtype.kind != "f":
        raise must_be(
            f"the weights of {type(layer).__name__}",
            "floating-point numbers",
            "quantised weights",
            "read the network before it is quantised, or pass its dequantised weights "
            "to FactorModel.from_softmax",
        )
    return weights


def values_of_variable(variable: Any) -> NDArray[Any]:
    """Return the numbers of a variable of Keras, whatever its backend is."""
    # Tensors of torch have `numpy`, too, but it fails if they have gradients.
    is_tensor_of_torch = hasattr(variable, "detach")
    if hasattr(variable, "numpy") and not is_tensor_of_torch:
        return as_array(variable.numpy())
    return as_array(variable)
