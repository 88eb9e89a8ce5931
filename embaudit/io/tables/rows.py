"""One value per row of a model, from an array or a file: ids, labels, counts."""

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
    open_table,
    read_by_id,
    read_columns,
    to_ids,
    to_numbers,
)
from embaudit.io.tables.delimited import SEPARATOR_BY_SUFFIX, plain_name
from embaudit.io.tables.delimited_rows import as_ids
from embaudit.io.tables.interactions import USER_NAMES
from embaudit.io.tables.titles import ID_NAMES, TITLE_NAMES, places_of
from embaudit.model.side import Side

LATIN = 'convert it with: iconv -f latin1 -t utf-8 "{}" > labels.txt'
"""Remedy for text in another encoding."""
LABEL_NAMES = TITLE_NAMES | {"0", ""}
"""Headers of a column of labels. A data frame calls a column without a name 0."""
ROW_ID_NAMES = ID_NAMES | USER_NAMES
COUNT_NAMES = frozenset(
    {
        "count",
        "counts",
        "interactions",
        "ratings",
        "nratings",
        "ninteractions",
        "n",
        "size",
        "frequency",
        "plays",
        "playcount",
        "listens",
    }
)


def read_ids(
    source: Any,
    n_rows: int,
    *,
    column: str | None = None,
    what: str = "item",
    n_columns: int | None = None,
) -> NDArray[Any]:
    r"""Read one id per row, in the order of the rows.

    Parameters
    ----------
    source : path or array
        The ids, or a file: a table, text with one id per line, a JSON list or map as
        `read_labels` reads it, or a `.npy` array.
    n_rows : int
        Number of rows.
    column : str, optional
        Name of the column in a table; by default the column with a customary name.
    what : str
        Noun of a row, for error messages.
    n_columns : int, optional
        Number of columns of the model. An error for so many ids asks if the model is
        transposed.

    Raises
    ------
    InputError
        If the file cannot be read, has another number of ids, or has no column or
        several columns with a customary name.

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
    if n_columns is not None:
        as_count(n_columns, "n_columns")
    if not isinstance(source, (str, os.PathLike)):
        return np.asarray(with_seen_zeros(source))
    _require_no_column(os.fspath(source))
    file = existing_file(source)
    is_table = plain_suffix(file) in (*SEPARATOR_BY_SUFFIX, *SUFFIXES)
    if column is None and file.suffix.lower() == ".npy":
        ids: NDArray[Any] = Npy(file)[UNNAMED]
    elif column is not None or is_table:
        table = _open_table(file, ID_NAMES | {plain_name(column or "id")})
        position = table.required_column("id", column, ID_NAMES, 0, option="ids_column")
        cells = read_columns(table, {position: "id"})[position]
        ids = to_ids(table, cells, position)
    else:
        # As in a table, 007 and 7 are two ids.
        texts = _read_texts(file, n_rows, f"{what} ids", n_columns)
        ids = np.array(as_ids(texts.tolist()).to_pylist())
    n_ids = len(ids) if ids.ndim == 1 else f"shape {ids.shape}"
    _require_rows(n_ids, n_rows, file, f"{what} ids", n_columns)
    return ids


def _require_no_column(source: str) -> None:
    """Raise InputError if a source is written FILE:COLUMN."""
    file, _, column = source.rpartition(":")
    if file and column and not Path(source).exists() and Path(file).is_file():
        remedy = Sentence(
            "name the column with {} and {}",
            Option("ids", file),
            Option("ids_column", column),
        )
        raise must_be("ids", "a file that exists", repr(source), remedy)


def read_labels(
    path: Any, n_rows: int, *, what: str = "label", n_columns: int | None = None
) -> NDArray[np.str_]:
    r"""Read the label of each row.

    Parameters
    ----------
    path : path or list of str
        The labels, or a file. A `.json` file has a list, a map label → row (as
        tokenizers write it) or a map row → label (as configurations write it, also
        under the key "id2label"). Any other file is text with one label per line, in
        the order of the rows. Labels can be quoted and have a header and row numbers,
        as `Series.to_csv` writes them.
    n_rows : int
        Number of rows.
    what : str
        Noun of a row, for error messages.
    n_columns : int, optional
        Number of columns of the model. An error for so many labels asks if the model is
        transposed.

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
    if n_columns is not None:
        as_count(n_columns, "n_columns")
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
    return _read_texts(existing_file(path), n_rows, f"{what} names", n_columns)


def _read_texts(
    file: Path, n_rows: int, what: str, n_columns: int | None
) -> NDArray[np.str_]:
    """Read one text per row from JSON or lines; `what` names them in an error."""
    try:
        text = file.read_text(encoding="utf-8-sig")
        if file.suffix.lower() == ".json":
            content = parsed(text, infinite=file.name == "config.json")
            texts = _from_json(content, n_rows)
        else:
            texts = _from_lines(text, n_rows)
    except OSError as error:
        raise InputError(
            "{} cannot be read: {}.", File(file), error.strerror
        ) from error
    except UnicodeDecodeError as error:
        raise must_be(
            "the file of labels",
            "text in UTF-8",
            Sentence("other bytes in {}", File(file)),
            LATIN.format(file),
        ) from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError("{}: {}", file, error.sentence) from error
        got = Sentence("{} ({})", File(file), error)
        raise must_be("the file of labels", "valid JSON", got) from error
    _require_rows(len(texts), n_rows, file, what, n_columns)
    return as_texts(texts, Sentence("the labels in {}", file))


def _from_lines(text: str, n_rows: int) -> list[str]:
    """Return one label per line, without header, row numbers and quotes.

    Header, row numbers and quotes are dropped only if the text is exactly as a CSV
    writer writes it, and `n_rows` labels are left. Otherwise each line is a label,
    because a quote or a comma can be a token of a vocabulary.
    """
    rows = [row for row in _csv_rows(text) if row]
    if len(rows) == n_rows + 1 and plain_name(rows[0][-1]) in LABEL_NAMES:
        rows = rows[1:]
    if len(rows) == n_rows:
        if all(len(row) == 1 for row in rows):
            return [label for (label,) in rows]
        is_numbered = all(
            len(row) == 2 and row[0] == str(number) for number, row in enumerate(rows)
        )
        if is_numbered and n_rows > 1:
            return [label for _, label in rows]
    # Unlike str.splitlines, this keeps a form feed, which can be a token.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def _csv_rows(text: str) -> list[list[str]]:
    """Return the rows of a text that a CSV writer writes; otherwise no rows."""
    text = text.replace("\r\n", "\n")
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:  # A line exceeds the limit of the module.
        return []
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    is_same = written.getvalue().removesuffix("\n") == text.removesuffix("\n")
    return rows if is_same else []


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
    # Tokenizers map labels to rows, so that all values are integers. Configurations
    # map rows to labels.
    if all(type(value) is int for value in content.values()):
        pairs = [(row, label) for label, row in content.items()]
    else:
        _require_rows_as_keys(content)
        pairs = [(int(row), str(label)) for row, label in content.items()]
    labels = dict(pairs)
    missing = [row for row in range(n_rows) if row not in labels]
    if missing or len(pairs) != n_rows:
        got = str(len(pairs))
        if len(pairs) == n_rows:
            got = f"none for row {missing[0]}"
        raise must_be(
            "the labels",
            f"a map of {n_rows} labels, one for each row from 0 to {n_rows - 1}",
            got,
        )
    return [labels[row] for row in range(n_rows)]


def _require_rows_as_keys(content: dict[str, Any]) -> None:
    """Raise InputError if a key of a map row → label is not a row."""
    wrong_keys = [key for key in content if not _is_row(key)]
    if not wrong_keys:
        return
    # If possible, name a key that is not a row, and whose value is not a row either.
    without_row = [key for key, value in content.items() if type(value) is not int]
    both = [key for key in wrong_keys if key in without_row]
    raise must_be(
        "the labels",
        "a map label → row or row → label",
        f"the key {(both or without_row)[0]!r} with a value that is not a row",
    )


def _is_row(key: str) -> bool:
    """Return True if a key of a JSON map is an integer."""
    try:
        int(key)
    except ValueError:
        return False
    return True


def read_counts(source: Any, side: Side) -> Any:
    r"""Read the number of interactions of every row of a side.

    Parameters
    ----------
    source : path or array
        The counts, one per row, which the side checks. Or a file: a `.npy` array or a
        table of one column, in the order of the rows; or a table of ids and counts, in
        any order, which is joined by the ids of the side, or by row numbers if it has
        no ids. Ids that are not in the side are ignored.
    side : Side

    Returns
    -------
    array of shape (n,)

    Raises
    ------
    InputError
        If the file cannot be read, its columns are ambiguous, it has another length,
        or an id of the side is missing.

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
    file = existing_file(source)
    what = f"{side.title} counts"
    if file.suffix.lower() == ".npy":
        array = Npy(file)[UNNAMED]
        if array.ndim != 1 or array.dtype.kind not in "fiu":
            got = f"{array.dtype} of shape {array.shape}"
            raise must_be(File(file), "one number per row", got)
        _require_rows(len(array), len(side), file, what)
        return np.asarray(array, dtype=np.float64)
    table = _open_table(file, ROW_ID_NAMES | COUNT_NAMES)
    if table.width == 1:
        column = read_columns(table, {0: "number"})[0]
        _require_rows(len(column), len(side), file, what)
        return to_numbers(table, column, 0)
    id_position, count_position = _columns_of_counts(table)
    ids, counts = read_by_id(table, id_position, count_position, "number")
    wanted = np.arange(len(side)) if side.ids is None else side.ids
    positions = places_of(wanted, ids)
    missing = wanted[positions < 0]
    if len(missing):
        remedy = f"write 0 for {side.title}s without interactions"
        if len(missing) == len(wanted):
            remedy = "check its column of ids"
        n_found = len(wanted) - len(missing)
        raise must_be(
            Sentence("the counts in {}", File(file)),
            f"the counts of all {len(wanted)} {side.title}s",
            f"{n_found} counts, and no count of {missing[0]}, for example",
            remedy,
        )
    return counts[positions]


def _open_table(file: Path, customary: frozenset[str]) -> TableFile:
    """Open a table, which can have a single column."""
    try:
        return open_table(file, customary=customary)
    except InputError:
        table = open_table(file, sep=",", customary=customary)
        if table.width > 1:
            raise
        return table


def _columns_of_counts(table: TableFile) -> tuple[int, int]:
    """Return the positions of the columns of ids and counts."""
    if table.names is None and table.width == 2:
        return 0, 1
    id_position = table.find_column("id", None, ROW_ID_NAMES)
    count_position = table.find_column("count", None, COUNT_NAMES)
    # If one of two columns has a customary name, the other holds the other values.
    if table.width == 2 and id_position is not None and count_position is None:
        count_position = 1 - id_position
    if table.width == 2 and count_position is not None and id_position is None:
        id_position = 1 - count_position
    if id_position is None or count_position is None:
        raise must_be(
            Sentence("the columns of {}", File(table.path)),
            "called id and count",
            table.list_columns(),
            "rename them",
        )
    return id_position, count_position


def _require_rows(
    n: int | str, n_rows: int, file: Path, what: str, n_columns: int | None = None
) -> None:
    """Raise InputError unless a file has one value per row of a model.

    Examples
    --------
    >>> _require_rows(2, 3, Path("ids.txt"), "item ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids.txt must be a file of 3 item ids, one per row; got
    2; check that it is of this model.
    """
    if n != n_rows:
        got = n if isinstance(n, str) else f"{n:,}"
        remedy = Sentence("check that it is of this model")
        if n == n_columns:
            remedy = Sentence(
                "the vectors have {} columns; if each column is one entity, say so "
                "with {}, or write the vectors transposed",
                got,
                Option("transpose"),
            )
        raise must_be(
            str(file), f"a file of {n_rows:,} {what}, one per row", got, remedy
        )
