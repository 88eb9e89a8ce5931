"""Vectors in JSON and JSON lines."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(3).normal(size=(6, 3))
ROWS = X.tolist()
IDS = [f"item {i}" for i in range(6)]


def written(path: Path, content: Any, *, lines: bool = False) -> Path:
    text = "".join(json.dumps(one) + "\n" for one in content) if lines else json.dumps(content, indent=1)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


RECORDS = [{"id": each, "title": each.upper(), "vector": row} for each, row in zip(IDS, ROWS, strict=True)]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_lines(tmp_path: Path, suffix: str) -> None:
    model = load(written(tmp_path / f"v{suffix}", RECORDS, lines=True))
    np.testing.assert_array_equal(model.right, X)
    assert model.right_ids is not None
    assert (model.right_ids.tolist(), model.names("right")[5]) == (IDS, "ITEM 5")
    bare = load(written(tmp_path / f"w{suffix}", ROWS, lines=True))
    np.testing.assert_array_equal(bare.right, X)
    whole = [{"id": i, "vector": [i, i + 1, i + 2]} for i in range(4)]
    np.testing.assert_array_equal(load(written(tmp_path / f"x{suffix}", whole, lines=True)).right[3], [3, 4, 5])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a": [1, 2], "a": [3, 4]}', "got the key 'a' twice; write it again."),
        ('{"a": [1, 2], "b": [3]}', "vectors of 2 numbers, as the first is; got 1 in row 1"),
        ('[{"id": 1, "v": [1]}, {"id": 2}]', "a vector in every row; got none in row 1"),
        ("[[1, 2], [3, null]]", "or records of an id and a vector; got list; write vectors with json.dump({id: "),
        ("[[1, 2], [3, true]]", "got list; write vectors with"),
        ("[]", "got list; write vectors with"),
        ("3", "got int; write vectors with"),
        ('{"a": 0, "b": 1}', "got a vocabulary; give the head, and this with labels='PATH'."),
        ('{"model_type": "llama"}', "got a configuration; give its folder."),
        ('{"added_tokens": [], "model": {}}', "got a tokenizer; give its folder."),
        ('{"embaudit_version": "1"}', "got an audit; give the model that was audited."),
        ("{", "must be JSON of vectors: lists of numbers"),
        ("[" * 100_000, "got nested too deeply; write it again."),
        ("[[1, NaN]]", "item factors (vector) must be finite; got nan at row 0, column 1"),
    ],
)
def test_other_documents(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "v.json"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        load(path)
    assert sentence.replace("PATH", str(path)) in str(refused.value)
    assert str(path) in str(refused.value)
