"""Fits at the edge of what floating point holds, and of what was fitted."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.solvers import ProductPenaltyMF

DRAW = np.random.default_rng(0)
NEGATIVE = -DRAW.integers(1, 6, size=(40, 25)).astype(np.float64)


@pytest.mark.parametrize("estimator", [ea.ProductPenaltyMF, ea.FactorPenaltyMF])
def test_negative_data_of_1e200_are_fitted(estimator):
    fit = estimator(3, alpha=1e190).fit(NEGATIVE * 1e200)
    plain = estimator(3, alpha=0.0).fit(NEGATIVE)
    assert np.isfinite(fit.singular_values_).all()
    np.testing.assert_allclose(fit.singular_values_ / 1e200, plain.singular_values_, rtol=1e-9)


@pytest.mark.parametrize("estimator", [ea.ProductPenaltyMF, ea.FactorPenaltyMF])
@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-103])
def test_ratings_that_vanish_get_a_sentence(estimator, scale):
    with pytest.raises(
        InputError, match=r"X must be of a largest singular value of at least 1e-100; got \S+; multiply"
    ):
        estimator(3).fit(NEGATIVE * scale)


def test_one_user_is_none_to_fit_and_enough_to_embed():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    mf = ProductPenaltyMF(2, alpha=1.0).fit(X)
    assert mf.transform(X[:1]).shape == (1, 2)
    np.testing.assert_allclose(mf.inverse_transform(mf.transform(X)), X @ mf.projection_ @ mf.components_, rtol=1e-12)
    with pytest.raises(InputError) as refused:
        ProductPenaltyMF(1).fit(X[:1])
    assert str(refused.value) == (
        "X must be users × items with at least 2 users (rows); got 1 sample; add the other users' rows."
    )
    with pytest.raises(InputError) as refused:
        mf.inverse_transform(np.ones((4, 3)))
    assert str(refused.value) == "Z must be embedded users with 2 columns; got shape (4, 3)."
