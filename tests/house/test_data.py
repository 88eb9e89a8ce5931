"""The files of the folder `data`, all of which the project makes itself."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embaudit.io import read_interactions

DATA = Path(__file__).parents[2] / "data"
SUMS = {}
for line in (DATA / "SHA256SUMS").read_text().splitlines():
    checksum, name = line.split("  ")
    SUMS[name] = checksum


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make_data", DATA / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SUMS)
def test_each_file_has_its_checksum_and_is_small(name):
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
        folder, suffix = name.split("/")[0], Path(name).suffix
        # The readme names a file, or all files of its kind, as figures/*.csv.
        assert name in readme or f"{folder}/*{suffix}" in readme


def test_heads_and_interactions_can_be_made_again_byte_for_byte(make):
    again = make.heads() | make.interactions()
    assert set(again) == {name for name in SUMS if not name.startswith("figures/")}
    for name, content in again.items():
        assert hashlib.sha256(content).hexdigest() == SUMS[name], name


def test_simulated_interactions_are_of_300_users_and_60_items_in_3_clusters():
    read = read_interactions(DATA / "simulated/interactions.csv")
    items = pd.read_csv(DATA / "simulated/items.csv")
    assert read.matrix.shape == (300, 60)
    assert len(items) == 60
    assert items["cluster"].nunique() == 3
    # Popularities are a distribution within each cluster; the file rounds them.
    np.testing.assert_allclose(
        items.groupby("cluster")["popularity"].sum(), 1, atol=1e-4
    )
