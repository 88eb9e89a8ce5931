"""`embaudit fix OLD --map-to NEW`: what it writes and prints, and refusals."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import embaudit as ea


@pytest.fixture
def tables(embaudit):
    """Write a table of old vectors, and one of the same vectors in other axes."""
    draw = np.random.default_rng(0)
    centres = 2 * draw.standard_normal((9, 6))
    old = centres[draw.integers(9, size=240)] + draw.standard_normal((240, 6))
    turn = np.linalg.qr(draw.standard_normal((6, 6)))[0]
    ids = [f"d{i}" for i in range(240)]
    for name, rows in (("old", old), ("new", old @ turn)):
        frame = pd.DataFrame({"id": ids, "vector": [*rows]})
        frame.to_parquet(f"{name}.parquet")
    return {"old": old, "new": old @ turn}


def test_vectors_are_written_and_the_figures_are_printed(embaudit, tables):
    arguments = ["--map-to", "new.parquet", "--out", "m.parquet", "--json", "m.json"]
    result = embaudit("fix", "old.parquet", *arguments)
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "A rotation is enough: it keeps 100 % (97 % to 100 %) of the new" in text
    assert "of the new encoder's top 10" in text
    assert "top 5 among 120 items. Map the old vectors." in text
    assert "A threshold of 0.80 on old cosines becomes 0.80" in text
    np.testing.assert_allclose(ea.load("m.parquet").right, tables["new"], atol=1e-12)
    record = json.loads(Path("m.json").read_text(encoding="utf-8"))
    expected = ea.space_map("old.parquet", "new.parquet").to_dict()
    assert record["space_map"] == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--as", "centred"], "--as must be omitted if vectors are mapped"),
        (["--align-to", "old.parquet"], "--align-to must be omitted"),
        (["--role", "user"], "must be the items"),
    ],
)
def test_options_of_other_vectors_are_refused(embaudit, tables, arguments, sentence):
    command = ["fix", "old.parquet", "--map-to", "new.parquet", "--out", "m.parquet"]
    result = embaudit(*command, *arguments)
    assert result.code == 2
    assert sentence in " ".join(result.err.split())


def test_a_map_without_a_new_encoder_is_refused(embaudit, tables):
    result = embaudit("fix", "old.parquet", "--by-map", "linear", "--out", "m.parquet")
    assert result.code == 2
    assert "--by-map must be omitted unless --map-to is given" in " ".join(
        result.err.split()
    )
