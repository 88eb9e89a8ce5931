"""A table of vectors in a store, which is read in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts, storage_of
from embaudit.errors import File, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.intake import Metric, Part
from embaudit.io.stores.addresses import Address
from embaudit.linalg.scratch import scratch

TITLE_CHARACTERS = 100
"""Length to which texts are cut that serve as titles, such as documents."""


Ids: TypeAlias = Sequence[int | str] | NDArray[np.integer[Any]]
"""Whole numbers or texts. An array holds whole numbers only."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a table."""

    vectors: NDArray[Any]
    """(m, k)"""
    ids: Ids = ()
    """(m,) ids; empty if the table has no ids."""
    titles: Sequence[str | None] | None = None
    """(m,) texts that name the rows, with None for a row without a text. None if the
    table has no column of titles.
    """


@dataclass(frozen=True, eq=False)
class _Rows:
    """All rows of a table."""

    vectors: NDArray[Any]
    """(n, k)"""
    ids: NDArray[Any]
    """(n,) ids; empty if the table has no ids."""
    titles: NDArray[np.str_] | None
    """(n,) titles; None unless every row has a title."""


@dataclass(frozen=True, eq=False)
class VectorTable:
    """One table of a store: its description, and a function that reads its rows.

    Examples
    --------
    >>> rows = Batch(np.eye(2, dtype=np.float32), ["a", "b"])
    >>> table = VectorTable(
    ...     Address("chroma", "db/films"), 2, 2, Metric("cosine", "the collection"),
    ...     lambda: iter([rows]), ids="ids",
    ... )
    >>> table.contents().model()
    FactorModel(2 items, 2 dimensions, identity link, float32, no users)
    >>> print(table.contents().intake("chroma", None).explain())
    Read as chroma: vectors (2 × 2) as right factors, ids (2) as right ids. Metric of
    the index: cosine, as the collection says.
    """

    address: Address
    """Address of the table, for errors."""
    n_rows: int
    """Total number of rows of the batches. Rows without a vector do not count."""
    n_columns: int
    """Length of a vector."""
    metric: Metric
    """Metric by which the index of the table compares vectors."""
    batches: Callable[[], Iterator[Batch]]
    """Reads the rows in the order of the store. It is called once, when the model is
    made.
    """
    ids: str
    """Name of the ids in the report of the read; empty if there are none."""
    dtype: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009
    """Type of the numbers as the store holds them."""
    vectors: str = "vectors"
    """Name of the vectors in the report of the read."""
    titles: str = ""
    """Name of the texts that name rows; empty if there are none."""
    left_over: tuple[Part, ...] = ()
    """Parts of the table that are not read, such as metadata or rows without a vector.
    """
    files: tuple[str, ...] = ()
    """Files of the store that were read; empty for a server."""

    def contents(self) -> Contents:
        """Describe the fields of a model, whose rows are read when they are needed.

        All fields are read at once, when the first of them is used.

        Raises
        ------
        InputError
            When the rows are read: if their number or their length has changed since
            the table was described.
        """
        read = cache(self._read)
        shape = (self.n_rows, self.n_columns)
        fields = {"right": Source(self.vectors, lambda: read().vectors, shape)}
        if self.ids:
            fields["right_ids"] = Source(self.ids, lambda: read().ids, (self.n_rows,))
        if self.titles:
            fields["right_names"] = Source(
                self.titles, lambda: read().titles, (self.n_rows,)
            )
        return Contents(
            fields,
            self.left_over,
            files=self.files or (str(self.address),),
            metric=self.metric,
        )

    def _read(self) -> _Rows:
        """Read all rows, into a temporary file if they are large (see `scratch`)."""
        vectors = scratch((self.n_rows, self.n_columns), storage_of(self.dtype))
        ids: list[Ids] = []
        titles: list[str] = []
        n_read = 0
        for batch in self.batches():
            start = n_read
            n_read += len(batch.vectors)
            if n_read > self.n_rows:
                break
            self._require_width(batch, start)
            vectors[start:n_read] = batch.vectors
            ids.append(batch.ids)
            if batch.titles is not None:
                titles.extend(_short_title(text) for text in batch.titles)
        if n_read != self.n_rows:
            raise must_be(
                File(self.address),
                "unchanged while it is read",
                f"another number of rows than {self.n_rows:,}",
                "run the command again",
            )
        vectors.flags.writeable = False
        return _Rows(
            vectors, join_ids(ids, self.address), join_titles(titles, self.n_rows)
        )

    def _require_width(self, batch: Batch, start: int) -> None:
        """Raise InputError if the vectors of a batch have another length."""
        if batch.vectors.shape[1:] != (self.n_columns,):
            raise must_be(
                Sentence("the vectors of {}", File(self.address)),
                f"of {self.n_columns} numbers",
                f"{batch.vectors.shape[-1]} from row {start:,} on",
            )


def join_ids(batches: Sequence[Ids], address: Address) -> NDArray[Any]:
    """Join the ids of all batches: to integers if all ids are, else to texts.

    Examples
    --------
    >>> address = Address("chroma", "db/films")
    >>> join_ids([np.array([3]), [7, 2**63]], address)
    array([                  3,                   7, 9223372036854775808], dtype=uint64)
    >>> join_ids([["7"], ["a"]], address)
    array(['7', 'a'], dtype='<U1')
    """
    arrays = [ids for ids in batches if isinstance(ids, np.ndarray)]
    n_types = len({array.dtype for array in arrays})
    if len(arrays) == len(batches) and n_types == 1:
        return np.concatenate(arrays)
    values = [value for ids in batches for value in np.asarray(ids, object).tolist()]
    if values and all(type(value) is int for value in values):
        smallest, largest = min(values), max(values)
        if smallest >= -(2**63) and largest < 2**63:
            return np.array(values, dtype=np.int64)
        if smallest >= 0 and largest < 2**64:
            return np.array(values, dtype=np.uint64)
    return as_texts(
        [str(value) for value in values], Sentence("the ids of {}", File(address))
    )


def join_titles(titles: Sequence[str], n_rows: int) -> NDArray[np.str_] | None:
    """Return the titles of all rows as an array; None unless every row has a title.

    Examples
    --------
    >>> join_titles(["Heat", "Ran"], 2)
    array(['Heat', 'Ran'], dtype='<U4')
    >>> join_titles(["Heat", ""], 2) is None
    True
    """
    if len(titles) != n_rows or not all(titles):
        return None
    return as_texts(titles, "titles")


def _short_title(text: str | None) -> str:
    """Return a text on one line, cut to `TITLE_CHARACTERS`; empty for None."""
    if text is None:
        return ""
    # A document can be long, so only its beginning is split into words.
    words = text[: 4 * TITLE_CHARACTERS].split()
    return " ".join(words)[:TITLE_CHARACTERS]
