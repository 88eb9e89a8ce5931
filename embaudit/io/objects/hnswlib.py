"""Live hnswlib indexes, which label every vector; those for cosines keep unit rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.objects.reading import Given, Reading
from embaudit.model import FactorModel


def read(index: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the vectors in the order of their labels; labels that only count rows are no ids.

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
        raise must_be("an index of hnswlib", "one without deleted vectors", str(error), remedy) from error
    counting = np.array_equal(labels, np.arange(len(labels)))
    taken = {"right": "the vectors it keeps", "right_ids": "their labels"}
    return Reading(FactorModel.from_vectors(rows, ids=None if counting else labels), taken=taken)
