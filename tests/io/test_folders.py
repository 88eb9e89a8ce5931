"""Folders of other tools: the model in them is read, or the error names a command to
run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_files import refusal, safetensors, table, write_all

from embaudit.io import load, read

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8


def mlmodel(flavour: str, key: str, value: str) -> str:
    """Return the description that MLflow 3 writes into a folder."""
    return (
        f"flavors:\n  python_function:\n    {key}: {value}\n    env:\n"
        "      conda: conda.yaml\n      virtualenv: python_env.yaml\n"
        f"    loader_module: mlflow.{flavour}\n    python_version: 3.11.7\n"
        f"  {flavour}:\n    code: null\n    {key}: {value}\n"
        "mlflow_version: 3.17.2\nmodel_uuid: 6fc0127b9e474788a81b3c1c4870a4df\n"
    )


CONFIG = json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"]})
TRANSFORMERS: dict[str, Any] = {
    "MLmodel": mlmodel("transformers", "model_binary", "model"),
    "model": {
        "config.json": CONFIG,
        "model.safetensors": safetensors({"lm_head.weight": ROWS}),
    },
    "components": {"tokenizer": {"tokenizer.json": "{}"}},
    "requirements.txt": "torch\n",
}
ARRAYS: dict[str, Any] = {
    "MLmodel": mlmodel("pytorch", "model_data", "data"),
    "data": {
        "model.safetensors": safetensors({"weight": ROWS}),
        "pickle_module_info.txt": "mlflow.pytorch.pickle_module",
    },
    "requirements.txt": "torch\n",
}
TABLE: dict[str, Any] = {
    "MLmodel": mlmodel("custom", "data", "'vectors.parquet'"),
    "vectors.parquet": table({"id": list("abcd"), "vector": ROWS.tolist()}),
    "requirements.txt": "x\n",
}


@pytest.mark.parametrize("folder", [TRANSFORMERS, ARRAYS, TABLE])
def test_the_model_that_mlflow_names_is_read(
    tmp_path: Path, folder: dict[str, Any]
) -> None:
    path = write_all(tmp_path, {"run": folder})
    np.testing.assert_array_equal(load(path, kind="vectors").right, ROWS)


def test_the_report_names_the_model_that_mlflow_names(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"run": TABLE})
    assert read(path).intake.files == (str(path / "vectors.parquet"),)


@pytest.mark.parametrize(
    ("key", "name", "line"),
    [
        ("pickled_model", "model.pkl", "embaudit.load(pickle.loads("),
        ("model_data", "data/model.pth", "torch.load("),
        ("pickled_model", "model.skops", "skops.io.load("),
        ("model_data", "data/model.pt2", "torch.export.load("),
    ],
)
def test_the_line_for_a_model_of_mlflow_names_the_file(
    tmp_path: Path, key: str, name: str, line: str
) -> None:
    path = tmp_path / "run"
    (path / name).parent.mkdir(parents=True)
    is_zip = name.endswith((".skops", ".pt2"))
    (path / name).write_bytes(b"PK\x03\x04" if is_zip else b"\x80\x02}.")
    value = name.partition("/")[0]
    (path / "MLmodel").write_text(mlmodel("sklearn", key, value))
    (path / "requirements.txt").write_text("scikit-learn\n")
    sentence = refusal(load, path)
    assert line in sentence
    assert repr(str(path / name)) in sentence


@pytest.mark.parametrize(
    "value", ["../secret.npy", "/etc/passwd", "missing.pkl", ".", "''", "[a, b]"]
)
def test_a_name_that_leads_to_no_model_in_the_folder_is_not_followed(
    tmp_path: Path, value: str
) -> None:
    np.save(tmp_path / "secret.npy", ROWS)
    folder = {"MLmodel": mlmodel("sklearn", "model_path", value)}
    path = tmp_path / "run"
    write_all(tmp_path, {"run": folder})
    assert "a folder without a known model" in refusal(load, path)


# TensorFlow writes folders. `tests/peers/test_tensorflow.py` runs the lines.

INDEX = bytes(60) + bytes.fromhex("57fb808b247547db")
VARIABLES: dict[str, Any] = {
    "variables.index": INDEX,
    "variables.data-00000-of-00001": b"\0" * 80,
}
CHECKPOINT: dict[str, Any] = {
    "checkpoint": 'model_checkpoint_path: "ckpt-1"\n',
    "ckpt-1.index": INDEX,
    "ckpt-1.data-00000-of-00001": b"\0" * 80,
}


@pytest.mark.parametrize(
    ("folder", "inside", "prefix", "what"),
    [
        ("SavedModel", "", "variables/variables", "a SavedModel of TensorFlow"),
        (
            "SavedModel",
            "saved_model.pb",
            "variables/variables",
            "a SavedModel of TensorFlow",
        ),
        ("checkpoint", "", "ckpt-1", "a folder of checkpoints of TensorFlow"),
        ("checkpoint", "ckpt-1.index", "ckpt-1", "a checkpoint of TensorFlow"),
        (
            "checkpoint",
            "ckpt-1.data-00000-of-00001",
            "ckpt-1",
            "a checkpoint of TensorFlow",
        ),
    ],
)
def test_the_line_for_tensorflow_names_the_checkpoint(
    tmp_path: Path, folder: str, inside: str, prefix: str, what: str
) -> None:
    saved = {"saved_model.pb": b"x", "variables": VARIABLES}
    write_all(tmp_path, {"SavedModel": saved, "checkpoint": CHECKPOINT})
    sentence = refusal(load, tmp_path / folder / inside)
    assert what in sentence
    assert f"load_checkpoint({str(tmp_path / folder / prefix)!r})" in sentence


# Tables whose folders hold rows that are no longer part of them.


@pytest.mark.parametrize(
    ("inside", "what"),
    [
        ({"_delta_log": {"00000000000000000000.json": "{}"}}, "a table of Delta Lake"),
        ({"metadata": {"v1.metadata.json": "{}"}}, "a table of Iceberg"),
        ({".hoodie": {"hoodie.properties": "x"}}, "a table of Hudi"),
    ],
)
def test_a_table_with_versions_is_refused(
    tmp_path: Path, inside: dict[str, Any], what: str
) -> None:
    parquet = table({"id": list("abcd"), "vector": ROWS.tolist()})
    path = write_all(tmp_path, {"t": {"part-0.parquet": parquet, **inside}})
    assert f"{what}, which keeps the files of older versions" in refusal(load, path)


# TensorFlow.js


@pytest.mark.parametrize("inside", ["", "model.json"])
def test_the_line_for_tensorflow_js_gives_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    monkeypatch.chdir(tmp_path)
    weights = [
        {"name": "dense/kernel", "shape": [3, 4], "dtype": "float32"},
        {"name": "dense/bias", "shape": [4], "dtype": "float32"},
    ]
    paths = ["group1-shard1of2.bin", "group1-shard2of2.bin"]
    manifest = [{"paths": paths, "weights": weights}]
    numbers = ROWS.T.tobytes() + np.arange(4, dtype=np.float32).tobytes()
    folder = {
        "model.json": json.dumps({"modelTopology": {}, "weightsManifest": manifest}),
        paths[0]: numbers[:20],
        paths[1]: numbers[20:],
    }
    write_all(tmp_path, {"web": folder})
    sentence = refusal(load, Path("web") / inside)
    if inside:
        assert "a model of TensorFlow.js; give its folder" in sentence
        return
    exec(sentence.partition(" in Python: ")[2].removesuffix("."), {})
    model = load("model.npz", kind="head", weight="dense.kernel", bias="dense.bias")
    np.testing.assert_array_equal(model.right, ROWS)
    assert model.right_bias.tolist() == [0, 1, 2, 3]
