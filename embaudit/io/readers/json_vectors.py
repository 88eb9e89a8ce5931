"""JSON and JSON lines: read as tables are, a column of vectors beside ids and others."""

from __future__ import annotations

from pathlib import Path

from embaudit.io.codecs import json_vectors
from embaudit.io.codecs.arrow import ArrowTable
from embaudit.io.intake import Contents
from embaudit.io.readers.tables import contents_of_table
from embaudit.io.request import Request
from embaudit.io.tables.columns import TableFile


def contents(path: Path, request: Request) -> Contents:
    """Map parts to fields; a document in JSON has no header, so it is read for that.

    Raises
    ------
    InputError
        If it holds no vectors, or leaves open which they are.
    """
    return contents_of_table(TableFile.of(ArrowTable.of(path, json_vectors.table(path))), request)
