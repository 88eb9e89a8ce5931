"""Tables, labels and vectors that used to be read as something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embaudit.io import load, read_labels, read_titles

ROWS = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 7.0]])


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('1\t"Weird Al" Yankovic\n2\tBeck\n3\tCher\n', ['"Weird Al" Yankovic', "Beck", "Cher"]),
        ('1\tHunky Dory\n2\t"Heroes\n3\tLow\n4\tLodger\n', ["Hunky Dory", '"Heroes', "Low", "Lodger"]),
        ('1\t"Heroes\n2\tLow\n3\tLodger\n', ['"Heroes', "Low", "Lodger"]),
        ('1\t"a ""b"" c"\n2\tBeck\n3\tCher\n', ['a "b" c', "Beck", "Cher"]),
        ('1\t12" single\n2\tBeck\n3\tCher\n', ['12" single', "Beck", "Cher"]),
        ('1\t"two\nlines"\n2\tBeck\n', ["two\nlines", "Beck"]),
    ],
)
def test_quotes_in_titles_are_letters_where_they_enclose_nothing(tmp_path: Path, text: str, titles: list[str]) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\ttitle\n" + text)
    assert read_titles(path)[1].tolist() == titles


NAMES = ["Heat, The", 'a "b"', "plain"]


@pytest.mark.parametrize(
    "options",
    [
        {"index": False},
        {"index": False, "header": False},
        {},
        {"header": False},
        {"index": False, "lineterminator": "\r\n"},
    ],
)
@pytest.mark.parametrize("name", [None, "title"])
@pytest.mark.parametrize("file", ["labels.csv", "labels.txt"])
def test_labels_that_a_series_wrote(tmp_path: Path, options: dict[str, Any], name: str | None, file: str) -> None:
    pd.Series(NAMES, name=name).to_csv(tmp_path / file, **options)
    assert read_labels(tmp_path / file, 3).tolist() == NAMES


def test_the_named_index_of_a_data_frame_is_its_ids(tmp_path: Path) -> None:
    index = pd.Index(["x", "y", "z"], name="asin")
    for frame in (pd.DataFrame(ROWS, index=index, columns=["a0", "a1"]),
                  pd.DataFrame({"label": ["p", "q", "r"], "vector": list(ROWS)}, index=index)):  # fmt: skip
        frame.to_parquet(tmp_path / "v.parquet")
        model = load(tmp_path / "v.parquet")
        assert model.right_ids is not None
        assert model.right_ids.tolist() == ["x", "y", "z"]
        np.testing.assert_array_equal(model.right, ROWS)
    assert load(tmp_path / "v.parquet", id="label").names("right")[0] == "p"


@pytest.mark.parametrize("name", ["words", "index_to_key", "item_ids", "tokens"])
def test_words_beside_an_array_are_its_ids(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "m.npz", vectors=ROWS, **{name: np.array(["x", "y", "z"])})
    model = load(tmp_path / "m.npz")
    assert model.right_ids is not None
    assert model.right_ids.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(model.right, ROWS)


def test_inputs_are_read_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", W=ROWS, b=[1.0, 2.0, 3.0])
    inputs = np.array([[0.5, 1.0], [2.0, 0.0]])
    np.save(tmp_path / "x.npy", inputs)
    pd.DataFrame(inputs, columns=["a0", "a1"]).to_csv(tmp_path / "x.csv", index=False)
    for given in (tmp_path / "x.npy", str(tmp_path / "x.csv"), inputs):
        model = load(tmp_path / "m.npz", inputs=given)
        assert repr(model) == "FactorModel(2 inputs × 3 labels, 2 dimensions, softmax link, float64, label bias)"
        np.testing.assert_array_equal(model.scores(), inputs @ ROWS.T + [1.0, 2.0, 3.0])
