"""Delimited text: which separator it has, whether its first line is a header, its columns, and where a bad value is."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.lists import is_list
from embaudit.io.codecs.quotes import has_quotes, quotes_enclose
from embaudit.io.codecs.unpacked import open_bytes
from embaudit.io.files import existing_file, plain_suffix

if TYPE_CHECKING:
    import pyarrow as pa


Cell: TypeAlias = Literal["id", "number", "text"]
Header: TypeAlias = Literal["auto"] | bool

Parsed = TypeVar("Parsed")
SEPARATORS = ("::", "\t", ",", ";", "|", " ")
BY_SUFFIX = {".csv": ",", ".tsv": "\t"}
_STAND_IN = "\x1f"
"""The unit separator takes the place of a separator of two characters, which no fast parser knows."""
SAMPLE_BYTES, SAMPLE_LINES, SAMPLE_LIMIT = 2**16, 16, 2**26
"""A sample is so many bytes, more where these hold fewer lines, but never more than the limit."""
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*|\s*[-+]?(nan|inf|infinity)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Delimited:
    """How a text file is to be cut into columns."""

    path: Path
    separator: str
    encoding: str
    names: tuple[str, ...] | None
    """What the header calls the columns; None without a header."""
    first_rows: tuple[tuple[str, ...], ...]
    """Some rows below the header."""
    literal: bool = False
    """Whether double quotes are letters like others."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names or self.first_rows[0])

    @property
    def quoted(self) -> bool:
        """Whether a double quote opens a quoted field, as spreadsheets write."""
        return self.separator not in ("::", "|") and not self.literal

    @property
    def delimiter(self) -> str:
        """The separator as one character."""
        return _STAND_IN if len(self.separator) > 1 else self.separator


def _stream(path: Path, separator: str) -> IO[bytes]:
    file = open_bytes(path)
    if len(separator) == 1:
        return file
    with file:
        return io.BytesIO(file.read().replace(separator.encode(), _STAND_IN.encode()))


def _rows(text: IO[str], delimited: Delimited) -> Any:
    # A vector of 16,384 dimensions in one cell is longer than the module takes by itself.
    csv.field_size_limit(max(csv.field_size_limit(), SAMPLE_LIMIT))
    return csv.reader(
        text, delimiter=delimited.delimiter, quoting=csv.QUOTE_MINIMAL if delimited.quoted else csv.QUOTE_NONE
    )


def _text(source: Delimited) -> IO[str]:
    encoding = {"utf8": "utf-8-sig", "latin1": "latin-1"}[source.encoding]
    stream = _stream(source.path, source.separator)
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")


def sniff(
    path: Path, *, sep: str | None = None, header: Header = "auto", known: frozenset[str] = frozenset()
) -> Delimited:
    """Look at the beginning of a text file and tell how it is cut into columns.

    Parameters
    ----------
    path : Path
        The file, perhaps gzipped.
    sep : str, optional
        The separator; by default the first of `::`, tab, comma, semicolon, bar, space that cuts every line into
        equally many columns (the one of the suffix goes first).
    header : {"auto", True, False}
        Whether the first line names the columns; told by `known` names, or by words above numbers.
    known : frozenset of str
        Names, as `plain_name` gives them, that make the first line a header.

    Raises
    ------
    InputError
        If the file is empty, not text, or no separator fits.
    """
    existing_file(path)
    text, encoding = _sample(path)
    if "\x00" in text:
        raise must_be("the input", "delimited text or Parquet", f"{path}, which holds zero bytes")
    first = BY_SUFFIX.get(plain_suffix(path))
    candidates = (sep,) if sep is not None else tuple(dict.fromkeys([*([first] if first else []), *SEPARATORS]))
    for candidate in candidates:
        if len(candidate) != 1 and candidate != "::":
            raise must_be("sep", 'one character or "::"', repr(candidate))
        enclosing = Delimited(path, candidate, encoding, None, ((),))
        for found in (enclosing, *([replace(enclosing, literal=True)] if '"' in text and enclosing.quoted else [])):
            rows = _sample_rows(text, found)
            if rows and ((sep is not None and not found.literal) or _is_even(rows)):
                return _with_header(replace(found, first_rows=tuple(rows)), header, known)
    tried = "equally many columns in every line, cut by one of :: tab , ; | space"
    raise must_be(f"{path}", f"a table with {tried}", "other lines", "repair it; fit takes other separators with --sep")


def _is_even(rows: list[tuple[str, ...]]) -> bool:
    return len(rows[0]) > 1 and len({len(row) for row in rows}) == 1


def _sample(path: Path) -> tuple[str, str]:
    """Read whole lines from the start of a file, with the encoding they are in."""
    try:
        with open_bytes(path) as file:
            data, n_lines = bytearray(), 0
            while True:
                chunk = file.read(SAMPLE_BYTES)
                data += chunk
                n_lines += chunk.count(b"\n")
                # A line of 4,096 numbers is longer than most samples.
                if len(chunk) < SAMPLE_BYTES or len(data) >= SAMPLE_LIMIT or n_lines >= SAMPLE_LINES:
                    break
            if len(chunk) == SAMPLE_BYTES:
                data = data[: data.rfind(b"\n") + 1] or data
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    if not data.strip():
        raise must_be("the input", "a file with something in it", f"{path}, which is empty")
    try:
        return data.decode("utf-8-sig"), "utf8"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin1"


def _sample_rows(text: str, delimited: Delimited) -> list[tuple[str, ...]]:
    lines = io.StringIO(text.replace(delimited.separator, delimited.delimiter), newline="")
    try:
        rows = [tuple(row) for row in islice(_rows(lines, delimited), 1000) if row]
    except csv.Error:
        return []
    if len(rows) > 1 and len(rows[0]) + 1 == len(rows[1]) and all(not row[-1] for row in rows[1:]):
        # Every line but the header ends in a separator.
        rows[0] = (*rows[0], "")
    # The last line may be cut off by a quoted newline or by damage that reading the whole file will report.
    return rows[:-1] if len(rows) > 2 else rows


def plain_name(name: str) -> str:
    """Return a column name without case, punctuation and type (`user_id:token` of RecBole).

    Examples
    --------
    >>> plain_name("user_id:token"), plain_name("Movie ID")
    ('userid', 'movieid')
    """
    return re.sub(r"[\W_]", "", name.split(":")[0]).lower()


def _with_header(found: Delimited, header: Header, known: frozenset[str]) -> Delimited:
    first, *rest = found.first_rows
    if header == "auto":
        header = any(plain_name(cell) in known for cell in first) or _words_above_numbers(first, rest)
    if not header:
        return found
    if not rest:
        raise must_be("the input", "a table with rows below its header", f"only a header in {found.path}")
    return replace(found, names=tuple(cell.strip() for cell in first), first_rows=tuple(rest))


def _words_above_numbers(first: tuple[str, ...], rest: list[tuple[str, ...]]) -> bool:
    def is_number(cell: str) -> bool:
        return NUMBER.fullmatch(cell) is not None or is_list(cell)

    if any(is_number(cell) for cell in first):
        return False
    return any(is_number(row[column]) for row in rest[:1] for column in range(min(len(first), len(row))))


def read_delimited(
    source: Delimited, columns: Mapping[int, Cell], *, newlines: bool = False
) -> dict[int, pa.ChunkedArray]:
    """Read the columns at some positions: ids become integers where every one is, else strings; numbers float64.

    Reading quoted fields that may hold line ends (`newlines`) costs speed.

    Raises
    ------
    InputError
        At the first line of another width and the first number that is none, with its line.
    """
    types = {position: _first_type(source, position, cell) for position, cell in columns.items()}
    while True:
        if not {"text", "string"}.isdisjoint(types.values()):
            source = _with_quotes_settled(source)
        try:
            table = _parse(source, types, newlines=newlines)
        except OSError as error:
            raise InputError(f"{source.path} cannot be read: {error}.") from error
        except ValueError as error:
            # Loosen what could not be parsed, and parse again.
            source = _adapted(source, columns, types, str(error))
        else:
            return {position: table.column(str(position)) for position in columns}


def _with_quotes_settled(source: Delimited) -> Delimited:
    """Look through the whole file for what its quotes mean; a title that begins with one may be far below."""
    enclosing = replace(source, literal=False)
    if not enclosing.quoted:
        return source
    with open_bytes(source.path) as file:
        if not has_quotes(file):
            return source
    encloses = quotes_enclose(lambda: _text(source), source.delimiter, source.width, source.path)
    return replace(source, literal=not encloses)


def _first_type(source: Delimited, position: int, cell: Cell) -> str:
    if cell != "id":
        return cell
    # 007 and 7 are two identifiers, which integers would merge.
    padded = any(re.match(r"\s*[-+]?0\d", row[position]) for row in source.first_rows if position < len(row))
    return "string" if padded else "integer"


def _parse(source: Delimited, types: Mapping[int, str], *, newlines: bool) -> pa.Table:
    from pyarrow import csv as arrow

    with _stream(source.path, source.separator) as stream:
        return arrow.read_csv(stream, **_options(source, types, 2**22, newlines=newlines))


def _options(source: Delimited, types: Mapping[int, str], block: int, *, newlines: bool) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow

    known = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "string": pa.dictionary(pa.int32(), pa.string()),
        "text": pa.string(),
    }
    return {
        "read_options": arrow.ReadOptions(
            column_names=[str(i) for i in range(source.width)],
            skip_rows=0 if source.names is None else 1,
            encoding=source.encoding,
            block_size=block,
        ),
        "parse_options": arrow.ParseOptions(
            delimiter=source.delimiter, quote_char='"' if source.quoted else False, newlines_in_values=newlines
        ),
        "convert_options": arrow.ConvertOptions(
            include_columns=[str(position) for position in types],
            column_types={str(position): known[name] for position, name in types.items()},
            null_values=[""],
            strings_can_be_null=True,
        ),
    }


def _adapted(source: Delimited, columns: Mapping[int, Cell], types: dict[int, str], error: str) -> Delimited:
    """Loosen what could not be parsed, or say where the file is wrong."""
    if "invalid UTF8" in error and source.encoding == "utf8":
        return replace(source, encoding="latin1")
    # One thread alone knows the row, too.
    failed = re.search(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to int64", error)
    if failed and columns[int(failed[1])] == "id":
        types[int(failed[1])] = "string"
        return source
    settled = _with_quotes_settled(source)
    if settled != source:
        return settled
    for line, row in numbered_rows(source):
        if len(row) != source.width:
            remedy = "repair that line; the file may be cut off"
            got = f"{len(row)} in line {line}"
            raise must_be(f"{source.path}", f"a table of {source.width} columns in every line", got, remedy)
        for position, cell in columns.items():
            if cell == "number" and row[position] and not NUMBER.fullmatch(row[position]):
                name = source.names[position] if source.names else position
                raise must_be(f"column {name} of {source.path}", "numbers", f"{row[position]!r} in line {line}")
    raise InputError(f"{source.path} cannot be read: {error.splitlines()[0]}.")


def numbered_rows(source: Delimited) -> Iterator[tuple[int, list[str]]]:
    """Walk over the rows below the header, slowly, each with the number of the line it ends in."""
    with _text(source) as text:
        reader = _rows(text, source)
        for row in islice(reader, 0 if source.names is None else 1, None):
            if row:
                yield reader.line_num, row
