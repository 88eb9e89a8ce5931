"""Tables in any format: columns by name or position as arrays, or a data frame."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, as_texts
from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.damaged import reason
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.refusals import refuse_foreign
from embaudit.io.tables.arrow import SUFFIXES, ArrowTable
from embaudit.io.tables.delimited import (
    NUMBER,
    DelimitedText,
    Header,
    plain_name,
    sniff,
)
from embaudit.io.tables.delimited_rows import Cell, as_ids, line_of, read_delimited

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
"""A number without leading zeros. Texts with them may be codes, such as 007."""


@dataclass(frozen=True)
class TableFile:
    """A table on disk, and the names of its columns. The columns are not read yet."""

    path: Path
    names: tuple[str, ...] | None
    """None if the file has no header."""
    width: int
    """Number of columns."""
    text: DelimitedText | None
    """How the text is cut into columns; None for Parquet, Arrow and JSON."""
    more: tuple[DelimitedText, ...] = ()
    """Files of text with the same columns, to be read below the first."""
    arrow: ArrowTable | None = None
    """The columns of Parquet, Arrow and JSON; None for text."""

    @classmethod
    def from_arrow(cls, table: ArrowTable) -> TableFile:
        """Wrap a table of Arrow."""
        names = tuple(table.schema.names)
        return cls(table.path, names, len(names), None, arrow=table)

    def list_columns(self) -> str:
        """List the columns, as error messages show them."""
        if self.names:
            return ", ".join(self.names)
        return f"{self.width} columns without a header (0 to {self.width - 1})"

    def title(self, position: int) -> str:
        """Return the name of a column, or its position if there is no header."""
        if self.names:
            return self.names[position]
        return str(position)

    def column_and_file(self, position: int) -> Sentence:
        """Name a column and its file, as error messages do."""
        return Sentence("column {} of {}", self.title(position), self.path)

    def position(
        self, column: str | int, what: str, remedy: str | Sentence = ""
    ) -> int:
        """Return the position of a column that is given by its name or position.

        An exact name goes before a position, and a position before a name that differs
        only in case or punctuation.

        Raises
        ------
        InputError
            If there is no such column. The error names it as the `what` column and
            gives `remedy` as advice.
        """
        names = self.names or ()
        if isinstance(column, str):
            if column in names:
                return names.index(column)
            if column.isdigit():
                column = int(column)
        if isinstance(column, int) and 0 <= column < self.width:
            return column
        if isinstance(column, str):
            plain = [plain_name(name) for name in names]
            if plain.count(plain_name(column)) == 1:
                return plain.index(plain_name(column))
        raise must_be(
            f"the {what} column",
            Sentence("one of {} in {}", self.list_columns(), File(self.path)),
            repr(column),
            remedy,
        )

    def required_column(
        self,
        what: str,
        name: str | int | None,
        customary: Iterable[str],
        place: int,
        *,
        option: str | None = "",
    ) -> int:
        """Find a column as `find_column` does.

        Raises
        ------
        InputError
            If there is no such column, or as `find_column` does.
        """
        position = self.find_column(what, name, customary, place, option=option)
        if position is None:
            raise must_be(
                Sentence("the {} column of {}", what, File(self.path)),
                "a column with a customary name",
                self.list_columns(),
                _remedy(what, option, customary),
            )
        return position

    def find_column(
        self,
        what: str,
        name: str | int | None,
        customary: Iterable[str],
        place: int | None = None,
        *,
        option: str | None = "",
        excluded: Collection[int] = (),
    ) -> int | None:
        """Return the position of a column, or None if there is no such column.

        Parameters
        ----------
        what : str
            What the column holds, for error messages.
        name : str, int or None
            Name or position that the caller gives.
        customary : iterable of str
            Names, as `plain_name` returns them, by which the column is found if the
            caller gives none.
        place : int, optional
            Position of the column in a table without a header.
        option : str, optional
            The option that chooses the column; `what` by default. None if no option
            chooses it, so that only its name in the table can tell.
        excluded : collection of int
            Positions of columns that are not found by a customary name.

        Raises
        ------
        InputError
            If the caller's column does not exist, or several have customary names.
        """
        if name is not None:
            return self.position(name, what)
        if self.names is None:
            if place is not None and place < self.width:
                return place
            return None
        accepted = set(customary)
        found = [
            position
            for position, title in enumerate(self.names)
            if plain_name(title) in accepted and position not in excluded
        ]
        if len(found) > 1:
            raise must_be(
                Sentence("the {} column of {}", what, File(self.path)),
                "a single column",
                " and ".join(self.names[position] for position in found),
                _remedy(what, option, customary),
            )
        if found:
            return found[0]
        return None


def _remedy(what: str, option: str | None, customary: Iterable[str]) -> Sentence:
    """Say how a column can be chosen: by an option, or by its name in the table.

    Examples
    --------
    >>> print(_remedy("user", "", ["user"]))
    choose it with user
    >>> print(_remedy("user", None, ["userid", "user"]))
    give exactly one column a customary name, such as user
    """
    if option is not None:
        return Sentence("choose it with {}", Option(option or what))
    shortest = min(customary, key=lambda name: (len(name), name))
    example = what if what in customary else shortest
    return Sentence("give exactly one column a customary name, such as {}", example)


def open_table(
    path: AnyPath,
    *,
    sep: str | None = None,
    header: Header = "auto",
    customary: Iterable[str] = (),
    named: Iterable[str | int | None] = (),
) -> TableFile:
    """Open a table: Parquet, Feather or Arrow by its suffix, else delimited text.

    A first line is a header if it has one of the `customary` names, or one of the names
    in `named`, by which the caller chooses columns.

    Raises
    ------
    InputError
        If it cannot be read, or `header` is not "auto", True or False.
    """
    if not (isinstance(header, bool) or header == "auto"):
        raise must_be("header", '"auto", True or False', repr(header))
    file = existing_file(path)
    if file.suffix.lower() in SUFFIXES:
        return TableFile.from_arrow(ArrowTable.open(file))
    refuse_foreign(file, needs="a table")
    names = {
        plain_name(name)
        for name in named
        if isinstance(name, str) and not name.isdigit()
    }
    text = sniff(file, sep=sep, header=header, customary=frozenset(customary) | names)
    return TableFile(file, text.names, text.width, text)


def table_of_frame(frame: Any) -> TableFile:
    """Wrap a data frame of pandas, polars or Arrow as a table.

    Error messages call the table "the data frame".

    Raises
    ------
    InputError
        If a column holds values of several types, or two have the same name.

    Examples
    --------
    >>> import pandas as pd
    >>> table_of_frame(pd.DataFrame({"user": ["a"], "item": [7]})).names
    ('user', 'item')
    """
    import pyarrow as pa

    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if type(frame).__module__.partition(".")[0] == "pandas":
        # An index is kept as ids, unless it is only the numbers of the rows.
        is_range = type(frame.index).__name__ == "RangeIndex"
        keeps_index = not (is_range and frame.index.name is None)
        try:
            frame = pa.Table.from_pandas(frame, preserve_index=keeps_index)
        except (ValueError, TypeError) as error:
            raise must_be(
                "the columns of the data frame",
                "of one type each, with different names",
                reason(error),
                "repair or drop that column",
            ) from error
    return TableFile.from_arrow(
        ArrowTable.from_memory(Path("the data frame"), pa.table(frame))
    )


def read_columns(
    table: TableFile, columns: Mapping[int, Cell]
) -> dict[int, pa.ChunkedArray]:
    """Read the columns at some positions; see `read_delimited`."""
    if table.text is not None:
        return read_delimited((table.text, *table.more), columns)[0]
    assert table.arrow is not None
    read = {}
    for position, cell in columns.items():
        column = table.arrow.column(table.title(position))
        read[position] = _convert(table, column, position, cell)
    return read


def _convert(
    table: TableFile, column: pa.ChunkedArray, position: int, cell: Cell
) -> pa.ChunkedArray:
    """Convert a column of Arrow to ids, numbers, times or texts.

    Times become numbers. Dates become microseconds since 1970.
    """
    import pyarrow as pa
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    if cell == "number":
        needs = "numbers"
        target = pa.float64()
        accepts = is_number or types.is_boolean(kind) or types.is_decimal(kind)
    elif cell == "id":
        needs = "integers or text"
        # Floats that are integers are ids. Casting rejects other floats.
        target = pa.int64() if is_number else pa.string()
        accepts = is_number or types.is_string(kind) or types.is_large_string(kind)
    elif cell == "time":
        needs = "numbers or dates"
        target = pa.float64()
        accepts = is_number
        if types.is_timestamp(kind) or types.is_date(kind):
            # float64 holds microseconds exactly for 285 years.
            stamps = column.cast(kind).cast(pa.timestamp("us"), safe=False)
            return stamps.cast(pa.int64()).cast(target)
    else:
        needs = "text"
        target = pa.string()
        accepts = True
    if not accepts:
        raise must_be(table.column_and_file(position), needs, str(column.type))
    try:
        if cell == "id" and types.is_uint64(kind):
            # These integers can exceed int64; then they remain texts.
            return as_ids(column.cast(kind).cast(pa.string()))
        return column.cast(kind).cast(target)
    except (ValueError, NotImplementedError) as error:
        got = str(error).splitlines()[0]
        raise must_be(table.column_and_file(position), needs, got) from error


def row_name(table: TableFile, row: int) -> str:
    """Name a row by its line in a text file, or by its number in a binary one."""
    if table.text is None:
        return f"row {row}"
    return line_of((table.text, *table.more), row)


def to_numbers(table: TableFile, column: pa.ChunkedArray, position: int) -> Floats:
    """Return a column of finite numbers.

    Raises
    ------
    InputError
        At the first empty, NaN or infinite cell, with its line.
    """
    values: Floats = column.to_numpy()
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        got = str(values[row])
        if column[row].as_py() is None:
            got = "an empty cell"
        raise must_be(
            table.column_and_file(position),
            "finite numbers",
            f"{got} in {row_name(table, row)}",
            "drop that row",
        )
    return values


def to_codes(
    table: TableFile, column: pa.ChunkedArray, position: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the code of each row, and the sorted distinct ids that codes stand for.

    Raises
    ------
    InputError
        At the first missing id, with its line.
    """
    import pandas as pd
    from pyarrow import types

    _require_ids(table, column, position)
    # As a dictionary, each distinct text is converted and sorted once.
    if not types.is_dictionary(column.type):
        column = column.dictionary_encode()
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return np.empty(0, np.intp), np.empty(0, np.str_)
    ranks, ids = pd.factorize(_to_array(chunks[0].dictionary), sort=True)
    return np.concatenate([ranks[chunk.indices] for chunk in chunks]), ids


def to_ids(table: TableFile, column: pa.ChunkedArray, position: int) -> NDArray[Any]:
    """Return a column of ids, one per row.

    Raises
    ------
    InputError
        At the first missing id, with its line.
    """
    ids = _convert(table, column, position, "id")
    _require_ids(table, ids, position)
    return _to_array(ids)


def to_texts(
    table: TableFile, column: pa.ChunkedArray, position: int
) -> NDArray[np.str_]:
    """Return a column of texts. An empty cell is an empty text."""
    cells = [text or "" for text in column.to_pylist()]
    return as_texts(cells, table.column_and_file(position))


def read_by_id(
    table: TableFile, ids: int, values: int, cell: Cell
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read a column of ids and a column of titles or numbers.

    Returns
    -------
    ids : array of shape (m,)
        Sorted and unique.
    values : array of shape (m,)

    Raises
    ------
    InputError
        If one id has two different titles, or two rows with numbers. Equal numbers are
        rejected as well, because the count of the id could be their sum.
    """
    import pandas as pd

    columns = read_columns(table, {ids: "id", values: cell})
    codes, distinct_ids = to_codes(table, columns[ids], ids)
    if cell == "text":
        cells: NDArray[Any] = to_texts(table, columns[values], values)
    else:
        cells = to_numbers(table, columns[values], values)
    # The first row of each id, sorted by id, and all rows after it with the same id.
    rows_by_id = pd.Series(codes)
    first_rows = rows_by_id.drop_duplicates().sort_values().index.to_numpy()
    clashes = np.flatnonzero(rows_by_id.duplicated())
    if cell == "text":
        is_other = cells[clashes] != cells[first_rows[codes[clashes]]]
        clashes = clashes[is_other]
    if len(clashes):
        code = codes[clashes[0]]
        first = str(cells[first_rows[code]])
        second = str(cells[clashes[0]])
        if cell == "text":
            first = repr(first)
            second = repr(second)
        raise must_be(
            table.column_and_file(values),
            "the same in all rows of an id",
            f"{first} and {second} for {distinct_ids[code]}",
            "keep one row for each id",
        )
    return distinct_ids, cells[first_rows]


def _require_ids(table: TableFile, column: pa.ChunkedArray, position: int) -> None:
    """Raise InputError if an id is missing."""
    from pyarrow import compute

    if column.null_count:
        row = compute.index(column.is_null(), True).as_py()
        raise must_be(
            table.column_and_file(position),
            "an id in every row",
            f"no id in {row_name(table, row)}",
            "drop that row",
        )


def _to_array(values: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Convert ids to an array of integers or texts, never of objects."""
    import pyarrow as pa

    if pa.types.is_integer(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return as_texts(values.to_pylist(), "ids")


def read_frame(table: Any, quantities: Collection[str | None] = ()) -> pd.DataFrame:
    """Return a data frame, from a data frame, a mapping of columns, or a file.

    Parameters
    ----------
    table : DataFrame, mapping or path
        A file may be delimited text, Parquet, Feather or Arrow.
    quantities : collection of str
        Names of columns of numbers. In a text file, other columns become numbers only
        if no two texts are the same number: 01 and 1 are two names. Only an empty cell
        is missing, because NA is a name as well.

    Raises
    ------
    InputError
        If a file is absent, of another format or damaged.

    Examples
    --------
    >>> read_frame({"x": [1, 2], "y": [3, 4]}).shape
    (2, 2)
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        try:
            return pd.DataFrame(
                {str(name): np.asarray(column) for name, column in table.items()}
            )
        except ValueError as error:
            raise must_be(
                "the columns of the table", "of one length", "different lengths"
            ) from error
    if not isinstance(table, (str, os.PathLike)):
        raise must_be(
            "the table",
            "a data frame, a mapping of columns or a path",
            type(table).__name__,
        )
    file = open_table(table, header=True)
    if file.arrow is not None:
        return file.arrow.to_pandas()
    return _frame_of_text(file, quantities)


def _frame_of_text(file: TableFile, quantities: Collection[str | None]) -> pd.DataFrame:
    """Read all columns of a text file, and convert columns of numbers.

    `read_frame` says which columns these are.
    """
    import pandas as pd

    columns = read_columns(file, dict.fromkeys(range(file.width), "text"))
    frame = pd.DataFrame(
        {
            file.title(position) or str(position): column.to_pandas()
            for position, column in columns.items()
        }
    )
    for name in frame:
        texts = frame[name].dropna()
        if name in quantities:
            if texts.str.fullmatch(NUMBER).all():
                frame[name] = frame[name].astype(np.float64)
        elif texts.str.fullmatch(PLAIN_NUMBER).all():
            numbers = pd.to_numeric(frame[name], dtype_backend="numpy_nullable")
            if numbers.nunique() == texts.nunique():
                frame[name] = numbers
    return frame
