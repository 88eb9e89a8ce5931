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


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("a.ann", "an index of Annoy; export the vectors in Python, where N is"),
        ("a.hnsw", "an index of hnswlib; export the vectors in Python"),
        ("a.mat", "a file of MATLAB; convert it in Python: import numpy, scipy.io"),
        ("A.MAT", "a file of MATLAB"),
        ("a.mtx", "a matrix in Matrix Market; convert it in Python: import numpy, sci"),
        ("u.data", "factorize it first: `embaudit fit"),
        ("a.npz.zip", "an archive; unpack it"),
        ("a.tar", "an archive; unpack it"),
        ("a.xyz", "write the vectors as .npy or .parquet, or say format=NAME if it is"),
    ],
)
def test_the_name_of_a_file_tells_what_would_help(
    tmp_path: Path, name: str, part: str
) -> None:
    assert part in refusal(load, write_all(tmp_path, {name: "1\t2\t3\n"}))


@pytest.mark.parametrize(
    "suffix", [".npz", ".npy", ".h5", ".parquet", ".feather", ".safetensors", ".gguf"]
)
def test_a_packed_file_is_to_be_unpacked(tmp_path: Path, suffix: str) -> None:
    path = write_all(tmp_path, {f"a{suffix}.gz": "1\t2\t3\n"})
    assert "a compressed file; unpack it with: gunzip" in refusal(load, path)


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
    "name", ["a.kv", "a.pkl", "a.joblib", "a.npz", "a.txt", "a.pth", "a.pt", "a.bin"]
)
def test_no_pickle_is_opened_whatever_its_name_is(tmp_path: Path, name: str) -> None:
    # What to run instead stands in `test_conversions.py`.
    sentence = refusal(load, write_all(tmp_path, {name: PICKLE}))
    assert PLAIN in sentence
    assert "convert it in Python: import " in sentence


def test_a_checkpoint_that_is_a_pickle_is_named_in_its_folder(tmp_path: Path) -> None:
    folder = {"pytorch_model.bin": b"\x80\x02}q", "config.json": '{"a": 1}'}
    sentence = refusal(load, write_all(tmp_path, {"d": folder}))
    assert "pytorch_model.bin must be a file of plain numbers" in sentence


def test_a_path_without_a_file_is_refused(tmp_path: Path) -> None:
    assert "check the path" in refusal(load, tmp_path / "no.npz")


def test_a_name_that_is_too_long_is_refused(tmp_path: Path) -> None:
    assert "File name too long" in refusal(load, tmp_path / ("x" * 300))


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    assert "a pipe or device; save it to a file" in refusal(load, tmp_path / "pipe.npy")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert refusal(load, tmp_path / "empty") == (
        f"the input must be a model or vectors; got {tmp_path / 'empty'}, an empty "
        "folder; check the path."
    )


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ([], "a list of at least one file"),
        (3, "must be a fitted model of a known library; got int"),
    ],
)
def test_a_source_that_is_neither_a_path_nor_a_list_of_paths_is_refused(
    source: Any, part: str
) -> None:
    assert part in refusal(load, source)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"wieght": "a"}, "got 'wieght'; the nearest one is weight"),
        ({"kind": "heads"}, "kind must be one of auto, factors, head, vectors"),
        ({"transpose": "up"}, "transpose must be one of none, left, right, both"),
        ({"format": "nmz"}, "format must be one of embaudit, implicit, npz, npy"),
        ({"vector_id": "a"}, "an option for npz files must be one of"),
        ({"norm": "x"}, "norm must be omitted unless the model is a checkpoint"),
        (
            {"states": ROWS},
            "states must be omitted unless the final norm of the head is known",
        ),
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


BIAS = np.array([1.0, 2.0, 3.0, 4.0])
"""One number per row of `ROWS`."""


def test_one_array_alone_has_the_scores_of_its_rows(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"vectors.npy": npy(ROWS)})
    assert load(path).link.name == "identity"


def test_one_array_and_a_bias_are_a_head(tmp_path: Path) -> None:
    files = {"weight.npy": npy(ROWS), "bias.npy": npy(BIAS)}
    path = write_all(tmp_path, files)
    head = load(path, bias_file=tmp_path / "bias.npy")
    assert head.link.name == "softmax"
    assert head.right_bias.tolist() == BIAS.tolist()


def test_two_arrays_and_their_biases_are_users_and_items(tmp_path: Path) -> None:
    """The users are the unit vectors (1, 0, 0) and (0, 1, 0).

    So the scores of user i are column i of the items, plus both biases.
    """
    user_bias = np.array([10.0, 20.0])
    files = {
        "items.npy": npy(ROWS),
        "item_bias.npy": npy(BIAS),
        "users.npy": npy(np.eye(2, 3)),
        "user_bias.npy": npy(user_bias),
    }
    path = write_all(tmp_path, files)
    model = load(
        path,
        bias_file=tmp_path / "item_bias.npy",
        left_file=tmp_path / "users.npy",
        left_bias_file=tmp_path / "user_bias.npy",
    )
    assert model.link.name == "identity"
    first_user, second_user = model.predictions()
    assert first_user.tolist() == (ROWS[:, 0] + BIAS + 10).tolist()
    assert second_user.tolist() == (ROWS[:, 1] + BIAS + 20).tolist()


def test_sides_whose_entities_are_columns_are_transposed(tmp_path: Path) -> None:
    files = {"items.npy": npy(ROWS.T), "users.npy": npy(ROWS[:2].T)}
    path = write_all(tmp_path, files)
    model = load(path, left_file=tmp_path / "users.npy", transpose="both")
    assert model.right.tolist() == ROWS.tolist()
    assert model.left.tolist() == ROWS[:2].tolist()


def test_ids_of_both_sides_from_files(tmp_path: Path) -> None:
    files = {
        "items.npy": npy(ROWS),
        "users.npy": npy(ROWS[:2]),
        "items.txt": "a\nb\nc\nd\n",
        "users.csv": "id\n7\n8\n",
    }
    path = write_all(tmp_path, files)
    model = load(
        path,
        left_file=tmp_path / "users.npy",
        ids=tmp_path / "items.txt",
        left_ids=tmp_path / "users.csv",
    )
    assert model.right_ids.tolist() == ["a", "b", "c", "d"]
    assert model.left_ids.tolist() == [7, 8]


def test_labels_of_a_head_from_a_file(tmp_path: Path) -> None:
    files = {"weight.npy": npy(ROWS), "labels.json": '["a", "b", "c", "d"]'}
    path = write_all(tmp_path, files)
    head = load(path, kind="head", labels=tmp_path / "labels.json")
    assert head.names("right").tolist() == ["a", "b", "c", "d"]


def test_inputs_of_a_head_from_a_file(tmp_path: Path) -> None:
    inputs = np.eye(2, 3)
    files = {"weight.npy": npy(ROWS), "inputs.npy": npy(inputs)}
    path = write_all(tmp_path, files)
    head = load(path, kind="head", inputs=tmp_path / "inputs.npy")
    assert head.left.tolist() == inputs.tolist()


@pytest.mark.parametrize(
    ("array", "options", "part"),
    [
        (ROWS.astype("g"), {}, "must be floating-point numbers; got"),
        (ROWS.astype("U"), {}, "must be floating-point numbers; got <U"),
        (ROWS.astype("i4"), {}, "got int32, counts or codes"),
        (ROWS, {"ids": list("aabc")}, "item ids must be unique; got a in 2 rows"),
        (
            ROWS,
            {"bias_file": "b.npy", "kind": "vectors"},
            "kind='vectors', because vectors have no biases",
        ),
        (ROWS, {"kind": "factors"}, "must be named, with left=A and weight=B"),
        (
            ROWS,
            {"kind": "head", "inputs": ROWS[:, :2]},
            "number of columns; got 2 and 3",
        ),
        (
            ROWS,
            {"objective": "word2vec", "link": "cosine"},
            "identity or sigmoid for the",
        ),
    ],
)
def test_one_array_that_is_no_model_is_refused(
    tmp_path: Path, array: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"v.npy": npy(array)})
    assert part in refusal(load, path, **options)


def test_a_file_longer_than_its_header_says_is_refused(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.npy": npy(ROWS)})
    path.write_bytes(path.read_bytes() + b"xxxx")
    assert "must be a valid .npy file" in refusal(load, path)


def test_a_file_shorter_than_its_header_says_is_refused(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.npy": npy(ROWS)})
    path.write_bytes(path.read_bytes()[:-1])
    assert "must be a valid .npy file" in refusal(load, path)


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
        (
            MODEL,
            "there.npz/v.npz",
            {},
            "the folder of the output must be a folder that exists",
        ),
        (
            MODEL,
            "no/v.npz",
            {},
            "the folder of the output must be a folder that exists",
        ),
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


@pytest.mark.parametrize("source", ["rows", "file"])
def test_a_left_side_that_does_not_exist_is_not_transposed(
    tmp_path: Path, source: str
) -> None:
    vectors = ROWS
    if source == "file":
        vectors = tmp_path / "vectors.npy"
        np.save(vectors, ROWS)
    message = refusal(load, vectors, transpose="left")
    assert "must be omitted, because the model has no left side" in message
