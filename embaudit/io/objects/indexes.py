"""Live indexes and clients of stores, which keep vectors as they were given."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.contents import Contents
from embaudit.io.formats.faiss import metric_of, vectors_of
from embaudit.io.intake import Metric
from embaudit.io.options import Request
from embaudit.io.stores.base import metric_named
from embaudit.io.stores.qdrant import live_table
from embaudit.model import FactorModel


def faiss(index: Any, request: Request) -> Contents:  # noqa: ARG001
    """Read the vectors of an index that keeps them as given, and their ids."""
    # What an index was put into by may be known as an index of any kind only.
    inner = import_module("faiss").downcast_index(index)
    rows, ids = vectors_of(inner, "an index of FAISS")
    places = {"right": "the vectors it keeps", "right_ids": "the ids it was given"}
    contents = Contents.from_model(FactorModel.from_vectors(rows, ids=ids), places)
    return replace(contents, metric=metric_of(inner))


def hnswlib(index: Any, request: Request) -> Contents:  # noqa: ARG001
    """Read the vectors in the order of their labels.

    Labels that only count rows are no ids.

    Raises
    ------
    InputError
        If it is empty, or some of its vectors are marked as deleted.
    """
    labels = np.sort(np.asarray(index.get_ids_list(), dtype=np.int64))
    if not len(labels):
        raise must_be("an index of hnswlib", "one with vectors", "none")
    try:
        rows = np.asarray(index.get_items(labels), dtype=np.float32)
    except RuntimeError as error:
        remedy = "pass the rows that are left to FactorModel.from_vectors"
        raise must_be(
            "an index of hnswlib", "one without deleted vectors", str(error), remedy
        ) from error
    counting = np.array_equal(labels, np.arange(len(labels)))
    places = {"right": "the vectors it keeps", "right_ids": "their labels"}
    model = FactorModel.from_vectors(rows, ids=None if counting else labels)
    name = metric_named(index.space)
    # An index by cosine divides vectors by their lengths when they are added.
    metric = Metric(name, "the index", unit_rows=name == "cosine")
    return replace(Contents.from_model(model, places), metric=metric)


def qdrant(client: Any, request: Request) -> Contents:
    """Read a collection of a client of Qdrant."""
    return live_table(client, request).contents()
