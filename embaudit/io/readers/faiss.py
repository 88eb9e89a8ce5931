"""Flat FAISS indexes, where faiss itself is installed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from embaudit.errors import InputError, must_be
from embaudit.io.request import Request
from embaudit.model import FactorModel


def read(path: Path, request: Request) -> FactorModel:
    """Read the vectors of an index that stores them as they were given.

    Raises
    ------
    InputError
        If it is damaged, empty, or a compressed index, whose vectors are other ones.
    """
    faiss = import_module("faiss")
    if request.kind not in ("auto", "vectors"):
        raise must_be("kind", '"vectors" for an index, which is one side', repr(request.kind))
    try:
        index = faiss.read_index(str(path))
    except RuntimeError as error:
        raise InputError(f"{path} must be a whole FAISS index; faiss cannot read it.") from error
    if not isinstance(index, faiss.IndexFlat) or not index.ntotal:
        raise must_be(f"{path}", "a flat index with vectors", f"{type(index).__name__} of {index.ntotal}")
    return FactorModel.from_vectors(index.reconstruct_n(0, index.ntotal))
