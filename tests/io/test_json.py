"""Vectors in JSON and JSON lines."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(3).normal(size=(6, 3))
ROWS = X.tolist()
IDS = [f"item {i}" for i in range(6)]


def written(path: Path, content: Any, *, lines: bool = False) -> Path:
    text = (
        "".join(json.dumps(one) + "\n" for one in content)
        if lines
        else json.dumps(content, indent=1)
    )
    path.write_bytes(
        gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode()
    )
    return path


RECORDS = [
    {"id": each, "title": each.upper(), "vector": row}
    for each, row in zip(IDS, ROWS, strict=True)
]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".jsonl.gz"])
def test_lines(tmp_path: Path, suffix: str) -> None:
    model = load(written(tmp_path / f"v{suffix}", RECORDS, lines=True))
    np.testing.assert_array_equal(model.right, X)
    assert model.right_ids is not None
    assert (model.right_ids.tolist(), model.names("right")[5]) == (IDS, "ITEM 5")
    bare = load(written(tmp_path / f"w{suffix}", ROWS, lines=True))
    np.testing.assert_array_equal(bare.right, X)
    whole = [{"id": i, "vector": [i, i + 1, i + 2]} for i in range(4)]
    np.testing.assert_array_equal(
        load(written(tmp_path / f"x{suffix}", whole, lines=True)).right[3], [3, 4, 5]
    )
