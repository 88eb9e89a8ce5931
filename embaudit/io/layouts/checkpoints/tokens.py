"""Names of the rows of a head: tokens of a vocabulary, classes of a configuration; and whether it is a head of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, as_texts
from embaudit.io.json_text import parsed_file
from embaudit.io.layouts.recipes import head_recipe

UNNAMED = re.compile(r"LABEL_\d+")
"""How classes are called where nobody named them."""
OTHER_HEADS = ("Classification", "QuestionAnswering", "MultipleChoice")
"""Parts of the names of networks that choose among something else than tokens."""

NO_SOFTMAX = ("QuestionAnswering", "MultipleChoice", "RewardModel", "ForRegression")
"""Parts of the names of networks whose last layer scores places, answers or rewards."""
WITH_TOKENS = ("HeadModel", "HeadsModel", "MTModel", "EncoderDecoderModel")
"""How the names of some networks with a head of tokens end; others that end in Model
have none.
"""


@dataclass(frozen=True, eq=False)
class Tokens:
    """Names of the rows of a head, and flags of those that stand for no text."""

    names: NDArray[Any]
    """(n,) of each row; `<padding 5>` for a row beyond the vocabulary, by its number.
    """
    aside: Flags
    """(n,) special tokens and padding, about whose neighbours nobody asks."""
    n_known: int
    """Rows that the vocabulary names."""
    source: str
    """Name of the file, or of the entry in it, that names them."""

    @classmethod
    def of(
        cls,
        tokens: Mapping[int, str],
        n_rows: int,
        source: str,
        special: Collection[int] = (),
    ) -> Tokens | None:
        """Name the rows of a head, those beyond the vocabulary as padding.

        None where no vocabulary is there, or it is that of another head: it names none
        of the rows, or rows beyond.

        Examples
        --------
        >>> tokens = Tokens.of({0: "<s>", 1: "b"}, 3, "vocab.json", special={0})
        >>> tokens.names.tolist(), tokens.aside.tolist(), Tokens.of({0: "a", 1: "b"}, 1, "vocab.json")
        (['<s>', 'b', '<padding 2>'], [True, False, True], None)
        """
        if not tokens or max(tokens) >= n_rows:
            return None
        names = as_texts(
            [tokens.get(row, f"<padding {row}>") for row in range(n_rows)],
            f"the tokens of {source}",
        )
        aside = np.array([row in special or row not in tokens for row in range(n_rows)])
        return cls(names, aside, len(tokens), source)


def tokens_of(folder: Path, n_rows: int) -> Tokens | None:
    """Read what the rows of a head stand for: `tokenizer.json`, else `vocab.json`, and what was added.

    Parameters
    ----------
    folder : path
        Where the checkpoint lies.
    n_rows : int
        Rows of the head.

    Returns
    -------
    Tokens or None
        None where no vocabulary of this head is there.

    Examples
    --------
    >>> tokens_of(Path("no-such-folder"), 3) is None
    True
    """
    whole = parsed_file(folder / "tokenizer.json")
    model = whole.get("model") if isinstance(whole, dict) else None
    if isinstance(model, dict):
        # A token that was added later stands in for one of the vocabulary.
        added = [
            x
            for x in _list(whole.get("added_tokens"))
            if isinstance(x, dict) and _is_row(x.get("id"))
        ]
        tokens = dict(_entries(model.get("vocab"))) | {
            x["id"]: str(x.get("content", "")) for x in added
        }
        return Tokens.of(
            tokens,
            n_rows,
            "tokenizer.json",
            {x["id"] for x in added if x.get("special") is True},
        )
    # Neither of these two says which tokens are special.
    beside = (
        _entries(parsed_file(folder / name))
        for name in ("vocab.json", "added_tokens.json")
    )
    return Tokens.of(
        {row: token for entries in beside for row, token in entries},
        n_rows,
        "vocab.json",
    )


def _entries(vocabulary: Any) -> Iterator[tuple[int, str]]:
    """Read a vocabulary: numbers by token, or tokens with their scores in order."""
    if isinstance(vocabulary, dict):
        yield from ((row, token) for token, row in vocabulary.items() if _is_row(row))
    pairs = enumerate(_list(vocabulary))
    yield from (
        (row, str(entry[0]))
        for row, entry in pairs
        if isinstance(entry, list) and entry
    )


def _list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else []


def _is_row(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


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
    other = next(
        (name for name in architectures if any(task in name for task in NO_SOFTMAX)),
        None,
    )
    if other is not None:
        return f"the task {other}"
    classifies = any("Classification" in name for name in architectures)
    return (
        "one label: a reward or a regression"
        if classifies and len(_items(labels)) == 1
        else None
    )


def classes_of(config: Mapping[str, Any], n_rows: int, source: str) -> Tokens | None:
    """Read what a configuration calls the rows of the head of a classifier; those without a name pad it.

    Parameters
    ----------
    config : mapping
        What `config.json` says; `id2label` names rows by their numbers.
    n_rows : int
        Rows of the head.
    source : str
        Name of `id2label` in a report.

    Returns
    -------
    Tokens or None
        None where nobody named the classes, or the names are those of another head: one
        alone, or rows beyond.

    Examples
    --------
    >>> classes = classes_of({"id2label": {"0": "bad", "1": "good"}}, 3, "id2label")
    >>> classes.names.tolist(), classes.aside.tolist()
    (['bad', 'good', '<padding 2>'], [False, False, True])
    >>> classes_of({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, 2, "id2label") is None
    True
    """
    names = {
        int(row): str(name)
        for row, name in _items(config.get("id2label"))
        if str(row).isdecimal()
    }
    named = len(names) > 1 and not all(
        UNNAMED.fullmatch(name) for name in names.values()
    )
    return Tokens.of(names, n_rows, source) if named else None


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
    recipe = head_recipe(weight)
    return recipe is not None and recipe.rows == "classes"


def without_tokens(architectures: tuple[str, ...]) -> str | None:
    """Return the name of a network that has no head of tokens, so that its input embeddings are none; None for others.

    Examples
    --------
    >>> names = ("BartForSequenceClassification", "MistralModel", "GPT2LMHeadModel", "MarianMTModel")
    >>> [without_tokens((name,)) for name in names]
    ['BartForSequenceClassification', 'MistralModel', None, None]
    """
    bare = [
        name
        for name in architectures
        if name.endswith("Model") and not name.endswith(WITH_TOKENS)
    ]
    elsewhere = [
        name for name in architectures if any(kind in name for kind in OTHER_HEADS)
    ]
    return (
        next(iter(bare + elsewhere), None)
        if len(bare + elsewhere) == len(architectures)
        else None
    )
