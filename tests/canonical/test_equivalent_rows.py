"""Rows of equivalent models, computed on request, equal the rows of the whole model."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.canonical.equivalents import GaugedModel, canonical_models
from embaudit.gauges import Affine, GeneralLinear
from embaudit.model import FactorModel


def make_model(n=150, p=220, k=5):
    draw = np.random.default_rng(0)
    left = draw.standard_normal((n, k)) + 0.5
    right = draw.standard_normal((p, k)) * draw.lognormal(size=(p, 1))
    right[7] = 0
    return FactorModel.from_user_item(left, right, user_bias=np.zeros(n))


MODEL = make_model()
UNSEEN_COLUMN = MODEL.replace(right=MODEL.right * [1, 1, 1, 1, 0])
SOFTMAX = FactorModel.from_arrays(MODEL.left, MODEL.right, link="softmax")
"""With inputs that have a mean, and without a label bias that could absorb it."""
SOFTMAX_UNSEEN = SOFTMAX.replace(right=SOFTMAX.right * [1, 1, 1, 1, 0])
LINEAR = GeneralLinear(5, max_condition=4.0).sample(rng=1)
AFFINE = Affine(5, side="right", max_condition=3.0, max_shift=1.0).sample(rng=2)
CASES = [
    (GaugedModel.from_gauge(LINEAR, "linear", "linear"), MODEL),
    (GaugedModel.from_gauge(AFFINE, "affine", "affine"), MODEL),
    *((one, MODEL) for one in canonical_models(MODEL)),
    *((one, UNSEEN_COLUMN) for one in canonical_models(UNSEEN_COLUMN)),
    *((one, SOFTMAX) for one in canonical_models(SOFTMAX)),
    *((one, SOFTMAX_UNSEEN) for one in canonical_models(SOFTMAX_UNSEEN)),
]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("equivalent", "model"), CASES)
def test_rows_on_request_are_those_of_the_whole_model(equivalent, model, side):
    expected = equivalent.apply(model).factors(side)
    rows = equivalent.rows(model, side)
    assert rows.shape == expected.shape
    np.testing.assert_allclose(rows[:], expected, atol=1e-12)
    np.testing.assert_allclose(rows[[3, 1]], expected[[3, 1]], atol=1e-12)


@pytest.mark.parametrize("equivalent", list(canonical_models(MODEL)))
def test_the_canonical_model_of_some_rows_is_that_of_all(equivalent):
    users, items = np.array([4, 9]), np.array([0, 5])
    some = equivalent.apply(MODEL.take(left=users, right=items))
    whole = equivalent.apply(MODEL)
    np.testing.assert_allclose(some.right, whole.right[items], atol=1e-12)
    np.testing.assert_allclose(some.left, whole.left[users], atol=1e-12)


@pytest.mark.parametrize("model", [SOFTMAX, SOFTMAX_UNSEEN])
def test_equivalent_heads_have_no_new_bias_and_the_same_probabilities(model):
    """Another label bias makes a model of another family, so no gauge of this one."""
    for one in canonical_models(model):
        after = one.apply(model)
        assert after.right_bias is None
        np.testing.assert_allclose(
            after.predictions(), model.predictions(), rtol=0, atol=1e-9
        )


def test_in_one_dimension_no_equivalent_head_turns_an_input():
    """Cosines of inputs of one dimension are signs: +1 for two positive numbers."""
    model = FactorModel.from_arrays(
        left=[[0.6], [0.5], [0.9], [0.4]], right=[[0.7], [-1.0], [0.3]], link="softmax"
    )
    for one in canonical_models(model):
        rows = one.rows(model, "left")[:]
        assert (np.sign(rows) == np.sign(rows[0])).all()
