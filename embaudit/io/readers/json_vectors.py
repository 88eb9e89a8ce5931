"""JSON and JSON lines: read as tables are, a column of vectors beside ids and others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from embaudit.io.codecs import json_vectors
from embaudit.io.intake import Intake
from embaudit.io.readers.table_layout import of_arrow
from embaudit.io.readers.tables import from_arrow, intake_of
from embaudit.io.request import Request, as_one_side
from embaudit.io.tables.columns import TableFile
from embaudit.model import FactorModel

if TYPE_CHECKING:
    import pyarrow as pa


def read(path: Path, request: Request) -> FactorModel:
    """Read the vectors of a document or of its lines.

    Raises
    ------
    InputError
        If it holds none, or leaves open which they are.
    """
    as_one_side(request, "JSON")
    table, content = _opened(path)
    return from_arrow(table, content, request)


def look(path: Path, request: Request) -> Intake:
    """Say which parts become what; a document in JSON has no header, so it is read for that.

    Raises
    ------
    InputError
        As `read` does.
    """
    table, content = _opened(path)
    return intake_of("json", table, of_arrow(table, content.schema, request), content.num_rows, request)


def _opened(path: Path) -> tuple[TableFile, pa.Table]:
    content = json_vectors.table(path)
    return TableFile(path, tuple(content.column_names), content.num_columns, None), content
