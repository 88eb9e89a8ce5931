"""Live indexes of FAISS and hnswlib: vectors and ids are read, and indexes with
compressed vectors only are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit import compare_copies, index_metric
from embaudit.errors import InputError
from embaudit.io import load, read, save

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)
IDS = np.random.default_rng(1).permutation(1000)[:300]
FACTORY = {
    "HNSWFlat": "HNSW16",
    "IVFFlat": "IVF10,Flat",
    "IVFSQ8": "IVF4,SQ8",
    "PQ": "PQ4",
}
"""How FAISS writes what others call by their classes."""


def index(kind: str) -> Any:
    faiss = pytest.importorskip("faiss")
    if kind.startswith("IDMap"):
        made = getattr(faiss, f"Index{kind}")(faiss.IndexFlatIP(8))
    else:
        made = faiss.index_factory(8, FACTORY.get(kind, kind))
        made.train(X)
    return made


def of(model: str, library: str = "faiss-cpu", column: str = "scores") -> Any:
    return pytest.param(
        model, marks=pytest.mark.holds(column, library=library, model=model)
    )


@pytest.mark.parametrize("kind", [of("Flat"), of("HNSWFlat"), of("IVFFlat")])
def test_vectors_without_ids(kind: str) -> None:
    made = index(kind)
    made.add(X)
    model = load(made, labels=[f"film {i}" for i in range(300)])
    np.testing.assert_array_equal(model.right, X)
    assert model.right_ids is None
    assert model.names("right")[7] == "film 7"


@pytest.mark.parametrize("kind", [of("IDMap"), of("IDMap2"), of("IVFFlat")])
def test_vectors_with_ids(kind: str) -> None:
    made = index(kind)
    made.add_with_ids(X, IDS)
    model = load(made)
    order = np.argsort(model.right_ids)
    assert model.right_ids[order].tolist() == sorted(IDS.tolist())
    np.testing.assert_array_equal(model.right[order], X[np.argsort(IDS)])


@pytest.mark.parametrize("kind", [of("PQ"), of("IVFSQ8"), of("LSH")])
def test_other_vectors_than_were_given_are_refused(
    kind: str, record_property: Any
) -> None:
    made = index(kind)
    made.add(X)
    with pytest.raises(InputError, match="keeps vectors as they are"):
        load(made)
    record_property("held", "refused")


@pytest.mark.holds("scores", library="faiss-cpu", model="Flat")
def test_an_empty_index_is_refused() -> None:
    with pytest.raises(InputError, match="keeps vectors as they are"):
        load(index("Flat"))


@pytest.mark.parametrize(
    "kind", [of("Flat", column="file"), of("IVFFlat", column="file")]
)
def test_files_of_faiss(kind: str, tmp_path: Path) -> None:
    import faiss

    made = index(kind)
    made.add(X)
    faiss.write_index(made, str(tmp_path / "x.faiss"))
    np.testing.assert_array_equal(load(tmp_path / "x.faiss").right, X)
    model = load(made, ids=IDS)
    save(model, tmp_path / "y.faiss")
    back = load(faiss.read_index(str(tmp_path / "y.faiss")))
    np.testing.assert_array_equal(back.right, X)
    assert back.right_ids.tolist() == IDS.tolist()


@pytest.mark.parametrize(
    "space", [of("l2", "hnswlib"), of("ip", "hnswlib"), of("cosine", "hnswlib")]
)
def test_vectors_and_labels_of_hnswlib(space: str) -> None:
    hnswlib = pytest.importorskip("hnswlib")
    made = hnswlib.Index(space, 8)
    made.init_index(300)
    with pytest.raises(
        InputError, match="must be an index with vectors; got no vectors"
    ):
        load(made)
    made.add_items(X, IDS, num_threads=1)
    model = load(made)
    assert model.right_ids.tolist() == sorted(IDS.tolist())
    stored = X / np.linalg.norm(X, axis=1, keepdims=True) if space == "cosine" else X
    np.testing.assert_allclose(model.right, stored[np.argsort(IDS)], rtol=0, atol=1e-6)
    made.mark_deleted(int(IDS[0]))
    with pytest.raises(InputError, match="an index without deleted vectors"):
        load(made)
    counted = hnswlib.Index(space, 8)
    counted.init_index(300)
    counted.add_items(X, num_threads=1)
    assert load(counted).right_ids is None


@pytest.mark.parametrize("kind", ["SQ8", "IVFSQ8", "SQfp16", "HNSW8,SQ8"])
def test_lists_that_codes_keep_are_those_of_searches_by_faiss(
    kind: str, tmp_path: Path
) -> None:
    faiss = pytest.importorskip("faiss")
    made = index(kind)
    made.add(X)
    lists = []
    for rows in (X, made.reconstruct_n()):
        unit_rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        flat = faiss.IndexFlatIP(8)
        flat.add(unit_rows)
        _, numbers = flat.search(unit_rows, len(X))
        others = numbers[numbers != np.arange(len(X))[:, None]].reshape(len(X), -1)
        lists.append(others[:, :10])
    faiss.write_index(made, str(tmp_path / "x.faiss"))
    for source in (made, tmp_path / "x.faiss"):
        (copy,) = compare_copies(X, [source], n_lists=None).copies
        np.testing.assert_allclose(copy.kept_by_list, shares(*lists), atol=1e-9)


# How an index compares its rows


def searched(made: Any, is_distance: bool) -> Any:
    """Return the rows that FAISS lists for each row, without the row itself."""
    import faiss

    if hasattr(made, "nprobe"):
        made.nprobe = made.nlist
    if isinstance(made, faiss.IndexHNSW):
        made.hnsw.efSearch = len(X)
    values, rows = made.search(X, len(X))
    # By inner product, a row need not be its own best match.
    others = rows[rows != np.arange(len(X))[:, None]].reshape(len(X), -1)
    is_ascending = (np.diff(values, axis=1) >= 0).all()
    assert is_ascending == is_distance
    return others[:, :10]


def by_brute_force(measure: str) -> Any:
    x = X.astype(np.float64)
    values = x @ x.T
    if measure == "l2":
        values -= np.square(x).sum(axis=1) / 2
    elif measure == "cosine":
        values /= np.linalg.norm(x, axis=1)
    np.fill_diagonal(values, -np.inf)
    return np.argsort(-values, axis=1)[:, :10]


def shares(lists: Any, others: Any) -> list[float]:
    return [
        len(set(first) & set(second)) / 10
        for first, second in zip(lists.tolist(), others.tolist(), strict=True)
    ]


@pytest.mark.parametrize("kind", ["Flat", "IVF10,Flat", "HNSW16"])
@pytest.mark.parametrize(
    ("number_name", "name"), [("METRIC_INNER_PRODUCT", "dot"), ("METRIC_L2", "l2")]
)
def test_the_metric_of_a_file_is_that_by_which_faiss_searches(
    kind: str, number_name: str, name: str, tmp_path: Path
) -> None:
    faiss = pytest.importorskip("faiss")
    made = faiss.index_factory(8, kind, getattr(faiss, number_name))
    made.train(X)
    made.add(X)
    path = tmp_path / "x.faiss"
    faiss.write_index(made, str(path))
    for source in (path, made):
        metric = read(source).intake.metric
        assert str(metric) == f"{name}, as the header of the index says"
    # The lists that FAISS returns are compared with lists by cosine.
    (lists,) = index_metric(path).directions
    assert lists.served == name
    returned = searched(made, is_distance=name == "l2")
    assert shares(returned, by_brute_force(name)) == [1.0] * len(X)
    expected = shares(by_brute_force("cosine"), returned)
    np.testing.assert_array_equal(lists.kept_by_query, expected)
    assert 0.2 < lists.kept < 0.9


@pytest.mark.parametrize(
    ("space", "name"), [("l2", "l2"), ("ip", "dot"), ("cosine", "cosine")]
)
def test_the_metric_of_a_live_index_of_hnswlib_is_its_space(
    space: str, name: str
) -> None:
    hnswlib = pytest.importorskip("hnswlib")
    made = hnswlib.Index(space, 8)
    made.init_index(300)
    made.add_items(X, num_threads=1)
    metric = read(made).intake.metric
    assert metric.name == name
    assert metric.unit_rows == (space == "cosine")
    found = index_metric(made)
    assert found.served == name
    assert (found.lengths.value == "lost") == (space == "cosine")
