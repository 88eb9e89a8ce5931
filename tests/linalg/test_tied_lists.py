"""Neighbour lists of rows with tied cosines: rounding decides neither entries nor
order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from embaudit.linalg.nearest import neighbours

if TYPE_CHECKING:
    from embaudit.core.checked import Floats

LENGTHS = np.array([1.0, 3.0, 0.7, 11.0, 1 / 3])
"""Lengths of five rows of one direction; their unit rows differ in the last bits."""


def tied_rows(n_directions: int, rank: int) -> Floats:
    """Return directions drawn at random, each one taken by five rows in turn."""
    directions = np.random.default_rng(0).standard_normal((n_directions, rank))
    rows = LENGTHS[:, None, None] * directions
    return rows.reshape(-1, rank)


def rotation(rank: int, seed: int) -> Floats:
    draw = np.random.default_rng(seed)
    return np.linalg.qr(draw.standard_normal((rank, rank)))[0]


@pytest.mark.parametrize("n", [1, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_lists_of_parallel_rows_are_the_same_after_a_rotation(
    seed: int, n: int
) -> None:
    x = tied_rows(40, 16)
    before, after = neighbours(x, n), neighbours(x @ rotation(16, seed), n)
    np.testing.assert_array_equal(before.indices, after.indices)


def test_rows_of_one_direction_are_listed_in_order_of_their_numbers() -> None:
    """Rows 0, 40, 80, 120 and 160 have one direction; a list of three holds the first
    of the others.
    """
    lists = neighbours(tied_rows(40, 16), 3)
    assert lists.indices[0].tolist() == [40, 80, 120]
    assert lists.indices[80].tolist() == [0, 40, 120]
    assert lists.indices[160].tolist() == [0, 40, 80]


def test_large_models_list_parallel_rows_in_order_of_their_numbers() -> None:
    """31,000 rows are searched in many blocks."""
    x = tied_rows(6_200, 8)
    lists = neighbours(x, 3, rows=[0, 6_200, 24_801])
    assert lists.indices[0].tolist() == [6_200, 12_400, 18_600]
    assert lists.indices[1].tolist() == [0, 12_400, 18_600]
    assert lists.indices[2].tolist() == [1, 6_201, 12_401]


def test_near_copies_that_differ_by_more_than_rounding_keep_their_order() -> None:
    """Angles of 1e-4 and 2e-4 have cosines 1 - 5e-9 and 1 - 2e-8: the nearer row is
    first.
    """
    angles = np.array([0.0, 2e-4, 1e-4])
    x = np.column_stack([np.cos(angles), np.sin(angles)])
    assert neighbours(x, 2).indices[0].tolist() == [2, 1]


def test_cosines_of_tied_lists_are_the_largest_ones() -> None:
    x = tied_rows(40, 16)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    found = neighbours(x, 6)
    expected = np.sort(cosines, axis=1)[:, ::-1]
    np.testing.assert_allclose(found.cosines, expected[:, :6], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.runner_up, expected[:, 6], rtol=0, atol=1e-14)
