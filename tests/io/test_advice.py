"""A refusal names the kind of the file and the next step."""

from __future__ import annotations

import gzip
import pickle
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse
from pyarrow import orc

from embaudit.errors import File, InputError, must_be
from embaudit.io import list_formats, load, read_interactions
from embaudit.io.remote import naming


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load(path)
    return str(error.value)


def test_an_index_of_hnswlib_is_refused_with_advice_to_export_its_vectors(
    tmp_path: Path,
) -> None:
    """An index begins with an offset of 0 and the number of rows it has room for."""
    path = tmp_path / "index.bin"
    path.write_bytes(bytes(8) + (100).to_bytes(8, "little") + b"\x07" * 40)
    message = refused(path)
    assert f"got {path}, an index of hnswlib by its first bytes; " in message
    assert "bytes; export the vectors in Python: " in message


def advised(sentence: str) -> str:
    """Return the Python that a refusal prints."""
    line = sentence.partition(" in Python")[2].partition(": ")[2]
    return line.partition(", and then")[0].removesuffix(".")


VECTORS = np.arange(12.0).reshape(4, 3) / 8


@pytest.mark.parametrize("newest", [False, True])
def test_the_line_for_matlab_gives_its_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newest: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    arrays = {"users": VECTORS[:2], "items": VECTORS, "name": "model"}
    if newest:
        # MATLAB 7.3 writes columns first, behind a text of 512 bytes.
        with h5py.File("m.mat", "w", userblock_size=512) as file:
            file["users"], file["items"] = VECTORS[:2].T, VECTORS.T
            file.create_group("#refs#")
        with Path("m.mat").open("r+b") as file:
            file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64")
    else:
        scipy.io.savemat("m.mat", {**arrays, "cells": np.array([1, "a"], object)})
    exec(advised(refused(Path("m.mat"))), {})
    options = {} if newest else {"ignore": "name"}
    np.testing.assert_array_equal(load("model.npz", **options).right, VECTORS)


def test_the_line_for_a_matrix_in_matrix_market_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scipy.io.mmwrite("m.mtx", VECTORS)
    exec(advised(refused(Path("m.mtx"))), {})
    np.testing.assert_array_equal(load("vectors.npy").right, VECTORS)


@pytest.mark.parametrize("suffix", [".mtx", ".mtx.gz"])
def test_the_line_for_a_sparse_matrix_in_matrix_market_gives_interactions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.chdir(tmp_path)
    matrix = scipy.sparse.random(30, 40, 0.2, random_state=0)
    scipy.io.mmwrite("m.mtx", matrix)
    if suffix == ".mtx.gz":
        Path("m.mtx.gz").write_bytes(gzip.compress(Path("m.mtx").read_bytes()))
    sentence = refused(Path(f"m{suffix}"))
    assert sentence.endswith("`embaudit fit interactions.npz --objective product`.")
    exec(advised(sentence), {})
    assert read_interactions("interactions.npz").matrix.nnz == matrix.nnz


CODES = np.arange(12, dtype=np.uint8).reshape(4, 3)


def write_vecs(path: Path, rows: Any) -> None:
    """Write rows as files of TEXMEX have them: a width before each."""
    width = np.int32(rows.shape[1]).tobytes()
    path.write_bytes(b"".join(width + row.tobytes() for row in rows))


def write_shaped(path: Path, rows: Any) -> None:
    """Write the shape of a matrix and its numbers."""
    path.write_bytes(np.int32(rows.shape).tobytes() + rows.tobytes())


FOREIGN: dict[str, tuple[Any, Any]] = {
    "v.fvecs": (lambda path: write_vecs(path, VECTORS.astype("f4")), VECTORS),
    "v.bvecs": (lambda path: write_vecs(path, CODES), CODES),
    "v.fbin": (lambda path: write_shaped(path, VECTORS.astype("f4")), VECTORS),
    "v.u8bin": (lambda path: write_shaped(path, CODES + 200), CODES + 200.0),
    "v.i8bin": (lambda path: write_shaped(path, CODES.view("i1") - 9), CODES - 9.0),
    "v.raw": (lambda path: VECTORS.astype("f4").tofile(path), VECTORS),
    "v.mmap": (lambda path: VECTORS.astype("f4").tofile(path), VECTORS),
    "v.dat": (lambda path: VECTORS.astype("f4").tofile(path), VECTORS),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_the_line_for_vectors_of_benchmarks_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write, expected = FOREIGN[name]
    write(Path(name))
    # N is the number of dimensions.
    exec(advised(refused(Path(name))), {"N": 3})
    np.testing.assert_array_equal(load("vectors.npy").right, expected)


def test_the_line_for_orc_gives_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": list("abcd"), "v": VECTORS.tolist()})
    orc.write_table(table, "v.orc")
    exec(advised(refused(Path("v.orc"))), {})
    np.testing.assert_array_equal(load("vectors.parquet").right, VECTORS)


def test_a_file_of_words_with_the_suffix_of_an_index_is_read(tmp_path: Path) -> None:
    path = tmp_path / "index.bin"
    path.write_bytes(b"1 2\na " + np.array([1.0, 2.0], "<f4").tobytes())
    assert load(path).right.tolist() == [[1.0, 2.0]]


def test_a_format_whose_package_is_not_installed_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    (tmp_path / "v.faiss").write_bytes(b"IxF2")
    sentence = (
        "which faiss files need, must be installed; run pip install 'embaudit[faiss]'."
    )
    assert sentence in refused(tmp_path / "v.faiss")
    # The clients of stores are not among the packages of the tests.
    unusable = [x.name for x in list_formats() if not (x.is_usable or x.addresses)]
    assert unusable == ["faiss"]


@pytest.mark.parametrize(
    ("file", "is_prefixed"),
    [
        ("shards", False),
        ("shards/part-0.csv", False),
        ("shards-of-users", True),
        ("old/shards", True),
    ],
)
def test_an_error_is_prefixed_unless_it_names_the_file_or_a_file_in_it(
    file: str, is_prefixed: bool
) -> None:
    error = InputError("{} must be whole.", File(file))
    with pytest.raises(InputError) as refused, naming("shards"):
        raise error
    prefix = "shards: " if is_prefixed else ""
    assert str(refused.value) == f"{prefix}{file} must be whole."
    assert refused.value.files == (("shards", file) if is_prefixed else (file,))


def test_files_that_an_error_names_survive_pickling() -> None:
    error = must_be(Path("a.npz"), "a file that exists", Path("b.npz"))
    copied = pickle.loads(pickle.dumps(error))
    assert copied.files == ("a.npz", "b.npz")
    assert str(copied) == "a.npz must be a file that exists; got b.npz."
