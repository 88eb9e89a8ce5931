"""Neighbour lists in which one row stands for all of its copies."""

from __future__ import annotations

import numpy as np

import embaudit as ea


def test_lists_hold_one_row_of_each_group_and_none_of_the_own_group():
    """Rows 0, 2 and 5 have one direction, rows 1 and 6 another; row 4 has none."""
    x = np.array([[1, 0], [0.8, 0.6], [2, 0], [0, 1], [0, 0], [3, 0], [0.8, 0.6]])
    first = np.array([0, 1, 0, 3, 4, 0, 1])
    assert ea.neighbours(x, 3, first=first).indices.tolist() == [
        [1, 3, -1],
        [0, 3, -1],
        [1, 3, -1],
        [1, 0, -1],
        [-1, -1, -1],
        [1, 3, -1],
        [0, 3, -1],
    ]


def test_copies_change_no_list_of_the_rows_they_copy():
    draw = np.random.default_rng(0)
    base = draw.standard_normal((3_000, 3))
    first = np.concatenate([np.arange(3_000), draw.integers(3_000, size=500)])
    found = ea.neighbours(base[first], 4, first=first)
    expected = ea.neighbours(base, 4)
    assert found.indices[:3_000].tolist() == expected.indices.tolist()
    assert found.indices.tolist() == found.indices[first].tolist()
    np.testing.assert_allclose(found.runner_up[:3_000], expected.runner_up, atol=1e-12)
