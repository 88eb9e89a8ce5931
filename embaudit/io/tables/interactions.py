"""Interactions of users with items, from a table of ratings, counts or events to a sparse matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, is_number
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.delimited import Cell, Header
from embaudit.io.files import AnyPath
from embaudit.io.tables.columns import TableFile, codes, numbers, open_table, read_columns
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
WORD_BITS = 63
"""Of an integer, without its sign."""
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
    """Which columns held users, items and ratings (None: every row counts 1)."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return f"Interactions({n:,} users × {p:,} items, {self.matrix.nnz:,} interactions)"

    def counts(self, side: SideName) -> Floats:
        """Count the interactions of every user (left) or item (right), whatever their ratings."""
        return np.asarray(self.matrix.getnnz(axis=1 if side == "left" else 0), dtype=np.float64)


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
        CSV, TSV, `.dat` with `::`, any of them gzipped, Parquet, Feather or Arrow.
    user, item, rating : str or int, optional
        Columns by name or position. By default those with customary names (userId, user_id, uid, …; movieId,
        item_id, …; rating, count, weight, …); without a header the first, second and third. Without a rating
        column every row counts 1; `rating="none"` says so of a table that has one.
    threshold : float, optional
        Keep interactions whose rating is at least this.
    binarise : bool
        Make every interaction that is kept a 1.
    duplicates : {"error", "sum", "mean", "last", "max"}
        What becomes of several rows of one user and item, before the threshold is applied.
    sep : str, optional
        Separator of a text file.
    header : {"auto", True, False}
        Whether a text file has a header.

    Returns
    -------
    Interactions
        Users and items that keep no interaction are left out; a rating of 0 is no interaction.

    Raises
    ------
    InputError
        For a missing, empty or damaged file, columns that are missing or ambiguous, ids that are missing, ratings
        that are no finite numbers, duplicates (unless they are to be merged), fewer than two users or items.

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
    if duplicates not in get_args(Duplicates):
        raise must_be("duplicates", "one of " + ", ".join(get_args(Duplicates)), repr(duplicates))
    if threshold is not None and not is_number(threshold):
        raise must_be("threshold", "a finite number", threshold)
    table = open_table(path, sep=sep, header=header, known=USER_NAMES | ITEM_NAMES | RATING_NAMES)
    positions = _positions(table, user, item, rating)
    key, user_ids, item_ids, values = _read(table, positions, guessed=rating is None)
    n_rows = len(key)
    if not n_rows:
        raise must_be(f"{table.path}", "a table with rows", "none")
    try:
        key, values = _merged(key, values, duplicates)
    except _Repeated as repeated:
        raise _duplicate_error(table, repeated, user_ids, item_ids) from None
    keep = values != 0 if threshold is None else (values >= threshold) & (values != 0)
    matrix, user_ids, item_ids = _matrix(key[keep], values[keep], user_ids, item_ids, binarise=binarise)
    _require_two(table, matrix, filtered=not keep.all())
    names = [
        str(position if table.names is None or position is None else table.names[position]) for position in positions
    ]
    columns = (names[0], names[1], None if positions[2] is None else names[2])
    return Interactions(matrix, user_ids, item_ids, n_rows, n_rows - len(key), int((~keep).sum()), columns)


def _positions(
    table: TableFile, user: str | int | None, item: str | int | None, rating: str | int | None
) -> tuple[int, int, int | None]:
    without = rating == "none" and "none" not in (table.names or ())
    users, items = table.chosen("user", user, USER_NAMES, 0), table.chosen("item", item, ITEM_NAMES, 1)
    ratings = None if without else table.chosen("rating", rating, RATING_NAMES, 2)
    if users is None or items is None:
        raise table.uncustomary("user" if users is None else "item")
    chosen = [position for position in (users, items, ratings) if position is not None]
    if len(set(chosen)) < len(chosen):
        raise must_be("the user, item and rating columns", "different ones", f"positions {', '.join(map(str, chosen))}")
    return users, items, ratings


def _read(
    table: TableFile, positions: tuple[int, int, int | None], *, guessed: bool
) -> tuple[NDArray[np.intp], NDArray[Any], NDArray[Any], Floats]:
    """Read each row's key, user number × number of items + item number, the ids behind the numbers, and the values."""
    user, item, rating = positions
    cells: dict[int, Cell] = {user: "id", item: "id", **({} if rating is None else {rating: "number"})}
    read = read_columns(table, cells)
    key, user_ids = codes(table, read.pop(user), user)
    items, item_ids = codes(table, read.pop(item), item)
    # In place, as everything on the way from 20 million rows to a matrix.
    key *= len(item_ids)
    key += items
    del items
    values = np.ones(len(key)) if rating is None else numbers(table, read.pop(rating), rating)
    if guessed and table.names is None and rating is not None and values.size and values.min() > TIMES:
        remedy = "choose --rating=none if these are times, --rating=2 if they are ratings"
        raise must_be(f"the third column of {table.path}", "ratings", f"numbers from {values.min():.0f} on", remedy)
    return key, user_ids, item_ids, values


class _Repeated(Exception):  # noqa: N818
    """Two rows, by number, of one user and item."""

    def __init__(self, first: int, second: int, key: int, count: int) -> None:
        super().__init__()
        self.rows, self.key, self.count = (first, second), key, count


def _merged(key: NDArray[np.intp], values: Floats, duplicates: Duplicates) -> tuple[NDArray[np.intp], Floats]:
    """Sort by key and merge the values of equal keys, in the order of the file."""
    key, order = _in_order(key)
    values = values[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    if len(starts) == len(key):
        return key, values
    counts = np.diff(np.append(starts, len(key)))
    if duplicates == "error":
        first = starts[int(np.argmax(counts > 1))]
        raise _Repeated(int(order[first]), int(order[first + 1]), int(key[first]), int(len(key) - len(starts)))
    if duplicates == "last":
        return key[starts], values[starts + counts - 1]
    if duplicates == "max":
        return key[starts], np.maximum.reduceat(values, starts)
    sums = np.add.reduceat(values, starts)
    return key[starts], sums / counts if duplicates == "mean" else sums


def _in_order(key: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Sort keys, equal ones in the order of the file; return them and the row of each.

    Examples
    --------
    >>> _in_order(np.array([7, 2, 7]))
    (array([2, 7, 7]), array([1, 0, 2]))
    """
    bits = len(key).bit_length()
    if int(key.max()).bit_length() + bits > WORD_BITS:
        order = np.argsort(key, kind="stable")
        return key[order], order
    # Numbers are sorted ten times faster than places: the row travels in the low bits of its key.
    packed = key << bits
    packed |= np.arange(len(key))
    packed.sort()
    order = packed & ((1 << bits) - 1)
    packed >>= bits
    return packed, order


def _duplicate_error(
    table: TableFile, repeated: _Repeated, user_ids: NDArray[Any], item_ids: NDArray[Any]
) -> InputError:
    user, item = divmod(repeated.key, len(item_ids))
    got = f"user {user_ids[user]} and item {item_ids[item]} again in row {repeated.rows[1] + 1} of the data"
    return must_be(
        f"the rows of {table.path}",
        "one for each user and item",
        f"{got} ({repeated.count:,} such rows)",
        "merge them with --duplicates=sum (or mean, last, max)",
    )


def _matrix(
    key: NDArray[np.intp], values: Floats, user_ids: NDArray[Any], item_ids: NDArray[Any], *, binarise: bool
) -> tuple[csr_matrix, NDArray[Any], NDArray[Any]]:
    """Build the matrix from sorted keys, without users and items that have nothing left."""
    from scipy.sparse import csr_matrix

    users, row = _compressed(key // len(item_ids), len(user_ids))
    items, column = _compressed(key % len(item_ids), len(item_ids))
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(users)))])
    data = np.ones(len(values)) if binarise else values
    matrix = csr_matrix((data, column, start), shape=(len(users), len(items)))
    matrix.has_sorted_indices = True
    return matrix, user_ids[users], item_ids[items]


def _compressed(numbers: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
    """Return which of `size` numbers occur, and each one's place among them."""
    present = np.zeros(size, dtype=bool)
    present[numbers] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1).astype(np.int32)[numbers]


def _require_two(table: TableFile, matrix: csr_matrix, *, filtered: bool) -> None:
    for count, what in zip(matrix.shape, ("users", "items"), strict=True):
        if count < 2:
            remedy = "lower the threshold" if filtered else "check which columns are read"
            raise must_be(f"{table.path}", f"interactions of at least 2 {what}", count, remedy)
