"""The line that a refusal of an index file prints runs on files of Annoy, hnswlib and
USearch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

ROWS = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
IDS = np.arange(30) + 7


def run(path: Path) -> None:
    """Run the Python in the refusal of a file; N is the number of dimensions."""
    with pytest.raises(InputError) as refused:
        load(path)
    line = str(refused.value).partition(" in Python")[2].partition(": ")[2]
    exec(line.removesuffix("."), {"N": 8})


@pytest.mark.parametrize("suffix", [".ann", ".annoy"])
def test_annoy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    annoy = pytest.importorskip("annoy")
    monkeypatch.chdir(tmp_path)
    index = annoy.AnnoyIndex(8, "angular")
    for number, row in enumerate(ROWS):
        index.add_item(number, row)
    index.build(3)
    index.save(str(tmp_path / f"v{suffix}"))
    run(tmp_path / f"v{suffix}")
    np.testing.assert_array_equal(load("vectors.npy").right, ROWS)


@pytest.mark.parametrize("name", ["v.hnsw", "v.bin"])
@pytest.mark.parametrize("space", ["l2", "ip"])
def test_hnswlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, space: str
) -> None:
    hnswlib = pytest.importorskip("hnswlib")
    monkeypatch.chdir(tmp_path)
    index = hnswlib.Index(space, 8)
    index.init_index(100)
    index.add_items(ROWS, IDS[::-1])
    index.save_index(str(tmp_path / name))
    run(tmp_path / name)
    model = load("vectors.npz")
    np.testing.assert_array_equal(model.right, ROWS[::-1])
    assert model.right_ids.tolist() == IDS.tolist()


def test_usearch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usearch = pytest.importorskip("usearch.index")
    monkeypatch.chdir(tmp_path)
    index = usearch.Index(ndim=8, dtype="f32")
    index.add(IDS, ROWS)
    index.save(str(tmp_path / "v.usearch"))
    run(tmp_path / "v.usearch")
    model = load("vectors.npz")
    np.testing.assert_array_equal(model.right, ROWS)
    assert model.right_ids.tolist() == IDS.tolist()
