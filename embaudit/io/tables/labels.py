"""Labels of a head: one a line, a JSON list, or a JSON map between label and row."""

from __future__ import annotations

import csv
import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_count, as_texts
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.delimited import plain_name
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed
from embaudit.io.tables.titles import TITLE_NAMES, require_rows

LATIN = 'convert it with: iconv -f latin1 -t utf-8 "{}" > labels.txt'
"""Remedy for text in another encoding."""


HEADERS = TITLE_NAMES | {"0", ""}
"""Headers of a column of labels; a data frame calls a column without a name 0."""


def read_labels(path: AnyPath, n_rows: int, *, what: str = "label") -> NDArray[np.str_]:
    r"""Read the names of `n_rows` rows.

    Parameters
    ----------
    path : path
        `.json`: a list, a map label → row (as tokenizers keep it) or row → label (as configurations do,
        also under the key "id2label"); anything else: text, one label a line, in the order of the rows, quoted or
        not, with or without header and row numbers as `Series.to_csv` writes them.
    n_rows : int
        How many labels there must be.
    what : str
        What a row is called in an error.

    Returns
    -------
    array of str, shape (n_rows,)

    Raises
    ------
    InputError
        If their number differs, or a map does not name every row exactly once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vocab.json")
    ...     _ = file.write_text('{"b": 1, "a": 0}')
    ...     read_labels(file, 2)
    array(['a', 'b'], dtype='<U1')
    """
    where = existing_file(path)
    as_count(n_rows, "n_rows")
    try:
        text = where.read_text(encoding="utf-8-sig")
        labels = _from_json(parsed(text), n_rows) if where.suffix.lower() == ".json" else _from_text(text, n_rows)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise must_be("the file of labels", "text in UTF-8", f"other bytes in {where}", LATIN.format(where)) from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError(f"{where}: {error.sentence}") from error
        raise must_be("the file of labels", "valid JSON", f"{where} ({error})") from error
    require_rows(len(labels), n_rows, where, f"{what} names")
    return as_texts(labels, f"the labels in {path}")


def labels_of(labels: Any, n_rows: int, *, what: str = "label") -> NDArray[np.str_]:
    """Return names that are at hand, or read them from a file.

    Raises
    ------
    InputError
        If their number differs, or the file is none of labels.

    Examples
    --------
    >>> labels_of(["a", "b"], 2)
    array(['a', 'b'], dtype='<U1')
    """
    if isinstance(labels, (str, os.PathLike)):
        return read_labels(labels, n_rows, what=what)
    names = np.asarray(labels)
    if names.shape != (n_rows,):
        raise must_be("labels", f"a file or a list of {n_rows} {what} names", f"shape {names.shape}")
    return names.astype(np.str_)


def _from_text(text: str, n_rows: int) -> list[str]:
    """Take one label a line, out of the quotes that a data frame puts around some, without its header and index."""
    lines = _lines(text)
    rows = [row for row in _rows_as_written(text) if row]
    if len(rows) == n_rows + 1 and plain_name(rows[0][-1]) in HEADERS:
        rows = rows[1:]
    if len(rows) == n_rows > 1 and all(len(row) == 2 and row[0] == str(i) for i, row in enumerate(rows)):
        return [label for _, label in rows]
    return [row[0] for row in rows] if len(rows) == n_rows and all(len(row) == 1 for row in rows) else lines


def _rows_as_written(text: str) -> list[list[str]]:
    """Return the rows of text that is exactly what a CSV writer makes of them; nothing of a vocabulary with quotes."""
    plain = text.replace("\r\n", "\n")
    try:
        rows = list(csv.reader(io.StringIO(plain, newline="")))
    except csv.Error:  # a line longer than it reads
        return []
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return rows if written.getvalue().removesuffix("\n") == plain.removesuffix("\n") else []


def _lines(text: str) -> list[str]:
    # Not splitlines: a form feed or a line separator may itself be a token of a vocabulary.
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _from_json(content: Any, n_rows: int) -> list[str]:
    """Return the labels of a list or a map, in the order of the rows."""
    if isinstance(content, list):
        return [str(label) for label in content]
    if isinstance(content, dict) and isinstance(content.get("id2label"), dict):
        content = content["id2label"]
    if not isinstance(content, dict):
        raise must_be("the labels", "a JSON list or a map between label and row", type(content).__name__)
    is_vocabulary = all(isinstance(value, int) and not isinstance(value, bool) for value in content.values())
    pairs = [(row, key) if is_vocabulary else (_row(key), row) for key, row in content.items()]
    by_row = {row: str(label) for row, label in pairs}
    missing = next((row for row in range(n_rows) if row not in by_row), None)
    if missing is not None or len(pairs) != n_rows:
        got = f"none for row {missing}" if len(pairs) == n_rows else len(pairs)
        raise must_be("the labels", f"a map of {n_rows} labels, one for each row from 0 to {n_rows - 1}", got)
    return [by_row[row] for row in range(n_rows)]


def _row(key: str) -> int:
    try:
        return int(key)
    except ValueError:
        got = f"the key {key!r} with a value that is no row"
        raise must_be("the labels", "a map label → row or row → label", got) from None
