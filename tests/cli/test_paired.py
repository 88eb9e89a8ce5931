"""`embaudit compare OLD NEW --paired`: can old vectors be mapped?"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea


@pytest.fixture(autouse=True)
def _tables(embaudit):
    """Write vectors of two encoders to the folder that `embaudit` enters."""
    draw = np.random.default_rng(0)
    centres = 2 * draw.standard_normal((9, 6))
    old = centres[draw.integers(9, size=240)] + draw.standard_normal((240, 6))
    np.save("old.npy", old)
    np.save("new.npy", old * np.geomspace(1, 8, 6))


def test_the_advice_and_a_table_are_printed(embaudit):
    result = embaudit("compare", "old.npy", "new.npy", "--paired")
    assert result.code == 0
    text = " ".join(result.out.split())
    assert "A linear map is enough: it keeps 100 % (97 % to 100 %) of the new" in text
    assert "of the new encoder's top 10" in text
    assert "by mapped items mapped queries mean angle nine in ten within" in text


def test_the_page_and_the_record_hold_the_figures(embaudit):
    arguments = ["--paired", "--out", "m.html", "--json", "m.json"]
    assert embaudit("compare", "old.npy", "new.npy", *arguments).code == 0
    page = Path("m.html").read_text(encoding="utf-8")
    assert "Can a map bring the old vectors into the new space?" in page
    record = json.loads(Path("m.json").read_text(encoding="utf-8"))
    expected = json.loads(json.dumps(ea.space_map("old.npy", "new.npy").to_dict()))
    assert {name: record[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["new.npy"], "a third model must be omitted"),
        (["--fail-below", "kept=0.5"], "--fail-below must be omitted"),
        (["--role", "item"], "--role must be omitted"),
    ],
)
def test_options_of_other_comparisons_are_refused(embaudit, arguments, sentence):
    result = embaudit("compare", "old.npy", "new.npy", *arguments, "--paired")
    assert result.code == 2
    assert sentence in " ".join(result.err.split())


def test_too_few_items_are_refused(embaudit):
    np.save("few.npy", np.load("old.npy")[:12])
    result = embaudit("compare", "few.npy", "few.npy", "--paired")
    assert result.code == 2
    assert "a nonzero row in both encoders must be at least 20; got 12" in result.err
