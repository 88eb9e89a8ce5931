"""Tables, whatever file holds them: columns by name, position or custom as arrays, or all of them as a data frame."""

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

PLAIN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
"""A number without leading zeros, which a code of digits may have."""


@dataclass(frozen=True)
class TableFile:
    """A table on disk and the names of its columns; nothing else is read yet."""

    path: Path
    names: tuple[str, ...] | None
    """None where the file has no header."""
    width: int
    text: DelimitedText | None
    """How the text is cut; None for Parquet and Arrow."""
    more: tuple[DelimitedText, ...] = ()
    """Files of text with the same columns, to be read below the first."""
    arrow: ArrowTable | None = None
    """The columns of Parquet, Arrow and JSON."""

    @classmethod
    def of(cls, table: ArrowTable) -> TableFile:
        """Take a table of Arrow."""
        return cls(
            table.path, tuple(table.schema.names), len(table.schema), None, arrow=table
        )

    def listed(self) -> str:
        """Return the columns, as a sentence shows them."""
        return (
            ", ".join(self.names)
            if self.names
            else f"{self.width} columns without a header (0 to {self.width - 1})"
        )

    def title(self, position: int) -> str:
        """Name a column; by its number where there is no header."""
        return self.names[position] if self.names else str(position)

    def called(self, position: int) -> Sentence:
        """Name a column and its file."""
        return Sentence("column {} of {}", self.title(position), self.path)

    def position(
        self, column: str | int, what: str, remedy: str | Sentence = ""
    ) -> int:
        """Find a column by its name, else by its position.

        If there is none, the error gives `remedy` as advice.

        Raises
        ------
        InputError
            If there is none.
        """
        if isinstance(column, str) and column in (self.names or ()):
            return (self.names or ()).index(column)
        if isinstance(column, int) or (isinstance(column, str) and column.isdigit()):
            if 0 <= int(column) < self.width:
                return int(column)
        elif isinstance(column, str) and self.names:
            plain = [plain_name(name) for name in self.names]
            if plain.count(plain_name(column)) == 1:
                return plain.index(plain_name(column))
        raise must_be(
            f"the {what} column",
            Sentence("one of {} in {}", self.listed(), File(self.path)),
            repr(column),
            remedy,
        )

    def column(
        self,
        what: str,
        name: str | int | None,
        customary: Iterable[str],
        place: int,
        *,
        option: str = "",
    ) -> int:
        """Find a column as `optional_column` does.

        Raises
        ------
        InputError
            If there is none.
        """
        position = self.optional_column(what, name, customary, place, option=option)
        if position is None:
            names = Sentence("the {} column of {}", what, File(self.path))
            raise must_be(
                names,
                "one with a customary name",
                self.listed(),
                Sentence("choose it with {}", Option(option or what)),
            )
        return position

    def optional_column(
        self,
        what: str,
        name: str | int | None,
        customary: Iterable[str],
        place: int | None = None,
        *,
        option: str = "",
        excluded: Collection[int] = (),
    ) -> int | None:
        """Find the column of a name, else the one with a customary name, without a header the one in its usual place.

        `option` is the option that chooses the column, unless it is called `what`.
        Columns at `excluded` positions are not found by their customary name.

        Raises
        ------
        InputError
            If the table has no column of that name, or several with customary ones.
        """
        if name is not None:
            return self.position(name, what)
        if self.names is None:
            return place if place is not None and place < self.width else None
        names = set(customary)
        places = [
            i
            for i, title in enumerate(self.names)
            if plain_name(title) in names and i not in excluded
        ]
        if len(places) > 1:
            got = " and ".join(self.names[i] for i in places)
            raise must_be(
                Sentence("the {} column of {}", what, File(self.path)),
                "one",
                got,
                Sentence("choose it with {}", Option(option or what)),
            )
        return places[0] if places else None


def open_table(
    path: AnyPath,
    *,
    sep: str | None = None,
    header: Header = "auto",
    customary: Iterable[str] = (),
    named: Iterable[str | int | None] = (),
) -> TableFile:
    """Look at a table: Parquet, Feather or Arrow by its suffix, else delimited text.

    A first line that has a customary name, or one of the names that the caller chooses
    columns by, is a header.

    Raises
    ------
    InputError
        If it cannot be read, or `header` is none of "auto", True, False.
    """
    if not (isinstance(header, bool) or header == "auto"):
        raise must_be("header", '"auto", True or False', repr(header))
    where = existing_file(path)
    if where.suffix.lower() in SUFFIXES:
        return TableFile.of(ArrowTable.open(where))
    refuse_foreign(where, needs="a table")
    names = {
        plain_name(name)
        for name in named
        if isinstance(name, str) and not name.isdigit()
    }
    text = sniff(where, sep=sep, header=header, customary=frozenset(customary) | names)
    return TableFile(where, text.names, text.width, text)


def read_columns(
    table: TableFile, columns: Mapping[int, Cell]
) -> dict[int, pa.ChunkedArray]:
    """Read the columns at some positions; see `read_delimited`."""
    if table.text is not None:
        return read_delimited((table.text, *table.more), columns)[0]
    assert table.arrow is not None
    stored = {
        position: table.arrow.column(table.title(position)) for position in columns
    }
    return {
        position: _cast(table, stored[position], position, cell)
        for position, cell in columns.items()
    }


def _cast(
    table: TableFile, column: pa.ChunkedArray, position: int, cell: Cell
) -> pa.ChunkedArray:
    """Convert a column of Arrow to ids, numbers or text."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    is_number = types.is_integer(kind) or types.is_floating(kind)
    is_text = types.is_string(kind) or types.is_large_string(kind)
    is_other = (
        is_text if cell == "id" else types.is_boolean(kind) or types.is_decimal(kind)
    )
    needs = {"number": "numbers", "id": "integers or text", "text": "text"}[cell]
    if cell != "text" and not (is_number or is_other):
        raise must_be(table.called(position), needs, str(column.type))
    # A float that counts in whole numbers is an id; the cast refuses another one.
    target = (
        pa.float64()
        if cell == "number"
        else pa.int64()
        if cell == "id" and is_number
        else pa.string()
    )
    try:
        # What 64 bits without a sign hold may be beyond those with one.
        if cell == "id" and types.is_uint64(kind):
            return as_ids(column.cast(kind).cast(pa.string()))
        return column.cast(kind).cast(target)
    except (ValueError, NotImplementedError) as error:
        raise must_be(
            table.called(position), needs, str(error).splitlines()[0]
        ) from error


def row_name(table: TableFile, row: int) -> str:
    """Name a row: its line in text, its number in a binary table."""
    return (
        f"row {row}" if table.text is None else line_of((table.text, *table.more), row)
    )


def numbers(table: TableFile, column: pa.ChunkedArray, position: int) -> Floats:
    """Return a column of finite numbers.

    Raises
    ------
    InputError
        At the first empty, NaN or infinite cell, with its line.
    """
    values: Floats = column.to_numpy()
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        got = "an empty cell" if column[row].as_py() is None else str(values[row])
        raise must_be(
            table.called(position),
            "finite numbers",
            f"{got} in {row_name(table, row)}",
            "drop that row",
        )
    return values


def codes(
    table: TableFile, column: pa.ChunkedArray, position: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return each row's place among the sorted distinct ids, and those ids.

    Raises
    ------
    InputError
        At the first missing id, with its line.
    """
    import pandas as pd
    from pyarrow import types

    _require_ids(table, column, position)
    # Each distinct id is sorted and compared once; rows are places in the dictionary,
    # mapped to sorted places.
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    places, ids = pd.factorize(
        _plain(chunks[0].dictionary if chunks else column), sort=True
    )
    return np.concatenate(
        [places[:0], *(places[chunk.indices] for chunk in chunks)]
    ), ids


def plain_ids(table: TableFile, column: pa.ChunkedArray, position: int) -> NDArray[Any]:
    """Return a column of ids, row by row."""
    ids = _cast(table, column, position, "id")
    _require_ids(table, ids, position)
    return _plain(ids)


def texts(table: TableFile, column: pa.ChunkedArray, position: int) -> NDArray[np.str_]:
    """Return a column of titles; an empty cell is an empty title."""
    return as_texts([text or "" for text in column.to_pylist()], table.called(position))


def read_by_id(
    table: TableFile, ids: int, values: int, cell: Cell
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Read a column of ids and one of titles or numbers beside it.

    Returns
    -------
    ids : array of shape (m,)
        Sorted, each once.
    values : array of shape (m,)

    Raises
    ------
    InputError
        If one id has two titles, or two rows with numbers.
    """
    read = read_columns(table, {ids: "id", values: cell})
    rows, names = codes(table, read[ids], ids)
    cells = (
        texts(table, read[values], values)
        if cell == "text"
        else numbers(table, read[values], values)
    )
    # Rows of one id must repeat its first title; two numbers of one id are refused even
    # if equal: neither is the sum.
    first = np.unique(rows, return_index=True)[1]
    repeats = first[rows] != np.arange(len(rows))
    clash = np.flatnonzero(
        repeats & (cells != cells[first][rows]) if cell == "text" else repeats
    )
    if len(clash):
        two = (
            cells[row] if cell == "number" else repr(str(cells[row]))
            for row in (first[rows[clash[0]]], clash[0])
        )
        got = f"{' and '.join(map(str, two))} for {names[rows[clash[0]]]}"
        raise must_be(
            table.called(values), "one for each id", got, "keep one row for each id"
        )
    return names, cells[first]


def _require_ids(table: TableFile, column: pa.ChunkedArray, position: int) -> None:
    from pyarrow import compute

    if column.null_count:
        row = compute.index(column.is_null(), True).as_py()
        raise must_be(
            table.called(position),
            "an id in every row",
            f"none in {row_name(table, row)}",
            "drop that row",
        )


def _plain(values: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Integers or unicode, never objects."""
    import pyarrow as pa

    if pa.types.is_integer(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return as_texts(values.to_pylist(), "ids")


def read_frame(table: Any, quantities: Collection[str | None] = ()) -> pd.DataFrame:
    """Return a data frame from one, from a mapping of columns, or from a file of text, Parquet, Feather or Arrow.

    Columns of text stay text unless each cell is a number: of `quantities` any, of
    others one that is written in one way, for 01 and 1 are two names. Only an empty
    cell is missing: NA is a name, too.

    Raises
    ------
    InputError
        If a file is absent, of another kind or broken.

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
                "the columns of the table", "of one length", "different ones"
            ) from error
    if not isinstance(table, (str, os.PathLike)):
        raise must_be(
            "the table",
            "a data frame, a mapping of columns or a path",
            type(table).__name__,
        )
    source = open_table(table, header=True)
    if source.arrow is not None:
        return source.arrow.to_pandas()
    read = read_columns(source, dict.fromkeys(range(source.width), "text"))
    frame = pd.DataFrame(
        {
            source.title(position) or str(position): column.to_pandas()
            for position, column in read.items()
        }
    )
    for name in frame:
        texts = frame[name].dropna()
        if name in quantities and texts.str.fullmatch(NUMBER).all():
            frame[name] = frame[name].astype(np.float64)
        elif name not in quantities and texts.str.fullmatch(PLAIN).all():
            numbers = pd.to_numeric(frame[name], dtype_backend="numpy_nullable")
            frame[name] = (
                numbers if numbers.nunique() == texts.nunique() else frame[name]
            )
    return frame
