"""What the writers of tables share: the columns of a draft, and batches of its rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.draft import Draft
from embaudit.io.formats.tables import columns_of
from embaudit.io.stores.addresses import Address

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 2**21
"""Size of the vectors that are sent at a time.

As JSON they take about five times as much, and Qdrant takes 32 MiB at a time.
"""


def keeps(draft: Draft) -> frozenset[str]:
    """Ids and titles, and the link if it is a metric that a table can state."""
    fields = {"right_ids", "right_names"}
    if draft.link.compares in ("cosine", "dot"):
        fields.add("link")
    return frozenset(fields)


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a draft."""

    ids: list[Any]
    """Whole numbers or texts."""
    titles: list[str] | None
    vectors: NDArray[np.float32]
    """(m, k)"""


def has_titles(draft: Draft) -> bool:
    """Return whether the rows have titles next to their ids."""
    return "title" in columns_of(draft)


def row_batches(draft: Draft) -> Iterator[Rows]:
    """Yield the rows of a draft in batches of about 2 MiB.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0], [2.0]], ids=["a", "b"])
    >>> [rows.ids for rows in row_batches(Draft.from_model(model))]
    [['a', 'b']]
    """
    columns = columns_of(draft)
    titles = columns.get("title")
    size = max(1, BATCH_BYTES // (4 * draft.right.shape[1]))
    start = 0
    for block in draft.right.rows():
        for first in range(0, len(block), size):
            with np.errstate(over="ignore"):
                vectors = np.asarray(block[first : first + size], dtype=np.float32)
            _require_finite(vectors)
            end = start + len(vectors)
            batch_titles = None
            if titles is not None:
                batch_titles = titles[start:end].tolist()
            yield Rows(columns["id"][start:end].tolist(), batch_titles, vectors)
            start = end


def _require_finite(vectors: NDArray[np.float32]) -> None:
    """Refuse numbers that single precision cannot hold."""
    if not np.isfinite(vectors).all():
        raise must_be(
            "vectors written to a store",
            "within the range of float32",
            "larger numbers",
            "scale them, or write a .npz file",
        )


def arrow_schema(draft: Draft) -> pa.Schema:
    """Return the types of the columns id and vector, and of title between them.

    Without titles, there is no column title.
    """
    import pyarrow as pa

    fields = [("id", pa.array(draft.tokens[:0]).type)]
    if has_titles(draft):
        fields.append(("title", pa.string()))
    fields.append(("vector", pa.list_(pa.float32(), draft.right.shape[1])))
    return pa.schema(fields)


def arrow_batches(draft: Draft) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a draft in batches with the columns of `arrow_schema`.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0], [2.0]], ids=["a", "b"])
    >>> next(arrow_batches(Draft.from_model(model))).to_pylist()
    [{'id': 'a', 'vector': [1.0]}, {'id': 'b', 'vector': [2.0]}]
    """
    import pyarrow as pa

    schema = arrow_schema(draft)
    for rows in row_batches(draft):
        columns: list[Any] = [rows.ids]
        if rows.titles is not None:
            columns.append(rows.titles)
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(columns, schema, strict=False)
        ]
        values = pa.array(rows.vectors.reshape(-1))
        vectors = pa.FixedSizeListArray.from_arrays(values, rows.vectors.shape[1])
        yield pa.record_batch([*arrays, vectors], schema=schema)


def require_place(address: Address, path: Path, name: str, form: str) -> None:
    """Refuse an address without a table, or in a folder that does not exist.

    Examples
    --------
    >>> path = Path("no-such-folder/films.duckdb")
    >>> address = Address("duckdb", f"{path}/items")
    >>> require_place(address, path, "items", "duckdb:FILE/TABLE")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the folder of the output must be a folder that ...
    """
    if not name or path == Path():
        raise must_be("the output", form, File(address), "name a table in it")
    if not path.parent.is_dir():
        raise must_be(
            "the folder of the output",
            "a folder that exists",
            path.parent,
            "create it first",
        )


@contextmanager
def removed_if_new(folder: Path) -> Iterator[None]:
    """Remove a folder after an error or Ctrl-C, unless it was there before."""
    was_there = folder.exists()
    try:
        yield
    except BaseException:
        if not was_there:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def already_there(address: Address) -> InputError:
    """Build the error for an output that is an existing table."""
    return must_be(
        "the output",
        "a table that does not exist yet",
        File(address),
        Sentence("overwrite it with {}", Option("force", True)),
    )
