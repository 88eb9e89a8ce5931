"""Files byte by byte as Spark, word2vec, GloVe, safetensors and table writers create
them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from safetensors.numpy import save_file

from embaudit.errors import InputError
from embaudit.io import inspect, load
from embaudit.model import LINKS, softmax_link

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(6)
X = DRAW.normal(size=(9, 4)).astype(np.float32)
Y = DRAW.normal(size=(5, 4)).astype(np.float32)


# Spark


def spark_side(folder: Path, ids: Any, rows: Any, kind: Any, parts: int = 3) -> None:
    folder.mkdir(parents=True)
    schema = pa.schema(
        [
            pa.field("id", pa.int32(), nullable=False),
            ("features", pa.list_(pa.field("element", kind, False))),
        ]
    )
    for part, chosen in enumerate(np.array_split(np.arange(len(ids)), parts)):
        table = pa.table(
            {
                "id": ids[chosen].astype("int32"),
                "features": [list(map(float, rows[i])) for i in chosen],
            },
            schema,
        )
        parquet.write_table(
            table, folder / f"part-0000{part}-c000.snappy.parquet", compression="snappy"
        )
        (folder / f".part-0000{part}-c000.snappy.parquet.crc").write_bytes(b"crc\0")
    (folder / "_SUCCESS").touch()


def test_a_pipeline_of_spark_is_the_model_in_its_stages(tmp_path: Path) -> None:
    for number, name in enumerate(("ALS_1", "ALS_2")):
        stage = tmp_path / "stages" / f"{number + 1}_{name}"
        spark_side(stage / "userFactors", np.arange(9), X + number, pa.float32())
        spark_side(stage / "itemFactors", np.arange(5), Y, pa.float32())
        (tmp_path / "stages" / "0_StringIndexer" / "metadata").mkdir(
            parents=True, exist_ok=True
        )
        if not number:
            np.testing.assert_array_equal(load(tmp_path).right, Y)
            assert [part.name for part in inspect(tmp_path).parts][:2] == [
                "userFactors.features",
                "userFactors.id",
            ]
    with pytest.raises(
        InputError,
        match="with one ALS model; got 1_ALS_1, 2_ALS_2; name the folder of one of its",
    ):
        load(tmp_path)


# safetensors


def test_shards(tmp_path: Path) -> None:
    save_file(
        {"model.embed_tokens.weight": X}, tmp_path / "model-00001-of-00002.safetensors"
    )
    save_file({"lm_head.weight": Y}, tmp_path / "model-00002-of-00002.safetensors")
    names = {"model.embed_tokens.weight": 1, "lm_head.weight": 2}
    places = {
        name: f"model-0000{number}-of-00002.safetensors"
        for name, number in names.items()
    }
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    for path in (tmp_path, index):
        np.testing.assert_array_equal(load(path).right, Y)
    (tmp_path / "model-00001-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="no file model-00001"):
        load(tmp_path)
    index.write_text("[]")
    with pytest.raises(InputError, match="an index of safetensors shards"):
        load(tmp_path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999"])
def test_only_settings_that_no_score_depends_on_may_be_infinite(
    tmp_path: Path, number: str
) -> None:
    norm = np.ones(X.shape[1], dtype=X.dtype)
    save_file(
        {"lm_head.weight": X, "model.norm.weight": norm},
        tmp_path / "model.safetensors",
    )
    config = tmp_path / "config.json"
    config.write_text(f'{{"final_logit_softcapping": 30.0, "init_range": {number}}}')
    assert load(tmp_path).link == softmax_link(soft_cap=30.0)
    for key in ("final_logit_softcapping", "rms_norm_eps", "logit_scale"):
        settings = f'{{"model_type": "cohere", "{key}": {number}}}'
        for text in (settings, f'{{"text_config": {settings}}}'):
            config.write_text(text)
            with pytest.raises(InputError, match=f"{key} of config.json must be"):
                load(tmp_path)


@pytest.mark.parametrize("nested", [False, True])
def test_a_cap_in_the_configuration_caps_the_softmax(
    tmp_path: Path, nested: bool
) -> None:
    save_file({"lm_head.weight": X}, tmp_path / "model.safetensors")
    for cap in (30.0, None):
        said: dict[str, Any] = {"final_logit_softcapping": cap}
        (tmp_path / "config.json").write_text(
            json.dumps({"text_config": said} if nested else said)
        )
        assert load(tmp_path).link == softmax_link(soft_cap=cap)
        assert load(tmp_path, kind="vectors").link == LINKS["identity"]
    model = load(tmp_path).replace(left=X, link=softmax_link(soft_cap=0.5))
    capped = 0.5 * np.tanh(2.0 * X.astype(float) @ X.T)
    expected = np.exp(capped) / np.exp(capped).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predictions(), expected, rtol=1e-6)
    for wrong in ("text_config", "final_logit_softcapping"):
        (tmp_path / "config.json").write_text(json.dumps({wrong: "30"}))
        if wrong == "text_config":
            assert load(tmp_path).link == LINKS["softmax"]
        else:
            with pytest.raises(InputError, match=f"{wrong} of config.json must be"):
                load(tmp_path)
