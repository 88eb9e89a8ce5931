"""Neighbours of rows in two models: how many are kept, and how many nearest neighbours
change.
"""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import NearestChanged, neighbourhoods


def films(rows):
    """Four films, two of which have the same title."""
    return FactorModel.from_vectors(rows).replace(
        right_names=["Solaris", "Stalker", "Solaris", "Mirror"]
    )


def test_two_rows_with_the_same_title_are_two_neighbours():
    """Film 1 has film 0 next to it at first, and then film 2 of the same title."""
    before = films([[1, 0.1], [1, 0], [0, 1], [-1, 0]])
    after = films([[0, 1], [1, 0], [1, 0.1], [-1, 0]])
    film = np.array([1])
    (found,) = neighbourhoods(before, after.right, rows=film, n=1)
    assert found.before[0][0] == "Solaris"
    assert found.after[0][0] == "Solaris"
    assert found.kept == 0
    assert found.stay == (False,)
    assert found.stayed == (False,)


# In the second model, rows 0, 2 and 3 have one direction, so they tie.
ONE_DIRECTION = films([[2, 0.2], [1, 0], [2, 0.2], [1, 0.1]])
THREE_DIRECTIONS = films([[1, 0.1], [1, 0], [1, 0.3], [-1, 0]])


def test_neighbours_that_tie_with_the_last_one_listed_stay():
    (found,) = neighbourhoods(
        THREE_DIRECTIONS, ONE_DIRECTION.right, rows=np.array([1]), n=2
    )
    assert [name for name, _ in found.after] == ["Solaris", "Solaris"]
    assert found.kept == 2
    assert found.stay == (True, True)


def test_a_neighbour_that_tied_before_stays_if_it_is_the_nearest_one():
    (found,) = neighbourhoods(
        ONE_DIRECTION, THREE_DIRECTIONS.right, rows=np.array([1]), n=1
    )
    assert found.stay == (True,)
    assert found.stayed == (True,)


def nearest(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T - 9 * np.eye(len(rows))).argmax(axis=1)


@pytest.mark.parametrize("asked", [np.arange(40), np.arange(0, 40, 2)])
def test_nearest_changed_is_the_share_of_rows_that_get_another_nearest_row(asked):
    x = np.random.default_rng(0).standard_normal((40, 5))
    y = x * [9, 1, 1, 1, 1]
    before, after = (ea.neighbours(rows, 1, rows=asked) for rows in (x, y))
    found = NearestChanged.from_lists(before, after, exact=len(asked) == 40)
    expected = (nearest(x) != nearest(y))[asked].mean()
    assert 0 < expected < 1
    assert found.share == pytest.approx(expected)
    if len(asked) == 40:
        assert found.ci_low == found.share == found.ci_high
    else:
        assert found.ci_low < found.share < found.ci_high
