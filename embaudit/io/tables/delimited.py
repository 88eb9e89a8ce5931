"""Delimited text: which separator it has, whether its first line is a header, its columns, and where a bad value is."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.files import existing_file, plain_suffix
from embaudit.io.tables.lists import is_list
from embaudit.io.unpacked import open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = Literal["id", "number", "text"]
Header: TypeAlias = Literal["auto"] | bool

SEPARATORS = ("::", "\t", ",", ";", "|", " ")
BY_SUFFIX = {".csv": ",", ".tsv": "\t"}
UNQUOTED = ("::", "|")
"""Separators beside which a double quote is a letter."""
UNIT_SEPARATOR = "\x1f"
"""Takes the place of a separator of two characters, which no fast parser knows."""
SAMPLE_LINES, LONGEST, SAMPLE_BYTES = 16, 2**22, 2**16
"""A sample is so many lines, each so long at most, and whole lines of so many bytes
behind them.
"""
MOST_COLUMNS = 100_000
"""Columns of a table at most; the time of pyarrow grows with their square."""
INTEGER = r"^(-?[1-9][0-9]*|0)$"
"""An id that is a number; 007 and 7 are two identifiers, which integers would merge."""
NUMBER = re.compile(
    r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*|\s*[-+]?(nan|inf|infinity)\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Delimited:
    """The way a text file is cut into columns."""

    path: Path
    separator: str
    encoding: str
    quoted: bool
    """True if a double quote opens a field that another one closes (RFC 4180);
    otherwise it is a letter.
    """
    names: tuple[str, ...] | None = None
    """Column names of the header; None without a header."""
    first_rows: tuple[tuple[str, ...], ...] = ((),)
    """Some rows below the header."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names or self.first_rows[0])

    @property
    def delimiter(self) -> str:
        """The separator as one character."""
        return UNIT_SEPARATOR if len(self.separator) > 1 else self.separator

    def open(self) -> IO[bytes]:
        """Open the file, unpacked and with a separator of one character."""
        file = open_bytes(self.path)
        if len(self.separator) == 1:
            return file
        with file:
            return io.BytesIO(
                file.read().replace(self.separator.encode(), UNIT_SEPARATOR.encode())
            )

    def rows_of(self, text: IO[str], *, strict: bool = False) -> Any:
        """Cut text into rows, slowly; if strict, a quote out of place is an error."""
        # A vector of 16,384 dimensions in one cell is longer than the module takes by
        # itself.
        csv.field_size_limit(2**31 - 1)
        return csv.reader(
            text,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            strict=strict,
        )


def sniff(
    path: Path,
    *,
    sep: str | None = None,
    header: Header = "auto",
    customary: frozenset[str] = frozenset(),
) -> Delimited:
    """Determine from the beginning of a text file how it is cut into columns.

    Parameters
    ----------
    path : Path
        The file, perhaps gzipped.
    sep : str, optional
        The separator; by default the first of `::`, tab, comma, semicolon, bar, space
        that cuts every line into equally many columns (the one of the suffix goes
        first).
    header : {"auto", True, False}
        Whether the first line names the columns; told by `customary` names, or by words
        above numbers.
    customary : frozenset of str
        Names, as `plain_name` gives them, that make the first line a header.

    Raises
    ------
    InputError
        If the file is empty, not text, or no separator fits.
    """
    existing_file(path)
    text, encoding = _sample(path)
    if "\x00" in text:
        raise must_be(
            "the input",
            "delimited text or Parquet",
            Sentence("{}, a binary file", File(path)),
            "audit reads models",
        )
    # The separator of the suffix goes first, then those that texts hardly hold; a space
    # cuts sentences and goes last. The first that cuts every line of the sample into
    # equally many cells is taken.
    first = BY_SUFFIX.get(plain_suffix(path))
    candidates = (
        (sep,)
        if sep is not None
        else tuple(dict.fromkeys([*([first] if first else []), *SEPARATORS]))
    )
    for candidate in candidates:
        if len(candidate) != 1 and candidate != "::":
            raise must_be("sep", 'one character or "::"', repr(candidate))
        for quoted in (
            [True, False] if '"' in text and candidate not in UNQUOTED else [False]
        ):
            source = Delimited(path, candidate, encoding, quoted)
            rows = _sample_rows(text, source)
            is_even = bool(rows) and len(rows[0]) > 1 and len(set(map(len, rows))) == 1
            if is_even or (rows and sep is not None):
                if len(rows[0]) > MOST_COLUMNS:
                    raise must_be(
                        File(path),
                        f"a table of at most {MOST_COLUMNS:,} columns",
                        f"{len(rows[0]):,}",
                        "write the vectors as .npy or .parquet",
                    )
                return _with_header(
                    replace(source, first_rows=tuple(rows)), header, customary
                )
    tried = "equally many columns in every line, cut by one of :: tab , ; | space"
    raise must_be(
        File(path),
        f"a table with {tried}",
        "other lines",
        "repair it, or put ids before a single column",
    )


def continued(first: Delimited, path: Path) -> Delimited:
    """Cut another file as the first is cut.

    Raises
    ------
    InputError
        If it has other columns.
    """
    text, encoding = _sample(path)
    source = replace(first, path=path, encoding=encoding)
    header = tuple(cell.strip() for cell in next(iter(_sample_rows(text, source)), ()))
    if len(header) != first.width or first.names not in (None, header):
        remedy = "write it with those, in that order, or name the tables to read, one or more"
        raise must_be(
            Sentence("the columns of {}", File(path)),
            Sentence("those of {}", File(first.path)),
            ", ".join(header)[:200],
            remedy,
        )
    return source


def _sample(path: Path) -> tuple[str, str]:
    """Read whole lines from the start of a file, with the encoding they are in."""
    try:
        with open_bytes(path) as file:
            # A line of 4,096 numbers is longer than most samples.
            lines = [file.readline(LONGEST) for _ in range(SAMPLE_LINES)]
            rest = file.read(SAMPLE_BYTES)
    except OSError as error:
        raise InputError("{} cannot be read: {}.", File(path), error) from error
    data = b"".join(lines) + (
        rest if len(rest) < SAMPLE_BYTES else rest[: rest.rfind(b"\n") + 1]
    )
    if not data.strip():
        raise must_be(
            "the input",
            "a file with something in it",
            Sentence("{}, which is empty", File(path)),
        )
    try:
        return data.decode("utf-8-sig"), "utf8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin1"


def _sample_rows(text: str, source: Delimited) -> list[tuple[str, ...]]:
    lines = io.StringIO(text.replace(source.separator, source.delimiter), newline="")
    rows = [tuple(row) for row in islice(source.rows_of(lines), 1000) if row]
    if (
        len(rows) > 1
        and len(rows[0]) + 1 == len(rows[1])
        and all(not row[-1] for row in rows[1:])
    ):
        # Every line but the header ends in a separator.
        rows[0] = (*rows[0], "")
    # The last line may be cut off by a quoted newline or by damage that reading the
    # whole file will report.
    return rows[:-1] if len(rows) > 2 else rows


def plain_name(name: str) -> str:
    """Return a column name without case, punctuation and type (`user_id:token` of RecBole).

    Examples
    --------
    >>> plain_name("user_id:token"), plain_name("Movie ID")
    ('userid', 'movieid')
    """
    return re.sub(r"[\W_]", "", name.split(":")[0]).lower()


def _with_header(
    source: Delimited, header: Header, customary: frozenset[str]
) -> Delimited:
    """Take the first row for a header where it is called one, or tells by its names or by words above numbers."""
    first, *rest = source.first_rows
    if header == "auto":
        numeric = [
            [bool(NUMBER.fullmatch(cell)) or is_list(cell) for cell in row]
            for row in source.first_rows[:2]
        ]
        # A header has customary names, or words only, above a number.
        words_above = not any(numeric[0]) and any(
            any(row[: len(first)]) for row in numeric[1:]
        )
        header = any(plain_name(cell) in customary for cell in first) or words_above
    if not header:
        return source
    if not rest:
        raise must_be(
            "the input",
            "a table with rows below its header",
            Sentence("only a header in {}", File(source.path)),
        )
    names = tuple(cell.strip() for cell in first)
    require_distinct(filter(None, names), source.path)
    return replace(source, names=names, first_rows=tuple(rest))


def require_distinct(names: Iterable[str], path: Path) -> None:
    """Refuse a table two columns of which have one name."""
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise must_be(
            Sentence("the columns of {}", File(path)),
            "of different names",
            f"{twice!r} more than once",
            "rename one",
        )


def read_delimited(
    sources: Sequence[Delimited], columns: Mapping[int, Cell]
) -> dict[int, pa.ChunkedArray]:
    """Read the columns at some positions of files one below another.

    Ids become integers where every one is, else strings; numbers float64.

    Raises
    ------
    InputError
        At the first line of another width and the first number that is none, with its
        line.
    """
    return read_stacked(sources, columns)[0]


def read_stacked(
    sources: Sequence[Delimited], columns: Mapping[int, Cell]
) -> tuple[dict[int, pa.ChunkedArray], tuple[int, ...]]:
    """Read columns as `read_delimited` does, and return the number of rows of each file besides."""
    import pyarrow as pa

    tables = [_parsed(source, columns) for source in sources]
    table = pa.concat_tables(tables)
    read = {position: table.column(str(position)) for position in columns}
    ready = {
        position: as_ids(column) if columns[position] == "id" else column
        for position, column in read.items()
    }
    return ready, tuple(table.num_rows for table in tables)


def _parsed(
    source: Delimited, columns: Mapping[int, Cell], settled: Delimited | None = None
) -> pa.Table:
    """Parse columns of one file; an id is text yet."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    types = {
        "id": pa.dictionary(pa.int32(), pa.string()),
        "number": pa.float64(),
        "text": pa.string(),
    }
    try:
        settled = settled or _with_quotes_settled(source)
        with settled.open() as stream:
            return arrow.read_csv(
                stream,
                arrow.ReadOptions(
                    column_names=[str(i) for i in range(source.width)],
                    skip_rows=0 if source.names is None else 1,
                    encoding=source.encoding,
                    block_size=2**22,
                ),
                # Line ends inside of quotes cost speed, so they are looked for only
                # where there are quotes.
                arrow.ParseOptions(
                    delimiter=source.delimiter,
                    quote_char=settled.quoted and '"',
                    newlines_in_values=settled.quoted,
                ),
                arrow.ConvertOptions(
                    include_columns=[str(position) for position in columns],
                    column_types={
                        str(position): types[cell] for position, cell in columns.items()
                    },
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
    except OSError as error:
        raise InputError("{} cannot be read: {}.", File(source.path), error) from error
    # In order: bytes that are no UTF-8 behind the sample, quotes that are letters, and
    # what is wrong with a line.
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        if "invalid UTF8" in str(error) and source.encoding == "utf8":
            return _parsed(replace(source, encoding="latin1"), columns)
        letters = replace(source, quoted=False)
        if settled is not None and settled.quoted and _fault(letters) is None:
            return _parsed(source, columns, letters)
        other = InputError(
            "{} cannot be read: {}.", File(source.path), str(error).splitlines()[0]
        )
        raise _fault(settled or source, columns) or other from error


def as_ids(column: pa.ChunkedArray | list[str]) -> pa.ChunkedArray:
    """Make integers of texts where every one of them writes an integer.

    Examples
    --------
    >>> [as_ids(ids).to_pylist() for ids in (["7", "-5"], ["7", "007"], ["-0", str(10**20)])]
    [[7, -5], ['7', '007'], ['-0', '100000000000000000000']]
    """
    import pyarrow as pa
    from pyarrow import compute

    # Each distinct id is looked at once, as a place in a dictionary.
    column = (
        column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    )
    column = column.dictionary_encode().unify_dictionaries()
    texts = compute.utf8_trim_whitespace(column.chunk(0).dictionary)
    if not compute.all(
        compute.match_substring_regex(texts, INTEGER), min_count=0
    ).as_py():
        return column
    try:
        integers = texts.cast(pa.int64())
    except ValueError:  # an integer of more than 64 bits
        return column
    return pa.chunked_array(
        [integers.take(chunk.indices) for chunk in column.chunks], pa.int64()
    )


def _with_quotes_settled(source: Delimited) -> Delimited:
    """Settle for the whole file whether double quotes enclose fields or are letters, as in `"Heroes" and "Low"`.

    Quotes that enclose open and close in turns; a doubled one inside of a field closes
    it and opens it again at once. So every other one, from the first on, must follow a
    separator, a line end or a quote, and the rest must stand before such. A quote
    within a field without quotes is a letter and upsets the turns: then rows are walked
    over.

    Raises
    ------
    InputError
        As `_settled_by_rows` does.
    """
    if source.separator in UNQUOTED:
        return replace(source, quoted=False)
    borders = np.frombuffer(source.separator.encode() + b'\r\n"', np.uint8)
    n_quotes, last = 0, b"\n"
    with open_bytes(source.path) as file:
        # Writers quote headers, which are known by now.
        if source.names is not None:
            file.readline()
        for chunk in chain(iter(lambda: file.read(2**22), b""), [b"\n"]):
            text = np.frombuffer(last + chunk, np.uint8)
            quotes = np.flatnonzero(text[1:-1] == ord('"')) + 1
            opening, closing = quotes[n_quotes % 2 :: 2], quotes[1 - n_quotes % 2 :: 2]
            if not np.isin(
                np.concatenate([text[opening - 1], text[closing + 1]]), borders
            ).all():
                return _settled_by_rows(source)
            n_quotes += len(quotes)
            # The last byte is looked at with the one behind it.
            last = text[-2:].tobytes()
    return (
        _settled_by_rows(source)
        if n_quotes % 2
        else replace(source, quoted=n_quotes > 0)
    )


def _settled_by_rows(source: Delimited) -> Delimited:
    """Take quotes for letters only where rows have other widths otherwise, or a quote is out of place.

    Raises
    ------
    InputError
        If a quote is out of place, and reading quotes as letters does not give rows of
        one width either.
    """
    enclosing, letters = replace(source, quoted=True), replace(source, quoted=False)
    fault = None if source.separator in UNQUOTED else _fault(enclosing)
    if source.separator in UNQUOTED or (fault is not None and _fault(letters) is None):
        return letters
    if fault is not None:
        raise fault
    return enclosing


def _fault(
    source: Delimited, columns: Mapping[int, Cell] | None = None
) -> InputError | None:
    """Find the first row of another width, with a quote out of place, or with a word in a column of numbers."""
    line = 0 if source.names is None else 1
    numeric = [
        position for position, cell in (columns or {}).items() if cell == "number"
    ]
    try:
        for line, row in _numbered_rows(source, strict=source.quoted):
            if len(row) != source.width:
                remedy = "repair that line; the file may be cut off"
                got = f"{len(row)} in line {line}"
                return must_be(
                    File(source.path),
                    f"a table of {source.width} columns in every line",
                    got,
                    remedy,
                )
            for position in numeric:
                if row[position] and not NUMBER.fullmatch(row[position]):
                    name = source.names[position] if source.names else position
                    return must_be(
                        Sentence("column {} of {}", name, File(source.path)),
                        "numbers",
                        f"{row[position]!r} in line {line}",
                    )
    except csv.Error:
        remedy = "double a quote inside a quoted field, or write the table as Parquet"
        got = f"others in line {line + 1}"
        return must_be(
            Sentence("the quotes of {}", File(source.path)),
            "closed before the next column",
            got,
            remedy,
        )
    return None


def line_of(sources: Sequence[Delimited], row: int) -> str:
    """Name the line that a row below the headers ends in; of several files with the file."""
    # Only an error asks for it, so the walk may be slow.
    rows = (
        (source, line)
        for source in sources
        for line, _ in _numbered_rows(_settled_by_rows(source))
    )
    source, line = next(islice(rows, row, None))
    return f"line {line}" if len(sources) == 1 else f"line {line} of {source.path}"


def _numbered_rows(
    source: Delimited, *, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Walk over the rows below the header, slowly, each with the number of the line it ends in."""
    encoding = {"utf8": "utf-8-sig", "latin1": "latin-1"}[source.encoding]
    with io.TextIOWrapper(
        source.open(), encoding=encoding, errors="replace", newline=""
    ) as text:
        reader = source.rows_of(text, strict=strict)
        for row in islice(reader, 0 if source.names is None else 1, None):
            if row:
                yield reader.line_num, row
