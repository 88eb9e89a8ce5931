"""The roles of the columns of a table of vectors: told by name, by content, or by the caller."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from embaudit.errors import must_be, option
from embaudit.io.codecs import arrow
from embaudit.io.codecs.delimited import BY_SUFFIX, NUMBER, continued, plain_name
from embaudit.io.codecs.lists import is_list, is_vectors
from embaudit.io.readers.layout import FIELDS
from embaudit.io.request import Request
from embaudit.io.tables.columns import TableFile, open_table
from embaudit.io.tables.interactions import RATING_NAMES, USER_NAMES
from embaudit.io.tables.titles import ID_NAMES

if TYPE_CHECKING:
    from pathlib import Path

KNOWN = ID_NAMES | {"user", "userid", "token", "word", "name", "label", "key"}
UNNAMED = ("", "Unnamed: 0")
"""Names that data frames write above their index."""
NUMBERED = re.compile(r"(.*?)(\d+)")
"""Pattern of the name of a dimension: the name of its family, and a number."""
PANDAS_INDEX = "__index_level_0__"
"""Name of an index of pandas in Parquet and Feather."""
BIAS_NAMES = frozenset({"bias", "biases", "intercept", "userintercept", "itemintercept", *FIELDS["left_bias"],
                        *FIELDS["right_bias"]}) - {"bu", "bi"}  # fmt: skip
"""Names of a column of biases; a dimension may be called by two letters."""


@dataclass(frozen=True)
class TableLayout:
    """The roles of the columns of a table, by position."""

    vectors: tuple[int, ...]
    lists: bool = False
    """True if the one column of vectors holds a list a row."""
    ids: int | None = None
    bias: int | None = None
    names: int | None = None
    counts: int | None = None

    def left_over(self, table: TableFile) -> tuple[int, ...]:
        """Return the columns that are not read."""
        used = {*self.vectors, self.ids, self.bias, self.names, self.counts}
        return tuple(i for i in range(table.width) if i not in used)

    def title(self, table: TableFile) -> str:
        """Name the columns of the vectors."""
        first, last = table.title(self.vectors[0]), table.title(self.vectors[-1])
        return f"column {first}" if len(self.vectors) == 1 else f"columns {first} to {last}"


def files_below(folder: Path) -> tuple[Path, ...]:
    """List the tables below a folder, in the order of their names; others, and what Spark leaves beside, are not."""
    files = (path for path in folder.rglob("*") if path.suffix.lower() in (*arrow.SUFFIXES, *BY_SUFFIX))
    return tuple(sorted(path for path in files if path.is_file() and not path.name.startswith(("_", "."))))


def opened(path: Path, files: tuple[Path, ...] = ()) -> TableFile:
    """Look at a table, or at files one below another: some of a folder, by default all tables in it.

    Raises
    ------
    InputError
        If a file cannot be read, or they are of different kinds or have different columns.
    """
    if not (files or path.is_dir()):
        return _with_header(path)
    files = files or files_below(path)
    kinds = {file.suffix.lower() for file in files}
    if len(kinds) != 1 or not kinds <= {*arrow.SUFFIXES, *BY_SUFFIX}:
        got, remedy = ", ".join(sorted(kinds)) or "none", "give the files of one kind"
        raise must_be(f"the files of {path}", "tables of one kind: Parquet, Arrow or CSV", got, remedy)
    if kinds <= {*arrow.SUFFIXES}:
        return TableFile.of(arrow.ArrowTable.open(path, files))
    # Some files may hold a header only.
    table = _with_header(max(files, key=lambda file: file.stat().st_size))
    assert table.text is not None
    first, *more = (continued(table.text, file) for file in files)
    return replace(table, path=path, text=first, more=tuple(more))


def _with_header(path: Path) -> TableFile:
    """Look at a table whose header may be the numbers that data frames give columns."""
    table = open_table(path, customary=KNOWN)
    numbered = table.text is not None and table.names is None and _is_numbered(*table.text.first_rows)
    return open_table(path, header=True) if numbered else table


def _is_numbered(first: tuple[str, ...], *rest: tuple[str, ...]) -> bool:
    """Check for 0, 1, 2, … above vectors, perhaps after the name of an index."""
    if first[0].strip() in UNNAMED:
        return _counts(first[1:])
    # Vectors may begin with 0, 1, 2, too, but then others are whole numbers as well.
    start = 0 if NUMBER.fullmatch(first[0]) else 1
    whole = any(all(cell.strip().isdigit() for cell in row[start:]) for row in rest)
    return len(first) - start > 1 and bool(rest) and not whole and _counts(first[start:])


def _counts(cells: Iterable[str]) -> bool:
    names = [cell.strip() for cell in cells]
    return names == [str(i) for i in range(len(names))]


def layout_of(table: TableFile, request: Request) -> TableLayout:
    """Assign a role to each column by its name, and by its type or, in text, its first rows.

    Raises
    ------
    InputError
        If they leave open which hold the ids or the vectors, or whether one is a bias.
    """
    # Ids first, for vectors are what is left; then a bias, which must be no dimension; then lists, else one family of
    # numbered columns. Whatever has no role is named and left.
    lists = [i for i in range(table.width) if _holds_lists(table, i)]
    if not lists:
        _require_vectors(table)
    ids = _ids(table, request)
    if ids is None and table.text is not None:
        ids = _ids_of_text(table, lists)
    lists = [i for i in _chosen(table, lists, request) if i != ids]
    bias = _bias(table, request, {ids, *lists}, dimensions=not lists)
    if lists:
        names, counts = (_place(table, name, {ids, bias}) for name in ("title", arrow.COUNTS))
        return TableLayout(tuple(lists), lists=True, ids=ids, bias=bias, names=names, counts=counts)
    columns = [i for i in range(table.width) if i not in {ids, bias} and not request.ignores(table.title(i))]
    if table.text is not None:
        # Nothing stands behind a separator at the end of each line.
        columns = [i for i in columns if any(i < len(row) and row[i].strip() for row in table.text.first_rows)]
    vectors = tuple(columns) if table.names is None else _family(table, columns, request)
    if not vectors:
        raise must_be(f"the vectors of {table.path}", "columns of numbers", "empty cells")
    _require_floats(table, vectors)
    return TableLayout(vectors, ids=ids, bias=bias)


def _holds_lists(table: TableFile, place: int) -> bool:
    if table.text is not None:
        return any(map(is_list, table.text.first_rows[0][place : place + 1]))
    assert table.arrow is not None
    return is_vectors(table.arrow.schema.field(place).type)


def _ids_of_text(table: TableFile, lists: list[int]) -> int | None:
    """Return the first column where it holds no numbers, and refuse one that could be ids or numbers of vectors."""
    assert table.text is not None
    first = [row[0] for row in table.text.first_rows]
    if 0 not in lists and not all(NUMBER.fullmatch(cell) for cell in first):
        return 0
    if not lists and table.names is None and all(cell.isdigit() for cell in first):
        remedy = "write a header that calls ids id, or choose them with --id"
        what = f"the first column of {table.path}"
        raise must_be(what, "ids or numbers of the vectors", "integers, which both could be", remedy)
    return None


def _require_floats(table: TableFile, vectors: tuple[int, ...]) -> None:
    """Refuse dimensions that are integers in a file; text and JSON write 1 for 1.0."""
    from pyarrow import types

    if table.arrow is None:
        return
    kinds = {i: table.arrow.schema.field(i).type for i in vectors}
    for place, kind in kinds.items():
        if not (types.is_floating(kind) or (types.is_integer(kind) and not table.arrow.files)):
            remedy = "write it as float32 if each number counts as it is"
            raise must_be(table.called(place), "of floating-point numbers", kind, remedy)


def _family(table: TableFile, places: list[int], request: Request) -> tuple[int, ...]:
    """Choose the columns that are dimensions: those of one numbered family of names, or those that the caller names.

    Whatever else a table holds, such as a price or a year, is no dimension.

    Raises
    ------
    InputError
        If there is no such family, or more than one.
    """
    names = {table.title(i): i for i in places}
    first, colon, last = (request.vector or "").partition(":")
    if colon:
        ends = [table.position(name, "vector") for name in (first, last)]
        return tuple(i for i in places if ends[0] <= i <= ends[1])
    # Numbers by family name, `e0, e1, ...` or `0, 1, ...`; one number alone, such as `year2020`, is no family.
    families: dict[str, dict[int, int]] = {}
    for name, i in names.items():
        match = NUMBERED.fullmatch(name)
        if match is not None and request.vector in (None, match[1]):
            families.setdefault(match[1], {})[int(match[2])] = i
    # They must run from 0 or 1 on without gaps.
    whole = [x for x in families.values() if len(x) > 1 and min(x) in (0, 1) and max(x) - min(x) == len(x) - 1]
    if len(whole) != 1:
        remedy = "choose them with --vector=FIRST:LAST, or with the name before their number"
        got = f"{len(whole)} such families in {table.listed()}" if whole else table.listed()
        raise must_be(f"the vectors of {table.path}", "a column of lists, or columns such as e0 to e63", got, remedy)
    return tuple(whole[0][number] for number in sorted(whole[0]))


def _place(table: TableFile, name: str, used: set[int | None]) -> int | None:
    """Find a column that `write` puts beside ids: titles, or the numbers of interactions."""
    from pyarrow import types

    place = table.names.index(name) if table.names and name in table.names else None
    if place is None or place in used or table.arrow is None:
        return None if place in used else place
    kind = table.arrow.schema.field(place).type
    kinds = (types.is_floating, types.is_integer) if name == arrow.COUNTS else (types.is_string, types.is_large_string)
    return place if any(is_kind(kind) for is_kind in kinds) else None


def _named_index(table: TableFile) -> int | None:
    """Return the column that was the index of a data frame, where it had a name of its own."""
    if table.arrow is None:
        return None
    schema = table.arrow.schema
    try:
        columns = (schema.pandas_metadata or {}).get("index_columns", [])
    # What is no JSON, or no map, names nothing.
    except (ValueError, AttributeError, RecursionError):
        return None
    named = [name for name in columns if isinstance(name, str) and name != PANDAS_INDEX]
    return schema.names.index(named[0]) if len(named) == 1 and named[0] in schema.names else None


def _ids(table: TableFile, request: Request) -> int | None:
    """Find the column of ids: the one asked for, else the named index of a data frame, else a customary one."""
    if request.id is not None:
        return table.position(request.id, "id")
    # An index with a name was meant as ids; then a customary name; an index without a name comes last.
    place = _named_index(table)
    if place is None:
        place = table.optional_column("id", None, KNOWN)
    if place is not None or table.names is None:
        return place
    # The first column without a name is an index of a data frame, unless it holds fractions.
    first = [row[0] for row in table.text.first_rows] if table.text is not None else []
    is_index = table.names[0] in UNNAMED and all(x.isdigit() or not NUMBER.fullmatch(x) for x in first)
    if is_index or (first and _counts(table.names[1:])):
        return 0
    return table.names.index(PANDAS_INDEX) if PANDAS_INDEX in table.names else None


def _chosen(table: TableFile, lists: list[int], request: Request) -> list[int]:
    """Return the one column of lists, if there is one."""
    # A name may also be that of a family of columns, `e` for e0 to e63, which is looked up later.
    if request.vector is not None and (lists or table.names is None or request.vector in table.names):
        position = table.position(request.vector, "vector")
        if position not in lists:
            raise must_be("vector", "a column of lists", repr(request.vector), "or name columns of numbers, FIRST:LAST")
        return [position]
    if len(lists) > 1:
        got = " and ".join(table.names[i] if table.names else str(i) for i in lists)
        remedy = "keep one, or choose it with --vector"
        raise must_be(f"the vectors of {table.path}", "in one column", got, remedy)
    return lists


def _bias(table: TableFile, request: Request, used: set[int | None], *, dimensions: bool) -> int | None:
    """Return the column that was named as the bias, and refuse to pass over or count in what is called one."""
    if request.bias is not None:
        position = table.position(request.bias, "bias")
        if position in used:
            raise must_be("bias", "a column of its own", repr(request.bias), f"choose another of {table.listed()}")
        return position
    for i, name in enumerate(table.names or ()):
        # Vectors asked for as such need no bias; a dimension of them must be none.
        could_matter = dimensions or request.kind != "vectors"
        if i not in used and could_matter and plain_name(name) in BIAS_NAMES and not request.ignores(name):
            remedy = f"name it with {option('bias', name)}, or leave it out with {option('ignore', name)}"
            what = f"every column of {table.path} that could matter"
            raise must_be(what, "named or left out", f"{name}, which is called a bias", remedy)
    return None


def _require_vectors(table: TableFile) -> None:
    """Refuse a table of interactions, which holds nothing that was learned."""
    plain = [plain_name(name) for name in table.names or ()]
    if {*plain} & USER_NAMES and {*plain} & (ID_NAMES - {"id"}) and ({*plain} & RATING_NAMES or table.width <= 4):
        remedy = f"factorize them first: `embaudit fit {table.path} --objective product`"
        raise must_be(f"{table.path}", "a table of vectors, one a row", f"interactions ({table.listed()})", remedy)
