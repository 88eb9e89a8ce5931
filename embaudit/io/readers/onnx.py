"""ONNX networks: the head, where the last thing they do is a linear map of their last layer."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.onnx import OnnxHead, head_of
from embaudit.io.intake import Intake, Part
from embaudit.io.readers.assemble import OF_HEAD
from embaudit.io.request import Request
from embaudit.model import FactorModel


def read(path: Path, request: Request) -> FactorModel:
    """Read the weights and the bias of the head.

    Raises
    ------
    InputError
        If the network ends in something else, or in scores that nothing calls those of labels.
    """
    head = _asked(path, request)
    if request.kind == "vectors":
        return FactorModel.from_vectors(head.weight)
    return FactorModel.from_softmax(head.weight, head.bias, labels=head.labels)


def look(path: Path, request: Request) -> Intake:
    """Say which weights are the head.

    Raises
    ------
    InputError
        As `read` does.
    """
    head = _asked(path, request)
    parts = [Part(head.name, "right", head.weight.shape)]
    if request.kind != "vectors":
        parts += [Part(head.bias_name, "right_bias")] if head.bias_name is not None else []
        parts += [Part("a softmax" if head.softmax else "the kind asked for", "link")]
        parts += [Part("its class labels", "right_names")] if head.labels is not None else []
    titles = Intake.titles if request.kind == "vectors" else OF_HEAD
    return Intake("onnx", (str(path),), tuple(parts), titles=titles)


def _asked(path: Path, request: Request) -> OnnxHead:
    if request.kind == "factors":
        raise InputError('kind must be "head" or "vectors" for an ONNX network, which has one side; got "factors".')
    head = head_of(path)
    if request.kind == "auto" and not head.softmax:
        remedy = "say with kind head (--kind head) that the outputs are scores of labels"
        raise must_be(f"the outputs of {path}", "probabilities of labels", f"those of {head.name} as they are", remedy)
    return head
