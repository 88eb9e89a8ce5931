"""Interactions of users with items, from a table of ratings, counts or events to a sparse matrix."""

from __future__ import annotations

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

USER_NAMES = frozenset({
    "user", "userid", "uid", "u", "customer", "customerid", "visitor", "visitorid", "reviewer", "reviewerid",
    "member", "memberid",
})  # fmt: skip
ITEM_NAMES = frozenset({
    "item", "itemid", "iid", "i", "movie", "movieid", "product", "productid", "article", "articleid", "artist",
    "artistid", "track", "trackid", "song", "songid", "book", "bookid", "isbn", "asin", "news", "newsid",
})  # fmt: skip
RATING_NAMES = frozenset({
    "rating", "ratings", "bookrating", "score", "stars", "count", "counts", "weight", "value", "plays", "playcount",
    "listens", "quantity", "overall",
})  # fmt: skip
TIMES = 1e8
"""Seconds since 1970 are above this, no rating is."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """A matrix of users and items and what became of the rows it was made of."""

    matrix: csr_matrix
    """(n, p) float64; 0 where there is no interaction."""
    user_ids: NDArray[Any]
    """(n,) sorted; integers where every id is one, else strings."""
    item_ids: NDArray[Any]
    """(p,) the same for items."""
    n_rows_read: int
    """Rows of the table."""
    n_duplicates: int
    """Rows merged into another row of the same user and item."""
    n_dropped: int
    """Interactions dropped because they are 0 or below the threshold."""
    columns: tuple[str, str, str | None]
    """Names of the columns of users, items and ratings (None: every row counts 1)."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return (
            f"Interactions({n:,} users × {p:,} items, {self.matrix.nnz:,} interactions)"
        )

    def counts(self, side: SideName) -> Floats:
        """Count the interactions of every user (left) or item (right), whatever their ratings."""
        return np.asarray(
            self.matrix.getnnz(axis=1 if side == "left" else 0), dtype=np.float64
        )


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
        an `.npz` file of `scipy.sparse.save_npz`, whose rows are users and whose columns
        are items.
    user, item, rating : str or int, optional
        Columns by name or position. By default those with customary names (userId,
        user_id, uid, …; movieId, item_id, …; rating, count, weight, …); without a
        header the first, second and third. Without a rating column every row counts 1;
        `rating="none"` says so of a table that has one.
    threshold : float, optional
        Keep interactions whose rating is at least this.
    binarise : bool
        Make every interaction that is kept a 1.
    duplicates : {"error", "sum", "mean", "last", "max"}
        What becomes of several rows of one user and item, before the threshold is
        applied.
    sep : str, optional
        Separator of a text file.
    header : {"auto", True, False}
        Whether a text file has a header.

    Returns
    -------
    Interactions
        Users and items that keep no interaction are left out; a rating of 0 is no
        interaction.

    Raises
    ------
    InputError
        For a missing, empty or damaged file, columns that are missing or ambiguous, ids
        that are missing, ratings that are no finite numbers, duplicates (unless they
        are to be merged), fewer than two users or items.

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
    import pandas as pd
    from scipy.sparse import coo_matrix

    require_one_of(duplicates, "duplicates", get_args(Duplicates))
    if threshold is not None and not is_number(threshold):
        raise must_be("threshold", "a finite number", threshold)
    table = _table_of(path, sep, header)
    without = rating == "none" and "none" not in (table.names or ())
    user_at, item_at = (
        table.required_column("user", user, USER_NAMES, 0),
        table.required_column("item", item, ITEM_NAMES, 1),
    )
    rating_at = (
        None if without else table.find_column("rating", rating, RATING_NAMES, 2)
    )
    positions = [
        position for position in (user_at, item_at, rating_at) if position is not None
    ]
    if len(set(positions)) < len(positions):
        got = f"positions {', '.join(map(str, positions))}"
        raise must_be("the user, item and rating columns", "different ones", got)
    cells: dict[int, Cell] = {
        user_at: "id",
        item_at: "id",
        **({} if rating_at is None else {rating_at: "number"}),
    }
    read = read_columns(table, cells)
    # Each column is let go of once its ids are places among the sorted ones.
    users, user_ids = to_codes(table, read.pop(user_at), user_at)
    items, item_ids = to_codes(table, read.pop(item_at), item_at)
    n_rows = len(users)
    if not n_rows:
        raise must_be(File(table.path), "a table with rows", "none")
    values = (
        np.ones(n_rows)
        if rating_at is None
        else to_numbers(table, read.pop(rating_at), rating_at)
    )
    if rating is None and table.names is None and values.min() > TIMES:
        remedy = Sentence(
            "choose {} if these are times, {} if they are ratings",
            Option("rating", "none"),
            Option("rating", 2),
        )
        raise must_be(
            Sentence("the third column of {}", File(table.path)),
            "ratings",
            f"numbers from {values.min():.0f} on",
            remedy,
        )
    matrix = coo_matrix(
        (values, (users, items)), shape=(len(user_ids), len(item_ids))
    ).tocsr()
    # Equal places were summed.
    if matrix.nnz < n_rows and duplicates != "sum":
        frame = pd.DataFrame({"user": users, "item": items, "value": values})
        if duplicates == "error":
            repeated = frame.duplicated(["user", "item"]).to_numpy()
            row = int(np.argmax(repeated))
            which = f"user {user_ids[users[row]]} and item {item_ids[items[row]]}"
            got = f"{which} again in row {row + 1} of the data ({counted(int(repeated.sum()), 'such row')})"
            remedy = Sentence(
                "merge them with {} (or mean, last, max)", Option("duplicates", "sum")
            )
            raise must_be(
                Sentence("the rows of {}", File(table.path)),
                "one for each user and item",
                got,
                remedy,
            )
        merged = frame.groupby(["user", "item"], as_index=False).agg(
            {"value": duplicates}
        )
        users, items, values = (merged[name].to_numpy() for name in frame)
        matrix = coo_matrix((values, (users, items)), shape=matrix.shape).tocsr()
    # Thresholds see merged values, as the docstring promises; a rating of 0 is no
    # interaction.
    n_merged = n_rows - matrix.nnz
    keep = (matrix.data != 0) & (
        matrix.data >= (-np.inf if threshold is None else threshold)
    )
    matrix.data = (
        keep.astype(np.float64) if binarise else np.where(keep, matrix.data, 0.0)
    )
    matrix.eliminate_zeros()
    left, right = (np.flatnonzero(matrix.getnnz(axis=axis)) for axis in (1, 0))
    matrix = matrix[left][:, right]
    for count, what in zip(matrix.shape, ("users", "items"), strict=True):
        if count < 2:
            raise must_be(
                File(table.path),
                f"interactions of at least 2 {what}",
                count,
                "check which columns are read" if keep.all() else "lower the threshold",
            )
    columns = (
        table.title(user_at),
        table.title(item_at),
        None if rating_at is None else table.title(rating_at),
    )
    n_dropped = int((~keep).sum())
    return Interactions(
        matrix, user_ids[left], item_ids[right], n_rows, n_merged, n_dropped, columns
    )


def _table_of(path: AnyPath, sep: str | None, header: Header) -> TableFile:
    """Open a table of interactions, or the file of a sparse matrix as such a table."""
    if as_path(path, "the input").suffix.lower() == ".npz":
        return read_sparse(existing_file(path))
    customary = USER_NAMES | ITEM_NAMES | RATING_NAMES
    return open_table(path, sep=sep, header=header, customary=customary)
