"""Tables of vectors in Parquet, Arrow, JSON and text, in one file or in many.

A row is an id with a list of numbers, or an id with numbers in columns of their own.
The role of a column is found by its name or its content, or the caller states it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import listed
from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.draft import Draft, fields_in, roles_in
from embaudit.io.files import plain_suffix
from embaudit.io.formats import COLUMNS, register, register_writer
from embaudit.io.formats.word2vec import is_word2vec
from embaudit.io.intake import Part
from embaudit.io.layouts.beside import BESIDE_FACTORS
from embaudit.io.layouts.reading import OF_HEAD
from embaudit.io.options import Request, file_remedy
from embaudit.io.remote import naming, with_urls
from embaudit.io.tables.arrow import COUNTS, PARQUET, SUFFIXES, ArrowTable
from embaudit.io.tables.columns import (
    TableFile,
    open_table,
    to_ids,
    to_numbers,
    to_texts,
)
from embaudit.io.tables.delimited import (
    BRACKETS,
    NUMBER,
    SEPARATOR_BY_SUFFIX,
    find_whole_column,
    holds_table,
    plain_name,
    seem_to_hold_numbers,
    with_same_columns,
)
from embaudit.io.tables.delimited_rows import (
    Cell,
    as_ids,
    read_delimited,
    require_numbers,
)
from embaudit.io.tables.interactions import RATING_NAMES, USER_NAMES
from embaudit.io.tables.list_cells import DECIMAL, count_numbers, is_list, parse_lists
from embaudit.io.tables.lists import is_vectors
from embaudit.io.tables.titles import ID_NAMES

if TYPE_CHECKING:
    import pyarrow as pa

KNOWN = ID_NAMES | {"user", "userid", "token", "word", "name", "label", "key"}
SHOWN = 4
"""Fields of records that a sentence names."""
LONG = 5
"""Length from which a vector is not 0, 1, 2, … by chance."""
UNNAMED = ("", "Unnamed: 0")
"""Names that data frames write above their index."""
NUMBERED = re.compile(r"(.*?)(\d+)")
"""Pattern of the name of a dimension: its family and a number, as in e63."""
LONGEST_ID = 2
"""Numbers in an id of a data frame with an index of several levels, at most."""
PANDAS_INDEX = "__index_level_0__"
"""Name of an index of pandas in Parquet and Feather."""
BIAS_NAMES = frozenset(
    {
        "bias",
        "biases",
        "intercept",
        "userintercept",
        "itemintercept",
        *map(plain_name, BESIDE_FACTORS["left_bias"]),
        *map(plain_name, BESIDE_FACTORS["right_bias"]),
    }
) - {"bu", "bi"}
"""Names of a column of biases, without "bu" and "bi", which can be dimensions."""
ToArray: TypeAlias = "Callable[[TableFile, pa.ChunkedArray, int], NDArray[Any]]"
"""Converts the column of a table at some position to an array."""
CELLS: Mapping[str, tuple[Cell, ToArray]] = {
    "right_ids": ("id", to_ids),
    "right_bias": ("number", to_numbers),
    "right_names": ("text", to_texts),
    "right_counts": ("number", to_numbers),
}
"""Cells of the columns next to vectors, and their conversion to arrays, by field."""


@dataclass(frozen=True)
class TableLayout:
    """The roles of the columns of a table, by position."""

    vectors: tuple[int, ...]
    lists: bool
    """True if the only column of vectors holds a list in each row."""
    beside: Mapping[str, int]
    """Positions of the columns of ids, biases, titles and counts, by the field of a
    model that each column becomes.
    """

    def left_over(self, table: TableFile) -> tuple[int, ...]:
        """Return the columns that are not read."""
        used = {*self.vectors, *self.beside.values()}
        return tuple(place for place in range(table.width) if place not in used)

    def title(self, table: TableFile) -> str:
        """Name the columns of the vectors."""
        first, last = table.title(self.vectors[0]), table.title(self.vectors[-1])
        if len(self.vectors) == 1:
            return f"column {first}"
        return f"columns {first} to {last}"


def files_below(folder: Path) -> tuple[Path, ...]:
    """List the tables below a folder, in the order of their names.

    Files of other suffixes are skipped, and so are those that Spark writes next to
    tables, such as `_SUCCESS`.
    """
    files = []
    for path in folder.rglob("*"):
        is_hidden = path.name.startswith(("_", "."))
        is_table = path.suffix.lower() in (*SUFFIXES, *SEPARATOR_BY_SUFFIX)
        if is_table and not is_hidden and path.is_file():
            files.append(path)
    return tuple(sorted(files))


def open_vectors(path: Path, files: tuple[Path, ...] = ()) -> TableFile:
    """Open a table of vectors by its header.

    Parameters
    ----------
    path : Path
        A table, or a folder of tables that are read as one, one below another.
    files : tuple of Path
        Tables of that folder; by default all of them.

    Raises
    ------
    InputError
        If a file cannot be read, or if the files are of different kinds or have
        different columns.
    """
    if not files and not path.is_dir():
        return _with_header(path)
    what: str | Sentence = "files read as one"
    if not files:
        files = files_below(path)
        if path.name:
            what = Sentence("the files of {}", File(path))
    kinds = {file.suffix.lower() for file in files}
    if len(kinds) != 1 or not kinds <= {*SUFFIXES, *SEPARATOR_BY_SUFFIX}:
        got = ", ".join(sorted(kinds)) or "none"
        remedy = Sentence("give files of one kind")
        if kinds == {".npy"}:
            got = "arrays (.npy)"
            remedy = Sentence(
                "give one; a bias goes in as {}, the other side as {}",
                Option("bias_file", placeholder="FILE"),
                Option("left_file", placeholder="FILE"),
            )
        elif len(kinds) == 1:
            remedy = Sentence(
                "give one model, or compare models with `embaudit compare`"
            )
        raise must_be(what, "tables of one kind: Parquet, Arrow or CSV", got, remedy)
    if kinds <= {*SUFFIXES}:
        return TableFile.from_arrow(ArrowTable.open(path, files))
    # The largest file tells how text is cut, because others can hold a header only.
    table = _with_header(max(files, key=lambda file: file.stat().st_size))
    assert table.text is not None
    first, *more = (with_same_columns(table.text, file) for file in files)
    return replace(table, path=path, text=first, more=tuple(more))


def _with_header(path: Path) -> TableFile:
    """Open a table whose header can be numbers, as data frames write them."""
    table = open_table(path, customary=KNOWN)
    if table.text is None or table.names is not None:
        return table
    if not _is_numbered(*table.text.first_rows):
        return table
    return open_table(path, header=True)


def _is_numbered(first: tuple[str, ...], *following: tuple[str, ...]) -> bool:
    """Check whether the first row is a header of numbers, as data frames write it.

    Data frames whose columns have no names write 0, 1, 2, … above the vectors, and some
    write the numbers of features. The name of an index can stand before these numbers.

    Parameters
    ----------
    first : tuple of str
        Cells of the first row, which is the header if this function returns True.
    *following : tuples of str
        Cells of the rows below it.

    Examples
    --------
    >>> _is_numbered(("0", "1", "2"), ("0.5", "1.5", "2"))
    True
    >>> _is_numbered(("0", "1", "2"), ("3", "1", "2"))
    False
    >>> rows = ("0.5", "1.5", "0.1", "3.5", "2.5"), ("0.5", "1.5", "0.1", "0.2", "1.1")
    >>> _is_numbered(("70", "9", "8", "61", "5"), *rows)
    True
    """
    has_unnamed_index = first[0].strip() in UNNAMED
    has_index = has_unnamed_index or not NUMBER.fullmatch(first[0])
    start = 1 if has_index else 0
    names = [cell.strip() for cell in first[start:]]
    if has_unnamed_index and _counts(names):
        return True
    if not following:
        return False
    rows = [[cell.strip() for cell in row[start:]] for row in following]
    if len(names) >= LONG:
        return _counts(names) or _are_features(names, rows)
    return _are_places(names, rows)


def _are_features(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Check for distinct whole numbers above rows without whole numbers.

    Examples
    --------
    >>> _are_features(["70", "9"], [["0.5", "1.5"]])
    True
    >>> _are_features(["70", "70"], [["0.5", "1.5"]])
    False
    >>> _are_features(["70", "9"], [["0.5", "1"]])
    False
    """
    for name in names:
        if not name.isdigit():
            return False
    for row in rows:
        if any(cell.isdigit() for cell in row):
            return False
    return len(set(names)) == len(names)


def _are_places(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Check for 0, 1, 2, … above rows that do not consist of whole numbers.

    A short vector can begin with 0, 1, 2 by chance. Then other vectors consist of whole
    numbers as well.

    Examples
    --------
    >>> _are_places(["0", "1"], [["0.5", "1"]]), _are_places(["0", "1"], [["5", "1"]])
    (True, False)
    >>> _are_places(["0"], [["0.5"]])
    False
    """
    if len(names) < 2:
        return False
    for row in rows:
        if all(cell.isdigit() for cell in row):
            return False
    return list(names) == [str(place) for place in range(len(names))]


def _counts(names: Sequence[str]) -> bool:
    """Check for 0, 1, 2, … or 1, 2, 3, …, which may end in .0.

    Examples
    --------
    >>> _counts(["0", "1"]), _counts(["1.0", "2.0"]), _counts(["2", "3"])
    (True, True, False)
    """
    numbers = [name.removesuffix(".0") for name in names]
    return any(
        numbers == [str(start + place) for place in range(len(numbers))]
        for start in (0, 1)
    )


def layout_of(table: TableFile, request: Request) -> TableLayout:
    """Assign a role to each column by its name and by its type.

    In a table of text, columns have no types, so their first rows decide.

    Raises
    ------
    InputError
        If it is not clear which columns hold the ids or the vectors, or whether a
        column is a bias.
    """
    # The order matters. Ids come first, because the other columns can be dimensions;
    # then lists, and a bias, which must not be a dimension; then titles and counts. If
    # there are no lists, one family of numbered columns is the vectors. Columns without
    # a role are left over, and the report names them.
    considered = [
        place for place in range(table.width) if not request.ignores(table.title(place))
    ]
    lists = [place for place in considered if _holds_lists(table, place)]
    if not lists:
        _require_vectors(table)
    # The vectors of titles can be in a column called title, so such a column cannot be
    # ids or titles.
    vector_columns = {place for place in lists if _holds_vectors(table, place)}
    ids = _ids(table, request, vector_columns)
    if ids is None and table.text is not None:
        ids = _ids_of_text(table, lists)
        _require_whole_ids(table, ids)
    lists = [place for place in _chosen(table, lists, request) if place != ids]
    bias = _bias(table, request, {ids, *lists}, dimensions=not lists)
    used = {ids, bias, *vector_columns}
    places = {
        "right_ids": ids,
        "right_bias": bias,
        "right_names": _place(table, "title", used),
        "right_counts": _place(table, COUNTS, used),
    }
    beside = {field: place for field, place in places.items() if place is not None}
    if lists:
        _require_no_family(table, lists[0], request)
        return TableLayout(tuple(lists), True, beside)
    columns = [place for place in considered if place not in beside.values()]
    if table.text is not None:
        # A separator at the end of each line makes an empty column.
        rows = table.text.first_rows
        columns = [place for place in columns if _has_text(rows, place)]
    vectors = tuple(columns)
    if table.names is None:
        _require_only_fractions(table, columns)
    else:
        vectors = _family(table, columns, request)
    if not vectors:
        raise must_be(
            Sentence("the vectors of {}", File(table.path)),
            "columns of numbers without empty cells",
            "empty cells",
        )
    _require_floats(table, vectors)
    if table.text is not None:
        _require_some_numbers(table, vectors)
        require_numbers((table.text, *table.more), vectors)
    return TableLayout(vectors, False, beside)


def _has_text(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Check for a row of text whose cell at a position is not empty."""
    return any(place < len(row) and row[place].strip() for row in rows)


def _holds_lists(table: TableFile, place: int) -> bool:
    """Check for a column of lists by its type or, in text, by its first cell."""
    if table.text is not None:
        first = table.text.first_rows[0]
        if place >= len(first):
            return False
        return is_list(first[place]) and not DECIMAL.fullmatch(first[place])
    assert table.arrow is not None
    return is_vectors(table.arrow.schema.field(place).type)


def _holds_vectors(table: TableFile, place: int) -> bool:
    """Check that a column of lists cannot be ids or titles.

    In a table of text, the title "(500)" and the id "(12, 34)" look like lists as well.
    """
    if table.text is None:
        return True
    cells = [row[place] for row in table.text.first_rows if place < len(row)]
    return all(is_list(cell) and count_numbers(cell) > LONGEST_ID for cell in cells)


def _ids_of_text(table: TableFile, lists: list[int]) -> int | None:
    """Return the first column, 0, if it holds ids: neither numbers, lists nor titles.

    Raises
    ------
    InputError
        If it holds integers, which can be ids or numbers of the vectors.
    """
    assert table.text is not None
    cells = [row[0] for row in table.text.first_rows]
    are_lists_or_titles = 0 in lists or table.title(0) == "title"
    are_numbers = all(
        NUMBER.fullmatch(cell) or DECIMAL.fullmatch(cell) for cell in cells
    )
    if not are_lists_or_titles and not are_numbers:
        return 0
    if not lists and table.names is None and all(cell.isdigit() for cell in cells):
        remedy = Sentence(
            "write a header that calls this column id, or choose it with {}",
            Option("vector_id"),
        )
        what = Sentence("the first column of {}", File(table.path))
        raise must_be(
            what,
            "ids or numbers of the vectors",
            "integers, which could be either",
            remedy,
        )
    return None


def _require_whole_ids(table: TableFile, place: int | None) -> None:
    """Refuse ids such as `a 1.5` in a table without a header.

    In the line `a 1.5,2.5`, a comma cuts the numbers and a space cuts off the id.
    """
    assert table.text is not None
    if place is None or table.names is not None:
        return
    ids = [row[place] for row in table.text.first_rows]
    if seem_to_hold_numbers(ids):
        raise must_be(
            Sentence("the first column of {}", File(table.path)),
            "ids only",
            f"{ids[0]!r}, which seems to hold a number of the vector",
            "use one separator, or write a header that calls the ids id",
        )


def _require_only_fractions(table: TableFile, places: Sequence[int]) -> None:
    """Refuse a column of counts or labels in a table of text without a header."""
    assert table.text is not None
    rows = [
        [row[place] for place in places]
        for row in table.text.first_rows
        if len(row) == table.width
    ]
    column = find_whole_column(rows)
    if column is None:
        return
    place = places[column]
    cell = rows[0][column].strip()
    remedy = Sentence(
        "ignore it with {} if it holds counts or labels; if it is a part of the "
        "vectors, write {}.0 instead of {}",
        Option("ignore", str(place)),
        cell,
        cell,
    )
    raise must_be(
        table.column_and_file(place),
        "fractions, like the other columns",
        f"whole numbers such as {cell}",
        remedy,
    )


def _require_some_numbers(table: TableFile, places: Sequence[int]) -> None:
    """Refuse a text whose first rows hold no numbers, such as a table of titles."""
    assert table.text is not None
    for row in table.text.first_rows:
        for place in places:
            cell = ""
            if place < len(row):
                cell = row[place]
            if NUMBER.fullmatch(cell) or DECIMAL.fullmatch(cell):
                return
    raise must_be(
        File(table.path),
        "a table of vectors, one per row",
        "text without numbers",
        "give the file with the vectors of these texts",
    )


def _require_floats(table: TableFile, vectors: tuple[int, ...]) -> None:
    """Refuse dimensions that a binary file stores as integers.

    Integers can be counts or codes. Text and JSON write 1 for 1.0, so integers in them
    are accepted.
    """
    from pyarrow import types

    if table.arrow is None:
        return
    is_json = table.arrow.content is not None
    for place in vectors:
        kind = table.arrow.schema.field(place).type
        is_number_of_json = is_json and types.is_int64(kind)
        if not types.is_floating(kind) and not is_number_of_json:
            remedy = "write it as float32 if these numbers are the vectors"
            raise must_be(
                table.column_and_file(place), "of floating-point numbers", kind, remedy
            )


def _family(table: TableFile, places: list[int], request: Request) -> tuple[int, ...]:
    """Return the columns that the caller names, or the columns of one family of names.

    A family is a name with numbers from 0 or 1 on, such as e0 to e63. Other columns,
    such as a price or a year, are no dimensions.

    Raises
    ------
    InputError
        If there is no such family, or more than one.
    """
    if request.vector is not None and ":" in request.vector:
        first_name, _, last_name = request.vector.partition(":")
        first = table.position(first_name, "vector")
        last = table.position(last_name, "vector")
        return tuple(place for place in places if first <= place <= last)
    names = {table.title(place): place for place in places}
    families = _whole_families(names, request.vector)
    if len(families) == 1:
        return families[0]
    _require_no_records(table)
    remedy = Sentence(
        "choose the columns with {}, or with the part of their names before the number",
        Option("vector", placeholder="FIRST:LAST"),
    )
    got = table.list_columns()
    if families:
        got = f"{len(families)} groups of such columns in {got}"
    raise must_be(
        Sentence("the vectors of {}", File(table.path)),
        "a column of lists, or columns such as e0 to e63",
        got,
        remedy,
    )


def _whole_families(
    names: Mapping[str, int], wanted: str | None = None
) -> list[tuple[int, ...]]:
    """Return the positions of the columns of each family of numbered columns.

    Parameters
    ----------
    names : mapping of str to int
        Positions of columns by name.
    wanted : str, optional
        Name of the only family to look for, such as `e` for e0 to e63.

    Examples
    --------
    >>> _whole_families({"e1": 3, "e0": 2, "year2020": 4, "x2": 5, "x3": 6})
    [(2, 3)]
    """
    # The number and the position of each column, by the name of its family. The name
    # can be empty, as for the columns 0, 1, 2, …
    families: dict[str, list[tuple[int, int]]] = {}
    for name, place in names.items():
        match = NUMBERED.fullmatch(name.removesuffix(".0"))
        if match is not None and wanted in (None, match[1]):
            families.setdefault(match[1], []).append((int(match[2]), place))
    # The numbers of a family must run from 0 or 1 on, without gaps, and each number
    # once, because e1 and e01 are the same number. A single column, such as year2020,
    # is not a family.
    whole = []
    for family in families.values():
        family.sort()
        numbers = [number for number, _ in family]
        from_0 = list(range(len(family)))
        from_1 = list(range(1, len(family) + 1))
        if len(family) > 1 and numbers in (from_0, from_1):
            whole.append(tuple(place for _, place in family))
    return whole


def _require_no_family(table: TableFile, place: int, request: Request) -> None:
    """Refuse lists without brackets next to columns such as e0 to e63.

    These lists can be dates such as `2020 01 31`, or places such as `52.5, 13.4`.
    """
    if table.text is None or table.names is None or request.vector is not None:
        return
    if table.text.first_rows[0][place].strip()[0] in BRACKETS:
        return
    names = {
        name: other
        for other, name in enumerate(table.names)
        if other != place and not request.ignores(name)
    }
    families = _whole_families(names)
    if families:
        first, *_, last = families[0]
        got = (
            f"{table.title(place)}, whose cells hold several numbers, and "
            f"{table.title(first)} to {table.title(last)}"
        )
        raise must_be(
            Sentence("the vectors of {}", File(table.path)),
            "in one column of lists or in one group of columns",
            got,
            Sentence(
                "choose them with {} or {}",
                Option("vector", table.title(place)),
                Option("vector", f"{table.title(first)}:{table.title(last)}"),
            ),
        )


def _require_no_records(table: TableFile) -> None:
    """Refuse a column of records that hold vectors or parts of them, as Spark writes.

    A record holds a vector if one of its fields is a list of numbers. A list of records
    holds a vector if the records have a field of floating-point numbers. The advice
    takes the last such field.
    """
    from pyarrow import types

    if table.arrow is None:
        return
    for column in table.arrow.schema:
        kind = column.type
        if types.is_list(kind) or types.is_large_list(kind):
            what = "lists of records"
            record = kind.value_type
            holds_vectors = types.is_floating
            vector = "[entry[{!r}] for entry in row]"
        else:
            what = "records"
            record = kind
            holds_vectors = is_vectors
            vector = "row[{!r}]"
        if not types.is_struct(record):
            continue
        fields = [record.field(place) for place in range(record.num_fields)]
        names = [field.name for field in fields if holds_vectors(field.type)]
        if not names:
            continue
        vector = vector.format(names[-1])
        remedy = "write one of them as lists of numbers"
        if table.path.suffix.lower() in PARQUET:
            remedy = (
                "take one of them in Python: import pandas; "
                f"d = pandas.read_parquet({str(table.path)!r}); "
                f"d[{column.name!r}] = [{vector} for row in d[{column.name!r}]]; "
                "d.to_parquet('vectors.parquet')"
            )
        shown = listed(names, SHOWN)
        raise must_be(
            Sentence("the vectors of {}", File(table.path)),
            "a column of lists of numbers",
            f"{what} in the column {column.name}, whose numbers are in {shown}",
            remedy,
        )


def _place(table: TableFile, name: str, used: set[int | None]) -> int | None:
    """Return the position of the column of titles or of counts, or None.

    Their names are those that `write` gives them: `title` for texts, and `interactions`
    for numbers.
    """
    from pyarrow import types

    if table.names is None or name not in table.names:
        return None
    place = table.names.index(name)
    if place in used:
        return None
    if table.arrow is None:
        return place
    kind = table.arrow.schema.field(place).type
    if name == COUNTS:
        is_accepted = types.is_floating(kind) or types.is_integer(kind)
    else:
        is_accepted = types.is_string(kind) or types.is_large_string(kind)
    if is_accepted:
        return place
    return None


def _index(table: TableFile) -> list[Any]:
    """Return the names of the levels of the index of a data frame of pandas."""
    if table.arrow is None:
        return []
    try:
        return list((table.arrow.schema.pandas_metadata or {}).get("index_columns", []))
    # The metadata are not valid JSON, or not a map.
    except (ValueError, AttributeError, TypeError, RecursionError):
        return []


def _ids(
    table: TableFile, request: Request, vectors: Collection[int] = ()
) -> int | None:
    """Return the position of the column of ids, or None.

    In this order, it is the column that the caller names, the named index of a data
    frame, a column with a customary name that is not among `vectors`, or the index of a
    data frame without a name.
    """
    if request.vector_id is not None:
        return table.position(
            request.vector_id, "id", file_remedy("vector_id", request.vector_id)
        )
    if table.names is None:
        return None
    # A level of an index of several levels does not identify a row.
    index = _index(table)
    if len(index) == 1 and index[0] in table.names and index[0] != PANDAS_INDEX:
        return table.names.index(index[0])
    # A column called id goes before one called name, which can hold titles.
    for names in (ID_NAMES, KNOWN):
        place = table.find_column(
            "id", None, names, option="vector_id", excluded=vectors
        )
        if place is not None:
            return place
    if _begins_with_index(table):
        return 0
    if PANDAS_INDEX in table.names and len(index) < 2:
        return table.names.index(PANDAS_INDEX)
    return None


def _begins_with_index(table: TableFile) -> bool:
    """Check whether the first column is the index of a data frame.

    Its name is one that data frames write above an index without a name, and its cells
    are not fractions. In text, it can also have another name before columns that are
    called 0, 1, 2, …
    """
    assert table.names is not None
    cells = []
    if table.text is not None:
        cells = [row[0] for row in table.text.first_rows]
    holds_fractions = any(
        NUMBER.fullmatch(cell) and not cell.isdigit() for cell in cells
    )
    if table.names[0] in UNNAMED and not holds_fractions:
        return True
    precedes_numbers = _counts(table.names[1:]) and not _counts(table.names)
    return table.text is not None and precedes_numbers


def _chosen(table: TableFile, lists: list[int], request: Request) -> list[int]:
    """Return the column of lists that holds the vectors, as a list of one position.

    The list is empty if there is no such column, or if the caller names a family of
    columns, such as `e` for e0 to e63, which `_family` finds.
    """
    if _names_family(table, request.vector):
        return []
    is_column = bool(lists) or table.names is None or request.vector in table.names
    if request.vector is not None and is_column:
        position = table.position(request.vector, "vector")
        if position not in lists:
            raise must_be(
                "vector",
                "a column of lists",
                repr(request.vector),
                "name such a column, or columns of numbers as FIRST:LAST",
            )
        return [position]
    if len(lists) > 1:
        # A title such as (500) can look like a list, so the name vector goes first.
        vectors = [place for place in lists if table.title(place) == "vector"]
        if vectors:
            return vectors
        got = " and ".join(table.title(place) for place in lists)
        remedy = Sentence("keep one, or choose it with {}", Option("vector"))
        raise must_be(
            Sentence("the vectors of {}", File(table.path)),
            "in one column",
            got,
            remedy,
        )
    return lists


def _names_family(table: TableFile, vector: str | None) -> bool:
    """Return True for `e0:e63`, and for `e` if there are columns e0, e1, and so on.

    If a column has exactly this name, it chooses that column instead.
    """
    if vector is None or table.names is None or vector in table.names:
        return False
    names = {name: place for place, name in enumerate(table.names)}
    return ":" in vector or bool(_whole_families(names, vector))


def _bias(
    table: TableFile, request: Request, used: set[int | None], *, dimensions: bool
) -> int | None:
    """Return the position of the column that the caller names as the bias, or None.

    Raises
    ------
    InputError
        If another column is called a bias, which could be skipped or taken as a
        dimension by mistake.
    """
    if request.bias is not None:
        position = table.position(request.bias, "bias")
        if position in used:
            raise must_be(
                "bias",
                "a column that is not part of the vectors",
                repr(request.bias),
                f"choose another of {table.list_columns()}",
            )
        return position
    # With kind="vectors" a bias is not needed, but it must not become a dimension.
    if request.kind == "vectors" and not dimensions:
        return None
    for place, name in enumerate(table.names or ()):
        is_bias = plain_name(name) in BIAS_NAMES
        if is_bias and place not in used and not request.ignores(name):
            remedy = Sentence(
                "name it with {}, or ignore it with {}",
                Option("bias", name),
                Option("ignore", name),
            )
            what = Sentence("every column of {} that could matter", File(table.path))
            raise must_be(
                what,
                "named or ignored",
                f"{name}, which has the name of a bias",
                remedy,
            )
    return None


def _require_vectors(table: TableFile) -> None:
    """Refuse a table of interactions, which is not a model."""
    plain = {plain_name(name) for name in table.names or ()}
    has_users = not plain.isdisjoint(USER_NAMES)
    has_items = not plain.isdisjoint(ID_NAMES - {"id"})
    has_ratings = not plain.isdisjoint(RATING_NAMES)
    if has_users and has_items and (has_ratings or table.width <= 4):
        remedy = Sentence(
            "factorize them first: `embaudit fit {} --objective product`",
            File(table.path),
        )
        raise must_be(
            File(table.path),
            "a table of vectors, one per row",
            f"interactions ({table.list_columns()})",
            remedy,
        )


def recognises(folder: Path) -> bool:
    """Return whether a table lies in a folder."""
    return bool(files_below(folder))


def recognises_table(path: Path) -> bool:
    """Return False for text that is not cut by a separator such as a comma or a tab.

    A `.txt` file can also hold lines of a token and numbers, cut by spaces, or have the
    header of word2vec.
    """
    if plain_suffix(path) != ".txt":
        return True
    return holds_table(path) and not is_word2vec(path)


@register(
    "parquet",
    suffixes=(".parquet", ".pq"),
    origin="ids and a column of lists, or numeric columns",
    content="vectors, ids, biases",
    options=COLUMNS,
)
@register(
    "feather",
    suffixes=(".feather", ".arrow", ".ipc"),
    origin="the same in Arrow",
    content="vectors, ids, biases",
    options=COLUMNS,
)
@register(
    "csv",
    suffixes=(".csv",),
    origin="the same in text, as COPY into pgvector takes it",
    content="vectors, ids, biases",
    options=COLUMNS,
)
@register(
    "tables",
    suffixes=("/",),
    origin="the same in many files: a folder, a pattern or a list",
    recognises=recognises,
    takes_files=True,
    content="vectors, ids, biases",
    options=COLUMNS,
)
@register(
    "table",
    suffixes=(".tsv", ".arrows", ".txt"),
    origin="the same",
    recognises=recognises_table,
    content="vectors, ids, biases",
    options=COLUMNS,
)
def read(
    path: Path,
    request: Request,  # noqa: ARG001
    files: tuple[Path, ...] = (),
) -> TableFile:
    """Open a table, or several that lie one below another; see `open_vectors`."""
    return open_vectors(path, files)


def contents_of_table(table: TableFile, request: Request) -> Contents:
    """Map columns of a table of vectors to fields, by its header and its first rows.

    Raises
    ------
    InputError
        If its columns leave open which hold the id and the vectors.
    """
    if table.arrow is not None and not table.arrow.rows:
        raise must_be(File(table.path), "a table with rows", "no rows")
    layout = layout_of(table, request)
    if table.arrow is None:
        parsed = cache(partial(_parsed, table, layout))
        fields = _of_text(table, layout, parsed)
        rows_of_files = partial(_rows_of_text, table, parsed)
    else:
        fields = _of_arrow(table, table.arrow, layout)
        rows_of_files = partial(_rows_of_arrow, table.arrow)
    # Files that embaudit wrote have link, objective and nouns in their metadata.
    metadata: Mapping[bytes, bytes] = {}
    if table.arrow is not None and layout.lists:
        metadata = table.arrow.schema.metadata or {}
    texts_beside = {
        key.decode(errors="replace"): text.decode(errors="replace")
        for key, text in metadata.items()
    }
    stored = fields_in(texts_beside, request.kind)
    roles = Contents.roles
    stored_link = stored.get("link")
    is_head = stored_link is not None and stored_link.name == "softmax"
    if request.kind == "head" or is_head:
        # The rows of a head are labels, and the column of ids names them. It gives the
        # ids as well if the file has metadata or columns that embaudit writes next to
        # ids.
        keeps_ids = (
            bool(stored)
            or "right_names" in layout.beside
            or "right_counts" in layout.beside
        )
        if "right_ids" in fields:
            fields.setdefault("right_names", fields["right_ids"])
        if not keeps_ids:
            fields.pop("right_ids", None)
        fields["link"] = Source.from_value("", "softmax")
        roles = OF_HEAD
    roles = roles_in(texts_beside, roles)
    fields |= {
        name: Source.from_value("the metadata", value) for name, value in stored.items()
    }
    # The number of rows of a text is known only when all of it is read.
    rows = None
    if table.arrow is not None:
        rows = table.arrow.rows
    left_over = tuple(
        Part(_name_of(table, place), "", (rows,)) for place in layout.left_over(table)
    )
    return Contents(fields, left_over, roles=roles, rows_of_files=rows_of_files)


def _rows_of_arrow(stored: ArrowTable) -> tuple[tuple[str, int], ...]:
    """Return the name and the number of rows of each file."""
    if not stored.files:
        return ()
    return tuple(zip(map(str, stored.files), stored.lengths, strict=True))


def _rows_of_text(
    table: TableFile, parsed: Callable[[], ParsedText]
) -> tuple[tuple[str, int], ...]:
    """Return the name and the number of rows of each file."""
    assert table.text is not None
    paths = [str(file.path) for file in (table.text, *table.more)]
    return tuple(zip(paths, parsed().n_rows, strict=True))


def _name_of(table: TableFile, place: int) -> str:
    """Return the name of a column for the report of the read."""
    return table.title(place) or f"column {place + 1}, without a name"


def _of_arrow(
    table: TableFile, stored: ArrowTable, layout: TableLayout
) -> dict[str, Source]:
    """Return the fields that the columns become, each read when a model is made."""
    # Arrow makes a new list of all names whenever it is asked for them.
    all_names = stored.schema.names
    names = [all_names[place] for place in layout.vectors]
    path = with_urls(str(table.path))
    if layout.lists:
        array = names[0]
        column = table.column_and_file(layout.vectors[0])
        n_columns = stored.first_list(array, column).shape[1]
        read_vectors = partial(stored.matrix, array, column)
    else:
        array = ""
        n_columns = len(names)
        kinds = [stored.schema.field(name).type.to_pandas_dtype() for name in names]
        read_vectors = partial(stored.side_by_side, names, np.result_type(*kinds))

    def read_beside(field: str, place: int) -> NDArray[Any] | None:
        column = stored.column(table.title(place))
        return _values_beside(table, column, field, place)

    # An error that occurs while a column is read names the file.
    name_file = naming(str(table.path))
    fields = {
        "right": Source(
            layout.title(table),
            name_file(read_vectors),
            (stored.rows, n_columns or None),
            path=path,
            array=array,
        )
    }
    for field, place in layout.beside.items():
        fields[field] = Source(
            _name_of(table, place),
            name_file(partial(read_beside, field, place)),
            (stored.rows,),
            path=path,
        )
    return fields


def _values_beside(
    table: TableFile, column: pa.ChunkedArray, field: str, place: int
) -> NDArray[Any] | None:
    """Return the array of a field; None for titles and counts that some rows lack."""
    is_optional = field in ("right_names", "right_counts")
    if is_optional and column.null_count:
        return None
    _, to_array = CELLS[field]
    return to_array(table, column, place)


@dataclass(frozen=True, eq=False)
class ParsedText:
    """The columns of all files of a text."""

    vectors: NDArray[Any]
    """(n, k)"""
    beside: dict[int, pa.ChunkedArray]
    """The other columns that are read, by position."""
    n_rows: tuple[int, ...]
    """Number of rows of each file."""


def _of_text(
    table: TableFile, layout: TableLayout, parsed: Callable[[], ParsedText]
) -> dict[str, Source]:
    """Return the fields that the columns become.

    All columns are parsed at once, when the first of them is used.
    """

    def read_beside(field: str, place: int) -> NDArray[Any] | None:
        return _values_beside(table, parsed().beside[place], field, place)

    # The length of lists is known only when they are parsed.
    width = None
    if not layout.lists:
        width = len(layout.vectors)
    name = layout.title(table)
    fields = {"right": Source(name, lambda: parsed().vectors, (None, width))}
    for field, place in layout.beside.items():
        read = partial(read_beside, field, place)
        fields[field] = Source(_name_of(table, place), read, (None,))
    return fields


def _parsed(table: TableFile, layout: TableLayout) -> ParsedText:
    """Parse the vectors and the other columns of all files."""
    assert table.text is not None
    cells: dict[int, Cell] = {}
    cell_of_vectors: Cell = "number"
    if layout.lists:
        cell_of_vectors = "text"
    for place in layout.vectors:
        cells[place] = cell_of_vectors
    for field, place in layout.beside.items():
        cells[place], _ = CELLS[field]
    columns, n_rows = read_delimited((table.text, *table.more), cells)
    first = layout.vectors[0]
    if layout.lists:
        vectors = parse_lists(columns[first], table.column_and_file(first))
    else:
        vectors = np.empty((len(columns[first]), len(layout.vectors)))
        for place, position in enumerate(layout.vectors):
            # `pop` frees the memory of each column that has been copied.
            vectors[:, place] = to_numbers(table, columns.pop(position), position)
    return ParsedText(vectors, columns, n_rows)


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Name the fields next to the vectors.

    The metadata hold link and objective, and the nouns for the rows.
    """
    return frozenset({"right_ids", "right_names", "right_counts", "link", "objective"})


def columns_of(draft: Draft) -> dict[str, NDArray[Any]]:
    """Return the columns next to the vectors of a draft.

    Row numbers stand for ids if the draft has neither ids nor titles.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> columns_of(Draft.from_model(FactorModel.from_vectors([[1.0], [2.0]])))
    {'id': array([0, 1])}
    """
    columns = {"id": draft.tokens}
    # If the titles are the tokens, they are in the column of ids already.
    titles = draft.fields.get("right_names")
    if titles is not None and draft.tokens_are == "right_ids":
        columns["title"] = titles
    counts = draft.fields.get("right_counts")
    if counts is not None:
        columns[COUNTS] = counts
    return columns


@register_writer("parquet", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write Parquet."""
    from pyarrow import parquet

    options = {
        "compression": "none",
        "use_dictionary": False,
        "write_statistics": False,
    }
    _write_batches(partial(parquet.ParquetWriter, file, **options), draft)


@register_writer("feather", keeps)
def write_feather(file: IO[bytes], draft: Draft) -> None:
    """Write an Arrow file, uncompressed, so that readers can map it into memory."""
    from pyarrow import ipc

    _write_batches(partial(ipc.new_file, file), draft)


def _write_batches(open_writer: Callable[[pa.Schema], Any], draft: Draft) -> None:
    """Write columns and vectors of fixed size, a block of rows at a time."""
    import pyarrow as pa

    columns = columns_of(draft)
    width = draft.right.shape[1]
    fields = [(name, pa.array(values[:0]).type) for name, values in columns.items()]
    vector = ("vector", pa.list_(pa.from_numpy_dtype(draft.right.dtype), width))
    schema = pa.schema([*fields, vector], metadata=draft.metadata)
    start = 0
    with open_writer(schema) as writer:
        for block in draft.right.rows():
            end = start + len(block)
            numbers = pa.array(block.reshape(-1))
            vectors = pa.FixedSizeListArray.from_arrays(numbers, width)
            beside = [pa.array(values[start:end]) for values in columns.values()]
            writer.write_batch(pa.record_batch([*beside, vectors], schema=schema))
            start = end


def keeps_in_text(draft: Draft) -> frozenset[str]:
    """Name the fields next to the vectors, without link and objective.

    Text has no metadata that could hold them.
    """
    return keeps(draft) - {"link", "objective"}


@register_writer("csv", keeps_in_text)
def write_csv(file: IO[bytes], draft: Draft) -> None:
    """Write a header, and a line per row with the vector in brackets at its end.

    Before the vector stand the id and, if the draft has them, title and interactions.
    `COPY` of Postgres takes such a list into a column of pgvector.

    Raises
    ------
    InputError
        If an id would not be read as it is written: if it is empty, or a number with
        spaces around it.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    columns = columns_of(draft)
    ids = columns["id"].astype(str).tolist()
    for text_id, id_read in zip(ids, as_ids(ids).to_pylist(), strict=True):
        if not text_id or text_id != str(id_read):
            raise must_be(
                "an id in a .csv file",
                "text that is read back unchanged",
                repr(text_id),
                "save it as .parquet",
            )
    writer.writerow([*columns, "vector"])
    start = 0
    for block in draft.right.rows():
        end = start + len(block)
        cells = [map(str, values[start:end]) for values in columns.values()]
        vectors = [f"[{','.join(map(str, row))}]" for row in block]
        writer.writerows(zip(*cells, vectors, strict=True))
        start = end
    # The caller closes the file.
    text.detach()
