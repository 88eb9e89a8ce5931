"""Models of transformers and TransformerLens: the head, and the norm before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, Parameter, Sentence, must_be
from embaudit.io.arrays import Memory, as_array
from embaudit.io.contents import Contents
from embaudit.io.layouts.checkpoints.config import Config
from embaudit.io.layouts.checkpoints.final_norm import with_norm
from embaudit.io.layouts.checkpoints.row_names import classes_of, named_by
from embaudit.io.layouts.checks import require_softmax
from embaudit.io.objects.helpers import comes_from
from embaudit.io.objects.layers import float_weights
from embaudit.io.objects.torch_networks import contents_of_state
from embaudit.io.options import Request
from embaudit.model import FactorModel, softmax_link
from embaudit.model.tying import Tying

LAST_LAYERS = (
    "score.",
    "classifier.",
    "classification_head.",
    "logits_proj.",
    "fc.",
    "qa_outputs.",
)
"""Beginnings of the names of the last layers of a classifier."""


def read_transformer_lens(network: Any, _request: Request) -> Contents:
    """Read the unembedding of TransformerLens, which has one column per token."""
    soft_cap = None
    stored = getattr(getattr(network, "cfg", None), "output_logits_soft_cap", None)
    # The setting is -1 for networks without a soft cap.
    if stored is not None and stored > 0:
        soft_cap = float(stored)
    model = FactorModel.from_softmax(
        as_array(network.unembed.W_U).T,
        as_array(network.unembed.b_U),
        link=softmax_link(soft_cap=soft_cap),
    )
    places = {"right": "unembed.W_U", "right_bias": "unembed.b_U", "link": "its class"}
    return Contents.from_model(model, places)


def read(network: Any, request: Request) -> Contents:
    """Read a model of transformers.

    The head of a language model is its output embeddings, and that of a classifier is
    its last layer. With `kind="vectors"` the input embeddings are read.

    Raises
    ------
    InputError
        If the model has no head, or if the inputs are not the states before the head.
    """
    if request.inputs is not None:
        request = replace(request, inputs=_states(network, request.inputs))
    if request.kind == "vectors" and callable(
        getattr(network, "get_input_embeddings", None)
    ):
        rows = as_array(network.get_input_embeddings().weight)
        model = FactorModel.from_vectors(rows)
        return Contents.from_model(model, {"right": "get_input_embeddings()"})
    name = type(network).__name__
    config = Config.from_content({**network.config.to_dict(), "architectures": [name]})
    if network.get_output_embeddings() is None:
        contents = _read_classifier(network, config, request)
    else:
        contents = _read_language_model(network, config, request)
    return with_norm(contents, Memory(network.state_dict()), config, request, name)


def _states(network: Any, inputs: Any) -> NDArray[Any]:
    """Return the caller's states with one row per position of all sequences.

    Raises
    ------
    InputError
        If the inputs are token ids, which are the inputs of the whole network.
    """
    if isinstance(inputs, Mapping):
        # A tokenizer returns several arrays by name.
        names = ", ".join(map(str, inputs))
        raise _token_ids_error(network, names, "**inputs")
    states = as_array(inputs)
    if states.dtype.kind in "iub":
        raise _token_ids_error(network, f"{states.dtype} numbers", "ids")
    if states.ndim > 2:
        return states.reshape(-1, states.shape[-1])
    return states


def _token_ids_error(network: Any, got: str, arguments: str) -> InputError:
    """Return the error for token ids, with the call that returns hidden states."""
    remedy = "pass what its last layer gets, one row per text"
    if network.get_output_embeddings() is not None:
        call = f"model({arguments}, output_hidden_states=True).hidden_states[-1]"
        if getattr(network.config, "is_encoder_decoder", False):
            call = (
                f"model({arguments}, decoder_input_ids=TARGETS, "
                "output_hidden_states=True).decoder_hidden_states[-1]"
            )
        remedy = f"pass {call}"
    return must_be(
        Sentence("{} of {}", Parameter("inputs"), type(network).__name__),
        "hidden states, which its head multiplies",
        f"{got}, which are token ids",
        remedy,
    )


def _read_classifier(network: Any, config: Config, request: Request) -> Contents:
    """Read the last layer of a network that chooses among classes.

    The configuration names the classes.
    """
    name = type(network).__name__
    last_layer = {
        tensor_name: tensor
        for tensor_name, tensor in network.state_dict().items()
        if tensor_name.startswith(LAST_LAYERS)
    }
    if not last_layer:
        raise must_be(
            "a model of transformers",
            "a model with a head",
            name,
            'load it with its head, or pass kind="vectors" for its input embeddings',
        )
    require_softmax("its last layer", config, request, name)
    contents = contents_of_state(last_layer, replace(request, kind="head"))
    n_labels = contents.model().n_right
    classes = classes_of(config.content, n_labels, "id2label")
    return replace(contents, fields={**contents.fields, **named_by(classes)})


def _read_language_model(network: Any, config: Config, request: Request) -> Contents:
    """Read the output embeddings of a language model, all biases and the soft cap."""
    head = network.get_output_embeddings()
    if comes_from(head, ("peft",)):
        raise must_be(
            f"the head of {type(network).__name__}",
            "one matrix",
            "a matrix with adapters of PEFT",
            "merge the adapters into the model with merge_and_unload()",
        )
    bias = _bias_of_logits(network, head)
    link = softmax_link(soft_cap=config.soft_cap)
    model = FactorModel.from_softmax(float_weights(head), bias, link=link)
    embeddings = getattr(network, "get_input_embeddings", lambda: None)()
    if getattr(embeddings, "weight", None) is head.weight:
        reason = "get_input_embeddings() has the same weights"
        model = model.replace(tying=Tying("tied", "get_input_embeddings()", reason))
    inputs = request.inputs
    if inputs is not None and config.architecture is not None:
        # The caller has the last hidden states. Factors of them before the head, and of
        # all logits behind it, belong to the states, as they do with a final norm.
        inputs = config.logit_factor * np.asarray(inputs)
    places = {
        "right": "get_output_embeddings()",
        "right_bias": "its bias",
        "link": "its head",
    }
    return Contents.from_model(model, places, inputs=inputs)


def _bias_of_logits(network: Any, head: Any) -> NDArray[Any] | None:
    """Return the bias of the head, plus the bias that some networks add themselves."""
    biases = [
        as_array(bias).reshape(-1)
        for bias in (
            getattr(head, "bias", None),
            getattr(network, "final_logits_bias", None),
        )
        if bias is not None
    ]
    return sum(biases[1:], biases[0]) if biases else None
