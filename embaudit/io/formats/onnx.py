"""ONNX networks: the last linear map before the outputs.

It is found by a walk from the outputs backwards through operations that change no order
of labels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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

SOFTMAX = ("Softmax", "LogSoftmax")
BENT = ("ZipMap", "Normalizer", "ArgMax", "Log", "Sigmoid", *SOFTMAX)
"""Operations that make something else of scores: nothing is added behind them, and they
stand there once.
"""
PASSED = ("Identity", "Cast", "Flatten", "Squeeze", "Reshape", "Dropout", *BENT)
"""Operations between scores and outputs that leave open which head it is."""


@dataclass(frozen=True, eq=False)
class OnnxHead:
    """The last linear map before an output."""

    name: str
    """Name of the weights in the graph, or of the operation that holds them."""
    weight: NDArray[Any]
    """One row a label."""
    biases: tuple[tuple[str, NDArray[Any]], ...]
    """Name and numbers of what is added to the scores, the last addition first."""
    labels: tuple[str, ...] | None
    operations: frozenset[str]
    """Operations that follow."""


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
        If the file is damaged, its outputs are no linear map of something, or of
        several, or scores that nothing calls those of labels.
    """
    onnx = import_module("onnx")
    try:
        network = onnx.load(str(path))
        versions = [
            x.version for x in network.opset_import if x.domain in ("", "ai.onnx")
        ]
        # Where a softmax names no axis, it took the second before version 13.
        walk = partial(
            _head,
            graph=network.graph,
            onnx=onnx,
            axis=1 if max(versions, default=13) < 13 else -1,
        )
        heads = [
            head
            for output in network.graph.output
            if (head := walk(output.name)) is not None
        ]
    except (
        Exception
    ) as error:  # what protobuf raises has no class of its own that is public
        raise must_be(
            File(path), "a whole ONNX file", reason(error), "write it again"
        ) from error
    operations = frozenset[str]().union(*(head.operations for head in heads))
    if len({head.name for head in heads}) != 1 or "Sigmoid" in operations:
        got = (
            ", ".join(
                f"{x.name} with a sigmoid" if "Sigmoid" in x.operations else x.name
                for x in heads
            )
            or "others"
        )
        raise must_be(
            Sentence("the outputs of {}", File(path)),
            "one linear map, perhaps with a softmax",
            got,
            "export the weights and the bias in Python: numpy.savez('head.npz', "
            "W=weight, b=bias)",
        )
    # Scores may be an output beside probabilities, which say more.
    is_softmax = bool(operations & {*SOFTMAX})
    head = next((x for x in heads if x.operations & {*SOFTMAX}), heads[0])
    if request.kind == "auto" and not is_softmax:
        remedy = Sentence(
            "say with {} that the outputs are scores of labels", Option("kind", "head")
        )
        raise must_be(
            Sentence("the outputs of {}", File(path)),
            "probabilities of labels",
            f"those of {head.name} as they are",
            remedy,
        )
    fields = {"right": Source(head.name, lambda: head.weight, head.weight.shape)}
    if request.kind == "vectors":
        return Contents(fields)
    if head.biases:
        # A column adds to inputs, not to labels.
        n = len(head.weight)
        unlike = [
            f"{name} {x.shape}"
            for name, x in head.biases
            if x.size != 1 and not x.size == x.shape[-1] == n
        ]
        if unlike:
            raise must_be(
                Sentence("the biases of {}", File(path)),
                f"one number for each of {n} labels in a row",
                ", ".join(unlike),
            )
        bias = np.sum(
            [np.broadcast_to(array.reshape(-1), n) for _, array in head.biases], axis=0
        )
        fields["right_bias"] = Source.of(head.biases[0][0], bias)
    fields["link"] = Source.of(
        "a softmax" if is_softmax else "the kind asked for", "softmax"
    )
    if head.labels is not None:
        fields["right_names"] = Source.of("its class labels", head.labels)
    return Contents(fields, roles=OF_HEAD)


def _head(name: str, graph: Any, onnx: Any, axis: int) -> OnnxHead | None:
    """Walk from an output back to the linear map it comes from.

    None if another operation comes between.
    """
    makers = {output: node for node in graph.node for output in node.output}
    numbers, origins = _constants(graph, onnx)
    # Axes of each value whose shape the graph tells, 0 where it tells none.
    ranks = {
        x.name: len(x.type.tensor_type.shape.dim)
        for x in (*graph.value_info, *graph.output)
    }
    biases: list[tuple[str, NDArray[Any]]] = []
    operations: list[str] = []
    # A damaged graph may lead in a circle: no walk is longer than all nodes.
    for _ in graph.node:
        node = makers.get(name)
        if node is None:
            return None
        kind, attributes = (
            node.op_type,
            {x.name: onnx.helper.get_attribute_value(x) for x in node.attribute},
        )
        stored = [source for source in node.input if source in numbers]
        # Labels lie along the last axis: a softmax over another one compares inputs, or
        # places of a sequence.
        is_other_axis = kind in SOFTMAX and attributes.get("axis", axis) not in (
            -1,
            (ranks.get(name) or 2) - 1,
        )
        is_behind = kind in BENT and (
            bool(biases) or not {*SOFTMAX}.isdisjoint(operations)
        )
        if kind in PASSED and not is_other_axis and not is_behind:
            operations.append(kind)
            name = node.input[0]
        elif kind == "Add" and len(stored) == 1:
            biases.append((origins[stored[0]], numbers[stored[0]]))
            name = next(source for source in node.input if source not in numbers)
        elif (
            kind in ("MatMul", "Gemm")
            and [*node.input[1:]] == stored
            and numbers[stored[0]].ndim == 2
        ):
            for factor in ("alpha", "beta"):
                if not np.isfinite(attributes.get(factor, 1.0)):
                    raise ValueError(
                        f"{factor} of {origins[stored[0]]!r} is {attributes[factor]}"
                    )
            weight = (
                numbers[stored[0]] if attributes.get("transB") else numbers[stored[0]].T
            )
            biases += [
                (origins[source], attributes.get("beta", 1.0) * numbers[source])
                for source in stored[1:]
            ]
            scaled = attributes.get("alpha", 1.0) * weight
            return OnnxHead(
                origins[stored[0]], scaled, tuple(biases), None, frozenset(operations)
            )
        elif kind == "LinearClassifier":
            return _classifier(attributes, biases, operations)
        else:
            return None
    return None


def _constants(graph: Any, onnx: Any) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Return the arrays of a graph.

    Arrays that operations only give another shape or type are included.

    Returns
    -------
    arrays : dict
        By name in the graph.
    origins : dict
        Names of the stored arrays that they are made of.
    """
    arrays = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer
    }
    origins = {name: name for name in arrays}
    # Operations of a graph stand behind those that they depend on.
    for node in graph.node:
        attributes = {
            x.name: onnx.helper.get_attribute_value(x) for x in node.attribute
        }
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
    axes = others[0].tolist() if others else attributes.get("axes", ())
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
    sizes = [1] * array.ndim
    axis = attributes.get("axis", 1)
    scale, *zero = others
    if scale.ndim:
        sizes[axis] = -1
    numbers = array.astype(scale.dtype)
    if zero:
        numbers -= zero[0].astype(scale.dtype).reshape(sizes if zero[0].ndim else ())
    return np.asarray(numbers * scale.reshape(sizes if scale.ndim else ()))


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
    """Take the classifier of scikit-learn's converter.

    It has several labels with a softmax, or two with a sigmoid.
    """
    bias = np.array(attributes["intercepts"], dtype=np.float32)
    weight: NDArray[Any] = np.array(
        attributes["coefficients"], dtype=np.float32
    ).reshape(len(bias), -1)
    after = attributes.get("post_transform", b"NONE")
    if after == b"LOGISTIC":
        if len(bias) != 2 or not (
            np.array_equal(weight[0], -weight[1]) and bias[0] == -bias[1]
        ):
            return None
        # Two rows w and -w under a sigmoid are the scores 0 and w under a softmax.
        weight[0], bias[0] = 0, 0
    softmax = ["Softmax"] if after in (b"SOFTMAX", b"LOGISTIC") else []
    labels = attributes.get("classlabels_strings") or attributes.get("classlabels_ints")
    names = (
        tuple(x.decode() if isinstance(x, bytes) else str(x) for x in labels)
        if labels
        else None
    )
    shifts = (*biases, ("its intercepts", bias))
    return OnnxHead(
        "LinearClassifier", weight, shifts, names, frozenset([*operations, *softmax])
    )
