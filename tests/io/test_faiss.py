"""FAISS indexes, written by FAISS itself or byte for byte."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np
import pytest

from embaudit import FactorModel, index_metric
from embaudit.errors import InputError
from embaudit.io import inspect, load, read, save

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(0).normal(size=(160, 6)).astype(np.float32)
IDS = np.random.default_rng(1).permutation(1000)[:160]


def inverted() -> Any:
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(6), 6, 4)
    index.train(X)
    return index


INDEXES = {
    "flat": lambda: faiss.IndexFlatIP(6),
    "lists": inverted,
    "graph": lambda: faiss.IndexHNSWFlat(6, 8),
}


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("ids", [None, "map", "map2"])
def test_vectors_are_those_that_were_added(
    tmp_path: Path, kind: str, ids: str | None
) -> None:
    index = INDEXES[kind]()
    if ids is None:
        index.add(X)
    else:
        index = (faiss.IndexIDMap if ids == "map" else faiss.IndexIDMap2)(index)
        index.add_with_ids(X, IDS)
    path = tmp_path / "i.faiss"
    faiss.write_index(index, str(path))
    model = load(path)
    np.testing.assert_array_equal(model.right, X)
    assert (model.right_ids is None) == (ids is None)
    if model.right_ids is not None:
        np.testing.assert_array_equal(model.right_ids, IDS)
    (vectors, *rest) = inspect(path).parts
    assert (vectors.shape, [part.became for part in rest]) == (
        (160, 6),
        ["right_ids"] * (ids is not None),
    )


def test_vectors_without_an_id_of_the_map_are_refused(tmp_path: Path) -> None:
    index = faiss.IndexIDMap(inverted())
    index.add_with_ids(X, IDS)
    # A vector that is replaced in the inner index goes by another number there.
    inner = faiss.downcast_index(index.index)
    inner.remove_ids(np.array([5]))
    inner.add_with_ids(X[5:6], np.array([1_000_000]))
    path = tmp_path / "i.faiss"
    faiss.write_index(index, str(path))
    with pytest.raises(InputError, match="160 ids; got a vector of number 1,000,000"):
        load(path)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("PQ2x4", "IndexPQ"),
        ("PCA3,Flat", "IndexPreTransform"),
        ("SQ8", "IndexScalarQuantizer"),
    ],
)
def test_other_vectors_than_those_given_are_refused(
    tmp_path: Path, kind: str, name: str
) -> None:
    index = faiss.index_factory(6, kind)
    index.train(X)
    index.add(X)
    path = tmp_path / "i.faiss"
    faiss.write_index(index, str(path))
    with pytest.raises(
        InputError,
        match=f"with ids or without.; got {name} of 160; save the vectors that were added to",
    ):
        load(path)
    empty = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], 2)
    empty.is_trained, empty.ntotal = True, 3
    faiss.write_index(empty, str(path))
    with pytest.raises(
        InputError, match="must be a whole FAISS index of 3 vectors; got 0 in its lists"
    ):
        load(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match="must be a whole FAISS index"):
        load(path)


def test_a_compressed_index_whose_tables_exceed_its_file_is_refused_like_a_live_one(
    tmp_path: Path,
) -> None:
    """FAISS would compute 32 × 3 × 256 numbers of 4 bytes while reading 9 KB."""
    draw = np.random.default_rng(0).normal(size=(300, 6)).astype(np.float32)
    quantizer = faiss.IndexFlatL2(6)
    index = faiss.IndexIVFPQ(quantizer, 6, 32, 3, 8)
    index.train(draw)
    index.add(draw)
    path = tmp_path / "i.faiss"
    faiss.write_index(index, str(path))
    assert path.stat().st_size < 32 * 3 * 256 * 4
    sentences = []
    for call in (lambda: load(path), lambda: load(index)):
        with pytest.raises(InputError) as error:
            call()
        sentences.append(str(error.value).partition(" must be ")[2])
    assert sentences[0] == sentences[1]
    assert "got IndexIVFPQ of 300" in sentences[0]


@pytest.mark.parametrize("ids", [None, IDS])
def test_an_index_that_was_written_is_searched_by_faiss(
    tmp_path: Path, ids: Any
) -> None:
    path = tmp_path / "i.faiss"
    save(FactorModel.from_vectors(X, ids=ids), path)
    index = faiss.read_index(str(path))
    expected = np.arange(160) if ids is None else IDS
    np.testing.assert_array_equal(
        index.search(X, 1)[1][:, 0], expected[(X @ X.T).argmax(axis=1)]
    )
    back = load(path)
    np.testing.assert_array_equal(back.right, X)
    assert (back.right_ids is None) == (ids is None)
    for wrong in (np.arange(160) - 1, np.arange(160).astype(str)):
        with pytest.raises(
            InputError, match=r"file that can record ids; got a \.faiss file"
        ):
            save(FactorModel.from_vectors(X, ids=wrong), tmp_path / "j.faiss")


def flat_index_file(magic: bytes, metric_number: int) -> bytes:
    """Write the file of a flat index of `X` by hand, as FAISS lays it out.

    Metrics other than inner product (0) and Euclidean distance (1) have an argument.
    """
    n_rows, n_columns = X.shape
    unused = 2**20
    is_trained = True
    header = struct.pack(
        "<iqqq?i", n_columns, n_rows, unused, unused, is_trained, metric_number
    )
    if metric_number > 1:
        header += struct.pack("<f", 0.0)
    # The length of the rows is counted in numbers of 4 bytes.
    return magic + header + struct.pack("<Q", X.size) + X.tobytes()


@pytest.mark.parametrize(
    ("magic", "metric_number", "name"), [(b"IxFI", 0, "dot"), (b"IxF2", 1, "l2")]
)
def test_the_metric_is_read_from_the_header_of_a_file(
    tmp_path: Path, magic: bytes, metric_number: int, name: str
) -> None:
    path = tmp_path / "i.faiss"
    path.write_bytes(flat_index_file(magic, metric_number))
    np.testing.assert_array_equal(load(path).right, X)
    metric = read(path).intake.metric
    assert str(metric) == f"{name}, as the header of the index says"
    found = index_metric(path)
    assert (found.served, found.source) == (name, str(metric))


def test_another_metric_of_a_file_is_named_and_must_be_declared(tmp_path: Path) -> None:
    path = tmp_path / "i.faiss"
    path.write_bytes(flat_index_file(b"IxFl", faiss.METRIC_L1))
    assert read(path).intake.metric.name == f"metric {faiss.METRIC_L1} of FAISS"
    with pytest.raises(InputError, match="served must be one of cosine, dot, l2"):
        index_metric(path)
    assert index_metric(path, "l2").served == "l2"


@pytest.mark.parametrize("wrapper", [None, faiss.IndexIDMap, faiss.IndexIDMap2])
@pytest.mark.parametrize(
    ("metric_number", "name"),
    [(faiss.METRIC_INNER_PRODUCT, "dot"), (faiss.METRIC_L2, "l2")],
)
def test_the_metric_of_a_live_index_is_read(
    wrapper: Any, metric_number: int, name: str
) -> None:
    index = faiss.IndexHNSWFlat(6, 8, metric_number)
    if wrapper is None:
        index.add(X)
    else:
        index = wrapper(index)
        index.add_with_ids(X, IDS)
    assert str(read(index).intake.metric) == f"{name}, as the header of the index says"
    assert index_metric(index).served == name
