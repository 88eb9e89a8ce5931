"""The line that a refusal of a pickle prints runs on such a file.

`tests/peers/test_pickles.py` does the same with files of PyTorch and gensim.
"""

from __future__ import annotations

import pickle
import re
import sys
import types
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from example_files import refusal

from embaudit.errors import InputError
from embaudit.io import load
from embaudit.io.outline import outline

ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3) / 8
IDS = ["a", "b", "c", "d"]
PICKLE = pickle.dumps(OrderedDict(weight=[1.0]), protocol=2)


def advice(path: Path) -> str:
    """Return the Python in the refusal of a pickle."""
    line = refusal(load, path).partition("convert it in Python: ")[2]
    return re.split(r" \(which runs|, or embaudit|\.$", line)[0]


# Plain arrays

ARRAYS: dict[str, tuple[Any, str, Any]] = {
    "an array": (ROWS, "vectors.npy", None),
    "a list of arrays": (list(ROWS), "vectors.npy", None),
    "a list of lists": (ROWS.tolist(), "vectors.npy", None),
    "a map of arrays": (dict(zip(IDS, ROWS, strict=True)), "vectors.npz", IDS),
    "a map of lists": (dict(zip(IDS, ROWS.tolist(), strict=True)), "vectors.npz", IDS),
    "a map by numbers": (dict(enumerate(ROWS)), "vectors.npz", [0, 1, 2, 3]),
    "a table and its ids": (
        {"embeddings": ROWS, "ids": IDS, "model": "m"},
        "model.npz",
        IDS,
    ),
    "a data frame": (
        pd.DataFrame({"id": IDS, "vector": list(ROWS)}),
        "vectors.parquet",
        IDS,
    ),
    "a data frame of numbers": (pd.DataFrame(ROWS, index=IDS), "vectors.parquet", IDS),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_the_line_for_pickled_arrays_gives_vectors_and_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, protocol: int
) -> None:
    content, out, ids = ARRAYS[name]
    path = tmp_path / "vectors.pkl"
    path.write_bytes(pickle.dumps(content, protocol))
    monkeypatch.chdir(tmp_path)
    exec(advice(path), {})
    model = load(out)
    np.testing.assert_array_equal(model.right, ROWS)
    assert (model.right_ids is None) == (ids is None)
    if ids is not None:
        assert model.right_ids.tolist() == ids


def test_texts_beside_vectors_can_name_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {"sentences": IDS, "embeddings": list(ROWS)}
    (tmp_path / "e.pkl").write_bytes(pickle.dumps(content))
    monkeypatch.chdir(tmp_path)
    exec(advice(Path("e.pkl")), {})
    assert "name it with id_array='sentences'" in refusal(load, "model.npz")
    model = load("model.npz", id_array="sentences")
    np.testing.assert_array_equal(model.right, ROWS)
    assert model.right_ids.tolist() == IDS


def test_the_line_for_biases_and_embeddings_names_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LightFM returns both as a tuple.
    bias = np.arange(4.0, dtype=np.float32)
    (tmp_path / "e.pkl").write_bytes(pickle.dumps((bias, ROWS)))
    monkeypatch.chdir(tmp_path)
    exec(advice(Path("e.pkl")), {})
    assert "array0" in refusal(load, "model.npz", weight="array1", kind="head")
    model = load("model.npz", kind="vectors", weight="array1")
    np.testing.assert_array_equal(model.right, ROWS)


def test_the_line_for_an_object_takes_it_to_embaudit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import joblib
    from sklearn.linear_model import LogisticRegression

    y = [0, 1, 2, 0]
    live = LogisticRegression().fit(ROWS, y)
    joblib.dump(live, tmp_path / "m.joblib")
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(live))
    monkeypatch.chdir(tmp_path)
    for name in ("m.joblib", "m.pkl"):
        line = advice(Path(name))
        assert name in line
        Path("model.npz").unlink(missing_ok=True)
        exec(line, {})
        np.testing.assert_array_equal(load("model.npz").right, live.coef_)


# PyTorch, without PyTorch: classes of its names stand in for its own.


class Call:
    """An object that a pickle makes by calling a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.function = function
        self.arguments = arguments

    def __reduce__(self) -> Any:
        return self.function, self.arguments


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return functions and classes of modules that are not installed, by name."""
    found = {}
    stubs: dict[str, types.ModuleType] = {}
    for name in (
        "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_parameter",
        "torch.nn.modules.linear.Linear",
        "project.Model",
    ):
        module, _, attribute = name.rpartition(".")
        parents = module.split(".")
        for depth in range(1, len(parents) + 1):
            parent = ".".join(parents[:depth])
            if parent not in stubs:
                stubs[parent] = types.ModuleType(parent)
                monkeypatch.setitem(sys.modules, parent, stubs[parent])

        def function(*_: Any) -> None: ...

        function.__module__ = module
        function.__qualname__ = function.__name__ = attribute
        setattr(stubs[module], attribute, function)
        found[attribute] = function
    return found


def write_checkpoint(path: Path, content: Any) -> None:
    """Write a file of PyTorch: a zip archive with a pickle."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(content, protocol=2))


def tensor(functions: dict[str, Any], *shape: int) -> Call:
    return Call(functions["_rebuild_tensor_v2"], None, 0, shape)


@pytest.mark.parametrize(
    ("wrapped", "part"),
    [
        (lambda state: state, ""),
        (lambda state: OrderedDict(state), ""),
        (lambda state: {"epoch": 3, "state_dict": state}, "['state_dict']"),
        (lambda state: {"model": state, "config": {"dim": 8}}, "['model']"),
        (lambda state: {"net": {"towers": state}}, "['net']['towers']"),
        # The name of a layer is no entry of a training.
        (lambda state: {**state, "model": 1}, ""),
        (
            lambda state: {"weights": state, "optimizer": {"state": {0: state}}},
            "['weights']",
        ),
        (lambda state: {**state, "ids": {f"i{k}": k for k in range(5000)}}, ""),
    ],
)
def test_the_line_takes_the_weights_from_where_they_are(
    tmp_path: Path, functions: dict[str, Any], wrapped: Any, part: str
) -> None:
    path = tmp_path / "c.pt"
    parameter = Call(functions["_rebuild_parameter"], tensor(functions, 4, 3), True)
    write_checkpoint(
        path, wrapped({"user": tensor(functions, 5, 3), "item": parameter})
    )
    assert advice(path) == (
        "import safetensors.torch, torch; "
        f"state = torch.load({str(path)!r}, map_location='cpu', weights_only=True)"
        f"{part}; "
        "safetensors.torch.save_file({k: v.contiguous().clone() for k, v in "
        "state.items() if torch.is_tensor(v)}, 'model.safetensors')"
    )


def test_of_a_long_pickle_all_tensors_are_taken(
    tmp_path: Path, functions: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embaudit.io.outline.MOST_OPERATIONS", 1000)
    path = tmp_path / "c.pt"
    index = {f"i{k}": k for k in range(5000)}
    state = {"item": tensor(functions, 4, 3)}
    write_checkpoint(path, {"index": index, "state_dict": state})
    assert "flat({k: state[k] for k in list(state)})" in advice(path)
    write_checkpoint(path, {"state_dict": state, "index": index})
    assert "weights_only=True)['state_dict']; " in advice(path)


def test_two_dictionaries_of_weights_are_joined(
    tmp_path: Path, functions: dict[str, Any]
) -> None:
    path = tmp_path / "c.pt"
    tower = {"embedding": {"weight": tensor(functions, 4, 3)}}
    content = {"user": tower, "item": tower, "optimizer": tower, "epoch": 3}
    write_checkpoint(path, content)
    assert "flat({k: state[k] for k in ['user', 'item']})" in advice(path)


def test_plain_classes_next_to_weights_are_allowed_by_name(
    tmp_path: Path, functions: dict[str, Any]
) -> None:
    from argparse import Namespace

    path = tmp_path / "c.ckpt"
    content = {
        "state_dict": {"w": tensor(functions, 4, 3)},
        "hyper_parameters": Namespace(dim=3),
        "best": np.float64(0.5),
    }
    write_checkpoint(path, content)
    line = advice(path)
    assert "import argparse, numpy; torch.serialization.add_safe_globals([arg" in line
    assert "weights_only=True)['state_dict']" in line
    assert "only if you trust who made it" not in refusal(load, path)


@pytest.mark.parametrize("is_network", [True, False])
def test_the_line_warns_where_loading_runs_the_code_of_others(
    tmp_path: Path, functions: dict[str, Any], is_network: bool
) -> None:
    path = tmp_path / "m.bin"
    state = {"w": tensor(functions, 4, 3), "settings": Call(functions["Model"])}
    write_checkpoint(path, Call(functions["Linear"]) if is_network else state)
    assert ("weights_only=False).state_dict()" in advice(path)) == is_network
    assert "weights_only=False" in advice(path)
    assert "only if you trust who made it" in refusal(load, path)


def test_names_in_a_pickle_are_not_part_of_the_line_as_code(tmp_path: Path) -> None:
    # A pickle can name any text as a class.
    name = "gensim.models.x;run()#\nA"
    content = b"\x80\x02c" + name.encode() + b"\n)\x81."
    (tmp_path / "m.model").write_bytes(content)
    assert "run()" not in refusal(load, tmp_path / "m.model")


# Damage


@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_of_a_pickle_that_is_cut_off_the_beginning_is_known(
    tmp_path: Path, keep: float
) -> None:
    content = pickle.dumps({f"i{k}": ROWS[0] for k in range(3000)})
    path = tmp_path / "v.pkl"
    path.write_bytes(content[: int(keep * len(content))])
    found = outline(path)
    assert isinstance(found.root, dict)
    assert "numpy.stack(list(vectors.values()))" in advice(path)


@pytest.mark.parametrize(
    "content",
    [
        # A list in itself, a dictionary in itself many times, an empty stack.
        b"\x80\x02]q\x00h\x00a.",
        b"\x80\x02}q\x00(" + b"".join(b"K%ch\x00" % k for k in range(99)) + b"u.",
        b"\x80\x02RRR.",
        b"\x80\x02u.",
        b"\x80\x02h\x07.",
        b"\x80\x05" + b"(" * 100_000 + b"t" * 100_000 + b".",
        b"\x80\x02" + b"]q\x00" + b"h\x00\x86q\x00" * 50_000 + b".",
    ],
)
def test_strange_pickles_are_refused_in_one_sentence(
    tmp_path: Path, content: bytes
) -> None:
    for name in ("v.pkl", "v.pt"):
        path = tmp_path / name
        path.write_bytes(content)
        assert "it is a pickle, which could run code" in refusal(load, path)


# Checkpoints in parts

PARTS = (
    "import glob, safetensors.torch, torch; "
    "state = {{k: v for part in sorted(glob.glob({parts!r})) for k, v in "
    "torch.load(part, map_location='cpu', weights_only=True).items()}}; "
    "safetensors.torch.save_file("
    "{{k: v.contiguous().clone() for k, v in state.items()}}, {out!r})."
)
"""Advice for a checkpoint in parts; `tests/peers` runs it."""


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """Return the two files of a checkpoint in parts."""
    paths = [tmp_path / f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    for path in paths:
        path.write_bytes(PICKLE)
    return paths


def test_the_advice_for_one_part_of_a_checkpoint_converts_all_parts(
    parts: list[Path],
) -> None:
    advice = PARTS.format(
        parts=str(parts[1].parent / "pytorch_model-*-of-00002.bin"),
        out="model.safetensors",
    )
    assert refusal(load, parts[1]).endswith(f"convert it in Python: {advice}")


def test_the_advice_for_a_folder_of_parts_names_the_folder(
    tmp_path: Path, parts: list[Path]
) -> None:
    advice = PARTS.format(
        parts=str(tmp_path / "pytorch_model-*-of-00002.bin"),
        out=str(tmp_path / "model.safetensors"),
    )
    assert refusal(load, tmp_path) == (
        f"{parts[0]} must be a file of plain numbers; it is a pickle, which could run "
        f"code; convert it in Python: {advice}"
    )


def test_an_archive_without_its_pickle_is_refused_in_one_sentence(
    tmp_path: Path,
) -> None:
    path = tmp_path / "lost.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data/0", b"\0" * 8)
        archive.writestr("model/version", b"3")
    with pytest.raises(InputError, match="must be a file of plain numbers"):
        load(path)
