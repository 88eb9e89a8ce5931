"""Gauge positions: exponents found again, distances against the definition, words."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.linalg import sqrtm

from embaudit.canonical import EXPONENTS, FactorScaling, at_exponent, canonical_form, position
from embaudit.canonical.position import log_condition
from embaudit.gauges import Diagonal, GeneralLinear, Orthogonal

make = partial(random_model, n=60, p=40, k=6, scales=(1, np.geomspace(2, 0.2, 6)))


@given(exponent=st.floats(0, 1), seed=st.integers(0, 99))
@settings(max_examples=25)
def test_the_exponent_is_found_again_in_any_rotation(exponent, seed):
    model = Orthogonal(6).sample(rng=seed).act(at_exponent(make(), exponent))
    where = position(model)
    assert where.exponent == pytest.approx(exponent, abs=1e-5)
    assert where.distance < 1e-4


@pytest.mark.parametrize("name", EXPONENTS)
def test_distances_are_ln_kappa_of_the_gauge(name):
    model = GeneralLinear(6, max_condition=20.0).sample(rng=1).act(make(1))
    gauge = canonical_form(model).gauge(EXPONENTS[name])
    assert position(model).distances[name] == pytest.approx(np.log(gauge.condition_number), rel=1e-9)


def test_the_nearest_exponent_beats_a_grid():
    model = GeneralLinear(6, max_condition=5.0).sample(rng=3).act(make(2))
    where, form = position(model), canonical_form(model)
    grid = [log_condition(form, e) for e in np.linspace(0, 1, 201)]
    assert where.distance <= min(grid) + 1e-9
    assert where.distance >= min(grid) - 0.05  # and is one of the family
    assert 0 < where.distance <= np.log(5.0) + max(position(make(2)).distances.values())


def test_balancedness_is_the_spectrum_it_says():
    model = make(4)
    root = np.linalg.inv(np.real(sqrtm(model.left.T @ model.left)))
    expected = np.sort(np.linalg.eigvalsh(root @ (model.right.T @ model.right) @ root))[::-1]
    np.testing.assert_allclose(position(model).balancedness, expected, rtol=1e-9)


def test_habits():
    model = make(6)
    expected = {
        0.0: FactorScaling.PURE_SVD,
        0.5: FactorScaling.BALANCED,
        1.0: FactorScaling.TRUNCATED_SVD,
        0.8: FactorScaling.ALIGNED,
    }
    for exponent, habit in expected.items():
        assert position(at_exponent(model, exponent)).habit is habit
    assert position(GeneralLinear(6, max_condition=9.0).sample(rng=0).act(model)).habit is FactorScaling.UNKNOWN
    scaled = Diagonal(6, max_condition=9.0).sample(rng=0).act(at_exponent(model, 0.5))
    assert position(scaled).habit is FactorScaling.ALIGNED


def test_a_bias_kept_in_the_factors_is_found_before_and_after_a_gauge():
    plain = make(7)
    draw = np.random.default_rng(7)
    model = plain.replace(
        left=np.column_stack([plain.left, np.ones(60)]), right=np.column_stack([plain.right, draw.standard_normal(40)])
    )
    (bias,) = position(model).hidden_biases
    assert (bias.role, bias.column, bias.value) == ("left", 6, pytest.approx(1.0))
    assert "the items hold a bias there" in position(model).explain()
    (mixed,) = position(GeneralLinear(7, max_condition=5.0).sample(rng=0).act(model)).hidden_biases
    assert (mixed.role, mixed.column) == ("left", None)
    assert position(plain).hidden_biases == ()
    assert position(GeneralLinear(6, max_condition=5.0).sample(rng=0).act(plain)).hidden_biases == ()


def test_a_rank_deficient_model_is_placed_on_what_predictions_see():
    plain = at_exponent(make(8), 0.5)
    draw = np.random.default_rng(8)
    model = plain.replace(
        left=np.column_stack([plain.left, draw.standard_normal((60, 2))]),
        right=np.column_stack([plain.right, np.zeros((40, 2))]),
    )
    where = position(model)
    assert (where.rank, where.effective_rank) == (8, 6)
    assert where.exponent == pytest.approx(0.5, abs=1e-5)
    assert where.distance < 1e-6  # what no prediction sees moves the place of nothing
    mirrored = position(model.replace(left=model.right, right=model.left))
    assert mirrored.distances["balanced"] < 1e-6
    assert "2 of the 8 dimensions are seen by no prediction" in where.explain()
    assert len(where.balancedness) == 6


NAMES = [("exponent 0 (users whitened)", "users whitened"), ("exponent 0.5 (balanced)", "balanced")]
NAMES += [("exponent 1 (items whitened)", "items whitened")]
