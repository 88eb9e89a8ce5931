"""Searches for weights and shifts step by step: in batches as alone, in few steps, to the length they say."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.ranges.cross_diagonal import CrossDiagonalReach, _longest_shadow
from embaudit.ranges.cross_translation import CrossTranslationReach
from embaudit.ranges.definite import smallest_definite_cosine
from embaudit.ranges.weights import largest_cosine


def pairs_of_all_kinds(seed=0, k=4):
    """Acute and obtuse, near and far, parallel and opposite, of one sign and of several, one by one in a batch."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((48, k))
    y = draw.standard_normal((48, k))
    x[8:32], y[8:32] = np.abs(x[8:32]), np.abs(y[8:32])
    y[16:24] = x[16:24] * (1 + 1e-6 * draw.standard_normal((8, k)))
    y[24:32] *= -1
    y[32:36] = x[32:36] * (1 + 1e-5 * draw.standard_normal((4, k)))
    y[36], y[37], x[38] = 2 * x[36], -3 * x[37], 0
    y[39] = [x[39, 1], -x[39, 0], 0, 0]
    x[40:44, 1], y[42:46, 2] = 0, 0
    return x, y


@pytest.mark.parametrize("kappa", [1.05, 3.0, 40.0])
def test_a_batch_is_its_pairs_one_by_one(kappa):
    x, y = pairs_of_all_kinds()
    together = largest_cosine(x, y, kappa)
    alone = [largest_cosine(x[[i]], y[[i]], kappa) for i in range(len(x))]
    np.testing.assert_allclose(together.tangent, np.concatenate([one.tangent for one in alone]), rtol=1e-9)
    known = ~np.isnan(together.tangent)
    assert known.tolist() == [i != 38 for i in range(48)]
    assert together.weights[known].min() >= 1
    assert together.weights[known].max() <= kappa**2 * (1 + 1e-12)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_a_shift_of_just_a_rows_length_stops_a_quarter_of_the_tolerance_short(tol):
    x, y = np.array([1.0, 0.0]), np.array([2.0, 0.0])
    reach = CrossTranslationReach("right", 2.0)
    moved = y + reach.witness(x, y, "lower", tol).right_shift
    assert moved[0] / np.linalg.norm(moved) == pytest.approx(np.sin(tol / 4), rel=1e-6)
    moved = y + reach.witness(x, y, "upper", tol).right_shift
    assert moved[0] / np.linalg.norm(moved) == pytest.approx(np.cos(tol / 4), abs=1e-12)


@pytest.mark.parametrize("kappa", [1.5, 3.0, 30.0])
def test_the_longest_shadow_is_that_of_the_best_clipped_weights(kappa):
    draw = np.random.default_rng(1)
    x, y = np.exp(draw.standard_normal((2, 40, 3))) * np.exp(2 * draw.standard_normal((2, 40, 1)))
    weights = _longest_shadow(x, y, kappa**2)
    assert weights.min() >= 1
    assert weights.max() <= kappa**2
    product = (weights * x * x).sum(axis=1) * (y * y / weights).sum(axis=1)
    for scale in np.exp(np.linspace(-8, 8, 4001)):
        other = np.clip(scale * y / x, 1, kappa**2)
        assert (product <= (other * x * x).sum(axis=1) * (y * y / other).sum(axis=1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("kappa", [1.5, 4.0])
def test_the_end_towards_zero_is_no_less_than_any_vertex_and_one_where_it_is_attained(kappa):
    draw = np.random.default_rng(2)
    x, y = draw.standard_normal((2, 60, 4))
    ends = CrossDiagonalReach(kappa).ends(x, y)
    vertices = np.array(np.meshgrid(*[[1.0, kappa**2]] * 4)).reshape(4, -1).T
    dot = np.einsum("ij,ij->i", x, y)
    product = (vertices @ (x * x).T) * (1 / vertices @ (y * y).T)
    least = np.abs(dot) / np.sqrt(product.max(axis=0))
    with np.errstate(divide="ignore"):
        tangent = np.where(dot > 0, ends.lower, 1 / ends.upper)
    bound, attained = (1 - tangent**2) / (1 + tangent**2), np.where(dot > 0, ends.lower_attained, ends.upper_attained)
    assert (bound <= least + 1e-12).all()
    np.testing.assert_allclose(bound[attained], least[attained], rtol=1e-9)
    np.testing.assert_allclose(bound, least, rtol=0.25)
    assert 3 < np.count_nonzero(attained) < 57


def test_weights_reach_the_end_where_both_slopes_are_one_by_rounding():
    """Every edge between the vertices of both sides ends outside of them by rounding."""
    x, y = np.array([[1.5, 2.5, 0.5]]), np.array([[2.5, 3.5, 0.5]])
    tangent, weights = smallest_definite_cosine(x, y, 2.0)
    at = (weights * x * y).sum() / np.sqrt((weights * x * x).sum() * (weights * y * y).sum())
    assert at == pytest.approx((1 - tangent[0] ** 2) / (1 + tangent[0] ** 2), rel=1e-12)
    assert at == pytest.approx(0.9916403967057675, rel=1e-12)
    assert ((weights >= 1) & (weights <= 4)).all()


@pytest.mark.parametrize(("kappa", "spread"), [(1.1, 1.0), (1.1, 1e-7), (30.0, 0.1)])
def test_no_weights_drawn_reach_below_the_smallest_cosine(kappa, spread):
    draw = np.random.default_rng(0)
    x = draw.uniform(0.2, 2, (200, 4))
    y = x * np.exp(spread * draw.standard_normal((200, 4)))
    tangent, weights = smallest_definite_cosine(x, y, kappa)
    dot, p, q = (np.einsum("ij,ij->i", weights, z) for z in (x * y, x * x, y * y))
    cosine = dot / np.sqrt(p * q)
    np.testing.assert_allclose((1 - tangent**2) / (1 + tangent**2), cosine, atol=1e-9)
    tried = kappa ** (2 * draw.random((300, 200, 4)))
    dot, p, q = (np.einsum("tij,ij->ti", tried, z) for z in (x * y, x * x, y * y))
    assert (dot / np.sqrt(p * q) >= cosine - 1e-12).all()
