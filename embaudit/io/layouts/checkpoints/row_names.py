"""Names of the rows of a head or a table: tokens of a vocabulary, or classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, as_texts
from embaudit.io.contents import Contents, Source
from embaudit.io.json_text import parsed_file

PLACEHOLDER = "LABEL_"
"""What transformers calls classes that nobody named, with their number behind it."""


@dataclass(frozen=True, eq=False)
class RowNames:
    """Names of the rows of a head, and flags of the rows that stand for no text."""

    names: NDArray[Any]
    """(n,) names; `<padding 5>` for row 5 if the vocabulary does not name it."""
    aside: Flags
    """(n,) True for special tokens and padding, whose neighbours tell nothing."""
    n_known: int
    """Number of rows that the vocabulary names."""
    source: str
    """Name of the file, or of the entry in it, that names the rows."""

    @classmethod
    def from_vocabulary(
        cls,
        vocabulary: Mapping[int, str],
        n_rows: int,
        source: str,
        special: Collection[int] = (),
    ) -> RowNames | None:
        """Name the rows of a head; rows beyond the vocabulary are padding.

        Return None if the vocabulary is empty, or is that of another head because it
        names rows that this head does not have.

        Parameters
        ----------
        vocabulary : mapping
            Names by row.
        n_rows : int
            Rows of the head.
        source : str
            Name of the vocabulary in a report.
        special : collection of int
            Rows of special tokens.

        Examples
        --------
        >>> vocabulary = {0: "<s>", 1: "b"}
        >>> rows = RowNames.from_vocabulary(vocabulary, 3, "vocab.json", special={0})
        >>> rows.names.tolist(), rows.aside.tolist()
        (['<s>', 'b', '<padding 2>'], [True, False, True])
        >>> RowNames.from_vocabulary({0: "a", 1: "b"}, 1, "vocab.json") is None
        True
        """
        if not vocabulary or max(vocabulary) >= n_rows:
            return None
        names = as_texts(
            [vocabulary.get(row, f"<padding {row}>") for row in range(n_rows)],
            f"the tokens of {source}",
        )
        aside = np.array(
            [row in special or row not in vocabulary for row in range(n_rows)]
        )
        return cls(names, aside, len(vocabulary), source)


def tokens_of(folder: Path, n_rows: int) -> RowNames | None:
    """Read the tokens of a head from `tokenizer.json`, or from `vocab.json`.

    Parameters
    ----------
    folder : path
        Folder of the checkpoint.
    n_rows : int
        Rows of the head.

    Returns
    -------
    RowNames or None
        None if the folder has no vocabulary of this head.

    Examples
    --------
    >>> tokens_of(Path("no-such-folder"), 3) is None
    True
    """
    tokenizer = parsed_file(folder / "tokenizer.json")
    if isinstance(tokenizer, dict) and isinstance(tokenizer.get("model"), dict):
        return _tokens_of_tokenizer(tokenizer, n_rows)
    # Neither of these two files says which tokens are special.
    vocabulary: dict[int, str] = {}
    for name in ("vocab.json", "added_tokens.json"):
        vocabulary |= _by_row(parsed_file(folder / name))
    return RowNames.from_vocabulary(vocabulary, n_rows, "vocab.json")


def _tokens_of_tokenizer(tokenizer: Mapping[str, Any], n_rows: int) -> RowNames | None:
    """Read the vocabulary of the package tokenizers, and the tokens added to it."""
    vocabulary = _by_row(tokenizer["model"].get("vocab"))
    special = set()
    for token in _as_list(tokenizer.get("added_tokens")):
        if not isinstance(token, dict) or not _is_row(token.get("id")):
            continue
        # A token that was added later replaces one of the vocabulary.
        vocabulary[token["id"]] = str(token.get("content", ""))
        if token.get("special") is True:
            special.add(token["id"])
    return RowNames.from_vocabulary(vocabulary, n_rows, "tokenizer.json", special)


def _by_row(stored: Any) -> dict[int, str]:
    """Return tokens by row from rows by token, or from a list of tokens with scores."""
    if isinstance(stored, dict):
        return {row: token for token, row in stored.items() if _is_row(row)}
    return {
        row: str(entry[0])
        for row, entry in enumerate(_as_list(stored))
        if isinstance(entry, list) and entry
    }


def _as_list(stored: Any) -> list[Any]:
    return stored if isinstance(stored, list) else []


def _is_row(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def classes_of(config: Mapping[str, Any], n_rows: int, source: str) -> RowNames | None:
    """Read the names of the classes of a classifier from its configuration.

    Parameters
    ----------
    config : mapping
        The content of `config.json`, whose `id2label` names rows by their numbers.
    n_rows : int
        Rows of the head.
    source : str
        Name of `id2label` in a report.

    Returns
    -------
    RowNames or None
        None if nobody named the classes, or if the names are those of another head: a
        single name, or a name of a row that this head does not have.

    Examples
    --------
    >>> classes = classes_of({"id2label": {"0": "bad", "1": "good"}}, 3, "id2label")
    >>> classes.names.tolist(), classes.aside.tolist()
    (['bad', 'good', '<padding 2>'], [False, False, True])
    >>> unnamed = {"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}
    >>> classes_of(unnamed, 2, "id2label") is None
    True
    """
    labels = config.get("id2label")
    if not isinstance(labels, Mapping):
        return None
    names = {
        int(row): str(name) for row, name in labels.items() if str(row).isdecimal()
    }
    if len(names) < 2 or all(map(_is_placeholder, names.values())):
        return None
    return RowNames.from_vocabulary(names, n_rows, source)


def _is_placeholder(name: str) -> bool:
    number = name.removeprefix(PLACEHOLDER)
    return name.startswith(PLACEHOLDER) and number.isdecimal()


def named_by(rows: RowNames | None) -> dict[str, Source]:
    """Return the fields of a model that hold the names of its right rows, if any."""
    if rows is None:
        return {}
    names = Source(rows.source, lambda: rows.names, (rows.n_known,))
    return {"right_names": names, "right_aside": Source.from_value("", rows.aside)}


def tokens_beside(folder: Path, contents: Contents) -> dict[str, Source]:
    """Return the fields that name the rows of one table by the tokens in its folder.

    There are none unless the table has exactly one row per token, and no ids or names
    of its own.
    """
    shape = contents.fields["right"].shape
    has_names = {"left", "right_ids", "right_names"} & set(contents.fields)
    if has_names or not shape or shape[0] is None:
        return {}
    rows = tokens_of(folder, shape[0])
    if rows is None or rows.n_known != shape[0]:
        return {}
    return named_by(rows)
