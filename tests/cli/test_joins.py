"""What commands say of what they read and joined, and what they refuse to guess."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea


@pytest.fixture
def model(tmp_path):
    """Items of three clusters under ids from 100 on, and a table that knows their clusters and titles."""
    draw = np.random.default_rng(0)
    clusters = draw.integers(3, size=30)
    items = np.eye(3)[clusters] + 0.1 * draw.standard_normal((30, 3))
    made = ea.FactorModel.from_user_item(draw.standard_normal((20, 3)), items, item_ids=np.arange(100, 130))
    ea.save(made, tmp_path / "ids.npz")
    ea.save(made.replace(right_ids=None), tmp_path / "rows.npz")
    rows = "".join(f"{100 + i},group {c},Film {i}\n" for i, c in enumerate(clusters))
    (tmp_path / "items.csv").write_text("item,group,title\n" + rows)
    return made


JUDGED = ("--items", "items.csv", "--id", "item", "--truth", "group", "--top", 3)


def test_row_numbers_are_not_joined_with_foreign_ids(model, embaudit):
    ea.save(model.replace(right_ids=np.arange(30)), "numbers.npz")
    refused = embaudit("evaluate", "numbers.npz", *JUDGED)
    assert refused.code == 2
    assert "row numbers 0 to 29 in the model and ids such as 100 in items.csv" in refused.err
    for options in ((), ("--partial",)):
        both = embaudit("compare", "ids.npz", "numbers.npz", *options)
        assert both.code == 2
        assert "must be" in both.err


def test_titles_come_from_a_table_on_every_command(model, embaudit):
    titles = ("--items", "items.csv", "--id", "item", "--title", "title")
    fixed = embaudit("fix", "ids.npz", *titles, "--out", "f.npz")
    assert (fixed.code, fixed.err) == (0, "titles: 30 of 30 items matched by id.\n")
    assert ea.load("f.npz").right_names[:2].tolist() == ["Film 0", "Film 1"]
    assert embaudit("fix", "ids.npz", *titles, "--quiet", "--out", "g.npz").err == ""
    compared = embaudit("compare", "ids.npz", "f.npz", "--by-row", *titles)
    assert compared.err == 2 * "titles: 30 of 30 items matched by row.\n"
    judged = embaudit("evaluate", "ids.npz", "--truth", "group", "--top", 3, *titles)
    assert (judged.code, judged.err) == (0, "titles: 30 of 30 items matched by id.\n")


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
