"""word2vec's binary variant, read as its text is."""

from __future__ import annotations

from typing import IO

from embaudit.io.codecs import word2vec
from embaudit.io.draft import Draft
from embaudit.io.readers.word2vec import contents, keeps

__all__ = ["contents", "keeps", "write"]


def write(file: IO[bytes], draft: Draft) -> None:
    """Write tokens and numbers in float32."""
    word2vec.write_binary(file, draft.right, draft.tokens)
