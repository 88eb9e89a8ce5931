"""Titles and other texts of a table beside the rows of a model: joined by id, or by row where that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts
from embaudit.errors import Option, Sentence, must_be
from embaudit.io.files import AnyPath, as_path
from embaudit.io.tables.columns import open_table, read_by_id, read_columns, texts
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

TITLE_NAMES = frozenset({
    "title", "name", "label", "movietitle", "booktitle", "productname", "itemname", "artistname", "trackname",
    "headline",
})  # fmt: skip
ID_NAMES = ITEM_NAMES | {"id"}


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
        Columns by name or position; by default those with customary names, without a
        header the first and second.

    Returns
    -------
    ids : array of shape (m,)
        Integers where every id is one, else strings; sorted, each once.
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
    table = open_table(path, customary=ID_NAMES | TITLE_NAMES, named=(id, title))
    ids, titles = (
        table.column("id", id, ID_NAMES, 0),
        table.column("title", title, TITLE_NAMES, 1),
    )
    if ids == titles:
        raise must_be(
            "the id and title columns", "different ones", f"position {ids} twice"
        )
    return read_by_id(table, ids, titles, "text")


def label_column(
    path: AnyPath,
    *,
    id: str | None = None,  # noqa: A002
    title: str | None = None,
) -> str | None:
    r"""Name the first column, besides ids and titles, whose texts repeat so that they can be labels; None without one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("id,title,page,genre\n1,Heat,a,Crime\n2,Ran,b,War\n3,M,c,Crime\n4,Kes,d,War\n")
    ...     label_column(file)
    'genre'
    """
    table = open_table(path, customary=ID_NAMES | TITLE_NAMES, named=(id, title))
    used = {
        table.optional_column("id", id, ID_NAMES, 0),
        table.optional_column("title", title, TITLE_NAMES, 1),
    }
    for position in range(table.width) if table.names else ():
        if position not in used:
            column = texts(
                table, read_columns(table, {position: "text"})[position], position
            )
            if 2 <= len(np.unique(column)) <= len(column) / 2:
                return table.title(position)
    return None


def flags_named(texts: Sequence[str | None], name: str) -> list[str | None]:
    """Label rows by the name of a column that holds only 1 and 0, as one-hot columns do; keep other texts.

    Examples
    --------
    >>> flags_named(["1", "0", None], "Horror"), flags_named(["1", "2"], "cluster")
    (['Horror', None, None], ['1', '2'])
    """
    # A missing text is neither, so that one-hot columns may have gaps.
    if not {text for text in texts if text} <= {"0", "1"}:
        return list(texts)
    return [name if text == "1" else None for text in texts]


def places_of(ids: NDArray[Any], among: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each id among others that are unique, -1 where it is not there; 7 and "7" are one id.

    Examples
    --------
    >>> places_of(np.array(["7", "9"]), np.array([8, 7]))
    array([ 1, -1])
    """
    import pandas as pd

    # As text, since one source may write ids as numbers and another as strings.
    index = pd.Index(among.astype(np.str_))
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise must_be(
            "ids", "unique", f"{twice} more than once", "keep one row for each id"
        )
    return index.get_indexer(pd.Index(ids.astype(np.str_)))


@dataclass(frozen=True)
class Joined:
    """The text of every row of a side, and how it was found."""

    texts: tuple[str | None, ...]
    """None where a row has none."""
    title: str
    """Name of a row, such as item."""
    by_row: bool
    """True if rows were joined by their order, otherwise by ids."""

    @property
    def n_matched(self) -> int:
        """Rows that have a text."""
        return sum(text is not None for text in self.texts)

    def names(self, ids: NDArray[Any]) -> NDArray[np.str_]:
        """Call every row by its text, one without by its id.

        Examples
        --------
        >>> Joined(("Heat", None), "item", by_row=False).names(np.array([7, 9]))
        array(['Heat', '9'], dtype='<U4')
        """
        names = [text or str(each) for each, text in zip(ids, self.texts, strict=True)]
        return as_texts(names, "titles")

    def explain(self) -> str:
        """Report how many rows matched, and by what.

        Examples
        --------
        >>> Joined(("Heat", None, ""), "item", by_row=False).explain()
        '2 of 3 items matched by id.'
        """
        return f"{self.n_matched:,} of {len(self.texts):,} {self.title}s matched by {'row' if self.by_row else 'id'}."


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
        Whose rows.
    path : path
        The table, as `read_titles` takes it.
    title, id : str or int, optional
        Its columns of texts and of ids; those with customary names by default.
    by_row : bool
        Whether the table has the rows of the side, in their order; its ids are not
        looked at.
    partial : bool
        Whether less than half of the rows may be found.

    Raises
    ------
    InputError
        If the side has no ids, they are of another kind than the table's, or less than
        half of them are found there; by row if the table has another length.

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
    where, what = str(as_path(path, "the input")), f"{side.title}s"
    if by_row:
        table = open_table(path, customary=ID_NAMES | TITLE_NAMES, named=(id, title))
        position = table.column("title", title, TITLE_NAMES, 1)
        titles = texts(
            table, read_columns(table, {position: "text"})[position], position
        )
        require_lengths(len(side), len(titles), ("the model", where), what=what)
        return Joined(tuple(titles.tolist()), side.title, by_row=True)
    if side.ids is None:
        raise without_ids(side.title, "the model", where)
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
    r"""Find the text of every id in a table; parameters and errors are those of `join_texts`.

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
    where, wanted = str(as_path(path, "the input")), np.asarray(wanted)
    if wanted.ndim != 1:
        raise must_be("ids", "a list, one per row", repr(wanted))
    ids, titles = read_titles(path, id=id, title=title)
    # Numbers against words never match, and a few chance matches are no join: both are
    # refused, not counted.
    require_one_kind(wanted, ids, (source, where), what=f"{called} ids")
    places = places_of(wanted, ids)
    if (places < 0).all():
        got = (
            f"{ids[0]} against {wanted[0]}, for instance"
            if len(ids) and len(wanted)
            else "nothing"
        )
        raise must_be(
            "the ids of the titles",
            "ids of items",
            got,
            Sentence("choose their column with {}", Option("id")),
        )
    matched = tuple(None if place < 0 else str(titles[place]) for place in places)
    require_most(
        int((places >= 0).sum()), len(wanted), f"{called}s", where, partial=partial
    )
    return Joined(matched, called, by_row=False)


def with_titles(
    model: FactorModel,
    path: AnyPath,
    *,
    id: str | int | None = None,  # noqa: A002
    title: str | int | None = None,
    by_row: bool = False,
    partial: bool = False,
) -> tuple[FactorModel, Joined]:
    """Name the right rows of a model after a table; a row without a title is called by its id.

    Returns
    -------
    model : FactorModel
    joined : Joined
        How many rows matched.

    Raises
    ------
    InputError
        As `join_texts` does.
    """
    require_model(model)
    side = model.right_side
    joined = join_texts(side, path, title=title, id=id, by_row=by_row, partial=partial)
    return model.replace(
        right_names=joined.names(np.arange(len(side)) if side.ids is None else side.ids)
    ), joined
