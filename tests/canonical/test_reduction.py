"""Reduction: the same predictions in as many dimensions as the scores have rank."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.canonical import reduced
from embaudit.errors import InputError
from embaudit.model import FactorModel


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@pytest.mark.parametrize("link", ["identity", "softmax", "ranking", "sigmoid"])
@pytest.mark.parametrize("left_bias", [None, np.arange(9.0)])
@pytest.mark.parametrize("right_bias", [None, np.arange(8.0)])
def test_the_reduced_model_predicts_the_same_at_the_rank_of_the_scores(link, left_bias, right_bias):
    left = rows(9, 2) @ rows(2, 5, 1) + [0, 0, 0, 0, 3]
    right = rows(8, 3, 2) @ rows(3, 5, 3) + [0, 0, 0, 2, 0]
    model = FactorModel(left, right, link=link, left_bias=left_bias, right_bias=right_bias)
    found = reduced(model)
    gap = model.link.gap(model.scores(), found.model.scores())
    assert gap < 1e-12
    # Independently: the rank of the scores of the factors, less the means that a bias or the link takes up.
    products = left @ right.T
    products = products - products.mean(axis=0) if "left" in model.free_shifts else products
    products = products - products.mean(axis=1, keepdims=True) if "right" in model.free_shifts else products
    assert found.effective_rank == np.linalg.matrix_rank(products, tol=1e-10) == found.model.rank < 5


def test_shares_outside_are_what_the_other_side_never_sees():
    left = rows(6, 3) * [1, 1, 0]
    right = np.array([[3.0, 0.0, 4.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    found = reduced(FactorModel(left, right))
    np.testing.assert_allclose(found.right_outside, [0.64, 0, 1, 0, 1 / 3])
    np.testing.assert_allclose(found.left_outside, 0)
    assert not found.is_whole
    # Negative side: zeroing what lies outside keeps every score, zeroing as much of what lies inside does not.
    assert np.abs(left @ (right * [1, 1, 0]).T - left @ right.T).max() == 0
    assert np.abs(left @ (right * [1, 0, 1]).T - left @ right.T).max() > 0.1


def test_a_whole_model_and_a_model_of_cosines_stay_as_they_are():
    model = FactorModel(rows(6, 3), rows(7, 3, 1))
    assert reduced(model).model is model
    assert reduced(model).is_whole
    flat = FactorModel(rows(6, 3) * [1, 1, 0], rows(7, 3, 1), link="cosine")
    assert reduced(flat).model is flat


def test_one_side_has_no_effective_rank():
    with pytest.raises(InputError, match="the effective rank must be read from the predictions"):
        reduced(FactorModel(None, rows(4, 2)))
