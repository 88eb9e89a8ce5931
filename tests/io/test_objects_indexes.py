"""Live indexes of FAISS and hnswlib."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from imitations import imitation

from embaudit.errors import InputError
from embaudit.io import from_object

X = np.random.default_rng(7).normal(size=(5, 3)).astype(np.float32)


def flat(rows: Any) -> Any:
    return imitation(
        "faiss.swigfaiss.IndexFlat", "faiss.swigfaiss.Index", ntotal=len(rows), d=3,
        reconstruct_n=lambda _, start, count: rows[start : start + count],
    )  # fmt: skip


@pytest.fixture
def faiss(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install the little of FAISS that reading asks for."""

    class Other: ...

    class Mapped(type(flat(X)).__mro__[1]):
        __module__ = "faiss.swigfaiss"

    class Flat: ...

    names = dict.fromkeys(("IndexIDMap2", "IndexHNSWFlat", "IndexIVFFlat"), Other)
    made = SimpleNamespace(**names, IndexIDMap=Mapped, IndexFlat=Flat, downcast_index=lambda index: index,
                           vector_to_array=np.asarray)  # fmt: skip
    monkeypatch.setitem(sys.modules, "faiss", made)
    return made


def test_vectors_and_ids_of_faiss(faiss: Any) -> None:
    index = flat(X)
    with pytest.raises(InputError, match=r"keeps vectors as they are .*; got IndexFlat of 5"):
        from_object(index)
    faiss.IndexFlat = type(index)
    model = from_object(index, item_names=list("abcde"))
    np.testing.assert_array_equal(model.right, X)
    assert (model.left, model.right_ids, model.names("right")[4]) == (None, None, "e")
    mapped = faiss.IndexIDMap()
    mapped.index, mapped.id_map, mapped.ntotal = index, [9, 7, 5, 3, 1], 5
    held = from_object(mapped)
    assert held.right_ids is not None
    assert held.right_ids.tolist() == [9, 7, 5, 3, 1]
    # What was put into another index may be known as an index of any kind only.
    faiss.downcast_index = lambda given: index
    np.testing.assert_array_equal(from_object(imitation("faiss.swigfaiss.Index")).right, X)


def hnsw(labels: list[int], deleted: int | None = None) -> Any:
    def items(_: Any, asked: Any) -> Any:
        if deleted in asked:
            raise RuntimeError("Label not found")
        return [X[labels.index(label)].tolist() for label in asked]

    return imitation("hnswlib.Index", get_ids_list=lambda _: labels, get_items=items)


def test_vectors_of_hnswlib_follow_their_labels() -> None:
    model = from_object(hnsw([8, 2, 6, 4, 3]))
    assert model.right_ids is not None
    assert model.right_ids.tolist() == [2, 3, 4, 6, 8]
    np.testing.assert_array_equal(model.right, X[[1, 4, 3, 2, 0]])
    counted = from_object(hnsw([1, 0, 2, 4, 3]))
    assert counted.right_ids is None
    np.testing.assert_array_equal(counted.right, X[[1, 0, 2, 4, 3]])
    with pytest.raises(InputError) as refused:
        from_object(hnsw([8, 2, 6, 4, 3], deleted=2))
    assert str(refused.value) == (
        "an index of hnswlib must be one without deleted vectors; got Label not found; pass the rows that are left to "
        "FactorModel.from_vectors."
    )
    with pytest.raises(InputError, match="must be one with vectors; got none"):
        from_object(hnsw([]))
