"""Names for the rows of a head or a table: the tokens of a tokenizer, or its classes."""

from __future__ import annotations

from pathlib import Path

from embaudit.io.contents import Contents, Source
from embaudit.io.layouts.checkpoints.tokens import Tokens, tokens_of


def named_by(tokens: Tokens | None) -> dict[str, Source]:
    """Return the fields that name the rows of a head by its tokens, if it has some."""
    if tokens is None:
        return {}
    names = Source(tokens.source, lambda: tokens.names, (tokens.n_known,))
    return {"right_names": names, "right_aside": Source.of("", tokens.aside)}


def tokens_beside(folder: Path, contents: Contents) -> dict[str, Source]:
    """Return the fields that name the rows of one table by the tokens in its folder.

    There are none unless the table has exactly one row for each token, and no ids or
    names of its own.
    """
    (n_rows, *_) = contents.fields["right"].shape or (None,)
    if n_rows is None or {"left", "right_ids", "right_names"} & set(contents.fields):
        return {}
    tokens = tokens_of(folder, n_rows)
    if tokens is None or tokens.n_known != n_rows:
        return {}
    return named_by(tokens)
