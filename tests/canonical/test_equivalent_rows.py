"""Rows of equivalent models computed on request are those of the whole equivalent model."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.canonical.equivalents import EquivalentModel, canonical_models
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
LINEAR = GeneralLinear(5, max_condition=4.0).sample(rng=1)
AFFINE = Affine(5, side="right", max_condition=3.0, max_shift=1.0).sample(rng=2)
CASES = [
    (EquivalentModel.by(LINEAR, "linear", "linear"), MODEL),
    (EquivalentModel.by(AFFINE, "affine", "affine"), MODEL),
    *((one, MODEL) for one in canonical_models(MODEL)),
    *((one, UNSEEN_COLUMN) for one in canonical_models(UNSEEN_COLUMN)),
]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("equivalent", "model"), CASES)
def test_rows_on_request_are_those_of_the_whole_model(equivalent, model, side):
    expected = equivalent.of(model).factors(side)
    rows = equivalent.rows(model, side)
    assert rows.shape == expected.shape
    np.testing.assert_allclose(rows[:], expected, atol=1e-12)
    np.testing.assert_allclose(rows[[3, 1]], expected[[3, 1]], atol=1e-12)


@pytest.mark.parametrize("equivalent", list(canonical_models(MODEL)))
def test_the_canonical_model_of_some_rows_is_that_of_all(equivalent):
    some = equivalent.of(MODEL.take(left=np.array([4, 9]), right=np.array([0, 5])))
    whole = equivalent.of(MODEL)
    np.testing.assert_allclose(some.right, whole.right[[0, 5]], atol=1e-12)
    np.testing.assert_allclose(some.left, whole.left[[4, 9]], atol=1e-12)
