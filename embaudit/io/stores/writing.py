"""What the writers of tables share: the columns of a draft, and batches of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.draft import Draft
from embaudit.io.formats.tables import columns_of
from embaudit.io.stores.base import Address

BATCH_BYTES = 2**22
"""Size of the vectors that are sent at a time."""


def keeps(draft: Draft) -> frozenset[str]:
    """Ids and titles, and a comparison of rows that is the metric of the table."""
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
    """Yield the rows of a draft in batches of about 4 MiB.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0], [2.0]], ids=["a", "b"])
    >>> [rows.ids for rows in row_batches(Draft.of(model))]
    [['a', 'b']]
    """
    columns = columns_of(draft)
    size = max(1, BATCH_BYTES // (4 * draft.right.shape[1]))
    start = 0
    for block in draft.right.rows():
        for first in range(0, len(block), size):
            with np.errstate(over="ignore"):
                vectors = np.asarray(block[first : first + size], dtype=np.float32)
            _require_finite(vectors)
            end = start + len(vectors)
            titles = columns.get("title")
            yield Rows(
                columns["id"][start:end].tolist(),
                None if titles is None else titles[start:end].tolist(),
                vectors,
            )
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


def exists(address: Address) -> InputError:
    """Return the refusal of a table that is there already."""
    return must_be(
        "the output",
        "a table that does not exist yet",
        File(address),
        Sentence("overwrite it with {}", Option("force", True)),
    )
