"""FAISS indexes, written by FAISS or byte by byte."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

import faiss
import numpy as np
import pytest

from embaudit import FactorModel, index_metric
from embaudit.errors import InputError
from embaudit.io import inspect, load, read, save
from embaudit.io.formats.faiss import decoded_vectors, opened

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
    with pytest.raises(
        InputError, match="160 ids; got a vector with the number 1,000,000"
    ):
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
    refused = f"with ids or without.; got {name} of 160"
    advice = "save the vectors that were added to"
    with pytest.raises(InputError, match=f"{refused}; {advice}"):
        load(path)
    empty = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], 2)
    empty.is_trained, empty.ntotal = True, 3
    faiss.write_index(empty, str(path))
    with pytest.raises(
        InputError,
        match="must be a complete FAISS index of 3 vectors; got 0 vectors in its lists",
    ):
        load(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match="must be a valid FAISS index"):
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


# Codes of compressed indexes


def coded(kind: str) -> Any:
    """Make an index of coded vectors."""
    index = faiss.index_factory(6, kind)
    # Codes of 8 bits are trained on 256 rows or more.
    index.train(np.vstack([X, -X]))
    index.add(X)
    return index


CODED = {
    "PQ3x4": 2,
    "SQ8": 6,
    "SQfp16": 12,
    "SQ4": 3,
    "LSH": 1,
    "PQ3": 3,
    "IVF6,Flat": 24,
    "IVF6,PQ3x4": 2,
    "IVF6,SQ8": 6,
    "OPQ3,IVF6,PQ3x4": 2,
    "PCA3,SQ8": 3,
    "L2norm,RR9,SQ8": 9,
    "HNSW8,SQ8": 6,
    "Flat": 24,
}
"""Kinds of indexes, and the bytes of a code."""


@pytest.mark.parametrize("kind", CODED)
@pytest.mark.parametrize("is_stored", [False, True])
def test_codes_are_decoded_as_faiss_reconstructs_vectors(
    tmp_path: Path, kind: str, is_stored: bool
) -> None:
    index = coded(kind)
    expected = index.reconstruct_n()
    if is_stored:
        faiss.write_index(index, str(tmp_path / "i.faiss"))
        index = opened(tmp_path / "i.faiss")
    decoded = decoded_vectors(index, "an index")
    np.testing.assert_array_equal(decoded.rows[:], expected)
    np.testing.assert_array_equal(
        decoded.rows[np.array([5, 0, 5])], expected[[5, 0, 5]]
    )
    assert decoded.rows.shape == X.shape
    assert decoded.ids is None
    assert decoded.bytes_per_vector == CODED[kind]


@pytest.mark.parametrize("kind", ["IDMap,PQ3x4", "IDMap2,SQ8", "IVF6,PQ3x4"])
def test_decoded_vectors_have_the_ids_of_the_index(kind: str) -> None:
    index = faiss.index_factory(6, kind)
    index.train(X)
    index.add_with_ids(X, IDS)
    decoded = decoded_vectors(index, "an index")
    # Without ids, FAISS lists the same codes in the order in which they were added.
    plain = faiss.index_factory(6, kind.removeprefix("IDMap,").removeprefix("IDMap2,"))
    plain.train(X)
    plain.add(X)
    vectors = dict(zip(IDS.tolist(), plain.reconstruct_n(), strict=True))
    for number, row in zip(decoded.ids.tolist(), decoded.rows[:], strict=True):
        np.testing.assert_array_equal(row, vectors[number])


def product_quantised_file(codes: Any, centroids: Any) -> bytes:
    """Write the file of an index of product codes by hand, as FAISS lays it out.

    Parameters
    ----------
    codes : array of uint8 (n, m)
        Codes of 8 bits, one for each part of the columns.
    centroids : array of shape (m, 256, k / m)
        Part of a vector for each code.
    """
    n_rows, n_parts = codes.shape
    n_columns = n_parts * centroids.shape[2]
    unused, is_trained, metric_number = 2**20, True, faiss.METRIC_L2
    header = struct.pack(
        "<iqqq?i", n_columns, n_rows, unused, unused, is_trained, metric_number
    )
    quantiser = struct.pack("<QQQQ", n_columns, n_parts, 8, centroids.size)
    quantiser += centroids.astype(np.float32).tobytes()
    search_type, has_signs, threshold = 0, False, 0
    options = struct.pack("<i?i", search_type, has_signs, threshold)
    content = struct.pack("<Q", codes.size) + codes.tobytes()
    return b"IxPq" + header + quantiser + content + options


def test_product_codes_of_a_file_by_hand_are_looked_up_in_its_codebook(
    tmp_path: Path,
) -> None:
    draw = np.random.default_rng(2)
    codes = draw.integers(0, 256, (30, 3)).astype(np.uint8)
    centroids = draw.normal(size=(3, 256, 2)).astype(np.float32)
    path = tmp_path / "i.faiss"
    path.write_bytes(product_quantised_file(codes, centroids))
    decoded = decoded_vectors(opened(path), path)
    parts = [centroids[part, codes[:, part]] for part in range(3)]
    np.testing.assert_array_equal(decoded.rows[:], np.hstack(parts))
    assert decoded.bytes_per_vector == 3


@pytest.mark.parametrize(("n_codes", "n_centroids"), [(29, 256), (30, 255), (30, 1)])
def test_product_codes_without_a_whole_codebook_are_refused(
    tmp_path: Path, n_codes: int, n_centroids: int
) -> None:
    codes = np.full((30, 3), 255, dtype=np.uint8)
    centroids = np.ones((3, n_centroids, 2), dtype=np.float32)
    path = tmp_path / "i.faiss"
    content = product_quantised_file(codes, centroids)
    if n_codes < 30:
        content = content.replace(struct.pack("<Q", 90), struct.pack("<Q", 87))
    path.write_bytes(content)
    with pytest.raises(InputError, match="must be a valid FAISS index"):
        decoded_vectors(opened(path), path)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("PQ3x4fs", "flat or coded by PQ, SQ or LSH, .* got IndexPQFastScan of 160"),
        ("SQ8,RFlat", "got IndexRefineFlat of 160"),
        ("PCAW3,SQ8", "a rotation or a projection; got IndexPreTransform of 160"),
        ("ITQ3,LSH", "a rotation or a projection; got IndexPreTransform of 160"),
    ],
)
def test_the_advice_for_codes_that_are_not_decoded_saves_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "i.faiss"
    faiss.write_index(coded(kind), str(path))
    with pytest.raises(InputError, match=sentence) as error:
        decoded_vectors(opened(path), path)
    (line,) = re.findall("`(.*)`", str(error.value))
    exec(line, {"faiss": faiss, "numpy": np})
    assert len(np.load("vectors.npy")) == len(X)
    with pytest.raises(InputError, match=r"index\.reconstruct_n\(\)"):
        decoded_vectors(coded(kind), "an index of FAISS")


def test_indexes_without_vectors_or_of_fast_lists_are_refused() -> None:
    with pytest.raises(InputError, match="a FAISS index with vectors; got no vectors"):
        decoded_vectors(faiss.IndexFlatIP(6), "an index of FAISS")
    with pytest.raises(InputError, match="build the index without FastScan"):
        decoded_vectors(coded("IVF6,PQ3x4fs"), "an index of FAISS")
