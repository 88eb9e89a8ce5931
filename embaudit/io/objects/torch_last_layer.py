"""The last linear layer of a network of torch, if the names do not tell which it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from embaudit.errors import Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.objects.forward import run_examples
from embaudit.io.objects.helpers import comes_from, has
from embaudit.io.objects.layers import read_linear
from embaudit.io.options import Request

SOFTMAX = ("Softmax", "LogSoftmax")
KEEP_SCORES = ("Dropout", "Identity", "Flatten")
"""Layers that leave the scores before them as they are, once the network is trained."""


def read_last_layer(network: Any, request: Request) -> Contents | None:
    """Read the last linear layer of a network as a head.

    Layers of `Sequential` run in their order. For other networks, the layers that
    `forward` calls for example inputs are recorded.

    Returns
    -------
    Contents or None
        None if the caller names arrays or wants something else than a head, or if the
        last layer is not linear.

    Raises
    ------
    InputError
        If the order of the layers is not known, because the network is no `Sequential`
        and the caller gives no example inputs; or if no softmax follows and the caller
        does not say that the network is a head.
    """
    named = (request.weight, request.left, request.bias, request.left_file)
    if any(option is not None for option in named):
        return None
    if request.kind not in ("auto", "head") or _has_two_tables(network):
        return None
    linears = {
        name: layer
        for name, layer in network.named_modules()
        if comes_from(layer, ("torch",), ("Linear",)) and has(layer, "weight")
    }
    if not linears:
        return None
    layers = _layers_in_order(network, request, list(linears))
    has_softmax = False
    while layers and comes_from(layers[-1][1], ("torch",), (*KEEP_SCORES, *SOFTMAX)):
        _, layer = layers.pop()
        if comes_from(layer, ("torch",), SOFTMAX):
            has_softmax = True
    if not layers or layers[-1][0] not in linears:
        return None
    name, last = layers[-1]
    if request.kind != "head" and not has_softmax:
        raise must_be(
            f"the outputs of {type(network).__name__}",
            "probabilities of labels",
            f"the scores of its linear layer {name}",
            Sentence("say {} if they are scores of labels", Option("kind", "head")),
        )
    contents = read_linear(last, request)
    fields = dict(contents.fields)
    for field, source in contents.fields.items():
        if source.name:
            fields[field] = replace(source, name=f"{name}.{source.name}")
    return replace(contents, fields=fields)


def _has_two_tables(network: Any) -> bool:
    """Return True for several tables: linear layers behind them belong to towers."""
    tables = [
        layer
        for layer in network.modules()
        if comes_from(layer, ("torch",), ("Embedding", "EmbeddingBag"))
    ]
    return len(tables) > 1


def _layers_in_order(
    network: Any, request: Request, names_of_linears: list[str]
) -> list[tuple[str, Any]]:
    """Return the names and layers of a network in the order in which they run.

    Raises
    ------
    InputError
        If the order is not known.
    """
    if request.inputs is not None:
        return _layers_called(network, request.inputs)
    if comes_from(network, ("torch",), ("Sequential",)):
        return _layers_of_sequential(network)
    raise must_be(
        f"the last linear layer of {type(network).__name__}",
        "known",
        f"the layers {', '.join(names_of_linears)}",
        Sentence(
            "pass example inputs of forward with {}, or name one with {}",
            Option("inputs", placeholder="INPUTS"),
            Option("weight", f"{names_of_linears[-1]}.weight"),
        ),
    )


def _layers_of_sequential(network: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Return the names and layers of a `Sequential` and of nested ones."""
    layers = []
    for name, layer in network.named_children():
        if comes_from(layer, ("torch",), ("Sequential",)):
            layers += _layers_of_sequential(layer, f"{prefix}{name}.")
        else:
            layers.append((f"{prefix}{name}", layer))
    return layers


def _layers_called(network: Any, inputs: Any) -> list[tuple[str, Any]]:
    """Return the layers that `forward` calls, in the order of their calls.

    Only layers without layers inside are returned.
    """
    innermost = {
        name: layer
        for name, layer in network.named_modules()
        if not list(layer.children())
    }
    names: list[str] = []
    run_examples(
        network, inputs, innermost, lambda name, _arguments: names.append(name)
    )
    return [(name, innermost[name]) for name in names]
