"""Feather and other Arrow files: read as tables are, written as Arrow writes them."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.io.codecs import arrow
from embaudit.io.codecs.arrow_vectors import stacked
from embaudit.io.draft import Draft
from embaudit.io.readers.tables import columns_of, keeps, look, read

__all__ = ["keeps", "look", "read", "stored_rows", "write"]


def write(file: IO[bytes], draft: Draft) -> None:
    """Write an Arrow file, uncompressed, so that readers can map it into memory."""
    arrow.write_file(file, draft.right, columns_of(draft), draft.metadata)


def stored_rows(path: Path, rows: slice) -> NDArray[Any]:
    """Read some rows of the column that `write` calls vector."""
    return np.asarray(stacked(arrow.table(path, ["vector"]).column(0), "vector")[rows])
