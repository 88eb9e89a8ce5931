"""The nearest point of a hull: optimality, quadratic programs, and edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from embaudit.heads.feasibility import nearest_point


@settings(max_examples=200)
@given(
    st.integers(0, 10**6),
    st.integers(1, 14),
    st.integers(1, 14),
    st.sampled_from([0.0, 0.3, 3.0]),
)
def test_no_corner_lies_before_the_nearest_point(seed, c, r, offset):
    draw = np.random.default_rng(seed)
    corners = draw.standard_normal((c, r)) + offset * draw.standard_normal(r)
    if c > 2:
        corners[-1] = corners[0]
    point, weights = nearest_point(corners)
    size = np.linalg.norm(corners, axis=1).max()
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(weights @ corners, point, atol=1e-12 * size)
    assert (corners @ point).min() >= point @ point - 1e-11 * size**2
    # Any other mixture is as long or longer.
    others = draw.dirichlet(np.ones(c), size=50) @ corners
    assert (
        np.linalg.norm(others, axis=1) >= np.linalg.norm(point) - 1e-10 * size
    ).all()


@pytest.mark.parametrize(("c", "r"), [(4, 9), (9, 9), (10, 9), (30, 9)])
def test_the_distance_is_that_of_a_quadratic_program(c, r):
    draw = np.random.default_rng(c)
    corners = draw.standard_normal((c, r)) + 0.6
    point, _ = nearest_point(corners)
    even = {"type": "eq", "fun": lambda x: x.sum() - 1}
    solved = minimize(
        lambda x: np.sum((x @ corners) ** 2),
        np.full(c, 1 / c),
        jac=lambda x: 2 * corners @ (x @ corners),
        bounds=[(0, 1)] * c,
        constraints=[even],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert solved.success
    assert point @ point == pytest.approx(solved.fun, rel=1e-6)


@pytest.mark.parametrize("size", [1e-150, 1.0, 1e150])
def test_the_origin_is_found_inside_and_the_weights_prove_it(size):
    draw = np.random.default_rng(0)
    corners = draw.standard_normal((40, 6))
    point, weights = nearest_point(size * corners)
    assert np.linalg.norm(point) <= 1e-14 * size
    assert 1 < np.count_nonzero(weights) <= 7
    apart, _ = nearest_point(size * (corners + 9))
    assert np.linalg.norm(apart) > size
