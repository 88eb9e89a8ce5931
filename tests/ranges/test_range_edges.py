"""Ranges where formulas divide by zero, meet at a pole, or hold for several reasons at once."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.ranges.diagonal import weighing
from embaudit.ranges.linear import bisector_and_normal
from embaudit.ranges.weights import largest_cosine


def ends_of(found):
    return found.lower.tolist(), found.upper.tolist(), found.lower_attained.tolist(), found.upper_attained.tolist()


def cross(left, right, group, pairs=((0, 0),)):
    return ea.cosine_range(ea.FactorModel(left, right), group, role="cross", pairs=np.array(pairs))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # Both off an axis: towards 0 only in the limit, away from it the shared zero is no hindrance.
        ([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0]], ([0.0], [1.0], [False], [True])),
        # One on an axis, the other beside it: neither end is attained.
        ([[1.0, 0.0]], [[1.0, 1.0]], ([0.0], [1.0], [False], [False])),
        ([[1.0, 0.0]], [[-1.0, 1.0]], ([-1.0], [0.0], [False], [False])),
        # At right angles nothing moves: both ends are attained for a third reason.
        ([[1.0, 0.0]], [[0.0, 1.0]], ([0.0], [0.0], [True], [True])),
        ([[1.0, 1.0]], [[1.0, -1.0]], ([0.0], [0.0], [True], [True])),
    ],
)
def test_what_is_attained_under_unbounded_diagonals(left, right, expected):
    found = cross(left, right, ea.gauges.Diagonal(len(left[0])))
    np.testing.assert_allclose(np.column_stack(ends_of(found)[:2]), np.column_stack(expected[:2]), atol=1e-15)
    assert ends_of(found)[2:] == expected[2:]


def test_weights_become_a_gauge_whose_extremes_are_each_others_inverse():
    """So neither side takes more of it; weights of which one side would lose a number are refused."""
    for side in ("left", "right"):
        scales = np.diag(weighing(np.array([4.0, 1.0, 9.0]), side).on(side)[0])
        np.testing.assert_allclose(scales, np.array([2.0, 1.0, 3.0]) / np.sqrt(3), rtol=1e-15)
    with pytest.raises(InputError) as raised:
        weighing(np.array([1e-310, 1e300]), "right")
    assert str(raised.value) == "no float64 gauge comes that close to this end; ask for a larger tol."


def test_axes_of_nearly_parallel_rows_are_exact():
    x, y = np.array([1.0, 0.0]), np.array([1.0, 1e-12])
    for sign in (1.0, -1.0):
        bisector, normal = bisector_and_normal(x, sign * y)
        if sign < 0:
            bisector, normal = normal, bisector
        np.testing.assert_allclose(np.abs(bisector), [1.0, 5e-13], rtol=1e-9)
        np.testing.assert_allclose(np.abs(normal), [5e-13, 1.0], rtol=1e-9)


@pytest.mark.parametrize("apart", [0.3, 0.02, 0.004])
def test_the_largest_cosine_is_that_of_the_best_weights(apart):
    draw = np.random.default_rng(3)
    x = draw.uniform(0.5, 2.0, (20, 3))
    y = x * (1 + apart * draw.uniform(-1, 1, (20, 3)))
    found = largest_cosine(x, y, 1.5)
    best = np.full(20, -1.0)
    for weights in np.array(np.meshgrid(*[[1.0, 1.5**2]] * 3)).reshape(3, -1).T:
        a, b = x * np.sqrt(weights), y * np.sqrt(weights)
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        best = np.maximum(best, np.einsum("ij,ij->i", a, b) / norms)
    np.testing.assert_allclose(found.tangent, np.sqrt((1 - best) / (1 + best)), rtol=1e-8)
