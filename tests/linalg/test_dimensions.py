"""How many dimensions the directions of rows use."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.dimensions import dimensions_of


def dimensions(rows):
    rows = np.asarray(rows, dtype=float)
    return dimensions_of(rows, np.flatnonzero(np.any(rows != 0, axis=1)))


@pytest.mark.parametrize(
    ("rows", "effective_rank"),
    [
        # Second moments diag(1, 1, 1): all cosines are 0.
        (np.eye(3), 3.0),
        # Second moments diag(2, 1): (2 + 1)² / (2² + 1²).
        ([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]], 9 / 5),
        # All rows on one line.
        ([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]], 1.0),
        # Rows without direction have no cosine, so the second moments stay diag(1, 1).
        ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 2.0),
    ],
)
def test_the_effective_rank_is_that_of_the_second_moments_of_unit_rows(
    rows, effective_rank
):
    assert dimensions(rows).effective_rank == pytest.approx(effective_rank)


def test_the_effective_rank_is_one_over_the_mean_squared_cosine_of_all_pairs():
    rows = np.random.default_rng(0).standard_normal((40, 5))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    mean_square = np.square(units @ units.T).mean()
    assert dimensions(rows).effective_rank == pytest.approx(1 / mean_square)


def test_used_dimensions_hold_all_but_a_thousandth_of_unit_rows():
    # Of each unit row, 0.0004 of the squared length lies in the third dimension, so two
    # dimensions hold 0.9996; with 0.0025 they hold 0.9975, which is too little.
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    plane = np.column_stack([np.cos(angles), np.sin(angles)])
    for height, used in ((0.02, 2), (0.05, 3)):
        rows = np.column_stack(
            [np.sqrt(1 - height**2) * plane, np.full(12, height), np.zeros((12, 5))]
        )
        found = dimensions(rows)
        assert (found.used, found.width) == (used, 8)
        assert found.collapsed


def test_dropping_unused_dimensions_moves_cosines_by_a_thousandth_on_average_at_most():
    draw = np.random.default_rng(1)
    rows = draw.standard_normal((200, 20)) * np.r_[np.ones(3), np.full(17, 0.012)]
    found = dimensions(rows)
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    axes = np.linalg.svd(units)[2][: found.used]
    change = np.abs(units @ units.T - (units @ axes.T) @ (units @ axes.T).T)
    assert found.used < 20
    assert change.mean() <= 0.001


def test_a_table_of_fewer_rows_than_dimensions_has_not_collapsed():
    assert not dimensions(np.eye(3, 64)).collapsed
    # Four rows on two axes use two dimensions where four rows could use four.
    assert dimensions(np.eye(2, 64)[[0, 1, 0, 1]]).collapsed


def test_a_table_of_few_dimensions_is_never_called_collapsed():
    assert not dimensions(np.eye(7)[[0, 0, 0, 0, 0, 0, 0]]).collapsed
    assert dimensions(np.eye(8)[[0, 0, 0, 0, 0, 0, 0]]).collapsed
