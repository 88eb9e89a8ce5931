"""ONNX networks: the last linear map, walked to from the outputs backwards through what changes no order of labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.codecs.npy import reason
from embaudit.io.intake import Contents, Source
from embaudit.io.readers.assemble import OF_HEAD
from embaudit.io.request import Request

PASSED = ("Identity", "Cast", "Flatten", "Squeeze", "Reshape", "Dropout", "ZipMap", "Normalizer", "ArgMax", "Log")
"""Operations between scores and outputs that leave open which head it is."""
SOFTMAX = ("Softmax", "LogSoftmax")


@dataclass(frozen=True, eq=False)
class OnnxHead:
    """The last linear map."""

    name: str
    """Name of the weights in the graph, or of the operation that holds them."""
    weight: NDArray[Any]
    """One row a label."""
    bias: NDArray[Any] | None
    bias_name: str | None
    softmax: bool
    """True if the graph turns its scores into probabilities."""
    labels: tuple[str, ...] | None = None
    sigmoid: bool = False
    """True if a sigmoid of each score follows."""


def contents(path: Path, request: Request) -> Contents:
    """Determine the weights and the bias of the head.

    Raises
    ------
    InputError
        If the file is damaged, its outputs are no linear map of something, or of several, or scores that nothing calls
        those of labels.
    """
    onnx = import_module("onnx")
    try:
        graph = onnx.load(str(path)).graph
        numbers = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
        ranks = {x.name: len(x.type.tensor_type.shape.dim) for x in (*graph.value_info, *graph.output)}
        walk = _Walk({name: node for node in graph.node for name in node.output}, numbers, ranks, onnx.helper)
        heads = {head.name: head for out in graph.output for head in walk.back(out.name)}
    except Exception as error:  # what protobuf raises has no class of its own that is public
        raise must_be(f"{path}", "a whole ONNX file", reason(error), "write it again") from error
    if len(heads) != 1 or any(head.sigmoid for head in heads.values()):
        remedy = "export the weights and the bias in Python: numpy.savez('head.npz', W=weight, b=bias)"
        got = " and ".join(f"{x} with a sigmoid" if heads[x].sigmoid else x for x in heads) or "others"
        raise must_be(f"the outputs of {path}", "one linear map, perhaps with a softmax", got, remedy)
    (head,) = heads.values()
    if request.kind == "auto" and not head.softmax:
        remedy = "say with --kind=head that the outputs are scores of labels"
        raise must_be(f"the outputs of {path}", "probabilities of labels", f"those of {head.name} as they are", remedy)
    fields = {"right": Source(head.name, lambda: head.weight, head.weight.shape)}
    if request.kind == "vectors":
        return Contents(fields)
    if head.bias is not None:
        fields["right_bias"] = Source.of(head.bias_name or "", head.bias)
    fields["link"] = Source.of("a softmax" if head.softmax else "the kind asked for", "softmax")
    if head.labels is not None:
        fields["right_names"] = Source.of("its class labels", head.labels)
    return Contents(fields, roles=OF_HEAD)


@dataclass(frozen=True, eq=False)
class _Walk:
    makers: dict[str, Any]
    """The node behind each value."""
    numbers: dict[str, NDArray[Any]]
    ranks: dict[str, int]
    """Axes of each value whose shape the graph tells, 0 where it tells none."""
    helper: Any

    def back(self, name: str) -> Iterator[OnnxHead]:
        """Walk from a value to the linear map it comes from."""
        node = self.makers.get(name)
        if node is None:
            return
        attributes = {attribute.name: self.helper.get_attribute_value(attribute) for attribute in node.attribute}
        # Labels lie along the last axis: a softmax over another one compares inputs, or places of a sequence.
        last = (self.ranks.get(name) or 2) - 1
        if node.op_type in SOFTMAX and attributes.get("axis", -1) not in (-1, last):
            return
        if node.op_type == "Sigmoid":
            yield from (replace(head, sigmoid=True) for head in self.back(node.input[0]))
        elif node.op_type in (*PASSED, *SOFTMAX):
            for head in self.back(node.input[0]):
                yield replace(head, softmax=head.softmax or node.op_type in SOFTMAX)
        elif node.op_type == "Add":
            yield from self._with_bias(node)
        elif node.op_type == "MatMul" and self._is_matrix(node.input[1]):
            yield OnnxHead(node.input[1], self.numbers[node.input[1]].T, None, None, softmax=False)
        elif node.op_type == "Gemm" and self._is_matrix(node.input[1]):
            yield self._gemm(node, attributes)
        elif node.op_type == "LinearClassifier":
            yield from _classifier(attributes)

    def _is_matrix(self, name: str) -> bool:
        return name in self.numbers and self.numbers[name].ndim == 2

    def _with_bias(self, node: Any) -> Iterator[OnnxHead]:
        stored = [name for name in node.input if name in self.numbers]
        computed = [name for name in node.input if name not in self.numbers]
        if len(stored) != 1:
            return
        for head in self.back(computed[0]):
            bias = np.broadcast_to(self.numbers[stored[0]].reshape(-1), len(head.weight))
            yield replace(head, bias=bias if head.bias is None else head.bias + bias, bias_name=stored[0])

    def _gemm(self, node: Any, attributes: dict[str, Any]) -> OnnxHead:
        name = node.input[1]
        stored = self.numbers[name]
        weight = attributes.get("alpha", 1.0) * (stored if attributes.get("transB", 0) else stored.T)
        shift = node.input[2] if len(node.input) > 2 and node.input[2] in self.numbers else None
        head = OnnxHead(name, weight, None, shift, softmax=False)
        if shift is None:
            return head
        bias = attributes.get("beta", 1.0) * self.numbers[shift].reshape(-1)
        return replace(head, bias=np.broadcast_to(bias, len(weight)))


def _classifier(attributes: dict[str, Any]) -> Iterator[OnnxHead]:
    """Take the classifier of scikit-learn's converter: several labels with a softmax, or two with a sigmoid."""
    bias = np.array(attributes["intercepts"], dtype=np.float32)
    weight: NDArray[Any] = np.array(attributes["coefficients"], dtype=np.float32).reshape(len(bias), -1)
    after = attributes.get("post_transform", b"NONE")
    if after == b"LOGISTIC":
        if len(bias) != 2 or not (np.array_equal(weight[0], -weight[1]) and bias[0] == -bias[1]):
            return
        # Two rows w and -w under a sigmoid are the scores 0 and w under a softmax.
        weight[0], bias[0], after = 0, 0, b"SOFTMAX"
    labels = attributes.get("classlabels_strings") or attributes.get("classlabels_ints")
    names = tuple(x.decode() if isinstance(x, bytes) else str(x) for x in labels) if labels else None
    yield OnnxHead("LinearClassifier", weight, bias, "its intercepts", softmax=after == b"SOFTMAX", labels=names)
