"""ONNX networks: the last linear map before the outputs.

It is found by a walk from each output back through operations that keep the order of
the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.damaged import reason
from embaudit.io.formats import register
from embaudit.io.layouts.reading import OF_HEAD
from embaudit.io.options import Request

SOFTMAX = frozenset({"Softmax", "LogSoftmax"})
CONVERTING = frozenset({"ZipMap", "Normalizer", "ArgMax", "Log", "Sigmoid", *SOFTMAX})
"""Operations that turn scores into probabilities, labels or the like. They are followed
only if no bias is added after them and no softmax follows.
"""
FOLLOWED = frozenset(
    {"Identity", "Cast", "Flatten", "Squeeze", "Reshape", "Dropout", *CONVERTING}
)
"""Operations that the walk follows from an output back to the scores."""
FIRST_WITH_LAST_AXIS = 13
"""Version of the operations from which a softmax without an axis uses the last one;
before, it used the second axis.
"""


@dataclass(frozen=True, eq=False)
class OnnxHead:
    """The last linear map before an output."""

    name: str
    """Name of the weights in the graph, or of the operation that holds them."""
    weight: NDArray[Any]
    """(n, k) with one row per label."""
    biases: tuple[tuple[str, NDArray[Any]], ...]
    """Name and numbers of each bias that is added to the scores, the last one first."""
    labels: tuple[str, ...] | None
    operations: frozenset[str]
    """Operations between the linear map and the output."""

    @property
    def has_softmax(self) -> bool:
        """True if the output is the softmax of the scores."""
        return not SOFTMAX.isdisjoint(self.operations)

    @property
    def has_sigmoid(self) -> bool:
        """True if the output is the sigmoid of the scores."""
        return "Sigmoid" in self.operations


@register(
    "onnx",
    suffixes=(".onnx",),
    origin="networks in ONNX",
    content="a head",
    extra="onnx",
)
def read(path: Path, request: Request) -> Contents:
    """Determine the weights and the bias of the head.

    Raises
    ------
    InputError
        If the file is damaged, if the outputs do not come from exactly one linear map,
        or if neither a softmax nor the caller says that they are scores of labels.
    """
    head = _only_head(path)
    if request.kind == "auto" and not head.has_softmax:
        remedy = Sentence(
            "say {} if the outputs are scores of labels", Option("kind", "head")
        )
        raise must_be(
            Sentence("the outputs of {}", File(path)),
            "probabilities of labels",
            f"the scores of {head.name} without a softmax",
            remedy,
        )
    fields = {"right": Source(head.name, lambda: head.weight, head.weight.shape)}
    if request.kind == "vectors":
        return Contents(fields)
    if head.biases:
        name, _ = head.biases[0]
        fields["right_bias"] = Source.from_value(name, _total_bias(head, path))
    if head.has_softmax:
        fields["link"] = Source.from_value("a softmax", "softmax")
    else:
        fields["link"] = Source.from_value("the kind asked for", "softmax")
    if head.labels is not None:
        fields["right_names"] = Source.from_value("its class labels", head.labels)
    return Contents(fields, roles=OF_HEAD)


def _only_head(path: Path) -> OnnxHead:
    """Return the linear map that all outputs come from.

    Scores can be one output and probabilities another one. Then the head is returned as
    it leads to the probabilities, because these say that a softmax follows.

    Raises
    ------
    InputError
        If the file is damaged, or if the outputs come from several linear maps, from
        other operations, or from a sigmoid.
    """
    heads = _heads(path)
    names = {head.name for head in heads}
    if len(names) != 1 or any(head.has_sigmoid for head in heads):
        found = []
        for head in heads:
            name = head.name
            if head.has_sigmoid:
                name = f"{name} with a sigmoid"
            found.append(name)
        raise must_be(
            Sentence("the outputs of {}", File(path)),
            "the outputs of one linear map, with or without a softmax",
            ", ".join(found) or "the outputs of other operations",
            "export the weights and the bias in Python: numpy.savez('head.npz', "
            "W=weight, b=bias)",
        )
    for head in heads:
        if head.has_softmax:
            return head
    return heads[0]


def _heads(path: Path) -> list[OnnxHead]:
    """Return the linear map before each output that has one."""
    onnx = import_module("onnx")
    try:
        network = onnx.load(str(path))
        versions = [
            operations.version
            for operations in network.opset_import
            if operations.domain in ("", "ai.onnx")
        ]
        softmax_axis = -1
        if versions and max(versions) < FIRST_WITH_LAST_AXIS:
            softmax_axis = 1
        heads = []
        for output in network.graph.output:
            head = _head(output.name, network.graph, onnx, softmax_axis)
            if head is not None:
                heads.append(head)
    # The errors of protobuf have no public class.
    except Exception as error:
        raise must_be(
            File(path), "a valid ONNX file", reason(error), "write it again"
        ) from error
    return heads


def _total_bias(head: OnnxHead, path: Path) -> NDArray[Any]:
    """Return the sum of all biases of a head, (n,) for n labels.

    Raises
    ------
    InputError
        If a bias is neither one number nor one number per label. A column adds to
        inputs, not to labels.
    """
    n_labels = len(head.weight)
    unlike = []
    for name, bias in head.biases:
        # A bias of one number can have no axis.
        is_row = bias.size == 1 or bias.size == n_labels == bias.shape[-1]
        if not is_row:
            unlike.append(f"{name} {bias.shape}")
    if unlike:
        raise must_be(
            Sentence("the biases of {}", File(path)),
            f"vectors of {n_labels} numbers, one per label",
            ", ".join(unlike),
        )
    rows = [np.broadcast_to(bias.reshape(-1), n_labels) for _, bias in head.biases]
    return np.asarray(np.sum(rows, axis=0))


def _head(name: str, graph: Any, onnx: Any, softmax_axis: int) -> OnnxHead | None:
    """Walk from an output back to the linear map that it comes from.

    Parameters
    ----------
    name : str
        Name of the output.
    graph : onnx.GraphProto
        The operations and the stored arrays.
    onnx : module
        The package that reads them.
    softmax_axis : int
        Axis of a softmax that names none.

    Returns
    -------
    OnnxHead or None
        None if another operation comes between.
    """
    makers = {output: node for node in graph.node for output in node.output}
    arrays, origins = _constants(graph, onnx)
    # Number of axes of each value; 0 if the graph does not say.
    n_axes = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*graph.value_info, *graph.output)
    }
    biases: list[tuple[str, NDArray[Any]]] = []
    operations: list[str] = []
    # A damaged graph can lead in a circle, but no walk is longer than all operations.
    for _ in graph.node:
        node = makers.get(name)
        if node is None:
            return None
        kind = node.op_type
        attributes = _attributes(node, onnx)
        stored = [source for source in node.input if source in arrays]
        if kind in FOLLOWED:
            if kind in CONVERTING and (biases or not SOFTMAX.isdisjoint(operations)):
                return None
            axis = attributes.get("axis", softmax_axis)
            # Labels are on the last axis. A softmax over another axis compares inputs,
            # or places of a sequence.
            last_axis = (n_axes.get(name) or 2) - 1
            if kind in SOFTMAX and axis not in (-1, last_axis):
                return None
            operations.append(kind)
            name = node.input[0]
        elif kind == "Add" and len(stored) == 1:
            (bias,) = stored
            biases.append((origins[bias], arrays[bias]))
            name = next(source for source in node.input if source != bias)
        elif kind in ("MatMul", "Gemm") and list(node.input[1:]) == stored:
            return _product(stored, arrays, origins, attributes, biases, operations)
        elif kind == "LinearClassifier":
            return _classifier(attributes, biases, operations)
        else:
            return None
    return None


def _attributes(node: Any, onnx: Any) -> dict[str, Any]:
    """Return the attributes of an operation by name."""
    return {
        attribute.name: onnx.helper.get_attribute_value(attribute)
        for attribute in node.attribute
    }


def _product(
    stored: list[str],
    arrays: dict[str, NDArray[Any]],
    origins: dict[str, str],
    attributes: dict[str, Any],
    biases: list[tuple[str, NDArray[Any]]],
    operations: list[str],
) -> OnnxHead | None:
    """Return the head of `alpha X W + beta b`, which MatMul and Gemm compute.

    Parameters
    ----------
    stored : list of str
        Name of the matrix W in the graph, and perhaps the name of the bias b.
    arrays, origins : dict
        As `_constants` returns them.
    attributes : dict
        alpha and beta, which are 1 by default, and transB if W has one row per label.
    biases, operations : list
        Those that the walk found after the product.

    Raises
    ------
    ValueError
        If alpha or beta is not finite.
    """
    matrix = arrays[stored[0]]
    if matrix.ndim != 2:
        return None
    name = origins[stored[0]]
    for factor in ("alpha", "beta"):
        if not np.isfinite(attributes.get(factor, 1.0)):
            raise ValueError(f"{factor} of {name!r} is {attributes[factor]}")
    weight = matrix.T
    if attributes.get("transB"):
        weight = matrix
    beta = attributes.get("beta", 1.0)
    own_biases = [(origins[bias], beta * arrays[bias]) for bias in stored[1:]]
    return OnnxHead(
        name,
        attributes.get("alpha", 1.0) * weight,
        (*biases, *own_biases),
        None,
        frozenset(operations),
    )


def _constants(graph: Any, onnx: Any) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the arrays of a graph.

    Arrays that operations only give another shape or type are included.

    Returns
    -------
    arrays : dict
        Arrays by name in the graph.
    origins : dict
        Name of the stored array that each array is made of.
    """
    arrays = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer
    }
    origins = {name: name for name in arrays}
    # Each operation of a graph comes after those that it depends on.
    for node in graph.node:
        attributes = _attributes(node, onnx)
        if node.op_type == "Constant" and "value" in attributes:
            arrays[node.output[0]] = onnx.numpy_helper.to_array(attributes["value"])
            origins[node.output[0]] = node.output[0]
        sources = [name for name in node.input if name]
        if node.op_type not in FOLDED or not all(name in arrays for name in sources):
            continue
        array, *others = (arrays[name] for name in sources)
        if node.op_type == "Cast":
            array = array.astype(onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))
        arrays[node.output[0]] = FOLDED[node.op_type](array, others, attributes)
        origins[node.output[0]] = origins[sources[0]]
    return arrays, origins


def _reshaped(
    array: NDArray[Any], others: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    """Apply Reshape; 0 keeps a size unless the operation allows empty arrays."""
    sizes = [int(size) for size in others[0]]
    if not attributes.get("allowzero"):
        sizes = [size or array.shape[axis] for axis, size in enumerate(sizes)]
    return array.reshape(sizes)


def _axes(others: list[NDArray[Any]], attributes: dict[str, Any]) -> tuple[int, ...]:
    """Return the axes of Squeeze and Unsqueeze, an attribute before version 13."""
    axes = attributes.get("axes", ())
    if others:
        axes = others[0].tolist()
    return tuple(int(axis) for axis in axes)


def _squeezed(
    array: NDArray[Any], others: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    return np.squeeze(array, _axes(others, attributes) or None)


def _unsqueezed(
    array: NDArray[Any], others: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    return np.expand_dims(array, _axes(others, attributes))


def _transposed(
    array: NDArray[Any], _: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    return np.transpose(array, attributes.get("perm"))


def _flattened(
    array: NDArray[Any], _: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    axis = attributes.get("axis", 1) % (array.ndim or 1)
    return array.reshape(prod(array.shape[:axis]), -1)


def _dequantised(
    array: NDArray[Any], others: list[NDArray[Any]], attributes: dict[str, Any]
) -> NDArray[Any]:
    """Apply DequantizeLinear with one scale, or one for each entry of an axis.

    Raises
    ------
    ValueError
        If it has a scale for each block of numbers.
    """
    if attributes.get("block_size"):
        raise ValueError("quantised in blocks")
    axis = attributes.get("axis", 1)

    def along_axis(values: NDArray[Any]) -> NDArray[Any]:
        """Give values one axis for each of the array, so that they broadcast."""
        if values.ndim == 0:
            return values
        shape = [1] * array.ndim
        shape[axis] = -1
        return values.reshape(shape)

    scale = others[0]
    numbers = array.astype(scale.dtype)
    if len(others) > 1:
        zero_point = others[1].astype(scale.dtype)
        numbers -= along_axis(zero_point)
    return np.asarray(numbers * along_axis(scale))


FOLDED: dict[
    str, Callable[[NDArray[Any], list[NDArray[Any]], dict[str, Any]], NDArray[Any]]
] = {
    "Cast": lambda array, _others, _attributes: array,
    "DequantizeLinear": _dequantised,
    "Flatten": _flattened,
    "Identity": lambda array, _others, _attributes: array,
    "Reshape": _reshaped,
    "Squeeze": _squeezed,
    "Transpose": _transposed,
    "Unsqueeze": _unsqueezed,
}
"""Operations that give an array another shape or type. Exporters put them between
stored weights and the linear map.
"""


def _classifier(
    attributes: dict[str, Any],
    biases: list[tuple[str, NDArray[Any]]],
    operations: list[str],
) -> OnnxHead | None:
    """Return the head of a classifier that scikit-learn's converter wrote.

    It has several labels with a softmax, or two labels with a sigmoid. None for a
    sigmoid of other rows.
    """
    bias = np.array(attributes["intercepts"], dtype=np.float32)
    coefficients = np.array(attributes["coefficients"], dtype=np.float32)
    weight: NDArray[Any] = coefficients.reshape(len(bias), -1)
    activation = attributes.get("post_transform", b"NONE")
    all_operations = list(operations)
    if activation == b"SOFTMAX":
        all_operations.append("Softmax")
    if activation == b"LOGISTIC":
        if len(bias) != 2:
            return None
        is_mirrored = np.array_equal(weight[0], -weight[1]) and bias[0] == -bias[1]
        if not is_mirrored:
            return None
        # The sigmoids of w·x and -w·x are the softmax of the scores 0 and w·x.
        weight[0], bias[0] = 0, 0
        all_operations.append("Softmax")
    labels = attributes.get("classlabels_strings") or attributes.get("classlabels_ints")
    names = None
    if labels:
        names = tuple(_label(label) for label in labels)
    all_biases = (*biases, ("its intercepts", bias))
    return OnnxHead(
        "LinearClassifier", weight, all_biases, names, frozenset(all_operations)
    )


def _label(stored: bytes | int) -> str:
    """Return a class label as text."""
    if isinstance(stored, bytes):
        return stored.decode()
    return str(stored)
