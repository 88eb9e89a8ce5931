"""Titles of items, and their match to the ids of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import as_texts
from embaudit.errors import must_be
from embaudit.io.codecs.delimited import Header
from embaudit.io.files import AnyPath
from embaudit.io.tables.columns import open_table, read_by_id
from embaudit.io.tables.interactions import ITEM_NAMES

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
    sep: str | None = None,
    header: Header = "auto",
) -> tuple[NDArray[Any], NDArray[np.str_]]:
    r"""Read ids and titles from a table.

    Parameters
    ----------
    path : path
        CSV, TSV, `.dat`, gzipped or not, Parquet, Feather or Arrow.
    id, title : str or int, optional
        Columns by name or position; by default those with customary names, without a header the first and second.
    sep, header
        As in `read_interactions`.

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
    table = open_table(path, sep=sep, header=header, customary=ID_NAMES | TITLE_NAMES)
    ids, titles = table.column("id", id, ID_NAMES, 0), table.column("title", title, TITLE_NAMES, 1)
    if ids == titles:
        raise must_be("the id and title columns", "different ones", f"position {ids} twice")
    return read_by_id(table, ids, titles, "text")


def listed(values: ArrayLike, name: str) -> NDArray[Any]:
    """Check that there is one value for each row, of whatever kind.

    Examples
    --------
    >>> listed(3, "ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids must be a list, one a row; got 3.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise must_be(name, "a list, one a row", repr(values))
    return array


def flags_named(texts: Sequence[str | None], name: str) -> list[str | None]:
    """Label rows by the name of a column that holds only 1 and 0, as one-hot columns do; keep other texts.

    Examples
    --------
    >>> flags_named(["1", "0", None], "Horror"), flags_named(["1", "2"], "cluster")
    (['Horror', None, None], ['1', '2'])
    """
    if not {text for text in texts if text} <= {"0", "1"}:
        return list(texts)
    return [name if text == "1" else None for text in texts]


def titles_for(item_ids: NDArray[Any], ids: NDArray[Any], titles: NDArray[np.str_]) -> tuple[NDArray[np.str_], int]:
    """Give every item its title, and count the items that have none.

    An item without a title is named by its id; arguments and errors are those of `texts_for`.

    Examples
    --------
    >>> titles_for(np.array(["7", "9"]), np.array([7, 8]), np.array(["Seven", "Eight"]))
    (array(['Seven', '9'], dtype='<U5'), 1)
    """
    item_ids = listed(item_ids, "item_ids")
    matches = texts_for(item_ids, ids, titles)
    names = [str(each) if text is None else text for each, text in zip(item_ids, matches, strict=True)]
    return as_texts(names, "titles"), matches.count(None)


def texts_for(item_ids: NDArray[Any], ids: NDArray[Any], texts: NDArray[np.str_]) -> list[str | None]:
    """Look up the text of every item; None where there is none.

    Parameters
    ----------
    item_ids : array of shape (p,)
        The items of a model.
    ids, texts : array of shape (m,)
        From `read_titles`; 7 and "7" are the same id.

    Raises
    ------
    InputError
        If no item has a text.

    Examples
    --------
    >>> texts_for(np.array(["7", "9"]), np.array([7, 8]), np.array(["Drama", "Comedy"]))
    ['Drama', None]
    """
    item_ids, ids, texts = listed(item_ids, "item_ids"), listed(ids, "ids"), listed(texts, "texts")
    if len(ids) != len(texts):
        raise must_be("ids and texts", "of one length", f"{len(ids)} and {len(texts)}")
    places = places_of(item_ids, ids)
    if (places < 0).all():
        got = f"{ids[0]} against {item_ids[0]}, for instance" if len(ids) and len(item_ids) else "nothing"
        raise must_be("the ids of the titles", "ids of items", got, "choose their column with --id")
    return [None if place < 0 else str(texts[place]) for place in places]


def places_of(ids: NDArray[Any], among: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each id among others that are unique, -1 where it is not there; 7 and "7" are one id.

    Examples
    --------
    >>> places_of(np.array(["7", "9"]), np.array([8, 7]))
    array([ 1, -1])
    """
    import pandas as pd

    index = pd.Index(among.astype(np.str_))
    if not index.is_unique:
        twice = index[index.duplicated()][0]
        raise must_be("ids", "unique", f"{twice} more than once", "keep one row for each id")
    return index.get_indexer(pd.Index(ids.astype(np.str_)))


def require_rows(n: int | str, n_rows: int, source: object, what: str) -> None:
    """Refuse a file that has not one value for each row of a model.

    Examples
    --------
    >>> require_rows(2, 3, "ids.txt", "item ids")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ids.txt must be a file of 3 item ids, one a row; got 2; check that it is of this model.
    """
    if n != n_rows:
        got = n if isinstance(n, str) else f"{n:,}"
        raise must_be(f"{source}", f"a file of {n_rows:,} {what}, one a row", got, "check that it is of this model")
