"""Tables in many files: a folder, a pattern or a list of Parquet, Arrow or CSV, one below another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from embaudit.errors import must_be
from embaudit.io.codecs.arrow import SUFFIXES, ArrowTable
from embaudit.io.codecs.delimited import BY_SUFFIX, continued
from embaudit.io.intake import Contents
from embaudit.io.readers.table_layout import opened
from embaudit.io.readers.tables import contents_of_table
from embaudit.io.request import Request
from embaudit.io.tables.columns import TableFile


def recognises(path: Path) -> bool:
    """Check for a folder of tables."""
    return bool(_files(path))


def _files(folder: Path) -> tuple[Path, ...]:
    """List the tables below a folder, in the order of their names; others, and what Spark leaves beside, are not."""
    suffixes = (*SUFFIXES, *BY_SUFFIX)
    files = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    return tuple(sorted(path for path in files if not path.name.startswith(("_", "."))))


def contents(path: Path, request: Request, files: tuple[Path, ...] = ()) -> Contents:
    """Map columns to fields by the metadata of all files, of text by the first lines.

    Raises
    ------
    InputError
        If the files are of different kinds or have different columns, or as those of one table.
    """
    files = files or _files(path)
    kinds = {file.suffix.lower() for file in files}
    if len(kinds) > 1 or not kinds <= {*SUFFIXES, *BY_SUFFIX}:
        got, remedy = ", ".join(sorted(kinds)), "give the files of one kind"
        raise must_be(f"the files of {path}", "tables of one kind: Parquet, Arrow or CSV", got, remedy)
    (kind,) = kinds
    if kind in BY_SUFFIX:
        # Some files may hold a header only.
        table = opened(max(files, key=lambda file: file.stat().st_size))
        assert table.text is not None
        first, *more = (continued(table.text, file) for file in files)
        return contents_of_table(replace(table, path=path, text=first, more=tuple(more)), request)
    return contents_of_table(TableFile.of(ArrowTable.open(path, files)), request)
