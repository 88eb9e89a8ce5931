"""What commands say about the tables that they joined, and ambiguous joins that they
refuse.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import embaudit as ea


@pytest.fixture
def vectors(tmp_path):
    """Write 12 vectors with two columns of ids into the current folder."""
    rows = np.random.default_rng(0).standard_normal((12, 3)).round(3)
    table = pd.DataFrame(rows, columns=["e1", "e2", "e3"])
    table.insert(0, "asin", range(12))
    table.insert(1, "other", range(70, 82))
    table.to_csv(tmp_path / "v.csv", index=False)


ASIN = ("--vector-id", "asin")
SMALL = ("--n-gauges", 1, "--n-starts", 0)


@pytest.mark.usefixtures("vectors")
def test_the_chosen_column_of_ids_is_named(embaudit):
    result = embaudit("formats", "v.csv", *ASIN)
    assert result.out == (
        "Read as csv: columns e1 to e3 (? × 3) as right factors, asin as right ids. "
        "Not used: other.\n"
    )


@pytest.mark.usefixtures("vectors")
def test_a_gauge_keeps_the_chosen_ids(embaudit):
    result = embaudit("gauge", "v.csv", *ASIN, "--group", "diagonal", "--out", "g.npz")
    assert result.code == 0
    assert ea.load("g.npz").right_ids.tolist() == list(range(12))


@pytest.mark.usefixtures("vectors")
def test_a_fix_keeps_the_chosen_ids(embaudit):
    result = embaudit("fix", "v.csv", *ASIN, "--as", "centred", "--out", "f.parquet")
    assert result.code == 0
    assert ea.load("f.parquet").right_ids.tolist() == list(range(12))


@pytest.mark.usefixtures("vectors")
def test_an_audit_records_the_chosen_column_and_repeats_it_in_its_advice(embaudit):
    result = embaudit("audit", "v.csv", *ASIN, *SMALL, "--json", "a.json")
    assert result.code == 0
    next_steps = result.out.replace("\\\n    ", "")
    options = "--vector-id asin --n-gauges 1 --n-starts 0"
    assert f"embaudit audit v.csv {options} --left-file OTHER-SIDE.npy\n" in next_steps
    intake = json.loads(Path("a.json").read_text())["input"]["intake"]
    assert {"name": "asin", "became": "right_ids", "shape": [12]} in intake["parts"]


@pytest.mark.usefixtures("vectors")
def test_the_ids_of_vectors_and_of_titles_have_an_option_each(embaudit, tmp_path):
    titles = pd.DataFrame({"no": range(12), "title": [f"film {i}" for i in range(12)]})
    titles.to_csv(tmp_path / "titles.csv", index=False)
    of_titles = ("--items", "titles.csv", "--id", "no")
    result = embaudit("audit", "v.csv", *ASIN, *of_titles, *SMALL)
    assert result.code == 0
    assert "titles: 12 of 12 items matched" in result.err


@pytest.mark.usefixtures("vectors")
def test_an_unknown_column_of_ids_is_refused(embaudit):
    result = embaudit("gauge", "v.csv", "--vector-id", "none", "--out", "h.npz")
    assert result.code == 2
    assert "the id column must be one of asin, other, e1, e2, e3" in result.err
