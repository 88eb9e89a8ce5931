"""Names of tokens beside a checkpoint, whatever kind of tokenizer wrote them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from embaudit.io import load
from embaudit.io.checkpoints.tokens import tokens_of

WORDS = ["<s>", "Ġthe", "a b", "é"]
ADDED = [{"id": 4, "content": "<pad>"}, {"id": 0, "content": "<bos>"}, {"id": "5"}, 3]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"tokenizer.json": {"model": {"vocab": {w: i for i, w in enumerate(WORDS)}}}}, WORDS),
        ({"tokenizer.json": {"model": {"vocab": [[w, -1.0] for w in WORDS]}}}, WORDS),
        (
            {"tokenizer.json": {"model": {"vocab": {w: i for i, w in enumerate(WORDS)}}, "added_tokens": ADDED}},
            ["<bos>", *WORDS[1:], "<pad>"],
        ),
        ({"vocab.json": {w: i for i, w in enumerate(WORDS)}, "added_tokens.json": {"<x>": 4}}, [*WORDS, "<x>"]),
        ({"tokenizer.json": {"model": {"vocab": {"b": 1}}}, "vocab.json": {"a": 0}}, ["<padding 0>", "b"]),
        ({"tokenizer.json": {"version": "1.0"}, "vocab.json": {"a": 0, "b": True, "c": -1}}, ["a"]),
    ],
)
def test_names_are_read_and_rows_beyond_are_padding(tmp_path, files, names):
    for file, content in files.items():
        (tmp_path / file).write_text(json.dumps(content))
    wanted = [*names, *(f"<padding {row}>" for row in range(len(names), 7))]
    found = tokens_of(tmp_path, 7)
    assert found.names.tolist() == wanted
    assert found.aside.tolist() == [name.startswith("<padding") for name in wanted]
    assert tokens_of(tmp_path, len(names)).names.tolist() == names
    assert tokens_of(tmp_path, len(names) - 1) is None


def test_added_tokens_are_set_aside_where_they_are_called_special(tmp_path):
    added = [{"id": 1, "content": "x", "special": False}, {"id": 2, "content": "</s>", "special": True}]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"a": 0}}, "added_tokens": added}))
    found = tokens_of(tmp_path, 4)
    assert found.names.tolist() == ["a", "x", "</s>", "<padding 3>"]
    assert found.aside.tolist() == [False, False, True, True]


def test_rows_of_a_vocabulary_are_its_tokens(tmp_path):
    save_file({"lm_head.weight": np.eye(4)}, tmp_path / "model.safetensors")
    (tmp_path / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(WORDS)}))
    read = load(tmp_path)
    assert read.right_names.tolist() == WORDS
    assert read.right_aside.tolist() == [False] * 4
    assert load(tmp_path, kind="vectors", weight="lm_head.weight").right_names.tolist() == WORDS
    save_file({"vectors": np.eye(5)}, tmp_path / "model.safetensors")
    assert load(tmp_path).right_names is None
