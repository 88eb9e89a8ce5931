"""One value for each row of a model, from an array, a file or a table: ids, labels, numbers of interactions."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_count, as_texts, require_each, with_seen_zeros
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import UNNAMED
from embaudit.io.files import existing_file, plain_suffix
from embaudit.io.json_text import parsed
from embaudit.io.npy import Npy
from embaudit.io.tables.arrow import SUFFIXES
from embaudit.io.tables.columns import (
    TableFile,
    numbers,
    open_table,
    plain_ids,
    read_by_id,
    read_columns,
)
from embaudit.io.tables.delimited import SEPARATOR_BY_SUFFIX, plain_name
from embaudit.io.tables.delimited_rows import as_ids
from embaudit.io.tables.interactions import USER_NAMES
from embaudit.io.tables.titles import ID_NAMES, TITLE_NAMES, places_of
from embaudit.model.side import Side

LATIN = 'convert it with: iconv -f latin1 -t utf-8 "{}" > labels.txt'
"""Remedy for text in another encoding."""


HEADERS = TITLE_NAMES | {"0", ""}
"""Headers of a column of labels; a data frame calls a column without a name 0."""
IDS = ID_NAMES | USER_NAMES
COUNT_NAMES = frozenset({
    "count", "counts", "interactions", "ratings", "nratings", "ninteractions", "n", "size", "frequency", "plays",
    "playcount", "listens",
})  # fmt: skip


def read_ids(
    source: Any, n_rows: int, *, column: str | None = None, what: str = "item"
) -> NDArray[Any]:
    r"""Read one id for each row, in their order.

    Parameters
    ----------
    source : path or array
        The ids, or a file of them: a table; or one id per line, a JSON list or map as
        `read_labels` takes it, or a `.npy` array.
    n_rows : int
        How many there must be.
    column : str, optional
        Name of the column in a table; by default the column with a customary name.
    what : str
        What a row is called in an error.

    Raises
    ------
    InputError
        If the file cannot be read, holds another number of ids, or leaves open which
        column they are in.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("movieId,title\n70,Heat\n3,Ran\n")
    ...     read_ids(file, 2, column="movieId")
    array([70,  3])
    """
    as_count(n_rows, "n_rows")
    if not isinstance(source, (str, os.PathLike)):
        return np.asarray(with_seen_zeros(source))
    _require_no_column(os.fspath(source))
    where = existing_file(source)
    if column is None and where.suffix.lower() == ".npy":
        ids: NDArray[Any] = Npy(where)[UNNAMED]
    elif column is not None or plain_suffix(where) in (*SEPARATOR_BY_SUFFIX, *SUFFIXES):
        table = _opened(where, ID_NAMES | {plain_name(column or "id")})
        position = table.column("id", column, ID_NAMES, 0, option="ids_column")
        ids = plain_ids(
            table, read_columns(table, {position: "id"})[position], position
        )
    else:
        # As in a table: 007 and 7 are two ids.
        ids = np.array(
            as_ids(_labels(where, n_rows, f"{what} ids").tolist()).to_pylist()
        )
    _require_rows(
        len(ids) if ids.ndim == 1 else f"shape {ids.shape}",
        n_rows,
        where,
        f"{what} ids",
    )
    return ids


def _require_no_column(source: str) -> None:
    """Raise InputError for FILE:COLUMN, which is no file."""
    file, _, column = source.rpartition(":")
    if file and column and not Path(source).exists() and Path(file).is_file():
        remedy = Sentence(
            "name the column with {} and {}",
            Option("ids", file),
            Option("ids_column", column),
        )
        raise must_be("ids", "a file that exists", repr(source), remedy)


def read_labels(path: Any, n_rows: int, *, what: str = "label") -> NDArray[np.str_]:
    r"""Read the names of `n_rows` rows.

    Parameters
    ----------
    path : path or list of str
        The names, or a file of them. `.json`: a list, a map label → row (as tokenizers
        keep it) or row → label (as configurations do, also under the key "id2label");
        anything else: text, one label a line, in the order of the rows, quoted or not,
        with or without header and row numbers as `Series.to_csv` writes them.
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
    as_count(n_rows, "n_rows")
    if not isinstance(path, (str, os.PathLike)):
        names = np.asarray(with_seen_zeros(path))
        if names.shape != (n_rows,):
            raise must_be(
                "labels",
                f"a file or a list of {n_rows} {what} names",
                f"shape {names.shape}",
            )
        require_each(path, f"{what} names")
        return names.astype(np.str_)
    return _labels(existing_file(path), n_rows, f"{what} names")


def _labels(where: Path, n_rows: int, what: str) -> NDArray[np.str_]:
    """Read one text a row of a file, which an error calls so."""
    try:
        text = where.read_text(encoding="utf-8-sig")
        labels = (
            _from_json(parsed(text, infinite=where.name == "config.json"), n_rows)
            if where.suffix.lower() == ".json"
            else _from_text(text, n_rows)
        )
    except OSError as error:
        raise InputError(
            "{} cannot be read: {}.", File(where), error.strerror
        ) from error
    except UnicodeDecodeError as error:
        raise must_be(
            "the file of labels",
            "text in UTF-8",
            Sentence("other bytes in {}", File(where)),
            LATIN.format(where),
        ) from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError("{}: {}", where, error.sentence) from error
        raise must_be(
            "the file of labels", "valid JSON", Sentence("{} ({})", File(where), error)
        ) from error
    _require_rows(len(labels), n_rows, where, what)
    return as_texts(labels, Sentence("the labels in {}", where))


def _from_text(text: str, n_rows: int) -> list[str]:
    """Take one label a line, out of the quotes that a data frame puts around some, without its header and index."""
    # In order: a table of one column with its header, then with row numbers, then cells
    # in quotes; else plain lines, for a quote may be a token itself. Not splitlines: a
    # form feed or a line separator may itself be a token of a vocabulary.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = lines[:-1] if lines[-1] == "" else lines
    rows = [row for row in _rows_as_written(text) if row]
    if len(rows) == n_rows + 1 and plain_name(rows[0][-1]) in HEADERS:
        rows = rows[1:]
    if len(rows) == n_rows > 1 and all(
        len(row) == 2 and row[0] == str(i) for i, row in enumerate(rows)
    ):
        return [label for _, label in rows]
    return (
        [row[0] for row in rows]
        if len(rows) == n_rows and all(len(row) == 1 for row in rows)
        else lines
    )


def _rows_as_written(text: str) -> list[list[str]]:
    """Return the rows of text that is exactly what a CSV writer makes of them; nothing of a vocabulary with quotes."""
    plain = text.replace("\r\n", "\n")
    try:
        rows = list(csv.reader(io.StringIO(plain, newline="")))
    except csv.Error:  # a line longer than it reads
        return []
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return (
        rows
        if written.getvalue().removesuffix("\n") == plain.removesuffix("\n")
        else []
    )


def _require_finite(labels: Iterable[Any]) -> None:
    """Raise ValueError if a label is NaN or infinite."""
    if any(isinstance(label, float) and not isfinite(label) for label in labels):
        raise ValueError("a label is a number that is not finite")


def _from_json(content: Any, n_rows: int) -> list[str]:
    """Return the labels of a list or a map, in the order of the rows."""
    if isinstance(content, list):
        _require_finite(content)
        require_each(content, "the labels")
        return [str(label) for label in content]
    if isinstance(content, dict) and isinstance(content.get("id2label"), dict):
        content = content["id2label"]
    if not isinstance(content, dict):
        raise must_be(
            "the labels",
            "a JSON list or a map between label and row",
            type(content).__name__,
        )
    _require_finite(content.values())
    # Tokenizers map label to row, configurations row to label; the type of the values
    # tells them apart.
    no_row = {key: None for key, value in content.items() if type(value) is not int}
    labels_as_keys = [key for key in content if not _is_row(key)] if no_row else []
    if labels_as_keys:
        # At best, neither the key nor its value is a row.
        wrong = next(
            (key for key in labels_as_keys if key in no_row), next(iter(no_row))
        )
        raise must_be(
            "the labels",
            "a map label → row or row → label",
            f"the key {wrong!r} with a value that is no row",
        )
    if no_row:
        pairs = [(int(key), str(value)) for key, value in content.items()]
    else:
        pairs = [(value, key) for key, value in content.items()]
    by_row = dict(pairs)
    missing = next((row for row in range(n_rows) if row not in by_row), None)
    if missing is not None or len(pairs) != n_rows:
        got = f"none for row {missing}" if len(pairs) == n_rows else len(pairs)
        raise must_be(
            "the labels",
            f"a map of {n_rows} labels, one for each row from 0 to {n_rows - 1}",
            got,
        )
    return [by_row[row] for row in range(n_rows)]


def _is_row(key: str) -> bool:
    """Return True if a key of a JSON map is an integer."""
    try:
        int(key)
    except ValueError:
        return False
    return True


def read_counts(source: Any, side: Side) -> Any:
    r"""Read the interactions behind every row of a side.

    Parameters
    ----------
    source : path or array
        The counts, one per row, which the side checks; or a `.npy` file or a table of
        one column, in the order of the rows; or a table of ids and counts, in any
        order, matched to the ids of the side (to row numbers where it has none). More
        ids than the side has do no harm.
    side : Side
        Whose rows.

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    InputError
        If the file cannot be read, leaves open which column is which, has another
        length, or lacks ids of the side.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "counts.csv")
    ...     _ = file.write_text("item,count\nb,7\nc,1\na,2\n")
    ...     read_counts(file, Side([[1.0], [2.0]], "item", ids=["a", "b"]))
    array([2., 7.])
    """
    if not isinstance(source, (str, os.PathLike)):
        return source
    where = existing_file(source)
    if where.suffix.lower() == ".npy":
        array = Npy(where)[UNNAMED]
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            raise must_be(
                File(where), "one number a row", f"{array.dtype} of shape {array.shape}"
            )
        _require_rows(len(array), len(side), where, f"{side.title} counts")
        return np.asarray(array, dtype=np.float64)
    table = _opened(where, IDS | COUNT_NAMES)
    if table.width == 1:
        counts = numbers(table, read_columns(table, {0: "number"})[0], 0)
        _require_rows(len(counts), len(side), where, f"{side.title} counts")
        return counts
    ids, counts = read_by_id(table, *_positions(table), "number")
    wanted = np.arange(len(side)) if side.ids is None else side.ids
    places = places_of(wanted, ids)
    missing = np.flatnonzero(places < 0)
    if len(missing):
        got = f"{len(wanted) - len(missing)} of them; {wanted[missing[0]]}, for instance, is not there"
        remedy = (
            "write 0 for those without interactions"
            if len(missing) < len(wanted)
            else "check its column of ids"
        )
        raise must_be(
            Sentence("the counts in {}", File(where)),
            f"those of all {len(wanted)} {side.title}s",
            got,
            remedy,
        )
    return counts[places]


def _opened(path: Path, customary: frozenset[str]) -> TableFile:
    try:
        return open_table(path, customary=customary)
    except InputError:
        # A single column is cut by no separator.
        table = open_table(path, sep=",", customary=customary)
        if table.width > 1:
            raise
        return table


def _positions(table: TableFile) -> tuple[int, int]:
    """Return the columns of ids and of counts."""
    if table.names is None and table.width == 2:
        return 0, 1
    places = [
        table.optional_column(what, None, names)
        for names, what in ((IDS, "id"), (COUNT_NAMES, "count"))
    ]
    # Of two columns one name settles both.
    if table.width == 2 and places.count(None) == 1:
        rest = 1 - sum(place for place in places if place is not None)
        places = [rest if place is None else place for place in places]
    if places[0] is None or places[1] is None:
        raise must_be(
            Sentence("the columns of {}", File(table.path)),
            "called id and count",
            table.listed(),
            "rename them",
        )
    return places[0], places[1]


def _require_rows(n: int | str, n_rows: int, source: object, what: str) -> None:
    """Refuse a file that has not one value for each row of a model.

    Examples
    --------
    >>> _require_rows(2, 3, "ids.txt", "item ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids.txt must be a file of 3 item ids, one per row; got 2; check that it is of this model.
    """
    if n != n_rows:
        got = n if isinstance(n, str) else f"{n:,}"
        raise must_be(
            f"{source}",
            f"a file of {n_rows:,} {what}, one per row",
            got,
            "check that it is of this model",
        )
