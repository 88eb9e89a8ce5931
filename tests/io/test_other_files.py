"""Files and options that `load` refuses, and what each refusal advises."""

from __future__ import annotations

import os
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import npy, npz, refusal, write_all

import embaudit as ea
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.arange(12.0).reshape(4, 3)
PICKLE = pickle.dumps({"weight": [1.0]}, protocol=4)
PLAIN = "must be a file of plain numbers; it is a pickle, which could run code"
PACKED = (".npz", ".npy", ".h5", ".parquet", ".feather", ".safetensors", ".gguf")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.ann", "an index of Annoy; export the vectors in Python"),
        ("a.hnsw", "an index of hnswlib; export the vectors in Python"),
        ("a.mat", "a file of MATLAB; convert it in Python: numpy.savez"),
        ("A.MAT", "a file of MATLAB"),
        ("a.mtx", "a matrix in Matrix Market; convert it in Python: import scipy.io"),
        ("u.data", "factorize it first: `embaudit fit"),
        ("a.npz.zip", "an archive; unpack it"),
        ("a.tar", "an archive; unpack it"),
        *((f"a{suffix}.gz",
         "a packed file; unpack it with: gunzip") for suffix in PACKED),
        ("a.xyz", "write the vectors as .npy or .parquet, or say format=NAME if it is"),
    ],
)  # fmt: skip
def test_the_name_of_a_file_tells_what_would_help(
    tmp_path: Path, name: str, part: str
) -> None:
    assert part in refusal(load, write_all(tmp_path, {name: "1\t2\t3\n"}))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\x93NUMPY", "which is a NumPy array; rename it so that it ends in .npy"),
        (b"PAR1", "which is Parquet; rename it so that it ends in .parquet"),
        (b"ARROW1", "which is Arrow; rename it so that it ends in .feather"),
        (b"\x89HDF\r\n\x1a\n", "rename it so that it ends in .h5"),
        (b"IxF2", "rename it so that it ends in .faiss"),
        (b"%%MatrixMarket", "a matrix in Matrix Market"),
        (b"\x80\x05}", PLAIN),
    ],
)
def test_the_first_bytes_tell_what_a_file_of_another_name_is(
    tmp_path: Path, content: bytes, part: str
) -> None:
    assert part in refusal(load, write_all(tmp_path, {"v.vectors": content}))


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.kv", 'KeyedVectors.load("a.kv").save_word2vec_format("vectors.txt")'),
        ("a.pkl", "embaudit.save(embaudit.io.from_object(model), 'model.npz')"),
        ("a.joblib", "embaudit.save(embaudit.io.from_object(model), 'model.npz')"),
        ("a.npz", "embaudit.save(embaudit.io.from_object(model), 'model.npz')"),
        ("a.txt", "embaudit.save(embaudit.io.from_object(model), 'model.npz')"),
        # How the file of a network is converted stands in `test_advice.py`.
        ("a.pth", "embaudit.io.from_object(model) with the live model"),
        ("a.pt", "embaudit.io.from_object(model) with the live model"),
        ("a.bin", "embaudit.io.from_object(model) with the live model"),
    ],
)
def test_no_pickle_is_opened_whatever_it_is_called(
    tmp_path: Path, name: str, advice: str
) -> None:
    sentence = refusal(load, write_all(tmp_path, {name: PICKLE}))
    assert PLAIN in sentence
    assert advice in sentence


def test_a_checkpoint_that_is_a_pickle_is_named_in_its_folder(tmp_path: Path) -> None:
    folder = {"pytorch_model.bin": b"\x80\x02}q", "config.json": '{"a": 1}'}
    sentence = refusal(load, write_all(tmp_path, {"d": folder}))
    assert "pytorch_model.bin must be a file of plain numbers" in sentence


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    assert "check the path" in refusal(load, tmp_path / "no.npz")
    assert "File name too long" in refusal(load, tmp_path / ("x" * 300))
    os.mkfifo(tmp_path / "pipe.npy")
    assert "a pipe or device; save it to a file" in refusal(load, tmp_path / "pipe.npy")
    (tmp_path / "empty").mkdir()
    assert "a folder without a model that is known" in refusal(load, tmp_path / "empty")


@pytest.mark.parametrize(
    ("source", "part"),
    [([], "a list of one file at least"), (3, "must be a path, as text or a Path")],
)
def test_a_model_is_read_from_a_path_or_some(source: Any, part: str) -> None:
    assert part in refusal(load, source)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"wieght": "a"}, "got 'wieght'; the nearest one is weight"),
        ({"kind": "heads"}, "kind must be one of auto, factors, head, vectors"),
        ({"transpose": "up"}, "transpose must be one of none, left, right, both"),
        ({"format": "nmz"}, "format must be one of embaudit, implicit, npz, npy"),
        ({"vector_id": "a"}, "an option for npz files must be one of"),
        ({"norm": "x"}, "norm must be asked of a checkpoint"),
        ({"states": ROWS}, "one whose final norm is known; got one of none"),
    ],
)
def test_options_of_load_that_do_not_fit_are_refused(
    tmp_path: Path, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"m.npz": npz(a=ROWS)})
    assert part in refusal(load, path, **options)


def test_a_format_that_is_named_goes_before_the_name_of_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "v.xyz"
    with path.open("wb") as file:
        np.save(file, ROWS)
    assert load(path, format="npy").right.tolist() == ROWS.tolist()


# One array in a file of its own


def test_one_array_with_arrays_of_other_files_beside_it(tmp_path: Path) -> None:
    """Vectors with a bias are a head, unless the other side is given as well."""
    bias, users = np.array([1.0, 2.0, 3.0, 4.0]), np.eye(2, 3)
    files = {"v.npy": npy(ROWS), "b.npy": npy(bias), "u.npy": npy(users)}
    path = write_all(tmp_path, {**files, "c.npy": npy(np.array([10.0, 20.0]))})
    assert load(path).link.name == "identity"
    head = load(path, bias=tmp_path / "b.npy")
    assert (head.link.name, head.right_bias.tolist()) == ("softmax", bias.tolist())
    others = {"bias": "b.npy", "left": "u.npy", "left_bias": "c.npy"}
    pair = load(path, **{name: tmp_path / file for name, file in others.items()})
    # The rows of the left side pick columns 0 and 1 of each item.
    expected = np.array([[10.0], [20.0]]) + ROWS[:, :2].T + bias
    assert pair.link.name == "identity"
    assert pair.predictions().tolist() == expected.tolist()


def test_sides_with_one_column_an_entity_and_their_ids(tmp_path: Path) -> None:
    files = {"v.npy": npy(ROWS.T), "u.npy": npy(ROWS[:2].T)}
    ids = {"i.txt": "a\nb\nc\nd\n", "j.csv": "id\n7\n8\n"}
    path = write_all(tmp_path, {**files, **ids})
    names = {"left": "u.npy", "ids": "i.txt", "left_ids": "j.csv"}
    options = {name: tmp_path / file for name, file in names.items()}
    pair = load(path, transpose="both", **options)
    assert pair.right.tolist() == ROWS.tolist()
    assert pair.left.tolist() == ROWS[:2].tolist()
    assert (pair.right_ids.tolist(), pair.left_ids.tolist()) == (list("abcd"), [7, 8])


def test_labels_and_inputs_of_a_head_from_files(tmp_path: Path) -> None:
    files = {"v.npy": npy(ROWS), "i.npy": npy(np.eye(2, 3))}
    path = write_all(tmp_path, {**files, "l.json": '["a", "b", "c", "d"]'})
    options = {"inputs": tmp_path / "i.npy", "labels": tmp_path / "l.json"}
    head = load(path, kind="head", **options)
    assert (head.n_left, head.names("right").tolist()) == (2, list("abcd"))


@pytest.mark.parametrize(
    ("array", "options", "part"),
    [
        (ROWS.astype("g"), {}, "must be floating-point numbers; got"),
        (ROWS.astype("U"), {}, "must be floating-point numbers; got <U"),
        (ROWS.astype("i4"), {}, "got int32, counts or codes"),
        (ROWS, {"ids": list("aabc")}, "item ids must be unique; got a 2 times"),
        (ROWS, {"bias": "b.npy", "kind": "vectors"}, "kind='vectors', which have none"),
        (ROWS, {"kind": "factors"}, "must both be named, with left=A and weight=B"),
        (ROWS, {"kind": "head", "inputs": ROWS[:, :2]},
         "number of columns; got 2 and 3"),
        (ROWS, {"objective": "word2vec", "link": "cosine"},
         "identity or sigmoid for the"),
    ],
)  # fmt: skip
def test_one_array_that_is_no_model_is_refused(
    tmp_path: Path, array: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"v.npy": npy(array)})
    assert part in refusal(load, path, **options)


@pytest.mark.parametrize("extra", [b"xxxx", None])
def test_a_file_of_another_length_than_its_header_says_is_refused(
    tmp_path: Path, extra: bytes | None
) -> None:
    path = write_all(tmp_path, {"v.npy": npy(ROWS)})
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] if extra is None else whole + extra)
    assert "must be a whole .npy file" in refusal(load, path)


# Model files and outputs


MODEL = ea.FactorModel.from_vectors(ROWS, ids=list("abcd"))


@pytest.mark.parametrize(
    ("model", "name", "options", "part"),
    [
        ([1.0], "v.npz", {}, "the model must be a FactorModel; got list"),
        (MODEL, "there.npz", {}, "overwrite it with force=True"),
        (MODEL, "v.npz", {"force": 1}, "force must be True or False; got 1"),
        (MODEL, "v.xyz", {}, "a file that ends in one of .npz .npy .safetensors"),
        (MODEL, "v.npz.gz", {}, "a file that ends in one of .npz .npy .safetensors"),
        (MODEL, "folder.npz", {"force": True}, "name a file in it"),
        (MODEL, "pipe.npz", {"force": True}, "a device, pipe or stream"),
        (MODEL, "there.npz/v.npz", {}, "the folder of the output must be there"),
        (MODEL, "no/v.npz", {}, "the folder of the output must be there"),
        (MODEL, "x" * 300 + ".npz", {}, "File name too long"),
    ],
)
def test_save_refuses(
    tmp_path: Path, model: Any, name: str, options: Any, part: str
) -> None:
    write_all(tmp_path, {"there.npz": "x", "folder.npz": {}})
    os.mkfifo(tmp_path / "pipe.npz")
    assert part in refusal(ea.save, model, tmp_path / name, **options)
    assert (tmp_path / "there.npz").read_text() == "x"
    assert len(list(tmp_path.iterdir())) == 3
