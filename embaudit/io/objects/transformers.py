"""Live networks of transformers: the head that they say they have, their soft cap, and the names of classes."""

from __future__ import annotations

from typing import Any

from embaudit.errors import must_be
from embaudit.io.codecs.memory import as_array
from embaudit.io.objects.reading import Given, Reading
from embaudit.io.objects.torch import from_mapping
from embaudit.io.readers.layout import TIED
from embaudit.io.readers.safetensors import soft_cap
from embaudit.model import FactorModel, Softmax

UNNAMED = "LABEL_"
"""How classes are called where nobody named them."""


def read(model: Any, given: Given) -> Reading:
    """Take the output embeddings of a language model, or the last layer of a classifier.

    Raises
    ------
    InputError
        If it has no head: its input embeddings are none.
    """
    if given.request.kind == "vectors" and callable(getattr(model, "get_input_embeddings", None)):
        return Reading(FactorModel.from_vectors(as_array(model.get_input_embeddings().weight)))
    head = model.get_output_embeddings()
    if head is not None:
        bias = getattr(head, "bias", None)
        link = Softmax(soft_cap=soft_cap(model.config.to_dict()))
        return Reading(
            FactorModel.from_softmax(as_array(head.weight), None if bias is None else as_array(bias), link=link)
        )
    last = {name: tensor for name, tensor in model.state_dict().items() if _is_last(name)}
    if not last:
        remedy = 'load it with its head, or pass kind="vectors" for its input embeddings'
        raise must_be("a model of transformers", "one with a head", type(model).__name__, remedy)
    made = from_mapping(last, given.request)
    names = [text for _, text in sorted((getattr(model.config, "id2label", None) or {}).items())]
    named = len(names) == made.n_right and not any(str(name).startswith(UNNAMED) for name in names)
    return Reading(made.replace(right_names=names) if named else made)


def _is_last(name: str) -> bool:
    return name.startswith(("score.", "classifier.", "fc.", "qa_outputs.")) and name not in TIED
