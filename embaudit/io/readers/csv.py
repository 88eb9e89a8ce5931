"""CSV: read as tables are, written with a list a row, which `COPY` of Postgres takes into a column of pgvector."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, Any

from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.draft import Draft
from embaudit.io.readers.tables import columns_of, contents

__all__ = ["contents", "keeps", "write"]


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """One side: ids, titles and counts."""
    return frozenset({"right_ids", "right_names", "right_counts"})


def write(file: IO[bytes], draft: Draft) -> None:
    """Write a header and a row each: id, title and interactions where there are any, and the vector in brackets.

    Raises
    ------
    InputError
        If an id is empty, which reads back as none.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(draft)
    if (columns["id"].astype(str) == "").any():
        raise must_be("an id in a .csv file", "text that is not empty", "''", "save it as .parquet")
    writer.writerow([*columns, "vector"])
    writer.writerows(_rows(draft, columns))
    text.detach()


def _rows(draft: Draft, columns: dict[str, NDArray[Any]]) -> Iterator[list[str]]:
    beside = zip(*(map(str, values) for values in columns.values()), strict=True)
    for block in draft.right.rows():
        for row in block:
            yield [*next(beside), f"[{','.join(map(str, row))}]"]
