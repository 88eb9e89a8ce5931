"""Columns that are no vectors are not read as vectors: they are named as skipped, or
the reader asks one question.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from embaudit.errors import InputError
from embaudit.io import inspect, load

ROWS = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
IDS = list("abcdef")
SURVEY = Path(__file__).parents[3] / "shared" / "data" / "survey"


def refused(path: Path | str, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        load(path, **options)
    assert str(error.value).count(". ") == 0
    return str(error.value)


def table(path: Path, *without: str, **beside: Any) -> Path:
    frame = (
        pd.DataFrame({"id": IDS, **beside})
        .join(pd.DataFrame(ROWS).add_prefix("e"))
        .drop(columns=[*without])
    )
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(
        path, index=False
    )
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_without_one_numbered_family_are_asked_for(
    tmp_path: Path, suffix: str
) -> None:
    columns = dict(zip(["price", "x", "y", "z"], ROWS.T, strict=True))
    path = table(tmp_path / f"v{suffix}", "id", "e0", "e1", "e2", "e3", **columns)
    assert "got price, x, y, z; choose the columns with vector" in refused(path)
    np.testing.assert_allclose(load(path, vector="x:z").right, ROWS[:, 1:], rtol=1e-6)
    two = table(path, f0=[1.0] * 6, f1=[2.0] * 6)
    assert "got 2 groups of such columns in id, f0, f1, e0" in refused(two)
    np.testing.assert_allclose(load(two, vector="e").right, ROWS, rtol=1e-6)
    assert "columns such as e0 to e63" in refused(table(path, "e2"))


@pytest.mark.parametrize("kind", [np.int8, np.uint32, np.int64, bool])
def test_integers_are_no_vectors(tmp_path: Path, kind: Any) -> None:
    codes = (10 * ROWS).astype(kind)
    np.save(tmp_path / "v.npy", codes)
    assert f"{tmp_path / 'v.npy'} must be floating-point numbers" in refused(
        tmp_path / "v.npy"
    )
    np.savez(tmp_path / "v.npz", user_factors=ROWS, item_factors=codes)
    assert f"got {codes.dtype}, counts or codes" in refused(tmp_path / "v.npz")
    save_file({"lm_head.weight": codes}, tmp_path / "v.safetensors")
    assert "store the original numbers as float32" in refused(
        tmp_path / "v.safetensors"
    )
    if kind is not bool:
        pd.DataFrame(codes).add_prefix("e").assign(id=IDS).to_parquet(
            tmp_path / "v.parquet"
        )
        assert "must be of floating-point numbers" in refused(tmp_path / "v.parquet")
        pd.DataFrame({"id": IDS, "v": list(codes)}).to_parquet(tmp_path / "v.parquet")
        assert "must be lists of floating-point numbers" in refused(
            tmp_path / "v.parquet"
        )


@pytest.mark.parametrize(
    "beside",
    [
        "lm_head.scales",
        "lm_head.weight_scale",
        "lm_head.weight.absmax",
        "lm_head.SCB",
        "lm_head.qzeros",
        "lm_head.weight.quant_state.bitsandbytes__nf4",
    ],
)
def test_numbers_with_scales_beside_them_are_codes(tmp_path: Path, beside: str) -> None:
    save_file(
        {"lm_head.weight": ROWS, beside: np.ones(6, np.float32)},
        tmp_path / "v.safetensors",
    )
    for ignore in ((), (beside,)):
        assert f"got {beside} next to it" in refused(
            tmp_path / "v.safetensors", ignore=ignore
        )


def test_layers_that_keras_has_quantised(tmp_path: Path) -> None:
    policy = {"class_name": "QuantizedDTypePolicy", "config": {"mode": "float8"}}
    config = {
        "class_name": "Dense",
        "config": {"name": "out", "activation": "softmax", "dtype": policy},
    }
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"] = json.dumps(config)
        file["model_weights/out/out/kernel:0"] = ROWS
    assert "got layers that Keras has quantised" in refused(tmp_path / "m.h5")


@pytest.mark.parametrize(
    "header", ["id\te0\te1\te2\te3\t\n", "id\te0\te1\te2\te3\n", ""]
)
def test_a_separator_at_the_end_of_each_line(tmp_path: Path, header: str) -> None:
    lines = (
        "\t".join([token, *map(str, row)]) + "\t\n"
        for token, row in zip(IDS, ROWS, strict=True)
    )
    (tmp_path / "v.tsv").write_text(header + "".join(lines))
    np.testing.assert_allclose(load(tmp_path / "v.tsv").right, ROWS, rtol=1e-6)


def test_pointers_of_git_lfs(tmp_path: Path) -> None:
    for name in ("v.npy", "model.safetensors", "v.parquet"):
        (tmp_path / name).write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
        )
        assert "a pointer of Git LFS; fetch it with: git lfs pull" in refused(
            tmp_path / name
        )
    assert "git lfs pull" in refused(tmp_path)


def test_tokens_beside_a_table_of_them(tmp_path: Path) -> None:
    vocabulary = {token: row for row, token in enumerate(IDS)}
    (tmp_path / "tokenizer.json").write_text(
        json.dumps({"model": {"vocab": vocabulary}})
    )
    np.save(tmp_path / "v.npy", ROWS)
    np.savez(tmp_path / "v.npz", W=ROWS, b=np.ones(6))
    for suffix in (".npy", ".npz"):
        assert load(tmp_path / f"v{suffix}").names("right").tolist() == IDS
        assert (
            "tokenizer.json (6) as right names"
            in inspect(tmp_path / f"v{suffix}").explain()
        )
    np.save(tmp_path / "v.npy", ROWS[:5])
    assert load(tmp_path / "v.npy").right_names is None
    np.savez(tmp_path / "v.npz", user_factors=ROWS, item_factors=ROWS)
    assert load(tmp_path / "v.npz").right_names is None


def test_real_files_of_others_are_read_as_given() -> None:
    if not SURVEY.exists():
        pytest.skip(f"{SURVEY} is not there")
    shapes = {
        "clip-classes/class_embeddings.npz": (9, 512),
        "karate/karate.emb": (34, 128),
        "wordvecs/wordvecs1000.json": (1000, 300),
        "model2vec": (29528, 128),
    }
    models = {name: load(SURVEY / name) for name in shapes}
    assert {name: model.right.shape for name, model in models.items()} == shapes
    assert models["model2vec"].names("right")[:2].tolist() == ["[PAD]", "[UNK]"]
    assert models["wordvecs/wordvecs1000.json"].names("right")[0] == "in"


def test_the_tables_of_an_encoder_are_no_embeddings_of_texts(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text(
        '[{"type": "sentence_transformers.models.Transformer"}]'
    )
    save_file(
        {"embeddings.word_embeddings.weight": np.eye(3, dtype=np.float32)},
        tmp_path / "model.safetensors",
    )
    for reading in (load, inspect):
        with pytest.raises(
            InputError,
            match=r"got .*, an encoder \(sentence-transformers, as modules.json says\)",
        ):
            reading(tmp_path)
    assert (
        load(
            tmp_path, weight="embeddings.word_embeddings.weight", kind="vectors"
        ).n_right
        == 3
    )


# Binary vectors

SIGNS = np.where(np.random.default_rng(1).normal(size=(6, 8)) > 0, 1, -1)


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
def test_integers_that_are_all_1_or_minus_1_are_vectors(
    tmp_path: Path, kind: Any
) -> None:
    signs = SIGNS.astype(kind)
    np.save(tmp_path / "v.npy", signs)
    np.savez(tmp_path / "v.npz", vectors=signs, ids=IDS)
    pd.DataFrame({"id": IDS, "v": list(signs)}).to_parquet(tmp_path / "v.parquet")
    for source in (signs, *(tmp_path / f"v.{x}" for x in ("npy", "npz", "parquet"))):
        model = load(source)
        np.testing.assert_array_equal(model.right, SIGNS)
        assert model.right.dtype.kind == "f"


@pytest.mark.parametrize(
    "codes", [SIGNS * 0 + 1, np.where(SIGNS > 0, 1, 0), SIGNS * np.arange(1, 9) % 3]
)
def test_other_small_integers_are_counts_or_codes(tmp_path: Path, codes: Any) -> None:
    codes = codes.astype(np.int8)
    np.save(tmp_path / "v.npy", codes)
    pd.DataFrame({"id": IDS, "v": list(codes)}).to_parquet(tmp_path / "v.parquet")
    assert "counts or codes" in refused(tmp_path / "v.npy")
    assert "counts or codes" in refused(tmp_path / "v.parquet")


@pytest.mark.parametrize("name", ["v.npy", "v.npz"])
@pytest.mark.parametrize("are_bits", [True, False])
def test_the_lines_for_integers_make_numbers_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, are_bits: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = np.packbits(SIGNS > 0, axis=1)
    np.savez(name, v=codes) if name == "v.npz" else np.save(name, codes)
    sentence = refused(tmp_path / name)
    before = "packed bits: " if are_bits else "as they are: "
    exec(sentence.partition(before)[2].partition("; if")[0].removesuffix("."), {})
    expected = SIGNS if are_bits else codes
    np.testing.assert_array_equal(load("vectors.npy").right, expected)
