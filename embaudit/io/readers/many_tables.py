"""Tables in many files: a folder, a pattern or a list of Parquet, Arrow or CSV, one below another."""

from __future__ import annotations

from pathlib import Path

from embaudit.errors import must_be
from embaudit.io.codecs.arrow import BROKEN, SUFFIXES, ArrowTable
from embaudit.io.codecs.delimited import BY_SUFFIX
from embaudit.io.codecs.npy import reason
from embaudit.io.intake import Contents
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
    """Map columns to fields by the metadata of all files; text is read for that.

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
    table = _of_text(path, files, BY_SUFFIX[kind]) if kind in BY_SUFFIX else ArrowTable.open(path, files)
    return contents_of_table(TableFile.of(table), request)


def _of_text(path: Path, files: tuple[Path, ...], separator: str) -> ArrowTable:
    from pyarrow import csv, dataset

    style = dataset.CsvFileFormat(csv.ParseOptions(delimiter=separator))
    try:
        return ArrowTable.of(path, dataset.dataset([str(file) for file in files], format=style).to_table())
    except BROKEN as error:
        raise must_be(f"{path}", "readable tables with one header", reason(error), "write them again") from error
