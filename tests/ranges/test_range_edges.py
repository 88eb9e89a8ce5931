"""Ranges where formulas divide by zero, meet at a pole, or hold for several reasons at once."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.ranges.diagonal import weighing
from embaudit.ranges.linear import bisector_and_normal
from embaudit.ranges.summary import summarise
from embaudit.ranges.sweep import NEVER, best_interval
from embaudit.ranges.weights import _fine_scan, largest_cosine


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


def test_pairs_with_and_without_a_cosine_beside_each_other():
    rows = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, -2.0]])
    model = ea.FactorModel.from_vectors(rows)
    pairs = np.array([[0, 2], [0, 1], [2, 0], [1, 2]])
    for group in (ea.gauges.Diagonal(2, max_condition=2), ea.gauges.GeneralLinear(2, max_condition=2)):
        found = ea.cosine_range(model, group, pairs=pairs)
        alone = ea.cosine_range(model, group, pairs=pairs[:1])
        assert np.isnan(found.lower).tolist() == np.isnan(found.upper).tolist() == [False, True, False, True]
        assert found.lower[0] == found.lower[2] == alone.lower[0]
        assert found.upper[0] == found.upper[2] == alone.upper[0]
        assert not found.lower_attained[[1, 3]].any()
        summary = summarise(found, "x")
        assert (summary.n_undefined, summary.attained_share) == (2, 1.0)


def test_weights_become_a_gauge_whose_extremes_are_each_others_inverse():
    """So neither side takes more of it; weights of which one side would lose a number are refused."""
    for side in ("left", "right"):
        scales = np.diag(weighing(np.array([4.0, 1.0, 9.0]), side).on(side)[0])
        np.testing.assert_allclose(scales, np.array([2.0, 1.0, 3.0]) / np.sqrt(3), rtol=1e-15)
    with pytest.raises(InputError) as raised:
        weighing(np.array([1e-310, 1e300]), "right")
    assert str(raised.value) == "no float64 gauge comes that close to this end; ask for a larger tol."


# --- steps of the exact intervals, each by itself -------------------------------------------------------------------


def test_what_tells_cosines_near_one_apart_finds_the_same_intervals():
    draw = np.random.default_rng(0)
    count, x = draw.integers(1, 5, 30), draw.uniform(0.5, 2.0, (4, 30))
    y = x * np.sort(draw.uniform(0.5, 4.0, (4, 30)), axis=0) * np.where(np.arange(4)[:, None] < count, 1.0, -0.1)
    ratios = np.where(np.arange(4)[:, None] < count, np.log(np.abs(y / x)), NEVER)
    start, stop, cosine = best_interval(x.T, y.T, ratios.T, 9.0)
    again, until, tangent = _fine_scan(x, y, count, 9.0)
    assert start.tolist() == again.tolist()
    assert stop.tolist() == until.tolist()
    np.testing.assert_allclose(1 / (1 + tangent**2), cosine**2, rtol=1e-12)


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
