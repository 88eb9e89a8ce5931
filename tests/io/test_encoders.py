"""Encoders say by their folder how vectors beside them are compared; the folder itself says what to export."""

from __future__ import annotations

import json

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError

NORMALIZED = [{"idx": 0, "type": "sentence_transformers.models.Transformer"},
              {"idx": 1, "type": "sentence_transformers.models.Normalize"}]  # fmt: skip
SAYING = [
    ("modules.json", NORMALIZED, "sentence-transformers", "compared-cosine"),
    ("config_sentence_transformers.json", {"similarity_fn_name": "dot"}, "msmarco-dot", "compared-dot"),
    ("config.json", {"model_type": "siglip"}, "siglip", "cosine"),
]


@pytest.mark.parametrize(("name", "content", "word", "link"), SAYING)
def test_the_folder_is_named_as_the_source(tmp_path, name, content, word, link):
    np.save(tmp_path / "v.npy", np.random.default_rng(0).standard_normal((40, 4)))
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    found = ea.audit(tmp_path / "v.npy", n_gauges=1, n_pairs=50)
    assert (found.model.objective, found.model.link, found.answer.word) == (word, link, "YES")
    if word != "siglip":
        assert f"({word}, as {name} in v.npy says)" not in found.answer.because
        assert f"({word}, as {name} says)" in found.answer.because
    assert ea.load(tmp_path / "v.npy", objective="word2vec").objective == "word2vec"
    with pytest.raises(InputError, match=rf"an encoder \({word}, as {name} says\); export them in Python: numpy"):
        ea.load(tmp_path)


@pytest.mark.parametrize("content", [NORMALIZED[:1], [], "{", {"modules": 3}])
def test_modules_without_a_normalising_layer_say_nothing(tmp_path, content):
    np.save(tmp_path / "v.npy", np.eye(4))
    (tmp_path / "modules.json").write_text(json.dumps(content), encoding="utf-8")
    assert ea.load(tmp_path / "v.npy").objective is None
