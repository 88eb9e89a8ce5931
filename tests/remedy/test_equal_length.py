"""Vectors of equal length: every measure of an index lists what the model scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

import embaudit as ea
from embaudit.errors import EquivalenceError, InputError


def lists_by(measure, left, right):
    """Return the order in which a measure lists right rows, by brute force."""
    if measure == "dot":
        values = left @ right.T
    elif measure == "cosine":
        unit = right / np.linalg.norm(right, axis=1, keepdims=True)
        values = left @ unit.T
    else:
        values = -np.linalg.norm(left[:, None] - right[None], axis=2)
    return np.argsort(-values, axis=1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), has_bias=st.booleans())
def test_all_measures_list_rows_in_the_order_of_the_scores(seed, has_bias):
    biases = ("left_bias", "right_bias") if has_bias else ()
    model = random_model(seed % 1000, biases=biases, offset=0.5 * has_bias)
    served = ea.fix(model, "equal-length").to_model()
    expected = np.argsort(-model.scores(), axis=1)
    for measure in ("dot", "cosine", "l2"):
        found = lists_by(measure, served.left, served.right)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias")])
def test_scores_stay_and_right_rows_have_one_length(biases):
    model = random_model(1, biases=biases)
    served = ea.fix(model, "equal-length").to_model()
    assert served.rank == model.rank + 1 + bool(biases)
    assert served.right_bias is None
    np.testing.assert_allclose(served.scores(), model.scores(), rtol=1e-12, atol=1e-12)
    lengths = np.linalg.norm(served.right, axis=1)
    np.testing.assert_allclose(lengths, lengths.max(), rtol=1e-12)


@pytest.mark.parametrize("measure", ["cosine", "dot", "l2"])
def test_an_audit_of_the_index_finds_no_changed_list(measure):
    model = random_model(2, biases=("right_bias",))
    assert ea.index_metric(model, measure).directions[0].kept < 1
    served = ea.fix(model, "equal-length").to_model()
    assert ea.index_metric(served, measure).directions[0].kept == 1


def test_rows_without_direction_keep_their_score_of_0():
    model = random_model(3)
    right = np.array(model.right)
    right[4] = 0
    model = model.replace(right=right)
    served = ea.fix(model, "equal-length").to_model()
    np.testing.assert_allclose(served.scores(), model.scores(), atol=1e-12)
    assert np.linalg.norm(served.right[4]) == pytest.approx(
        np.linalg.norm(served.right, axis=1).max()
    )


def test_rows_of_one_length_get_a_column_of_zeros():
    model = ea.FactorModel.from_user_item([[1.0, 2.0]], [[3.0, 4.0], [5.0, 0.0]])
    assert ea.fix(model, "equal-length").vectors().tolist() == [
        [3.0, 4.0, 0.0],
        [5.0, 0.0, 0.0],
    ]


def test_float32_rows_are_written_in_float32(tmp_path):
    model = random_model(4)
    model = model.replace(
        left=model.left.astype(np.float32), right=model.right.astype(np.float32)
    )
    path = tmp_path / "items.npy"
    ea.fix(model, "equal-length", role="right").write(path)
    rows = np.load(path)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(
        np.linalg.norm(rows, axis=1), np.linalg.norm(rows, axis=1).max(), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("right", "search with the user vectors that role='user' writes"),
        ("left", "an index of the item vectors that role='item' writes"),
    ],
)
def test_one_side_names_the_vectors_of_the_other(role, words):
    text = ea.fix(random_model(5), "equal-length", role=role).explain()
    assert "all item vectors have one length" in text
    assert words in text


@pytest.mark.parametrize(
    ("model", "options", "error", "sentence"),
    [
        (
            ea.FactorModel.from_vectors(np.eye(4)),
            {},
            InputError,
            "vectors of equal length must be computed from the factors",
        ),
        (random_model(6), {"dimensions": 2}, InputError, "which keep them all; got 2"),
        (
            random_model(6),
            {"unit": True, "role": "right"},
            InputError,
            "unit must be omitted for vectors of equal length",
        ),
        (
            random_model(6).replace(link="cosine"),
            {},
            EquivalenceError,
            "got a model that divides the item rows by their lengths",
        ),
    ],
)
def test_models_and_options_that_do_not_fit_are_refused(
    model, options, error, sentence
):
    with pytest.raises(error, match=sentence):
        ea.fix(model, "equal-length", **options)
