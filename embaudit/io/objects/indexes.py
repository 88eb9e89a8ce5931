"""Live indexes of FAISS and hnswlib, and clients of Qdrant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.contents import Contents
from embaudit.io.formats.faiss import metric_of, vectors_of
from embaudit.io.intake import Metric
from embaudit.io.options import Request
from embaudit.io.stores.metrics import metric_named
from embaudit.io.stores.qdrant import live_table
from embaudit.model import FactorModel


def faiss(index: Any, request: Request) -> Contents:  # noqa: ARG001
    """Read the vectors of an index of FAISS, and their ids.

    Raises
    ------
    InputError
        If the index is empty, or does not keep whole vectors.
    """
    rows, ids = vectors_of(index, "an index of FAISS")
    places = {"right": "the vectors it keeps", "right_ids": "the ids it was given"}
    contents = Contents.from_model(FactorModel.from_vectors(rows, ids=ids), places)
    return replace(contents, metric=metric_of(index))


def hnswlib(index: Any, request: Request) -> Contents:  # noqa: ARG001
    """Read the vectors of an index of hnswlib in the order of their labels.

    The labels are the ids, unless they only number the rows.

    Raises
    ------
    InputError
        If it is empty, or some of its vectors are marked as deleted.
    """
    labels = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))
    if not len(labels):
        raise must_be("an index of hnswlib", "an index with vectors", "no vectors")
    try:
        rows = np.asarray(index.get_items(labels), dtype=np.float32)
    except RuntimeError as error:
        raise must_be(
            "an index of hnswlib",
            "an index without deleted vectors",
            str(error),
            "pass the remaining rows to FactorModel.from_vectors",
        ) from error
    are_row_numbers = np.array_equal(labels, np.arange(len(labels)))
    model = FactorModel.from_vectors(rows, ids=None if are_row_numbers else labels)
    places = {"right": "the vectors it keeps", "right_ids": "their labels"}
    name = metric_named(index.space)
    # An index for cosines divides vectors by their lengths when they are added.
    metric = Metric(name, "the index", unit_rows=name == "cosine")
    return replace(Contents.from_model(model, places), metric=metric)


def qdrant(client: Any, request: Request) -> Contents:
    """Read a collection of a client of Qdrant."""
    return live_table(client, request).contents()
