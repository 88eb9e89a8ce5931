"""Arrays, data frames and AnnData objects that are read as a model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from example_files import npy, refusal, write_all

import embaudit as ea
from embaudit.io import load, read

ROWS = np.array([[1.0, 2.0], [3.0, 4.5], [0.0, 1.0]])
IDS = ["a", "b", "c"]
FRAME = pd.DataFrame({"id": IDS, "v": ROWS.tolist(), "title": ["x", "y", "z"]})


@pytest.mark.parametrize(
    ("given", "options", "ids"),
    [
        (ROWS, {}, None),
        (ROWS.tolist(), {}, None),
        (ROWS.T, {"transpose": True}, None),
        (ROWS, {"ids": IDS}, IDS),
        (FRAME, {}, IDS),
        (pa.Table.from_pandas(FRAME), {}, IDS),
        # The index of a frame is its ids, unless it only counts the rows.
        (pd.DataFrame(ROWS, index=IDS), {}, IDS),
        (pd.DataFrame(ROWS), {}, None),
        # One embedding of AnnData, or the one that is named.
        (SimpleNamespace(obsm={"X_pca": ROWS}, obs_names=IDS), {}, IDS),
        (
            SimpleNamespace(obsm={"X_pca": ROWS, "X_umap": -ROWS}, obs_names=IDS),
            {"weight": "obsm/X_pca"},
            IDS,
        ),
    ],
)
def test_vectors_and_their_ids(given: Any, options: Any, ids: Any) -> None:
    model = load(given, **options)
    assert model.right.tolist() == ROWS.tolist()
    assert (model.left, model.link.name) == (None, "identity")
    assert (model.right_ids is None) if ids is None else model.right_ids.tolist() == ids


def test_titles_of_a_frame_are_read() -> None:
    reading = read(FRAME)
    model, intake = reading.model, reading.intake
    assert model.right_names.tolist() == ["x", "y", "z"]
    assert intake.explain() == (
        "Read as data frame: column v (3 × 2) as right factors, id (3) as right ids, "
        "title (3) as right names."
    )


def test_a_nested_list_of_integers_is_data() -> None:
    rows = [[1, 0], [0, 1]]
    assert load(rows).right.tolist() == rows


def test_columns_of_integers_of_a_table_of_arrow_are_vectors() -> None:
    table = pa.table({"id": [1, 2], "e0": [1, 2], "e1": [3, 4]})
    assert load(table).right.tolist() == [[1, 3], [2, 4]]


def test_both_sides_with_their_biases() -> None:
    users = np.array([[1.0, 1.0]])
    model = load(ROWS, left=users, bias=[1, 2, 3], left_bias=[10.0], link="sigmoid")
    # The products are 3, 7.5 and 1.
    assert model.scores().tolist() == [[3 + 1 + 10, 7.5 + 2 + 10, 1 + 3 + 10]]
    assert model.link.name == "sigmoid"


def test_both_sides_with_one_column_an_entity() -> None:
    model = load(ROWS.T, left=ROWS[:2].T, transpose=True)
    assert model.right.tolist() == ROWS.tolist()
    assert model.left.tolist() == ROWS[:2].tolist()


def test_the_other_side_from_a_frame_or_a_file(tmp_path: Any) -> None:
    path = write_all(tmp_path, {"u.npy": npy(ROWS[:2])})
    for side in (
        {"left": pd.DataFrame(ROWS[:2])},
        {"left_file": path},
        {"left_file": str(path)},
    ):
        assert load(ROWS, **side).left.tolist() == ROWS[:2].tolist()


def test_a_bias_without_a_second_side_makes_a_softmax_head() -> None:
    reading = read(ROWS, bias=[1, 2, 3], labels=IDS, inputs=ROWS[:1])
    model, intake = reading.model, reading.intake
    assert (model.link.name, model.roles) == ("softmax", ("input", "label"))
    assert model.right_bias.tolist() == [1, 2, 3]
    assert model.names("right").tolist() == IDS
    assert (model.n_left, intake.training_source) == (1, "array")


def test_a_dictionary_of_arrays_is_read_by_its_names() -> None:
    state = {"user_factors": ROWS[:2], "item_factors": ROWS, "steps": 3}
    model = ea.load(state)
    assert model.predictions().tolist() == (ROWS[:2] @ ROWS.T).tolist()


CODES = (9 * ROWS).astype(np.int8)


@pytest.mark.parametrize(
    ("given", "options", "part"),
    [
        # What is no matrix of numbers.
        (CODES, {}, "got int8, counts or codes"),
        (ROWS[0], {}, "a matrix with at least one row and one column; got shape (2,)"),
        ([ROWS, ROWS], {}, "give the right array, and the left array with left=ARRAY"),
        ((ROWS, ROWS[:2]), {}, "one matrix; got a tuple of arrays"),
        ([[1.0, 2.0], [1.0]], {}, "got rows that differ in length"),
        (np.ma.masked_array(ROWS, ROWS > 1), {}, "masked entries; fill them or drop"),
        # Ids that are missing.
        (ROWS, {"ids": [1, 2, np.nan]}, "present in every row; got nan in row 2"),
        (ROWS, {"ids": ["a", None, "b"]}, "present in every row; got None in row 1"),
        # Columns of a frame.
        (pd.DataFrame(ROWS, columns=["a", "a"]), {}, "with different names"),
        (pd.DataFrame({"id": [1, "a", 2], "v": ROWS.tolist()}), {}, "of one type each"),
        (
            pd.DataFrame(CODES).add_prefix("e"),
            {},
            "column e0 of the data frame must be",
        ),
        (pd.DataFrame({"v": list(CODES)}), {}, "got int8, counts or codes"),
        (pd.DataFrame(ROWS).add_prefix("e").assign(bias=1.0), {}, "bias='bias'"),
        (
            FRAME,
            {"bias": np.ones(3)},
            "bias must be the name of an array or a column, as text; got ndarray",
        ),
        # Options that only files or other objects have.
        (ROWS, {"weight": "a"}, "an option for arrays must be one of left, bias"),
        (ROWS, {"vector_id": "a"}, "an option for arrays must be one of left, bias"),
        (
            FRAME,
            {"weight": "a"},
            "an option for data frames must be one of left, vector_id",
        ),
        (FRAME, {"transpose": "both"}, "an option for data frames must be one of left"),
        (
            ROWS,
            {"left": 3},
            "left must be an array, a data frame or the name of an array",
        ),
        (
            ea.FactorModel.from_vectors(ROWS),
            {"weight": "a"},
            "an option for model must be one of left_file",
        ),
        (
            SimpleNamespace(obsm={"X_a": ROWS, "X_b": ROWS}, obs_names=IDS),
            {},
            "they are X_a, X_b; choose one with weight",
        ),
        (SimpleNamespace(obsm={}, obs_names=IDS), {}, "they are none"),
    ],
)
def test_load_refuses(given: Any, options: Any, part: str) -> None:
    assert part in refusal(lambda: load(given, **options).names("right"))
