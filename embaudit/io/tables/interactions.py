"""Interactions of users with items: ratings, counts or events as a sparse matrix."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, is_number, require_one_of
from embaudit.core.words import counted
from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.files import AnyPath, as_path, existing_file
from embaudit.io.tables.columns import (
    TableFile,
    open_table,
    read_columns,
    table_of_frame,
    to_codes,
    to_numbers,
)
from embaudit.io.tables.delimited import Header
from embaudit.io.tables.delimited_rows import Cell
from embaudit.io.tables.sparse import read_sparse
from embaudit.model import SideName

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


Duplicates: TypeAlias = Literal["error", "sum", "mean", "last", "max"]

USER_NAMES = frozenset(
    {
        "user",
        "userid",
        "uid",
        "u",
        "customer",
        "customerid",
        "visitor",
        "visitorid",
        "reviewer",
        "reviewerid",
        "member",
        "memberid",
    }
)
ITEM_NAMES = frozenset(
    {
        "item",
        "itemid",
        "iid",
        "i",
        "movie",
        "movieid",
        "product",
        "productid",
        "article",
        "articleid",
        "artist",
        "artistid",
        "track",
        "trackid",
        "song",
        "songid",
        "book",
        "bookid",
        "isbn",
        "asin",
        "news",
        "newsid",
    }
)
RATING_NAMES = frozenset(
    {
        "rating",
        "ratings",
        "bookrating",
        "score",
        "stars",
        "count",
        "counts",
        "weight",
        "value",
        "plays",
        "playcount",
        "listens",
        "quantity",
        "overall",
    }
)
TIME_NAMES = frozenset(
    {"timestamp", "time", "ts", "unixtime", "date", "datetime", "unixreviewtime"}
)
LARGEST_RATING = 1e8
"""Larger numbers in a third column are times, in seconds since 1970."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """A matrix of users and items, and how many rows of the table it keeps."""

    matrix: csr_matrix
    """(n, p) float64; 0 where there is no interaction."""
    user_ids: NDArray[Any]
    """(n,) sorted; integers if each id is one, else strings."""
    item_ids: NDArray[Any]
    """(p,) sorted, as those of users."""
    n_rows_read: int
    """Rows of the table."""
    n_duplicates: int
    """Rows merged into another row of the same user and item."""
    n_dropped: int
    """Interactions dropped because they are 0 or below the threshold."""
    columns: tuple[str, str, str | None]
    """Names of the columns of users, items and ratings (None if every row counts 1)."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return (
            f"Interactions({n:,} users × {p:,} items, {self.matrix.nnz:,} interactions)"
        )

    def counts(self, side: SideName) -> Floats:
        """Count the interactions of every user (left) or item (right)."""
        if side == "left":
            counts = self.matrix.getnnz(axis=1)
        else:
            counts = self.matrix.getnnz(axis=0)
        return np.asarray(counts, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Events:
    """The distinct pairs of a user and an item in a table, by user and then by item."""

    users: NDArray[np.intp]
    """(m,) code of the user of each pair."""
    items: NDArray[np.intp]
    """(m,) code of its item."""
    times: Floats | None
    """(m,) time of its last interaction; None if times were not read."""
    user_ids: NDArray[Any]
    """Sorted ids that the codes of users stand for."""
    item_ids: NDArray[Any]
    """Sorted ids that the codes of items stand for."""
    time_column: str | None
    """Name of the column of times."""


@dataclass(frozen=True)
class Columns:
    """Positions of the columns of a table of interactions."""

    user: int
    item: int
    rating: int | None
    """None if every row counts 1."""


def read_interactions(
    path: AnyPath,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    rating: str | int | None = None,
    threshold: float | None = None,
    binarise: bool = False,
    duplicates: Duplicates = "error",
    sep: str | None = None,
    header: Header = "auto",
) -> Interactions:
    r"""Read a table of interactions into a sparse matrix.

    Parameters
    ----------
    path : path
        CSV, TSV, `.dat` with `::`, any of them gzipped, Parquet, Feather or Arrow; or
        an `.npz` file of `scipy.sparse.save_npz`, whose rows are users and whose
        columns are items.
    user, item, rating : str or int, optional
        Columns by name or position. By default those with customary names (userId,
        user_id, uid, …; movieId, item_id, …; rating, count, weight, …); without a
        header, the first, second and third. Without a rating column, every row counts
        1; `rating="none"` ignores a rating column.
    threshold : float, optional
        Keep interactions whose rating is at least this.
    binarise : bool
        Replace every rating that is kept by 1.
    duplicates : {"error", "sum", "mean", "last", "max"}
        How to merge several rows of one user and item, before the threshold is applied.
    sep : str, optional
        Separator of a text file.
    header : {"auto", True, False}
        Whether a text file has a header.

    Returns
    -------
    Interactions
        Without users and items that keep no interaction. A rating of 0 is no
        interaction.

    Raises
    ------
    InputError
        If the file is missing, empty or damaged, a column is missing or ambiguous, an
        id is missing, a rating is not finite, there are duplicates but no rule to merge
        them, or there are fewer than two users or items.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = file.write_text("userId,movieId,rating\n7,10,4.0\n7,20,1.0\n8,20,5.0\n")
    ...     found = read_interactions(file)
    >>> found
    Interactions(2 users × 2 items, 3 interactions)
    >>> found.matrix.toarray(), found.item_ids
    (array([[4., 1.], [0., 5.]]), array([10, 20]))
    >>> found.counts("left"), found.counts("right")
    (array([2., 1.]), array([1., 2.]))
    """
    require_one_of(duplicates, "duplicates", get_args(Duplicates))
    if threshold is not None and not is_number(threshold):
        raise must_be("threshold", "a finite number", threshold)
    table = _open_interactions(path, sep, header)
    columns = _find_columns(table, user, item, rating)
    return _interactions(
        table,
        columns,
        threshold=threshold,
        binarise=binarise,
        duplicates=duplicates,
        may_hold_times=rating is None and table.names is None,
    )


def read_ratings(path: AnyPath) -> Interactions:
    r"""Read a table of users, items and ratings by the customary names of its columns.

    Of several ratings of one item by one user, the last one counts.

    Raises
    ------
    InputError
        As `read_interactions` does, but errors never advise to choose a column by an
        option, because the callers have none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "ratings.csv")
    ...     _ = file.write_text("who,movieId,rating\n7,10,4.0\n8,20,1.0\n")
    ...     read_ratings(file)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the user column of ...ratings.csv must be a column
    with a customary name; got who, movieId, rating; give exactly one column a
    customary name, such as user.
    """
    table = _open_interactions(path)
    columns = _find_columns(table, None, None, None, has_options=False)
    return _interactions(
        table,
        columns,
        duplicates="last",
        may_hold_times=table.names is None,
        has_options=False,
    )


def _interactions(
    table: TableFile,
    columns: Columns,
    *,
    threshold: float | None = None,
    binarise: bool = False,
    duplicates: Duplicates,
    may_hold_times: bool,
    has_options: bool = True,
) -> Interactions:
    """Read the columns of a table of interactions into a sparse matrix.

    Parameters
    ----------
    table : TableFile
        The table.
    columns : Columns
        Its columns of users, items and ratings.
    threshold, binarise, duplicates
        As for `read_interactions`.
    may_hold_times : bool
        Whether the column of ratings was taken by its place only, so that it could be
        one of times.
    has_options : bool
        Whether the caller offers an option for the column of ratings.
    """
    cells: dict[int, Cell] = {columns.user: "id", columns.item: "id"}
    if columns.rating is not None:
        cells[columns.rating] = "number"
    read = read_columns(table, cells)
    # `pop` frees the memory of each column as soon as it is converted.
    users, user_ids = to_codes(table, read.pop(columns.user), columns.user)
    items, item_ids = to_codes(table, read.pop(columns.item), columns.item)
    n_rows = len(users)
    if n_rows == 0:
        raise must_be(File(table.path), "a table with rows", "no rows")
    if columns.rating is None:
        values = np.ones(n_rows)
    else:
        values = to_numbers(table, read.pop(columns.rating), columns.rating)
    if may_hold_times:
        _require_no_times(table, values, has_options=has_options)
    matrix = _to_matrix(table, users, items, values, (user_ids, item_ids), duplicates)
    n_merged = n_rows - matrix.nnz
    keep = matrix.data != 0
    if threshold is not None:
        keep &= matrix.data >= threshold
    n_dropped = int((~keep).sum())
    kept_values = np.ones(matrix.nnz) if binarise else matrix.data
    matrix.data = np.where(keep, kept_values, 0.0)
    matrix.eliminate_zeros()
    with_users = np.flatnonzero(matrix.getnnz(axis=1))
    with_items = np.flatnonzero(matrix.getnnz(axis=0))
    matrix = matrix[with_users][:, with_items]
    for count, noun in zip(matrix.shape, ("users", "items"), strict=True):
        if count < 2:
            raise must_be(
                File(table.path),
                f"interactions of at least 2 {noun}",
                count,
                "lower the threshold" if n_dropped else "check which columns are read",
            )
    names = (
        table.title(columns.user),
        table.title(columns.item),
        None if columns.rating is None else table.title(columns.rating),
    )
    return Interactions(
        matrix,
        user_ids[with_users],
        item_ids[with_items],
        n_rows,
        n_merged,
        n_dropped,
        names,
    )


def read_events(
    source: Any,
    *,
    user: str | int | None = None,
    item: str | int | None = None,
    time: str | int | None = None,
    with_times: bool = False,
    has_options: bool = True,
) -> Events:
    """Read the pairs of users and items in a table, and their times.

    Ratings are ignored.

    Parameters
    ----------
    source : path or data frame
        A file as `read_interactions` reads it, or a data frame of pandas, polars or
        Arrow.
    user, item, time : str or int, optional
        Columns by name or position. By default those with customary names; without a
        header, the first and second, and no column of times.
    with_times : bool
        Whether times are read. They are numbers, or dates of a data frame, a Parquet or
        an Arrow file.
    has_options : bool
        Whether the caller offers options for the columns of users and items. If not,
        errors advise to rename columns.

    Raises
    ------
    InputError
        If the table is missing, empty or damaged, a column is missing or ambiguous, an
        id is missing, or a time is not a finite number.

    Examples
    --------
    >>> import pandas as pd
    >>> table = {"user": [1, 1, 2], "item": ["b", "a", "b"], "time": [5, 6, 7]}
    >>> events = read_events(pd.DataFrame(table), with_times=True)
    >>> events.users.tolist(), events.item_ids[events.items].tolist(), events.times
    ([0, 0, 1], ['a', 'b', 'b'], array([6., 5., 7.]))
    """
    table = _open_interactions(source, customary=TIME_NAMES)
    option = "" if has_options else None
    user_position = table.required_column("user", user, USER_NAMES, 0, option=option)
    item_position = table.required_column("item", item, ITEM_NAMES, 1, option=option)
    if user_position == item_position:
        name = table.title(user_position)
        raise must_be("the user and item columns", "different ones", f"{name} twice")
    cells: dict[int, Cell] = {user_position: "id", item_position: "id"}
    time_position = None
    if with_times:
        # A table without a header has no customary place for times.
        no_place = table.width
        time_position = table.required_column("time", time, TIME_NAMES, no_place)
        cells[time_position] = "time"
    read = read_columns(table, cells)
    users, user_ids = to_codes(table, read.pop(user_position), user_position)
    items, item_ids = to_codes(table, read.pop(item_position), item_position)
    if len(users) == 0:
        raise must_be(File(table.path), "a table with rows", "no rows")
    pairs, pair_of_row = np.unique(users * len(item_ids) + items, return_inverse=True)
    times, time_column = None, None
    if time_position is not None:
        time_column = table.title(time_position)
        values = to_numbers(table, read.pop(time_position), time_position)
        times = np.full(len(pairs), -np.inf)
        np.maximum.at(times, pair_of_row, values)
    return Events(
        users=pairs // len(item_ids),
        items=pairs % len(item_ids),
        times=times,
        user_ids=user_ids,
        item_ids=item_ids,
        time_column=time_column,
    )


def _find_columns(
    table: TableFile,
    user: str | int | None,
    item: str | int | None,
    rating: str | int | None,
    *,
    has_options: bool = True,
) -> Columns:
    """Find the columns of users, items and ratings.

    Without options, errors advise to rename columns.
    """
    option = "" if has_options else None
    user_position = table.required_column("user", user, USER_NAMES, 0, option=option)
    item_position = table.required_column("item", item, ITEM_NAMES, 1, option=option)
    is_ignored = rating == "none" and "none" not in (table.names or ())
    rating_position = None
    if not is_ignored:
        rating_position = table.find_column(
            "rating", rating, RATING_NAMES, 2, option=option
        )
    positions = [user_position, item_position]
    if rating_position is not None:
        positions.append(rating_position)
    if len(set(positions)) < len(positions):
        got = f"positions {', '.join(map(str, positions))}"
        raise must_be("the user, item and rating columns", "different ones", got)
    return Columns(user_position, item_position, rating_position)


def _require_no_times(table: TableFile, ratings: Floats, *, has_options: bool) -> None:
    """Raise InputError if the third column, without a header, holds times."""
    if ratings.min() > LARGEST_RATING:
        remedy = Sentence("write a first line that names the columns")
        if has_options:
            remedy = Sentence(
                "choose {} if these are times, {} if they are ratings",
                Option("rating", "none"),
                Option("rating", 2),
            )
        raise must_be(
            Sentence("the third column of {}", File(table.path)),
            "ratings",
            f"numbers from {ratings.min():.0f} on",
            remedy,
        )


def _to_matrix(
    table: TableFile,
    users: NDArray[np.intp],
    items: NDArray[np.intp],
    values: Floats,
    ids: tuple[NDArray[Any], NDArray[Any]],
    duplicates: Duplicates,
) -> csr_matrix:
    """Return the matrix of ratings, with several rows of one user and item merged."""
    import pandas as pd
    from scipy.sparse import coo_matrix

    user_ids, item_ids = ids
    shape = (len(user_ids), len(item_ids))
    matrix = coo_matrix((values, (users, items)), shape=shape).tocsr()
    # `tocsr` has summed the values of one user and item.
    if duplicates == "sum" or matrix.nnz == len(values):
        return matrix
    frame = pd.DataFrame({"user": users, "item": items, "value": values})
    if duplicates == "error":
        repeated = frame.duplicated(["user", "item"]).to_numpy()
        row = int(np.argmax(repeated))
        pair = f"user {user_ids[users[row]]} and item {item_ids[items[row]]}"
        n_repeated = counted(int(repeated.sum()), "such row")
        raise must_be(
            Sentence("the rows of {}", File(table.path)),
            "one row for each user and item",
            f"{pair} again in row {row + 1} of the data ({n_repeated})",
            Sentence(
                "merge them with {} (or mean, last, max)", Option("duplicates", "sum")
            ),
        )
    merged = frame.groupby(["user", "item"], as_index=False)["value"].agg(duplicates)
    places = (merged["user"].to_numpy(), merged["item"].to_numpy())
    return coo_matrix((merged["value"].to_numpy(), places), shape=shape).tocsr()


def _open_interactions(
    source: Any,
    sep: str | None = None,
    header: Header = "auto",
    customary: frozenset[str] = RATING_NAMES,
) -> TableFile:
    """Open a table of interactions, a file of a sparse matrix, or a data frame."""
    if not isinstance(source, (str, os.PathLike)):
        if hasattr(source, "__arrow_c_stream__") or hasattr(source, "columns"):
            return table_of_frame(source)
        raise must_be("interactions", "a path or a data frame", type(source).__name__)
    if as_path(source, "the input").suffix.lower() == ".npz":
        return read_sparse(existing_file(source))
    customary = USER_NAMES | ITEM_NAMES | customary
    return open_table(source, sep=sep, header=header, customary=customary)
