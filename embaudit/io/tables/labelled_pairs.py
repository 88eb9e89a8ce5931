"""Labelled pairs: a table of two ids and a label, 1 for related and 0 for unrelated."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Indices
from embaudit.core.words import counted
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.tables.columns import (
    TableFile,
    open_table,
    read_columns,
    row_name,
    table_of_frame,
    to_codes,
    to_numbers,
)
from embaudit.io.tables.delimited import plain_name
from embaudit.io.tables.titles import places_of
from embaudit.model.side import Side

FIRST_NAMES = frozenset(
    {"a", "first", "left", "query", "queryid", "qid", "user", "userid", "id1"}
)
SECOND_NAMES = frozenset(
    {"b", "second", "right", "document", "documentid", "doc", "docid"}
    | {"corpusid", "passage", "passageid", "item", "itemid", "id2"}
)
LABEL_NAMES = frozenset(
    {"label", "target", "related", "relevant", "relevance", "isduplicate"}
)
KINDS = (FIRST_NAMES, SECOND_NAMES, LABEL_NAMES)
"""Customary names of the three columns."""


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """Different pairs of rows of a model, and whether they are related."""

    pairs: NDArray[np.intp]
    """(m, 2) row numbers: of the first and of the second column."""
    is_related: Flags
    """(m,) True for the label 1."""
    n_repeated: int
    """Rows of the table that repeat an earlier pair."""
    n_unknown: int
    """Rows of the table that were skipped, because the model lacks one of their ids."""

    def take(self, places: Indices) -> LabelledPairs:
        """Return some of the pairs."""
        return LabelledPairs(
            self.pairs[places],
            self.is_related[places],
            self.n_repeated,
            self.n_unknown,
        )


def read_labelled_pairs(
    source: Any, sides: Sequence[Side], *, partial: bool = False
) -> LabelledPairs:
    """Read pairs of rows with a label.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, Parquet, Feather or Arrow, or a data frame. Its columns are called a,
        b and label, or have other customary names, such as query, document and
        relevance. Without a header, they are the first three columns.
    sides : one or two sides
        The side that both ids belong to, or the sides of the first and of the second
        one. Ids are the ids of a side, or row numbers if it has no ids.
    partial : bool
        True to skip pairs of which the model lacks an id.

    Raises
    ------
    InputError
        If a column is missing, a label is neither 0 nor 1, an id is unknown, a row is
        paired with itself, or a pair has both labels.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"a": ["x", "x"], "b": ["y", "z"], "label": [1, 0]})
    >>> side = Side(np.eye(3), "item", ids=["x", "y", "z"])
    >>> found = read_labelled_pairs(table, [side])
    >>> found.pairs.tolist(), found.is_related.tolist()
    ([[0, 1], [0, 2]], [True, False])
    """
    table = _open(source)
    first, second, label = _positions(table)
    read = read_columns(table, {first: "id", second: "id", label: "number"})
    labels = to_numbers(table, read[label], label)
    if len(labels) == 0:
        raise must_be(File(table.path), "a table with rows", "no rows")
    is_other = (labels != 0) & (labels != 1)
    if is_other.any():
        row = int(np.argmax(is_other))
        raise must_be(
            table.column_and_file(label),
            "1 for related and 0 for unrelated pairs",
            f"{labels[row]:g} in {row_name(table, row)}",
            "replace graded labels by 0 and 1",
        )
    option = "ids" if len(sides) == 1 else "left_ids"
    first_rows = _rows_of(table, read[first], first, sides[0], option, partial=partial)
    second_rows = _rows_of(
        table, read[second], second, sides[-1], "ids", partial=partial
    )
    pairs = np.column_stack([first_rows, second_rows])
    is_known = (pairs >= 0).all(axis=1)
    if not is_known.any():
        raise must_be(
            Sentence("the pairs of {}", File(table.path)),
            "pairs of rows of the model",
            f"no such pair among {counted(len(pairs), 'row')}",
        )
    if len(sides) == 1:
        _require_two_rows(table, pairs)
    rows = np.flatnonzero(is_known)
    kept = _first_of_each(table, pairs, labels == 1, rows, ordered=len(sides) == 2)
    return LabelledPairs(
        pairs=np.asarray(pairs[kept], dtype=np.intp),
        is_related=np.asarray(labels[kept] == 1),
        n_repeated=len(rows) - len(kept),
        n_unknown=len(pairs) - len(rows),
    )


def _open(source: Any) -> TableFile:
    """Open a file, or wrap a data frame."""
    if isinstance(source, (str, os.PathLike)):
        return open_table(source, customary=frozenset().union(*KINDS))
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "columns"):
        return table_of_frame(source)
    raise must_be("pairs", "a path or a data frame", type(source).__name__)


def _positions(table: TableFile) -> tuple[int, int, int]:
    """Find the columns of the two ids and of the label."""
    if table.names is None:
        if table.width >= 3:
            return 0, 1, 2
    else:
        names = [plain_name(name) for name in table.names]
        found = [
            [place for place, name in enumerate(names) if name in kind]
            for kind in KINDS
        ]
        if all(len(places) == 1 for places in found):
            return found[0][0], found[1][0], found[2][0]
    raise must_be(
        Sentence("the columns of {}", File(table.path)),
        "a, b and label",
        table.list_columns(),
        "rename them: two ids, and 1 for related or 0 for unrelated pairs",
    )


def _rows_of(
    table: TableFile,
    column: Any,
    position: int,
    side: Side,
    option: str,
    *,
    partial: bool,
) -> NDArray[np.intp]:
    """Return the row of each id, or -1 for ids that the side lacks.

    An error names the option that reads the ids of the side.
    """
    codes, ids = to_codes(table, column, position)
    if side.ids is None:
        places = _row_numbers(ids, len(side))
    else:
        places = places_of(ids, side.ids)
    rows = places[codes]
    is_unknown = rows < 0
    if is_unknown.any() and not partial:
        raise _unknown_id(table, position, side, ids[codes], is_unknown, option)
    return rows


def _row_numbers(ids: NDArray[Any], n_rows: int) -> NDArray[np.intp]:
    """Return ids that are row numbers, and -1 for the others."""
    if ids.dtype.kind not in "iu":
        return np.full(len(ids), -1, dtype=np.intp)
    is_row = (ids >= 0) & (ids < n_rows)
    return np.where(is_row, ids, -1).astype(np.intp)


def _unknown_id(
    table: TableFile,
    position: int,
    side: Side,
    ids: NDArray[Any],
    is_unknown: Flags,
    option: str,
) -> InputError:
    """Return the error for ids that the side lacks.

    An option reads the ids of the side from a file.
    """
    ids_file = Option(option, placeholder="FILE")
    row = int(np.argmax(is_unknown))
    got = str(ids[row])
    skipping = Option("partial", True)
    if side.ids is not None:
        expected = f"ids of {side.title}s, such as {side.ids[0]}"
        got += ", which the model lacks,"
        remedy = Sentence(
            "write the ids of the model, or skip such rows with {}", skipping
        )
    else:
        expected = (
            f"row numbers of {side.title}s, from 0 to {len(side) - 1}, because the "
            "model has no ids"
        )
        has_name = side.names is not None and str(ids[row]) in set(side.names)
        if has_name:
            got += f", the name of one {side.title},"
            remedy = Sentence("give the file of the names as {}", ids_file)
        else:
            remedy = Sentence(
                "write row numbers, give the ids of the rows with {}, or skip such "
                "rows of the table with {}",
                ids_file,
                skipping,
            )
    n_rows = counted(int(is_unknown.sum()), "such row")
    got += f" in {row_name(table, row)} ({n_rows})"
    return must_be(table.column_and_file(position), expected, got, remedy)


def _require_two_rows(table: TableFile, pairs: NDArray[np.intp]) -> None:
    """Raise InputError if a row is paired with itself."""
    is_same = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 0] >= 0)
    if is_same.any():
        row = int(np.argmax(is_same))
        raise must_be(
            Sentence("the pairs of {}", File(table.path)),
            "pairs of two different rows of the model",
            f"the same row twice in {row_name(table, row)}",
            "drop that row",
        )


def _first_of_each(
    table: TableFile,
    pairs: NDArray[np.intp],
    is_related: Flags,
    rows: Indices,
    *,
    ordered: bool,
) -> Indices:
    """Return the first row of the table of each pair.

    Raises
    ------
    InputError
        If another row of the same pair has the other label.
    """
    keys = pairs[rows]
    if not ordered:
        # Of one side, (a, b) and (b, a) are the same pair.
        keys = np.sort(keys, axis=1)
    _, first, pair_of_row = np.unique(
        keys, axis=0, return_index=True, return_inverse=True
    )
    first_of_row = rows[first[pair_of_row.ravel()]]
    differs = is_related[rows] != is_related[first_of_row]
    if differs.any():
        place = int(np.argmax(differs))
        names = f"{row_name(table, int(first_of_row[place]))} and "
        names += row_name(table, int(rows[place]))
        raise must_be(
            Sentence("the pairs of {}", File(table.path)),
            "labelled 0 or 1",
            f"the same pair with both labels in {names}",
            "keep one of these rows",
        )
    return np.asarray(rows[np.sort(first)])
