"""word2vec, fastText and GloVe files: one table of vectors, tokens as ids."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts
from embaudit.errors import must_be
from embaudit.io.codecs import word2vec
from embaudit.io.draft import Draft
from embaudit.io.intake import Contents, Source
from embaudit.io.request import Request


def contents(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine the vectors of all tokens; the first line says how many there are and of which size.

    Raises
    ------
    InputError
        If the file is cut off, holds numbers only, or a line has another number of columns.
    """
    shape, table = word2vec.shape(path), cache(lambda: _table(path))
    return Contents({"right": Source("vectors", lambda: table()[1], shape),
                     "right_ids": Source("tokens", lambda: table()[0], shape[:1])})  # fmt: skip


def _table(path: Path) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    tokens: list[bytes] = []
    parts: list[NDArray[np.float32]] = []
    for names, vectors in word2vec.blocks(path):
        tokens += names
        parts.append(vectors)
    if all(b"." in token and word2vec.NUMBERS.fullmatch(token) for token in tokens):
        raise must_be(f"{path}", "a table of tokens and vectors", "numbers only", "save bare vectors as .npy or .csv")
    return as_texts([token.decode("utf-8", "backslashreplace") for token in tokens], "words"), np.concatenate(parts)


def keeps(draft: Draft) -> frozenset[str]:
    """One token a row: the ids, or titles in their place."""
    return frozenset({draft.tokens_are})


def write(file: IO[bytes], draft: Draft) -> None:
    """Write text with its header; the numbers read back as they were in float32."""
    word2vec.write(file, draft.right, draft.tokens)


def write_binary(file: IO[bytes], draft: Draft) -> None:
    """Write tokens and numbers in float32, as the binary variant has them."""
    word2vec.write_binary(file, draft.right, draft.tokens)
