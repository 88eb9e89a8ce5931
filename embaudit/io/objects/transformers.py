"""Live networks of transformers: the head that they say they have, their soft cap, and the names of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.checkpoints.classes import classes_of
from embaudit.io.checkpoints.config import Config
from embaudit.io.checkpoints.tokens import called
from embaudit.io.codecs.memory import as_array
from embaudit.io.intake import Part
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.objects.torch import from_mapping
from embaudit.io.readers.layout import TIED
from embaudit.io.readers.safetensors import soft_cap
from embaudit.model import FactorModel, Softmax

LAST = ("score.", "classifier.", "classification_head.", "logits_proj.", "fc.", "qa_outputs.")
"""What the names of the last layers of a classifier begin with."""
TAKEN = {"right": "get_output_embeddings()", "right_bias": "its bias", "link": "its head"}


def read(model: Any, given: Given) -> Reading:
    """Take the output embeddings of a language model, or the last layer of a classifier.

    Raises
    ------
    InputError
        If it has no head: its input embeddings are none.
    """
    if given.request.kind == "vectors" and callable(getattr(model, "get_input_embeddings", None)):
        rows = as_array(model.get_input_embeddings().weight)
        return Reading(FactorModel.from_vectors(rows), taken={"right": "get_input_embeddings()"})
    head = model.get_output_embeddings()
    if head is not None:
        config = Config.of(model.config.to_dict())
        factor = 1.0 if config.known is None or given.inputs is None else config.known.after(config.values)
        made = FactorModel.from_softmax(as_array(head.weight), _bias(model, head), link=_link(config))
        # What multiplies all logits belongs to the states, as with a final norm.
        inputs = None if given.inputs is None else factor * np.asarray(given.inputs)
        return Reading(made, inputs=inputs, taken=TAKEN)
    last = {name: tensor for name, tensor in model.state_dict().items() if _is_last(name)}
    if not last:
        remedy = 'load it with its head, or pass kind="vectors" for its input embeddings'
        raise must_be("a model of transformers", "one with a head", type(model).__name__, remedy)
    reading = from_mapping(last, replace(given.request, kind="head"))
    made = reading.model
    names = classes_of({"id2label": getattr(model.config, "id2label", None)}, made.n_right)
    if names is None or reading.found is None:
        return reading
    return replace(reading, model=called(made, names), found=reading.found.beside(Part("id2label", "right_names")))


def _link(config: Config) -> Softmax:
    return Softmax(soft_cap=soft_cap(config.values))


def _bias(model: Any, head: Any) -> Any:
    """Return what is added to the logits: by the head, and by networks that keep a bias of their own."""
    found = [getattr(head, "bias", None), getattr(model, "final_logits_bias", None)]
    added = [as_array(bias).reshape(-1) for bias in found if bias is not None]
    return sum(added[1:], added[0]) if added else None


def _is_last(name: str) -> bool:
    return name.startswith(LAST) and name not in TIED
