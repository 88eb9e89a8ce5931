"""Tokens of the rows of a language model's head: the tokens that its files name, and what was added to them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags
from embaudit.io.json_text import parsed_file
from embaudit.model import FactorModel


@dataclass(frozen=True, eq=False)
class Tokens:
    """Names of the rows of a head, and flags of those that stand for no text."""

    names: NDArray[Any]
    """(n,) of each row; `<padding 5>` for a row beyond the vocabulary, by its number."""
    aside: Flags
    """(n,) special tokens and padding, about whose neighbours nobody asks."""
    n_known: int
    """Rows that the vocabulary names."""

    @classmethod
    def of(cls, tokens: dict[int, str], special: Collection[int], n_rows: int) -> Tokens | None:
        """Name the rows of a head, those beyond the vocabulary as padding.

        None where no vocabulary is there, or it is that of another head: it names none of the rows, or rows beyond.
        """
        if not tokens or max(tokens) >= n_rows:
            return None
        names = np.array([tokens.get(row, f"<padding {row}>") for row in range(n_rows)])
        return cls(names, np.array([row in special or row not in tokens for row in range(n_rows)]), len(tokens))


def called(model: FactorModel, tokens: Tokens | None) -> FactorModel:
    """Call the rows of a head by its tokens, where these are known.

    Examples
    --------
    >>> called(FactorModel.from_softmax([[1.0], [2.0]]), listed_tokens(["a"], 2)).right_names.tolist()
    ['a', '<padding 1>']
    """
    return model if tokens is None else model.replace(right_names=tokens.names, right_aside=tokens.aside)


def listed_tokens(tokens: Sequence[str] | None, n_rows: int, special: Collection[int] = ()) -> Tokens | None:
    """Name the rows of a head after a list of tokens, as `tokens_of` does.

    Examples
    --------
    >>> found = listed_tokens(["<s>", "b"], 3, special={0})
    >>> found.names.tolist(), found.aside.tolist(), listed_tokens(["a", "b"], 1), listed_tokens(None, 1)
    (['<s>', 'b', '<padding 2>'], [True, False, True], None, None)
    """
    return Tokens.of(dict(enumerate(tokens or ())), special, n_rows)


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
    return Tokens.of(*_vocabulary(folder), n_rows)


def vocabulary_of(folder: Path) -> str:
    """Return the name of the file that `tokens_of` reads.

    Examples
    --------
    >>> vocabulary_of(Path("no-such-folder"))
    'vocab.json'
    """
    whole = parsed_file(folder / "tokenizer.json")
    return "tokenizer.json" if isinstance(whole, dict) and isinstance(whole.get("model"), dict) else "vocab.json"


def _vocabulary(folder: Path) -> tuple[dict[int, str], set[int]]:
    """Read token by row, later ones for earlier ones, and which are special; `vocab.json` does not say that."""
    whole = parsed_file(folder / "tokenizer.json")
    model = whole.get("model") if isinstance(whole, dict) else None
    if isinstance(model, dict):
        added = list(_added(whole.get("added_tokens")))
        tokens = dict(_entries(model.get("vocab"))) | {row: token for row, token, _ in added}
        return tokens, {row for row, _, special in added if special}
    beside = (_entries(parsed_file(folder / name)) for name in ("vocab.json", "added_tokens.json"))
    return {row: token for entries in beside for row, token in entries}, set()


def _entries(vocabulary: Any) -> Iterator[tuple[int, str]]:
    """Read a vocabulary: numbers by token, or tokens with their scores in order."""
    if isinstance(vocabulary, dict):
        yield from ((row, token) for token, row in vocabulary.items() if _is_row(row))
    elif isinstance(vocabulary, list):
        pairs = enumerate(vocabulary)
        yield from ((row, str(entry[0])) for row, entry in pairs if isinstance(entry, list) and entry)


def _added(tokens: Any) -> Iterator[tuple[int, str, bool]]:
    for token in tokens if isinstance(tokens, list) else ():
        if isinstance(token, dict) and _is_row(token.get("id")):
            yield token["id"], str(token.get("content", "")), token.get("special") is True


def _is_row(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
