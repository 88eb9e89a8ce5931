"""What commands say about the tables that they joined, and ambiguous joins that they
refuse.
"""

from __future__ import annotations

import json

import numpy as np

import embaudit as ea


def test_the_ids_of_a_table_of_vectors_are_chosen_on_every_command(embaudit, tmp_path):
    rows = np.random.default_rng(0).standard_normal((12, 3)).round(3)
    lines = [f"{i},{i + 70},{','.join(map(str, row))}" for i, row in enumerate(rows)]
    (tmp_path / "v.csv").write_text("\n".join(["asin,other,e1,e2,e3", *lines]) + "\n")
    (tmp_path / "titles.csv").write_text(
        "no,title\n" + "".join(f"{i},film {i}\n" for i in range(12))
    )
    few = ()
    looked = embaudit("formats", "v.csv", *few, "--vector-id", "asin")
    assert looked.out == (
        "Read as csv: columns e1 to e3 (? × 3) as right factors, asin as right ids. "
        "Not used: other.\n"
    )
    gauged = embaudit(
        "gauge",
        "v.csv",
        *few,
        "--vector-id",
        "asin",
        "--group",
        "diagonal",
        "--out",
        "g.npz",
    )
    assert (gauged.code, ea.load("g.npz").right_ids.tolist()) == (0, list(range(12)))
    written = embaudit(
        "fix",
        "v.csv",
        *few,
        "--vector-id",
        "asin",
        "--as",
        "centred",
        "--out",
        "f.parquet",
    )
    assert (written.code, ea.load("f.parquet").right_ids.tolist()) == (
        0,
        list(range(12)),
    )
    audited = embaudit(
        "audit",
        "v.csv",
        *few,
        "--vector-id",
        "asin",
        "--n-gauges",
        1,
        "--n-starts",
        0,
        "--json",
        "a.json",
    )
    assert audited.code == 0
    next_steps = audited.out.replace("\\\n    ", "")
    asked = "--vector-id asin --n-gauges 1 --n-starts 0"
    assert f"embaudit audit v.csv {asked} --left-file OTHER-SIDE.npy\n" in next_steps
    intake = json.loads((tmp_path / "a.json").read_text())["input"]["intake"]
    assert {"name": "asin", "became": "right_ids", "shape": [12]} in intake["parts"]
    # `--id` names the column of a table of titles.
    both = (
        "--vector-id",
        "asin",
        "--items",
        "titles.csv",
        "--id",
        "no",
        "--n-gauges",
        1,
        "--n-starts",
        0,
    )
    named = embaudit("audit", "v.csv", *few, *both)
    assert (named.code, "titles: 12 of 12 items matched" in named.err) == (0, True)
    wrong = embaudit("gauge", "v.csv", *few, "--vector-id", "none", "--out", "h.npz")
    assert (
        wrong.code,
        "the id column must be one of asin, other, e1, e2, e3" in wrong.err,
    ) == (2, True)
