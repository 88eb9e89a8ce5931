"""Titles and other texts of rows, joined from a table by id, or by row on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.files import AnyPath, as_path
from embaudit.io.tables.columns import (
    TableFile,
    open_table,
    read_by_id,
    read_columns,
    to_texts,
)
from embaudit.io.tables.interactions import ITEM_NAMES
from embaudit.model import FactorModel
from embaudit.model.ids import (
    require_lengths,
    require_most,
    require_one_kind,
    without_ids,
)
from embaudit.model.side import Side
from embaudit.model.sizes import require_model

TITLE_NAMES = frozenset(
    {
        "title",
        "name",
        "label",
        "movietitle",
        "booktitle",
        "productname",
        "itemname",
        "artistname",
        "trackname",
        "headline",
    }
)
ID_NAMES = ITEM_NAMES | {"id"}


def open_titles(path: AnyPath, *named: str | int | None) -> TableFile:
    """Open a table of ids and texts; `named` are the columns that the caller names."""
    return open_table(path, customary=ID_NAMES | TITLE_NAMES, named=named)


def read_titles(
    path: AnyPath,
    *,
    id: str | int | None = None,  # noqa: A002
    title: str | int | None = None,
) -> tuple[NDArray[Any], NDArray[np.str_]]:
    r"""Read ids and titles from a table.

    Parameters
    ----------
    path : path
        CSV, TSV, `.dat`, gzipped or not, Parquet, Feather or Arrow.
    id, title : str or int, optional
        Columns by name or position. By default those with customary names; without a
        header, the first and the second.

    Returns
    -------
    ids : array of shape (m,)
        Sorted and unique. Integers if each id is one, else strings.
    titles : array of str, shape (m,)

    Raises
    ------
    InputError
        If the file or a column is missing, or one id has two titles.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text('movieId,title\n2,"Heat, The"\n1,Toy Story\n')
    ...     read_titles(file)
    (array([1, 2]), array(['Toy Story', 'Heat, The'], dtype='<U9'))
    """
    table = open_titles(path, id, title)
    id_position = table.required_column("id", id, ID_NAMES, 0)
    title_position = table.required_column("title", title, TITLE_NAMES, 1)
    if id_position == title_position:
        got = f"position {id_position} twice"
        raise must_be("the id and title columns", "different ones", got)
    return read_by_id(table, id_position, title_position, "text")


def label_column(
    path: AnyPath,
    *,
    id: str | None = None,  # noqa: A002
    title: str | None = None,
) -> str | None:
    r"""Return the name of the first column of labels, or None.

    Labels are texts other than ids and titles that repeat: there are at least two, and
    at most half as many as rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     header, rows = "id,title,page,genre", ["1,Heat,a,Crime", "2,Ran,b,War"]
    ...     rows += ["3,M,c,Crime", "4,Kes,d,War"]
    ...     _ = file.write_text("\n".join([header, *rows]))
    ...     label_column(file)
    'genre'
    """
    table = open_titles(path, id, title)
    if table.names is None:
        return None
    used = {
        table.find_column("id", id, ID_NAMES, 0),
        table.find_column("title", title, TITLE_NAMES, 1),
    }
    for position in range(table.width):
        if position not in used:
            texts = _column_of_texts(table, position)
            if 2 <= len(np.unique(texts)) <= len(texts) / 2:
                return table.title(position)
    return None


def _column_of_texts(table: TableFile, position: int) -> NDArray[np.str_]:
    column = read_columns(table, {position: "text"})[position]
    return to_texts(table, column, position)


def flags_named(texts: Sequence[str | None], name: str) -> list[str | None]:
    """Replace 1 and 0 of a one-hot column by its name and None; keep other texts.

    A one-hot column holds only 1, 0 and missing texts.

    Examples
    --------
    >>> flags_named(["1", "0", None], "Horror"), flags_named(["1", "2"], "cluster")
    (['Horror', None, None], ['1', '2'])
    """
    if not {text for text in texts if text} <= {"0", "1"}:
        return list(texts)
    return [name if text == "1" else None for text in texts]


def places_of(ids: NDArray[Any], among: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each id among unique ids, or -1 if it is not among them.

    Ids are compared as texts, because one source writes 7 as a number and another as a
    text.

    Raises
    ------
    InputError
        If the ids in `among` are not unique.

    Examples
    --------
    >>> places_of(np.array(["7", "9"]), np.array([8, 7]))
    array([ 1, -1])
    """
    import pandas as pd

    index = pd.Index(among.astype(np.str_))
    if not index.is_unique:
        repeated = index[index.duplicated()][0]
        got = f"{repeated} more than once"
        raise must_be("ids", "unique", got, "keep one row for each id")
    return index.get_indexer(pd.Index(ids.astype(np.str_)))


@dataclass(frozen=True)
class Joined:
    """The text of every row of a side, and how the rows were joined."""

    texts: tuple[str | None, ...]
    """None for a row that is not in the table."""
    title: str
    """Noun of a row, such as item."""
    by_row: bool
    """True if rows were joined by their order, False if by ids."""

    @property
    def n_matched(self) -> int:
        """Number of rows that have a text."""
        return sum(text is not None for text in self.texts)

    def names(self, ids: NDArray[Any]) -> NDArray[np.str_]:
        """Name every row by its text, or by its id if it has none.

        Examples
        --------
        >>> Joined(("Heat", None), "item", by_row=False).names(np.array([7, 9]))
        array(['Heat', '9'], dtype='<U4')
        """
        pairs = zip(self.texts, ids, strict=True)
        return as_texts([text or str(row_id) for text, row_id in pairs], "titles")

    def explain(self) -> str:
        """Report how many rows matched, and whether by row or by id.

        Examples
        --------
        >>> Joined(("Heat", None, ""), "item", by_row=False).explain()
        '2 of 3 items matched by id.'
        """
        by = "row" if self.by_row else "id"
        n_rows = len(self.texts)
        return f"{self.n_matched:,} of {n_rows:,} {self.title}s matched by {by}."


def join_texts(
    side: Side,
    path: AnyPath,
    *,
    title: str | int | None = None,
    id: str | int | None = None,  # noqa: A002
    by_row: bool = False,
    partial: bool = False,
) -> Joined:
    r"""Find the text of every row of a side in a table.

    Parameters
    ----------
    side : Side
        The side whose rows get texts.
    path : path
        The table, as `read_titles` takes it.
    title, id : str or int, optional
        Its columns of texts and of ids; those with customary names by default.
    by_row : bool
        Whether the table has one row for each row of the side, in the same order. Its
        ids are ignored.
    partial : bool
        Whether less than half of the rows can have a text.

    Raises
    ------
    InputError
        If the side has no ids, if they are of another kind than those of the table, or
        if less than half of them are found there. With `by_row`, if the table has
        another number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("id,title\nb,Heat\na,Ran\n")
    ...     join_texts(Side([[1.0], [2.0]], "item", ids=["a", "b"]), file).texts
    ...     join_texts(Side([[1.0], [2.0]], "item"), file, by_row=True).texts
    ('Ran', 'Heat')
    ('Heat', 'Ran')
    """
    if not isinstance(side, Side):
        raise must_be("side", "a Side", repr(side), "such as model.right_side")
    file = str(as_path(path, "the input"))
    if by_row:
        table = open_titles(path, id, title)
        position = table.required_column("title", title, TITLE_NAMES, 1)
        titles = _column_of_texts(table, position)
        require_lengths(
            len(side), len(titles), ("the model", file), what=f"{side.title}s"
        )
        return Joined(tuple(titles.tolist()), side.title, by_row=True)
    if side.ids is None:
        raise without_ids(side.title, "the model", file)
    return join_ids(
        side.ids,
        path,
        called=side.title,
        source="the model",
        title=title,
        id=id,
        partial=partial,
    )


def join_ids(
    wanted: NDArray[Any],
    path: AnyPath,
    *,
    called: str = "item",
    source: str = "the interactions",
    title: str | int | None = None,
    id: str | int | None = None,  # noqa: A002
    partial: bool = False,
) -> Joined:
    r"""Find the text of every id in a table.

    Parameters and errors are those of `join_texts`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("id,title\nb,Heat\na,Ran\n")
    ...     join_ids(np.array(["a", "c"]), file).explain()
    '1 of 2 items matched by id.'
    """
    file = str(as_path(path, "the input"))
    wanted = np.asarray(wanted)
    if wanted.ndim != 1:
        raise must_be("ids", "a list, one per row", repr(wanted))
    ids, titles = read_titles(path, id=id, title=title)
    # Row numbers of the model would match some numeric ids of the table by chance.
    require_one_kind(wanted, ids, (source, file), what=f"{called} ids")
    positions = places_of(wanted, ids)
    n_matched = int((positions >= 0).sum())
    if n_matched == 0:
        got = "nothing"
        if len(ids) and len(wanted):
            got = f"ids such as {ids[0]}, while the model has ids such as {wanted[0]}"
        raise must_be(
            "the ids of the titles",
            "ids of rows of the model",
            got,
            Sentence("choose their column with {}", Option("id")),
        )
    texts = tuple(
        str(titles[position]) if position >= 0 else None for position in positions
    )
    require_most(n_matched, len(wanted), f"{called}s", file, partial=partial)
    return Joined(texts, called, by_row=False)


def with_titles(
    model: FactorModel,
    path: AnyPath,
    *,
    id: str | int | None = None,  # noqa: A002
    title: str | int | None = None,
    by_row: bool = False,
    partial: bool = False,
) -> tuple[FactorModel, Joined]:
    """Name the right rows of a model by a table. A row without a title keeps its id.

    Returns
    -------
    model : FactorModel
    joined : Joined
        The titles, and how many rows matched.

    Raises
    ------
    InputError
        As `join_texts` does.
    """
    require_model(model)
    side = model.right_side
    joined = join_texts(side, path, title=title, id=id, by_row=by_row, partial=partial)
    ids = np.arange(len(side)) if side.ids is None else side.ids
    return model.replace(right_names=joined.names(ids)), joined
