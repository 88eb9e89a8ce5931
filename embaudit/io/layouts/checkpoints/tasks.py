"""Task of the last layer of a network, by the name of the class of the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embaudit.io.layouts.recipes import head_recipe

OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice")
"""Parts of the names of networks that do not choose among tokens."""
NO_SOFTMAX = ("QuestionAnswering", "MultipleChoice", "RewardModel", "ForRegression")
"""Parts of the names of networks whose last layer scores places, answers or rewards."""
WITH_TOKENS = ("HeadModel", "HeadsModel", "MTModel", "EncoderDecoderModel")
"""Endings of the names of networks with a head of tokens. Other names that end in Model
are those of networks without a head.
"""


def other_task(config: Mapping[str, Any], architectures: tuple[str, ...]) -> str | None:
    """Return the task of a network unless it is a softmax over the rows of its head.

    None is returned if it can be a softmax.

    Parameters
    ----------
    config : mapping
        The content of `config.json`.
    architectures : tuple of str
        The names of the networks that were stored.

    Examples
    --------
    >>> config = {"problem_type": "multi_label_classification"}
    >>> other_task(config, ("BertForSequenceClassification",))
    'the problem_type multi_label_classification'
    >>> other_task({"id2label": {"0": "LABEL_0"}}, ("LlamaForSequenceClassification",))
    'one label: a reward or a regression'
    >>> other_task({}, ("BertForMultipleChoice",))
    'the task BertForMultipleChoice'
    >>> other_task({"id2label": {"0": "a"}}, ("GPT2LMHeadModel",)) is None
    True
    """
    problem = config.get("problem_type")
    if isinstance(problem, str) and problem != "single_label_classification":
        return f"the problem_type {problem}"
    for name in architectures:
        if any(task in name for task in NO_SOFTMAX):
            return f"the task {name}"
    labels = config.get("id2label")
    has_one_label = isinstance(labels, Mapping) and len(labels) == 1
    classifies = any("Classification" in name for name in architectures)
    if classifies and has_one_label:
        return "one label: a reward or a regression"
    return None


def is_classifier(weight: str, architectures: tuple[str, ...]) -> bool:
    """Return True if an array is the head of a classifier.

    The name of the network decides, or that of the array if no network is named.

    Examples
    --------
    >>> networks = (), ("RwkvForCausalLM",), ("ViTForImageClassification",)
    >>> [is_classifier("head.weight", network) for network in networks]
    [True, False, True]
    """
    if architectures:
        return any("Classification" in name for name in architectures)
    recipe = head_recipe(weight)
    return recipe is not None and recipe.rows == "classes"


def without_tokens(architectures: tuple[str, ...]) -> str | None:
    """Return the name of a network without a head of tokens; None if one can have it.

    The input embeddings of such a network are no head.

    Examples
    --------
    >>> without_tokens(("BartForSequenceClassification",))
    'BartForSequenceClassification'
    >>> without_tokens(("MistralModel",))
    'MistralModel'
    >>> [without_tokens((name,)) for name in ("GPT2LMHeadModel", "MarianMTModel")]
    [None, None]
    """
    bare = [
        name
        for name in architectures
        if name.endswith("Model") and not name.endswith(WITH_TOKENS)
    ]
    with_other_heads = [
        name for name in architectures if any(kind in name for kind in OTHER_HEADS)
    ]
    found = bare + with_other_heads
    if found and len(found) == len(architectures):
        return found[0]
    return None
