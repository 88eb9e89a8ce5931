"""Live FAISS indexes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from embaudit.io.objects.reading import Given, Reading
from embaudit.io.readers.faiss import vectors_of
from embaudit.model import FactorModel


def read(index: Any, given: Given) -> Reading:  # noqa: ARG001
    """Take the vectors of an index that stores them as they were given, and their ids.

    Raises
    ------
    InputError
        If it is compressed or empty.
    """
    # What an index was put into by may be known as an index of any kind only.
    index = import_module("faiss").downcast_index(index)
    rows, ids = vectors_of(index, "an index of FAISS")
    taken = {"right": "the vectors it keeps", "right_ids": "the ids it was given"}
    return Reading(FactorModel.from_vectors(rows, ids=ids), taken=taken)
