"""Feather and other Arrow files: read as tables are, written as Arrow writes them."""

from __future__ import annotations

from typing import IO

from embaudit.io.codecs.arrow_output import write_file
from embaudit.io.draft import Draft
from embaudit.io.readers.tables import columns_of, contents, keeps

__all__ = ["contents", "keeps", "write"]


def write(file: IO[bytes], draft: Draft) -> None:
    """Write an Arrow file, uncompressed, so that readers can map it into memory."""
    write_file(file, draft.right, columns_of(draft), draft.metadata)
