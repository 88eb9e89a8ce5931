"""The rows of delimited text: parsed by pyarrow, with the line of any fault."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.tables.delimited import (
    ENCODINGS,
    NUMBER,
    WITHOUT_QUOTES,
    DelimitedText,
    wrong_width,
)
from embaudit.io.tables.list_cells import DECIMAL
from embaudit.io.unpacked import open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = Literal["id", "number", "time", "text"]

INTEGER = r"^(-?[1-9][0-9]*|0)$"
"""An id that is an integer. 007 is not, because 007 and 7 are two ids."""
BLOCK_BYTES = 2**22
"""Bytes that are parsed or scanned at a time."""


def read_delimited(
    files: Sequence[DelimitedText], columns: Mapping[int, Cell]
) -> tuple[dict[int, pa.ChunkedArray], tuple[int, ...]]:
    """Read columns of files with equal columns, one file below another.

    Parameters
    ----------
    files : sequence of DelimitedText
    columns : mapping of int to {"id", "number", "time", "text"}
        What the columns at some positions hold.

    Returns
    -------
    columns : dict of int to ChunkedArray
        Ids are integers if each of them is one, else strings. Numbers are float64.
        Empty cells are missing.
    n_rows : tuple of int
        Number of rows of each file.

    Raises
    ------
    InputError
        At the first line of another width, and at the first cell that must be a number
        and is not, with its line.
    """
    import pyarrow as pa

    tables = [_read_file(file, columns) for file in files]
    table = pa.concat_tables(tables)
    read = {}
    for position, cell in columns.items():
        column = table.column(str(position))
        read[position] = as_ids(column) if cell == "id" else column
    return read, tuple(table.num_rows for table in tables)


def as_ids(column: pa.ChunkedArray | list[str]) -> pa.ChunkedArray:
    """Convert texts to integers if each of them is an integer of 64 bits.

    Examples
    --------
    >>> as_ids(["7", "-5"]).to_pylist(), as_ids(["7", "007"]).to_pylist()
    ([7, -5], ['7', '007'])
    >>> as_ids(["-0", str(10**20)]).to_pylist(), as_ids([]).to_pylist()
    (['-0', '100000000000000000000'], [])
    """
    import pyarrow as pa
    from pyarrow import compute

    if not isinstance(column, pa.ChunkedArray):
        column = pa.chunked_array([pa.array(column, pa.string())])
    if not len(column):
        return column
    # As a dictionary, each distinct id is matched and converted once.
    column = column.dictionary_encode().unify_dictionaries()
    texts = compute.utf8_trim_whitespace(column.chunk(0).dictionary)
    is_integer = compute.match_substring_regex(texts, INTEGER)
    if not compute.all(is_integer, min_count=0).as_py():
        return column
    try:
        integers = texts.cast(pa.int64())
    except ValueError:  # An integer exceeds 64 bits.
        return column
    chunks = [integers.take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.int64())


def line_of(files: Sequence[DelimitedText], row: int) -> str:
    """Name the line in which a row ends, and its file if there are several.

    Rows are counted below the headers. This reads all rows before it, slowly, so it is
    used for error messages only.
    """
    lines = (
        (file, line) for file in files for line, _ in _with_settled_quotes(file).rows()
    )
    file, line = next(islice(lines, row, None))
    if len(files) == 1:
        return f"line {line}"
    return f"line {line} of {file.path}"


def require_numbers(files: Sequence[DelimitedText], positions: Collection[int]) -> None:
    """Refuse columns whose first rows hold texts where numbers are needed.

    Only the sample of rows that the separator was chosen from is examined. If it holds
    such a text, the file is searched for the error that reading it would raise.

    Raises
    ------
    InputError
        At the first cell that is neither empty nor a number, with its line.
    """
    first_rows = files[0].first_rows
    cells = [
        row[place] for row in first_rows for place in positions if place < len(row)
    ]
    if all(NUMBER.fullmatch(cell) for cell in cells if cell):
        return
    columns: dict[int, Cell] = dict.fromkeys(positions, "number")
    for file in files:
        fault = _first_fault(_with_settled_quotes(file), columns)
        if fault is not None:
            raise fault


def _read_file(file: DelimitedText, columns: Mapping[int, Cell]) -> pa.Table:
    """Read columns of one file. Ids remain texts."""
    try:
        settled = _with_settled_quotes(file)
        try:
            return _parse_in_its_encoding(settled, columns)
        except ValueError as error:
            letters = replace(file, quoted=False)
            if settled.quoted and _first_fault(letters, columns) is None:
                return _parse_in_its_encoding(letters, columns)
            fault = _first_fault(settled, columns)
            if fault is None:
                reason = str(error).splitlines()[0]
                fault = InputError("{} cannot be read: {}.", File(file.path), reason)
            raise fault from error
    except OSError as error:
        raise InputError("{} cannot be read: {}.", File(file.path), error) from error


def _parse_in_its_encoding(
    file: DelimitedText, columns: Mapping[int, Cell]
) -> pa.Table:
    """Parse columns, in the next encoding if a byte after the sample is invalid."""
    encodings = ENCODINGS[ENCODINGS.index(file.encoding) :]
    for encoding in encodings:
        try:
            return _parse(replace(file, encoding=encoding), columns)
        except ValueError as error:
            is_encoding = isinstance(error, UnicodeDecodeError) or (
                "invalid UTF8" in str(error)
            )
            if not is_encoding or encoding == encodings[-1]:
                raise
    raise AssertionError("at least one encoding is tried")


def _parse(file: DelimitedText, columns: Mapping[int, Cell]) -> pa.Table:
    """Parse columns of one file with pyarrow; they are named by their positions."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    types = {
        "id": pa.dictionary(pa.int32(), pa.string()),
        "number": pa.float64(),
        "time": pa.float64(),
        "text": pa.string(),
    }
    read_options = arrow_csv.ReadOptions(
        column_names=[str(position) for position in range(file.width)],
        skip_rows_after_names=file.n_skipped,
        encoding=file.encoding,
        block_size=BLOCK_BYTES,
    )
    parse_options = arrow_csv.ParseOptions(
        delimiter=file.delimiter,
        quote_char='"' if file.quoted else False,
        # Looking for line ends inside of quotes takes time.
        newlines_in_values=file.quoted,
    )
    convert_options = arrow_csv.ConvertOptions(
        include_columns=[str(position) for position in columns],
        column_types={str(position): types[cell] for position, cell in columns.items()},
        # NA and null are texts.
        null_values=[""],
        strings_can_be_null=True,
    )
    with file.open() as stream:
        return arrow_csv.read_csv(stream, read_options, parse_options, convert_options)


def _with_settled_quotes(file: DelimitedText) -> DelimitedText:
    """Decide for a whole file if double quotes enclose cells or are letters.

    No parser decides this: pandas and pyarrow read the title `"Heroes" and "Low"` as
    `Heroes and "Low"`. The quotes are letters if a quote is misplaced, or if only then
    all rows have the same width. In a file cut by tabs they are also letters if lines
    inside of quotes are rows by themselves: a title that begins with a quote and
    another title that ends with one would swallow the rows between them.

    Raises
    ------
    InputError
        If there is a fault either way.
    """
    enclosing = replace(file, quoted=True)
    letters = replace(file, quoted=False)
    if file.separator in WITHOUT_QUOTES:
        return letters
    quotes = _scan_quotes(file)
    if quotes == "none":
        return letters
    if quotes == "around cells":
        return enclosing
    if quotes == "around lines" and file.separator != "\t":
        return enclosing
    fault = _first_fault(enclosing)
    if fault is None and quotes == "misplaced":
        return enclosing
    if _first_fault(letters) is None:
        return letters
    if fault is not None:
        raise fault
    return enclosing


def _scan_quotes(
    file: DelimitedText,
) -> Literal["none", "around cells", "around lines", "misplaced"]:
    """Scan a file for double quotes, without cutting it into rows.

    Quotes that enclose cells open and close in turns, and a doubled quote inside of a
    cell closes it and opens it again. So the first, third, … quote must follow a
    separator, a line end or a quote, and the second, fourth, … must precede one.
    Otherwise a quote is misplaced: it is perhaps a letter, as in `5" disc`. A line end
    that follows an odd number of quotes is inside of a cell.
    """
    borders = np.frombuffer(file.separator.encode() + b'\r\n"', np.uint8)
    n_quotes = 0
    has_line_ends = False
    previous = b"\n"
    with open_bytes(file.path) as stream:
        # Many writers quote only the header, whose names are known already.
        for _ in range(file.n_skipped):
            stream.readline()
        while previous != b"":
            chunk = stream.read(BLOCK_BYTES)
            # The last byte is scanned together with the byte after it.
            window = previous + (chunk or b"\n")
            previous = window[-2:] if chunk else b""
            if window.count(b'"', 1, len(window) - 1) == 0:
                if n_quotes % 2 and b"\n" in window[1:-1]:
                    has_line_ends = True
                continue
            text = np.frombuffer(window, np.uint8)
            quotes = 1 + np.flatnonzero(text[1:-1] == ord('"'))
            line_ends = 1 + np.flatnonzero(text[1:-1] == ord("\n"))
            opening = quotes[n_quotes % 2 :: 2]
            closing = quotes[1 - n_quotes % 2 :: 2]
            outside = np.concatenate([text[opening - 1], text[closing + 1]])
            if not np.isin(outside, borders).all():
                return "misplaced"
            n_quotes_before = n_quotes + np.searchsorted(quotes, line_ends)
            has_line_ends = has_line_ends or bool((n_quotes_before % 2).any())
            n_quotes += len(quotes)
    if n_quotes % 2:
        return "misplaced"
    if n_quotes == 0:
        return "none"
    return "around lines" if has_line_ends else "around cells"


def _first_fault(
    file: DelimitedText, columns: Mapping[int, Cell] | None = None
) -> InputError | None:
    """Return the error for the first row that cannot be read; None without one.

    Such a row has another width, a misplaced quote, or a text in a column of numbers.
    """
    numeric = [
        position
        for position, cell in (columns or {}).items()
        if cell in ("number", "time")
    ]
    line = file.n_skipped
    try:
        for line, row in file.rows(strict=file.quoted):
            if len(row) != file.width:
                return wrong_width(file, file.width, len(row), line)
            for position in numeric:
                if row[position] and not NUMBER.fullmatch(row[position]):
                    name = str(position)
                    if file.names:
                        name = file.names[position]
                    remedy = ""
                    if DECIMAL.fullmatch(row[position]):
                        remedy = (
                            "write decimals with a point and thousands without a "
                            "separator"
                        )
                    return must_be(
                        Sentence("column {} of {}", name, File(file.path)),
                        "numbers",
                        f"{row[position]!r} in line {line}",
                        remedy,
                    )
    except csv.Error:
        return must_be(
            Sentence("the quotes of {}", File(file.path)),
            "closed before the next column",
            f"an open quote in line {line + 1}",
            "double a quote inside a quoted field, or write the table as Parquet",
        )
    return None
