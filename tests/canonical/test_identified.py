"""Identified cosines against the dense score matrix, and against every gauge."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.canonical import identified_cosines, identified_factors
from embaudit.canonical.identified import prediction_views
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel, softmax_link

SIDES = ["left", "right"]
LINKS = ["identity", "softmax", "ranking", "cosine"]
BIASES = ((), ("left_bias",), ("right_bias",), ("left_bias", "right_bias"))


make = partial(
    random_model,
    n=20,
    p=15,
    k=4,
    scales=(1, np.geomspace(2, 0.2, 4)),
    means=(0.5, 0.5),
    offset=0.3,
)


def dense(model):
    """The matrix whose columns and rows are compared, spelt out."""
    if model.link.name == "cosine":
        return model.scores()
    scores = model.left @ model.right.T
    left, right = (side in model.centred_sides for side in ("left", "right"))
    scores = scores - scores.mean(axis=0) if left else scores
    return scores - scores.mean(axis=1, keepdims=True) if right else scores


@pytest.mark.parametrize("role", SIDES)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("biases", BIASES)
def test_equal_to_cosines_of_the_dense_scores(role, link, biases):
    model = make(0, link=link, biases=biases)
    table = dense(model)
    table = table.T if role == "right" else table
    pairs = all_pairs(len(table))
    expected = pair_cosines(table, table, pairs)
    found = identified_cosines(model, role=role, pairs=pairs)
    np.testing.assert_allclose(found, expected, atol=1e-10)


@given(
    seed=st.integers(0, 2**32 - 1),
    kappa=st.floats(1, 1e4),
    kind=st.sampled_from([Diagonal, GeneralLinear]),
    role=st.sampled_from(SIDES),
    link=st.sampled_from(LINKS[:3]),
    biases=st.sampled_from(BIASES),
)
@settings(max_examples=60)
def test_no_gauge_of_condition_up_to_1e4_moves_them(
    seed, kappa, kind, role, link, biases
):
    model = make(seed, link=link, biases=biases)
    linear = kind(4, max_condition=kappa).sample(rng=seed)
    shift = np.random.default_rng(seed).standard_normal((2, 4))
    translation = Gauge.translation(
        4,
        left=shift[0] if "right_bias" in biases else None,
        right=shift[1] if "left_bias" in biases or link != "identity" else None,
    )
    other = linear.act(translation.act(model))
    pairs = all_pairs(len(model.factors(role)))
    before, after = (
        identified_cosines(m, role=role, pairs=pairs) for m in (model, other)
    )
    np.testing.assert_allclose(after, before, atol=1e-9)


def test_an_item_whose_scores_vanish_has_no_cosine():
    """The users see two dimensions only; an item in the third has a direction but no
    scores."""
    left = np.column_stack(
        [np.random.default_rng(0).standard_normal((9, 2)), np.zeros(9)]
    )
    right = np.array([[1.0, 0, 0], [1, 1, 0], [0, 0, 5], [0, 0, 0]])
    model = (
        GeneralLinear(3, max_condition=30.0)
        .sample(rng=0)
        .act(FactorModel.from_user_item(left, right))
    )
    found = identified_cosines(
        model, role="right", pairs=[[0, 1], [0, 2], [0, 3], [2, 2]]
    )
    assert np.isfinite(found[0])
    assert np.isnan(found[1:]).all()
    assert np.isfinite(model.cosines("right", [[0, 2]])).all()


def test_the_plain_cosines_of_the_same_models_do_move():
    model = make(2)
    other = GeneralLinear(4, max_condition=100.0).sample(rng=2).act(model)
    pairs = all_pairs(15)
    assert (
        np.abs(other.cosines("right", pairs) - model.cosines("right", pairs)).max()
        > 0.5
    )


@pytest.mark.parametrize("role", SIDES)
def test_identified_cosines_are_the_plain_cosines_of_identified_factors(role):
    model = make(1, biases=("right_bias",))
    vectors = identified_factors(model, role)
    pairs = all_pairs(len(vectors))
    np.testing.assert_allclose(
        identified_cosines(model, role=role),
        pair_cosines(vectors, vectors, pairs),
        atol=1e-12,
    )


def test_one_side_has_no_prediction_vectors():
    assert prediction_views(FactorModel.from_vectors(np.eye(3))) is None


def test_scores_that_are_all_zero_have_no_prediction_vectors():
    model = FactorModel.from_user_item([[1.0, 0.0]], [[0.0, 1.0]])
    assert prediction_views(model) is None


def test_prediction_vectors_of_rows_too_long_for_float64_are_refused():
    model = FactorModel.from_user_item(1e200 * np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="the longest row of the user factors must be"):
        prediction_views(model)


def at_angles(*angles):
    return np.column_stack([np.cos(angles), np.sin(angles)])


def test_normalised_heads_with_equal_probabilities_have_equal_prediction_cosines():
    """Two sets of three unit labels in a plane: less their means, one is a map of the
    other."""
    first, second = at_angles(0, 2, 4.1), at_angles(0, 0.6, 2.5)
    inputs = np.random.default_rng(0).normal(size=(7, 2))
    centred_first, centred_second = first - first.mean(0), second - second.mean(0)
    turn = np.linalg.pinv(centred_first) @ centred_second
    link = softmax_link(unit_rows=True)
    one = FactorModel.from_arrays(inputs, first, link=link)
    other = FactorModel.from_arrays(inputs @ np.linalg.inv(turn).T, second, link=link)
    np.testing.assert_allclose(other.predictions(), one.predictions(), atol=1e-12)

    logits = inputs @ first.T
    logits = logits - logits.mean(axis=1, keepdims=True)
    logits = logits - logits.mean(axis=0)
    columns = logits / np.linalg.norm(logits, axis=0)
    expected = (columns.T @ columns)[[0, 0, 1], [1, 2, 2]]
    for model in (one, other):
        found = identified_cosines(model, role="right")
        np.testing.assert_allclose(found, expected, atol=1e-9)
