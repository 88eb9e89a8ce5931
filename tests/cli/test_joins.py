"""What commands say of what they read and joined, and what they refuse to guess."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea


def test_fit_says_how_many_titles_matched_and_refuses_less_than_half(embaudit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = [(u, i) for u in range(8) for i in range(6) if (u * i) % 5 < 3]
    Path("r.csv").write_text("userId,movieId,rating\n" + "".join(f"{u},{i + 10},{1 + (u + i) % 5}\n" for u, i in pairs))
    fit = ("fit", "r.csv", "--objective", "product", "--rank", 2, "--items", "m.csv", "--out", "m.npz")
    Path("m.csv").write_text("movieId,title\n10,Heat\n11,Ran\n70,x\n")
    refused = embaudit(*fit)
    assert refused.code == 2
    assert "at least half of the items must be found in m.csv; got 2 of 6; check the ids, or go on with" in refused.err
    assert not Path("m.npz").exists()
    assert "titles: 2 of 6 items matched by id." in embaudit(*fit, "--partial").out
    assert ea.load("m.npz").right_names.tolist() == ["Heat", "Ran", "12", "13", "14", "15"]
    Path("m.csv").write_text("movieId,title\n10,Heat\n11,Ran\n12,Ikiru\n")
    assert "titles: 3 of 6 items matched by id." in embaudit(*fit, "--force").out


@pytest.mark.usefixtures("without_attacks")
def test_the_ids_of_a_table_of_vectors_are_chosen_on_every_command(embaudit, tmp_path):
    rows = np.random.default_rng(0).standard_normal((12, 3)).round(3)
    lines = [f"{i},{i + 70},{','.join(map(str, row))}" for i, row in enumerate(rows)]
    (tmp_path / "v.csv").write_text("\n".join(["asin,other,e1,e2,e3", *lines]) + "\n")
    (tmp_path / "titles.csv").write_text("no,title\n" + "".join(f"{i},film {i}\n" for i in range(12)))
    few = ()
    looked = embaudit("formats", "v.csv", *few, "--id", "asin")
    assert looked.out == (
        "Read as csv: columns e1 to e3 (? × 3) as right factors, asin (?) as right ids. Left over: other (?).\n"
    )
    gauged = embaudit("gauge", "v.csv", *few, "--id", "asin", "--group", "diagonal", "--out", "g.npz")
    assert (gauged.code, ea.load("g.npz").right_ids.tolist()) == (0, list(range(12)))
    written = embaudit("fix", "v.csv", *few, "--id", "asin", "--as", "centred", "--out", "f.parquet")
    assert (written.code, ea.load("f.parquet").right_ids.tolist()) == (0, list(range(12)))
    audited = embaudit("audit", "v.csv", *few, "--id", "asin", "--gauges", 1, "--json", "a.json")
    assert audited.code == 0
    assert "--load id=asin" in audited.out
    intake = json.loads((tmp_path / "a.json").read_text())["input"]["intake"]
    assert {"name": "asin", "became": "right_ids", "shape": [12]} in intake["parts"]
    # Beside a table of titles it names the column there.
    both = ("--load", "id=asin", "--items", "titles.csv", "--id", "no", "--gauges", 1)
    named = embaudit("audit", "v.csv", *few, *both)
    assert (named.code, "titles: 12 of 12 items matched" in named.err) == (0, True)
    wrong = embaudit("gauge", "v.csv", *few, "--id", "none", "--out", "h.npz")
    assert (wrong.code, "the id column must be one of asin, other, e1, e2, e3" in wrong.err) == (2, True)
