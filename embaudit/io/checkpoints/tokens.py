"""The names of tokens that lie beside a checkpoint: `tokenizer.json`, else `vocab.json`, and what was added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.io.json_text import parsed


def token_names(folder: Path, n_rows: int) -> NDArray[Any] | None:
    """Read what each row of a head is called.

    Parameters
    ----------
    folder : path
        Where the checkpoint lies.
    n_rows : int
        Rows of the head; those beyond the vocabulary, which pad it, are called `<padding 5>` by their number.

    Returns
    -------
    array of shape (n_rows,) or None
        None where no vocabulary is there, or it is that of another head: it names none of the rows, or rows beyond.

    Examples
    --------
    >>> token_names(Path("no-such-folder"), 3) is None
    True
    """
    return _padded(dict(_tokens(folder)), n_rows)


def named_rows(tokens: Sequence[str] | None, n_rows: int) -> NDArray[Any] | None:
    """Name the rows of a head after a list of tokens, as `token_names` does.

    Examples
    --------
    >>> named_rows(["a", "b"], 3).tolist(), named_rows(["a", "b"], 1), named_rows(None, 1)
    (['a', 'b', '<padding 2>'], None, None)
    """
    return _padded(dict(enumerate(tokens or ())), n_rows)


def _padded(known: dict[int, str], n_rows: int) -> NDArray[Any] | None:
    if not known or max(known) >= n_rows:
        return None
    return np.array([known.get(row, f"<padding {row}>") for row in range(n_rows)])


def _tokens(folder: Path) -> Iterator[tuple[int, str]]:
    """Yield row and token; later ones stand for earlier ones."""
    whole = _read(folder / "tokenizer.json")
    model = whole.get("model") if isinstance(whole, dict) else None
    if isinstance(model, dict):
        yield from _entries(model.get("vocab"))
        yield from _added(whole.get("added_tokens"))
        return
    yield from _entries(_read(folder / "vocab.json"))
    yield from _entries(_read(folder / "added_tokens.json"))


def _entries(vocabulary: Any) -> Iterator[tuple[int, str]]:
    """Read a vocabulary: numbers by token, or tokens with their scores in order."""
    if isinstance(vocabulary, dict):
        yield from ((row, token) for token, row in vocabulary.items() if _is_row(row))
    elif isinstance(vocabulary, list):
        pairs = enumerate(vocabulary)
        yield from ((row, str(entry[0])) for row, entry in pairs if isinstance(entry, list) and entry)


def _added(tokens: Any) -> Iterator[tuple[int, str]]:
    for token in tokens if isinstance(tokens, list) else ():
        if isinstance(token, dict) and _is_row(token.get("id")):
            yield token["id"], str(token.get("content", ""))


def _is_row(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def _read(path: Path) -> Any:
    try:
        return parsed(path.read_bytes())
    except (OSError, ValueError):
        return None
