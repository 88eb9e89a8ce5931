"""Ranges where formulas divide by zero, meet at a pole, or hold for several reasons at once."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea


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
