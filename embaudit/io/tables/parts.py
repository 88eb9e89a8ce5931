"""Parts of a table: the rows of each file, or the rows with each value of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import counted
from embaudit.errors import InputError, Option, Parameter, must_be
from embaudit.io.files import AnyPath
from embaudit.io.tables.titles import TITLE_NAMES, join_texts, open_titles
from embaudit.model.side import Side

MAX_PARTS = 50
"""Number of parts, at most. A column with more values names rows, not parts."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The part of each row of a side."""

    names: NDArray[np.str_]
    """(n,) the name of the part of each row; empty for a row without a part."""
    column: str | None = None
    """The column of the names; None if they are file names or given by the caller."""

    @classmethod
    def from_names(
        cls, names: Sequence[str | None], n_rows: int, column: str | None = None
    ) -> Parts:
        """Name the part of each row.

        Raises
        ------
        InputError
            If there are more or fewer names than rows, or they name fewer than 2 or
            more than 50 parts.

        Examples
        --------
        >>> Parts.from_names(["old", "new", None], 3).names.tolist()
        ['old', 'new', '']
        >>> Parts.from_names(["old", "old"], 2)
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: by must be names of 2 to 50 parts of the rows; got
        1 part; choose a column whose values repeat.
        """
        texts = np.array(["" if name is None else str(name) for name in names], str)
        if len(texts) != n_rows:
            raise must_be(
                "by", f"one name for each of {n_rows:,} rows", f"{len(texts):,}"
            )
        n_parts = len(np.unique(texts[texts != ""]))
        if not 2 <= n_parts <= MAX_PARTS:
            got = counted(n_parts, "part")
            if column is not None:
                got += f" in the column {column}"
            raise must_be(
                "by",
                f"names of 2 to {MAX_PARTS} parts of the rows",
                got,
                "choose a column whose values repeat",
            )
        return cls(texts, column)

    @classmethod
    def from_files(cls, n_rows: Sequence[tuple[str, int]]) -> Parts | None:
        """Take each file of a table as a part.

        Return None for a single file, and for more files than `MAX_PARTS`.

        Examples
        --------
        >>> Parts.from_files([("shards/a.csv", 2), ("shards/b.csv", 1)]).names.tolist()
        ['a.csv', 'a.csv', 'b.csv']
        """
        if not 2 <= len(n_rows) <= MAX_PARTS:
            return None
        names = [Path(file).name for file, _ in n_rows]
        if len(set(names)) < len(names):
            names = [file for file, _ in n_rows]
        return cls(np.repeat(np.array(names), [count for _, count in n_rows]))


def has_titles(path: AnyPath, *, id: str | int | None = None) -> bool:  # noqa: A002
    r"""Check if a table has a column of titles next to its ids.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "items.csv")
    ...     _ = file.write_text("id,revision\n1,old\n2,new\n")
    ...     has_titles(file)
    False
    """
    table = open_titles(path, id)
    return table.find_column("title", None, TITLE_NAMES, 1) is not None


def parts_by_column(
    side: Side,
    path: AnyPath | None,
    column: str,
    *,
    id: str | int | None = None,  # noqa: A002
    by_row: bool = False,
    partial: bool = False,
) -> Parts:
    """Read the part of each row of a side from a column of a table.

    The table is joined as in `join_texts`.

    Raises
    ------
    InputError
        If there is no table, or it cannot be joined, or the column names fewer than 2
        or more than 50 parts.
    """
    if path is None:
        raise InputError(
            "{} must be given with {}, the table with this column; got {} alone.",
            Parameter("by"),
            Option("items"),
            repr(column),
        )
    # `join_texts` would call a missing column the column of titles.
    open_titles(path, id, column).position(column, "by")
    joined = join_texts(side, path, title=column, id=id, by_row=by_row, partial=partial)
    return Parts.from_names(joined.texts, len(side), column)
