"""Gauge positions: exponents, distances against their definition, and sentences."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.linalg import sqrtm

from embaudit.canonical import EXPONENTS, at_exponent, canonical_form, position
from embaudit.canonical.distances import log_condition
from embaudit.gauges import GeneralLinear, Orthogonal

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
    assert position(model).distances[name] == pytest.approx(
        np.log(gauge.condition_number), rel=1e-9
    )


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
    expected = np.sort(np.linalg.eigvalsh(root @ (model.right.T @ model.right) @ root))[
        ::-1
    ]
    np.testing.assert_allclose(position(model).balancedness, expected, rtol=1e-9)
