"""The names of classes that `config.json` gives, and whether a network has a head of tokens at all."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from embaudit.io.checkpoints.tokens import Tokens

UNNAMED = re.compile(r"LABEL_\d+")
"""How classes are called where nobody named them."""
CLASSIFIERS = (
    "score.weight", "classifier.weight", "classifier.out_proj.weight", "classification_head.out_proj.weight",
    "fc.weight", "head.weight", "logits_proj.weight",
)  # fmt: skip
"""Names of the heads of classifiers, up to a prefix."""
OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice")
"""Parts of the names of networks that choose among something else than tokens."""

NO_SOFTMAX = ("QuestionAnswering", "MultipleChoice", "RewardModel", "ForRegression")
"""Parts of the names of networks whose last layer scores places, answers or rewards."""
WITH_TOKENS = ("HeadModel", "HeadsModel", "MTModel", "EncoderDecoderModel")
"""How the names of some networks with a head of tokens end; others that end in Model have none."""


def other_task(config: Mapping[str, Any], architectures: tuple[str, ...]) -> str | None:
    """Return what a network predicts where it is no softmax over the rows of its last layer; None where it may be one.

    Examples
    --------
    >>> other_task({"problem_type": "multi_label_classification"}, ("BertForSequenceClassification",))
    'the problem_type multi_label_classification'
    >>> other_task({"id2label": {"0": "LABEL_0"}}, ("LlamaForSequenceClassification",))
    'one label: a reward or a regression'
    >>> other_task({}, ("BertForMultipleChoice",)), other_task({"id2label": {"0": "a"}}, ("GPT2LMHeadModel",))
    ('the task BertForMultipleChoice', None)
    """
    problem, labels = config.get("problem_type"), config.get("id2label")
    if isinstance(problem, str) and problem != "single_label_classification":
        return f"the problem_type {problem}"
    other = next((name for name in architectures if any(task in name for task in NO_SOFTMAX)), None)
    if other is not None:
        return f"the task {other}"
    classifies = any("Classification" in name for name in architectures)
    return "one label: a reward or a regression" if classifies and len(_items(labels)) == 1 else None


def classes_of(config: Mapping[str, Any], n_rows: int) -> Tokens | None:
    """Read what a configuration calls the rows of the head of a classifier; those without a name pad it.

    Parameters
    ----------
    config : mapping
        What `config.json` says; `id2label` names rows by their numbers.
    n_rows : int
        Rows of the head.

    Returns
    -------
    Tokens or None
        None where nobody named the classes, or the names are those of another head: one alone, or rows beyond.

    Examples
    --------
    >>> found = classes_of({"id2label": {"0": "bad", "1": "good"}}, 3)
    >>> found.names.tolist(), found.aside.tolist()
    (['bad', 'good', '<padding 2>'], [False, False, True])
    >>> classes_of({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, 2) is None
    True
    """
    names = {int(row): str(name) for row, name in _items(config.get("id2label")) if str(row).isdecimal()}
    named = len(names) > 1 and not all(UNNAMED.fullmatch(name) for name in names.values())
    return Tokens.of(names, (), n_rows) if named else None


def _items(mapping: Any) -> list[tuple[Any, Any]]:
    return list(mapping.items()) if isinstance(mapping, Mapping) else []


def is_classifier(weight: str, architectures: tuple[str, ...]) -> bool:
    """Return whether an array is the head of a classifier, by the name of its network, or else by its own.

    Examples
    --------
    >>> [is_classifier("head.weight", names) for names in ((), ("RwkvForCausalLM",), ("ViTForImageClassification",))]
    [True, False, True]
    """
    if architectures:
        return any("Classification" in name for name in architectures)
    return any(weight == name or weight.endswith(f".{name}") for name in CLASSIFIERS)


def without_tokens(architectures: tuple[str, ...]) -> str | None:
    """Return the name of a network that has no head of tokens, so that its input embeddings are none; None for others.

    Examples
    --------
    >>> names = ("BartForSequenceClassification", "MistralModel", "GPT2LMHeadModel", "MarianMTModel")
    >>> [without_tokens((name,)) for name in names]
    ['BartForSequenceClassification', 'MistralModel', None, None]
    """
    bare = [name for name in architectures if name.endswith("Model") and not name.endswith(WITH_TOKENS)]
    elsewhere = [name for name in architectures if any(kind in name for kind in OTHER_HEADS)]
    return next(iter(bare + elsewhere), None) if len(bare + elsewhere) == len(architectures) else None
