"""Delimited text: its encoding, separator and header, found from its first lines.

`csv.Sniffer` does not choose the separator or the header, because it is wrong for
tables that people have. Its `sniff`

- knows no separator of two characters, as in `1::1193::5` of MovieLens,
- cuts `a<tab>{1,2,3}` at the commas,
- takes a space if a quoted title spans two lines, as in `1,"Heat<newline>The"`,
- fails if every line except the header ends in a separator.

Its `has_header` finds no header above a column of lists (`id,vector` above
`a,"[1, 2]"`), and finds one in a file of the single line `a,1,2`.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.files import existing_file, plain_suffix
from embaudit.io.tables.list_cells import DECIMAL, count_numbers, is_list
from embaudit.io.unpacked import open_bytes

Header: TypeAlias = Literal["auto"] | bool

SEPARATORS = ("::", "\t", ",", ";")
"""Separators that are tried first."""
SEPARATORS_IN_CELLS = ("|", " ")
"""Separators that often stand inside of cells, as in `1,Drama|War`; tried last."""
SEPARATOR_BY_SUFFIX = {".csv": ",", ".tsv": "\t"}
WHOLE = re.compile(r"[-+]?\d+", re.ASCII)
BRACKETS = "[({"
"""Characters that begin a list in a cell."""
COMMENT = "#"
"""First character of a comment. `numpy.savetxt` writes it in front of the header."""
WITHOUT_QUOTES = ("::", "|")
"""Separators of files in which a double quote is always a letter."""
UNIT_SEPARATOR = "\x1f"
"""Replaces the separator `::`, because fast parsers know only single characters."""
ENCODINGS = ("utf8", "cp1252", "latin1")
"""Encodings in the order in which they are tried. Every file is valid Latin-1."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""First bytes of text in UTF-16, as Excel and PowerShell write it."""
SAMPLE_LINES = 16
"""Lines of a sample, however long they are (a row of 4,096 numbers has 40 KB)."""
SAMPLE_BYTES = 2**16
"""Bytes of whole lines that a sample takes in addition to these lines."""
LONGEST_LINE = 2**22
"""Bytes of a line of a sample, at most."""
SAMPLE_ROWS = 1000
"""Rows of a sample, at most."""
MAX_COLUMNS = 100_000
"""Columns of a table, at most, because pyarrow takes time with their square."""
NUMBER = re.compile(
    r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*|\s*[-+]?(nan|inf|infinity)\s*",
    re.IGNORECASE | re.ASCII,
)
Row: TypeAlias = tuple[str, ...]
FRACTION_AT_END = re.compile(
    r".*[^\s,;|:=](?:\s*[\s,;|]|(?<!\d)[:=])\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?"
)
"""Pattern of an id that a fraction follows, as in `a 1.5`. `00:01.5` is a time."""
FEWEST_ROWS = 5
"""Fewest rows for the conclusion that a column of whole numbers has no fractions."""


@dataclass(frozen=True)
class DelimitedText:
    """A file of delimited text, and how it is cut into columns."""

    path: Path
    separator: str
    encoding: str
    """One of `ENCODINGS`."""
    quoted: bool
    """True if double quotes enclose cells (RFC 4180); False if they are letters."""
    n_blank: int = 0
    """Number of empty lines above the first row."""
    names: Row | None = None
    """Column names of the header; None without a header."""
    first_rows: tuple[Row, ...] = ((),)
    """The first rows below the header."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.names or self.first_rows[0])

    @property
    def n_skipped(self) -> int:
        """Number of rows above the data: empty lines and the header."""
        return 0 if self.names is None else self.n_blank + 1

    @property
    def delimiter(self) -> str:
        """The separator as one character, as it stands in what `open` returns."""
        return UNIT_SEPARATOR if len(self.separator) > 1 else self.separator

    def open(self) -> IO[bytes]:
        """Open the file, unpacked, with a separator of one character."""
        file = open_bytes(self.path)
        if len(self.separator) == 1:
            return file
        with file:
            content = file.read()
        return io.BytesIO(
            content.replace(self.separator.encode(), UNIT_SEPARATOR.encode())
        )

    def split(self, text: IO[str], *, strict: bool = False) -> Any:
        """Return a `csv.reader` of text; if strict, a misplaced quote is an error."""
        # A vector of 16,384 numbers in one cell exceeds the default limit.
        csv.field_size_limit(2**31 - 1)
        return csv.reader(
            text,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE,
            strict=strict,
        )

    def rows(self, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows below the header, slowly, with the line that each ends in."""
        # Unlike utf8, utf-8-sig drops a byte order mark.
        encoding = "utf-8-sig" if self.encoding == "utf8" else self.encoding
        with io.TextIOWrapper(
            self.open(), encoding=encoding, errors="replace", newline=""
        ) as text:
            reader = self.split(text, strict=strict)
            for number, row in enumerate(reader):
                if row and number >= self.n_skipped:
                    yield reader.line_num, row


def sniff(
    path: Path,
    *,
    sep: str | None = None,
    header: Header = "auto",
    customary: frozenset[str] = frozenset(),
) -> DelimitedText:
    """Determine from the first lines of a text file how it is cut into columns.

    Parameters
    ----------
    path : Path
        The file, perhaps gzipped.
    sep : str, optional
        The separator. By default, the separator that cuts every line into equally many
        cells. If several separators do so, the separator is chosen that leaves the most
        numbers, alone or in lists, for example the semicolon in `1;Heat, The` and the
        tab in `a<tab>0.5,1.5`.
    header : {"auto", True, False}
        Whether the first line names the columns. By default it does if it has one of
        the `customary` names, or only words above a line with numbers.
    customary : frozenset of str
        Names, as `plain_name` returns them, that make the first line a header.

    Raises
    ------
    InputError
        If the file is empty or binary, or no separator fits.
    """
    existing_file(path)
    text, encoding = _read_sample(path)
    if "\x00" in text:
        raise must_be(
            "the input",
            "delimited text or Parquet",
            Sentence("{}, a binary file", File(path)),
            "give models to `embaudit audit`",
        )
    if sep is None:
        table = _find_separator(path, text, encoding)
    elif len(sep) == 1 or sep == "::":
        table = _cut(path, text, encoding, sep)[0]
    else:
        raise must_be("sep", 'one character or "::"', repr(sep))
    if len(table.first_rows[0]) > MAX_COLUMNS:
        raise must_be(
            File(path),
            f"a table of at most {MAX_COLUMNS:,} columns",
            f"{len(table.first_rows[0]):,}",
            "write the vectors as .npy or .parquet",
        )
    return _with_header(table, header, customary)


def holds_table(path: Path) -> bool:
    """Return True if most of the first lines of a text are rows cut by a separator.

    These lines have as many cells as the first line, unless that is a comment, and two
    of their cells are numbers or one is a list in brackets or with commas. A space is
    no separator here, because lines of tokens and numbers are cut by spaces, and tokens
    can be other separators.
    """
    text, encoding = _read_sample(path)
    if "\x00" in text:
        return False
    for separator in (*SEPARATORS, "|"):
        if separator not in text:
            continue
        for table in _cut(path, text, encoding, separator):
            first, *others = table.first_rows
            rows = others if first[0].startswith(COMMENT) else table.first_rows
            n_vectors = sum(
                len(row) == len(rows[0]) and _holds_vector(row) for row in rows
            )
            if rows and 2 * n_vectors >= len(rows):
                return True
    return False


def _holds_vector(row: Row) -> bool:
    """Return True if two cells of a row are numbers or one is a list.

    The list is in brackets or has commas.
    """
    n_single = sum(
        bool(NUMBER.fullmatch(cell) or DECIMAL.fullmatch(cell)) for cell in row
    )
    return n_single > 1 or any(
        is_list(cell) and ("," in cell or cell.strip()[0] in BRACKETS) for cell in row
    )


def _read_sample(path: Path) -> tuple[str, str]:
    """Return whole lines from the start of a file, and their encoding."""
    try:
        with open_bytes(path) as file:
            lines = [file.readline(LONGEST_LINE) for _ in range(SAMPLE_LINES)]
            more = file.read(SAMPLE_BYTES)
    except OSError as error:
        raise InputError("{} cannot be read: {}.", File(path), error) from error
    if len(more) == SAMPLE_BYTES:
        more = more[: more.rfind(b"\n") + 1]
    data = b"".join(lines) + more
    if not data.strip():
        raise must_be(
            "the input",
            "a file that is not empty",
            Sentence("{}, an empty file", File(path)),
        )
    if data.startswith(UTF_16):
        raise must_be(File(path), "text in UTF-8", "UTF-16", "save it as CSV UTF-8")
    for encoding in ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text.removeprefix("\ufeff"), encoding
    raise AssertionError("every file is valid Latin-1")


def _find_separator(path: Path, text: str, encoding: str) -> DelimitedText:
    """Cut a text by the separator that fits it best."""
    # Of equally good separators, the first is taken, so that of the suffix goes first.
    by_suffix = SEPARATOR_BY_SUFFIX.get(plain_suffix(path))
    ordered = sorted(SEPARATORS, key=lambda separator: separator != by_suffix)
    candidates = [
        table
        for separator in (*ordered, *SEPARATORS_IN_CELLS)
        if separator in text
        for table in _cut(path, text, encoding, separator)
    ]
    even = [table for table in candidates if _is_even(table.first_rows)]
    usual = [table for table in even if table.separator in SEPARATORS]
    if usual:
        return max(usual, key=_fit)
    if even:
        return even[0]
    _require_no_comment(path, text)
    for table in candidates:
        _require_no_short_line(table)
    got = "a single column"
    if candidates:
        got = "lines of different widths"
    raise must_be(
        File(path),
        "a table with the same number of columns in every line, separated by one of "
        ":: tab , ; | space",
        got,
        "repair it, or put ids before a single column",
    )


def _cut(path: Path, text: str, encoding: str, separator: str) -> list[DelimitedText]:
    """Cut a text at a separator.

    If the text has double quotes, it is cut twice: with quotes that enclose cells, and
    with quotes as letters.
    """
    choices = [False]
    if '"' in text and separator not in WITHOUT_QUOTES:
        choices = [True, False]
    tables = []
    for quoted in choices:
        table = DelimitedText(path, separator, encoding, quoted)
        rows, n_blank = _sample_rows(text, table)
        if rows:
            tables.append(replace(table, first_rows=tuple(rows), n_blank=n_blank))
    return tables


def _sample_rows(text: str, table: DelimitedText) -> tuple[list[Row], int]:
    """Return the rows of a sample that are not empty, and the empty lines above."""
    lines = io.StringIO(text.replace(table.separator, table.delimiter), newline="")
    rows: list[Row] = []
    n_blank = 0
    for row in table.split(lines):
        if row:
            rows.append(tuple(row))
        elif not rows:
            n_blank += 1
        if len(rows) == SAMPLE_ROWS:
            break
    # Every line except the header ends in a separator.
    if (
        len(rows) > 1
        and len(rows[0]) + 1 == len(rows[1])
        and all(not row[-1] for row in rows[1:])
    ):
        rows[0] = (*rows[0], "")
    # The header has no name for the column of ids, as R writes it.
    elif (
        len(rows) > 2
        and len(rows[0]) > 1
        and all(len(row) == len(rows[0]) + 1 for row in rows[1:-1])
    ):
        rows[0] = ("", *rows[0])
    # The last row of the sample can be incomplete, because of a quoted line end or
    # damage. Reading the whole file reports damage.
    if len(rows) > 2:
        rows = rows[:-1]
    return rows, n_blank


def _is_even(rows: Sequence[Row]) -> bool:
    """Return True if all rows have the same number of cells, and more than one."""
    return len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows)


def _require_no_comment(path: Path, text: str) -> None:
    """Raise InputError if a text whose lines do not agree begins with a comment."""
    first = text.lstrip().partition("\n")[0].rstrip()
    if first.startswith(COMMENT):
        raise must_be(
            Sentence("the first line of {}", File(path)),
            "a header or a row",
            f"the comment {first[:60]!r}",
            f"drop the lines that begin with {COMMENT}",
        )


def _require_no_short_line(table: DelimitedText) -> None:
    """Raise InputError for the first line of another width if most lines agree."""
    width = len(table.first_rows[0])
    n_agreeing = sum(len(row) == width for row in table.first_rows)
    if width == 1 or n_agreeing < 2 or 2 * n_agreeing <= len(table.first_rows):
        return
    for line, row in table.rows():
        if len(row) != width:
            raise wrong_width(table, width, len(row), line)


def _fit(table: DelimitedText) -> tuple[bool, int, float, int, bool]:
    """Return the rank of a separator that cuts all lines evenly.

    The separator of the largest rank is chosen. A semicolon between decimal commas goes
    first, as in `a;1,5;2,5`. Then the number of numbers counts, for example 2 if
    `a<tab>0.5,1.5` is cut by the tab, and 1 if it is cut by the comma. Then the share
    of cells with numbers counts, and then fewer cells.
    """
    row = table.first_rows[-1]
    with_commas = [cell for cell in row if "," in cell]
    has_decimal_commas = (
        table.separator == ";"
        and bool(with_commas)
        and all(DECIMAL.fullmatch(cell) for cell in with_commas)
    )
    counts = [_count_cell_numbers(cell) for cell in row]
    share = sum(count > 0 for count in counts) / len(row)
    return has_decimal_commas, sum(counts), share, -len(row), table.separator != ","


def _count_cell_numbers(cell: str) -> int:
    """Count the numbers in a cell that is a number or a list, else return 0.

    A tab does not cut the numbers of a list: it cuts cells.
    """
    if NUMBER.fullmatch(cell):
        return 1
    if is_list(cell) and "\t" not in cell:
        return count_numbers(cell)
    return 0


def _is_number_or_list(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell)) or is_list(cell)


def _with_header(
    table: DelimitedText, header: Header, customary: frozenset[str]
) -> DelimitedText:
    """Take the first row as the header if the caller or its cells say so."""
    first, *rows = table.first_rows
    has_header = header
    if header == "auto":
        has_header = _is_header(first, rows, customary)
    if not has_header:
        return table
    if not rows:
        raise must_be(
            "the input",
            "a table with rows below its header",
            Sentence("only a header in {}", File(table.path)),
        )
    names = _names_in(first)
    require_distinct(filter(None, names), table.path)
    return replace(table, names=names, first_rows=tuple(rows))


def _is_header(first: Row, rows: Sequence[Row], customary: frozenset[str]) -> bool:
    """Return True if the first row looks like a header.

    It has a customary name, or only words above a row with numbers, or a number behind
    a comment sign.
    """
    if any(plain_name(cell) in customary for cell in first):
        return True
    if _is_number_in_comment(first, rows):
        return True
    if not rows:
        return False
    has_words_only = not any(map(_is_number_or_list, first))
    has_numbers_below = any(map(_is_number_or_list, rows[0][: len(first)]))
    return has_words_only and has_numbers_below


def _is_number_in_comment(first: Row, rows: Sequence[Row]) -> bool:
    """Return True if only the first row begins with a comment sign and a number.

    `numpy.savetxt` writes `# 0,1,2` if the columns are called by numbers. If other rows
    begin with the sign, too, it is a part of their ids.
    """
    cell = first[0]
    return (
        cell.startswith(COMMENT)
        and NUMBER.fullmatch(cell.removeprefix(COMMENT)) is not None
        and not any(row[0].startswith(COMMENT) for row in rows)
    )


def _names_in(header: Row) -> Row:
    """Return the names in a header, without the comment sign in front of the first."""
    first, *others = (cell.strip() for cell in header)
    if len(first) > 1:
        first = first.removeprefix(COMMENT).lstrip()
    return first, *others


def seem_to_hold_numbers(ids: Sequence[str]) -> bool:
    """Return True if most of some ids end in a fraction behind a separator.

    In such a file, one separator cuts off the ids, and another one cuts the numbers.

    Examples
    --------
    >>> seem_to_hold_numbers(["a 1.5", "b;2.5"]), seem_to_hold_numbers(["a 1", "b"])
    (True, False)
    """
    n_matching = sum(FRACTION_AT_END.fullmatch(text) is not None for text in ids)
    return 2 * n_matching > len(ids)


def find_whole_column(rows: Sequence[Sequence[str]]) -> int | None:
    """Return the position of a column of whole numbers among columns of fractions.

    Such a column holds counts, years or labels. A column of zeros or of ones can belong
    to the vectors, for example as the factor of a bias.

    Examples
    --------
    >>> rows = [["7", "0.5"], ["12", "1.5"], ["3", "2.5"], ["7", "0.1"], ["1", "0.2"]]
    >>> find_whole_column(rows), find_whole_column(rows[:2])
    (0, None)
    """
    if len(rows) < FEWEST_ROWS:
        return None
    whole, fractions = [], []
    for place, column in enumerate(zip(*rows, strict=True)):
        cells = [cell.strip() for cell in column]
        if not all(WHOLE.fullmatch(cell) for cell in cells):
            fractions += cells
        elif set(cells) not in ({"0"}, {"1"}):
            whole.append(place)
    n_whole_elsewhere = sum(bool(WHOLE.fullmatch(cell)) for cell in fractions)
    # If other columns have whole numbers as well, the file writes 1 for 1.0.
    is_rare = bool(fractions) and 10 * n_whole_elsewhere < len(fractions)
    if whole and is_rare:
        return whole[0]
    return None


def with_same_columns(first: DelimitedText, path: Path) -> DelimitedText:
    """Return another file that is cut as the first.

    Raises
    ------
    InputError
        If it has other columns.
    """
    text, encoding = _read_sample(path)
    table = replace(first, path=path, encoding=encoding)
    rows, n_blank = _sample_rows(text, table)
    top = _names_in(rows[0]) if rows else ()
    if len(top) != first.width or first.names not in (None, top):
        raise must_be(
            Sentence("the columns of {}", File(path)),
            Sentence("the columns of {}", File(first.path)),
            ", ".join(top)[:200],
            "write it with the same columns in the same order, or name the tables to "
            "read",
        )
    return replace(table, n_blank=n_blank)


def wrong_width(
    table: DelimitedText, width: int, n_cells: int, line: int
) -> InputError:
    """Return the error that names a line with more or fewer cells than columns."""
    return must_be(
        File(table.path),
        f"a table of {width} columns in every line",
        f"{n_cells} in line {line}",
        "repair that line; the file may be cut off",
    )


def require_distinct(names: Iterable[str], path: Path) -> None:
    """Raise InputError if two columns of a table have the same name."""
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise must_be(
            Sentence("the columns of {}", File(path)),
            "of different names",
            f"{repeated[0]!r} more than once",
            "rename one",
        )


def plain_name(name: str) -> str:
    """Return a column name without case, punctuation and type (`user_id:token`).

    Examples
    --------
    >>> plain_name("user_id:token"), plain_name("Movie ID")
    ('userid', 'movieid')
    """
    return re.sub(r"[\W_]", "", name.split(":")[0]).lower()
