"""ONNX networks: the head, where the last thing they do is a linear map of their last layer."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import must_be
from embaudit.io.codecs.onnx import head_of
from embaudit.io.intake import Contents, Source
from embaudit.io.readers.assemble import OF_HEAD
from embaudit.io.request import Request


def contents(path: Path, request: Request) -> Contents:
    """Determine the weights and the bias of the head.

    Raises
    ------
    InputError
        If the network ends in something else, or in scores that nothing calls those of labels.
    """
    head = head_of(path)
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
