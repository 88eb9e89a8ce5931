"""The files the project makes itself: as made, and made again."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embaudit.io import read_interactions

DATA = Path(__file__).parents[2] / "data"
SUMS = dict(
    line.split("  ")[::-1] for line in (DATA / "SHA256SUMS").read_text().splitlines()
)


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_data", DATA / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SUMS)
def test_files_are_as_they_were_made(name):
    content = (DATA / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == SUMS[name]
    assert len(content) < 400_000


def test_every_file_has_a_checksum_and_a_line_in_the_readme():
    files = {
        path.relative_to(DATA).as_posix()
        for path in DATA.glob("*/*")
        if "__pycache__" not in path.parts
    }
    assert files == set(SUMS)
    readme = (DATA / "README.md").read_text()
    for name in files:
        assert name in readme or f"{name.split('/')[0]}/*{Path(name).suffix}" in readme


def test_tables_can_be_made_again(make):
    again = make.heads() | make.interactions()
    for name, content in again.items():
        assert hashlib.sha256(content).hexdigest() == SUMS[name], name
    assert set(SUMS) - set(again) == {
        name for name in SUMS if name.startswith("figures/")
    }


def test_interactions_can_be_read_and_their_clusters_are_known():
    read = read_interactions(DATA / "simulated/interactions.csv")
    items = pd.read_csv(DATA / "simulated/items.csv")
    assert read.matrix.shape == (300, 60)
    assert len(items) == 60
    assert items["cluster"].nunique() == 3
    np.testing.assert_allclose(
        items.groupby("cluster")["popularity"].sum(), 1, atol=1e-4
    )
