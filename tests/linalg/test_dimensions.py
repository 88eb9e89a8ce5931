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


def on_axes(n_rows, n_axes, width):
    """Rows of length 1 that take turns on the first axes."""
    return np.eye(width)[np.arange(n_rows) % n_axes]


@pytest.mark.parametrize(
    ("n_rows", "n_axes", "width", "collapsed"),
    [
        # Half of the 20 dimensions that 20 rows can use, and one axis more.
        (20, 10, 64, True),
        (20, 11, 64, False),
        # Half of the 16 columns, however many rows there are, and one axis more.
        (90, 8, 16, True),
        (90, 9, 16, False),
        # Each row has an axis of its own.
        (20, 20, 64, False),
    ],
)
def test_rows_have_collapsed_if_they_use_half_of_the_dimensions_they_could_use(
    n_rows, n_axes, width, collapsed
):
    found = dimensions(on_axes(n_rows, n_axes, width))
    assert (found.used, found.collapsed) == (n_axes, collapsed)


@pytest.mark.parametrize(
    ("n_rows", "width", "collapsed"),
    [(4, 64, False), (7, 64, False), (8, 64, True), (90, 7, False), (90, 8, True)],
)
def test_fewer_than_eight_rows_or_columns_are_never_called_collapsed(
    n_rows, width, collapsed
):
    """Rows on two axes:

    4 and 7 rows could use 4 and 7 dimensions, which are too few.
    """
    assert dimensions(on_axes(n_rows, 2, width)).collapsed is collapsed


def test_rows_without_direction_do_not_count_as_rows():
    rows = on_axes(8, 2, 64)
    assert dimensions(np.vstack([rows, np.zeros((3, 64))])).collapsed
    assert not dimensions(np.vstack([rows[:7], np.zeros((3, 64))])).collapsed
