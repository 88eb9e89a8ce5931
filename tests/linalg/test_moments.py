"""The mean row and the Gram root of rows, against the same sums over dense rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.linalg.moments import moments, outlined


@pytest.mark.parametrize(
    ("shape", "route"),
    [
        ((1000, 5), "qr"),
        ((7, 5), "qr"),
        ((3, 5), "qr"),
        ((1, 1), "qr"),
        # Rows in float32 with more than 2²⁴ entries.
        ((2**20 + 1, 16), "gram"),
    ],
)
@pytest.mark.parametrize("normalise", [False, True])
def test_means_and_gram_matrices_are_those_of_the_rows(shape, route, normalise):
    x = (np.random.default_rng(0).standard_normal(shape) + 1).astype(np.float32)
    found = moments(x, normalise=normalise)
    rows = x.astype(np.float64)
    if normalise:
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centred = rows - rows.mean(axis=0)

    assert found.route == route
    np.testing.assert_allclose(found.mean, rows.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        found.root.T @ found.root, rows.T @ rows, atol=1e-10 * len(x)
    )
    np.testing.assert_allclose(
        found.centred_root.T @ found.centred_root,
        centred.T @ centred,
        atol=1e-10 * len(x),
    )


N_WIDE = 257
"""The fewest columns for which rows are whitened by a right inverse."""


def rank_five():
    draw = np.random.default_rng(3)
    return draw.standard_normal((600, 5)) @ draw.standard_normal((5, N_WIDE))


SIX_ROWS = np.random.default_rng(3).standard_normal((6, N_WIDE))


@pytest.mark.parametrize(
    "rows",
    [
        rank_five(),
        np.vstack([SIX_ROWS, SIX_ROWS[:1]]),
        np.ones((4, N_WIDE)),
        np.zeros((4, N_WIDE)),
        SIX_ROWS + 1e17,
    ],
    ids=[
        "600 rows of rank 5",
        "a row that occurs twice",
        "equal rows",
        "rows of zeros",
        "rows that rounding makes equal",
    ],
)
def test_rows_of_fewer_dimensions_than_they_could_span_have_no_right_inverse(rows):
    assert moments(rows).right_inverse is None


def test_a_right_inverse_is_given_only_if_rounding_cannot_hide_a_lost_direction():
    """The smallest singular value is at least 1/‖T‖ for the right inverse T.

    It must exceed the precision times the Frobenius norm of the rows.
    """
    scales = np.ones(N_WIDE)
    scales[-1] = 1e-3
    rows = np.random.default_rng(3).standard_normal((600, N_WIDE)) * scales
    found = moments(rows)
    assert found.precision == N_WIDE * np.finfo(float).eps

    smallest = 1 / np.linalg.norm(found.right_inverse)
    limit = smallest / np.linalg.norm(rows)
    assert replace(found, precision=0.5 * limit).right_inverse is not None
    assert replace(found, precision=2.0 * limit).right_inverse is None


@pytest.fixture(scope="module")
def many_long_rows():
    """Rows of two blocks of 64 MiB, whose Gram matrix has two strips of 512 columns."""
    draw = np.random.default_rng(5)
    return (draw.standard_normal((14_400, 600)) + 2).astype(np.float32)


def test_very_many_long_rows_are_whitened_in_float32(many_long_rows):
    found = outlined(many_long_rows, exact_products=0)
    rows = many_long_rows.astype(np.float64)
    centred = rows - rows.mean(axis=0)
    expected = centred.T @ centred
    error = np.abs(found.centred_root.T @ found.centred_root - expected).max()

    assert (found.n_rows, found.rank) == (14_400, 600)
    np.testing.assert_allclose(found.mean, rows.mean(axis=0), atol=1e-13)
    np.testing.assert_allclose(
        found.column_norms, np.linalg.norm(rows, axis=0), rtol=1e-13
    )
    # Products in float32 have errors of about 1e-6 of the diagonal; those in float64
    # would have 1e-12.
    assert 1e-9 < error / expected.max() < 1e-5
    np.testing.assert_allclose(
        found.centred_root @ found.inverse_root, np.eye(600), atol=1e-10
    )


def test_long_rows_are_whitened_in_float64_where_that_is_quick(many_long_rows):
    n, k = many_long_rows.shape
    assert outlined(many_long_rows) is None
    assert outlined(many_long_rows, exact_products=n * k * k) is None


def test_long_rows_in_float64_are_whitened_in_float64(many_long_rows):
    assert outlined(many_long_rows.astype(np.float64), exact_products=0) is None


def test_long_rows_that_do_not_span_all_columns_are_not_whitened_in_float32():
    rows = np.random.default_rng(5).standard_normal((4_000, N_WIDE))
    rows[:, 0] = rows[:, 1]
    assert outlined(rows.astype(np.float32), exact_products=0) is None


def test_a_large_mean_does_not_count_as_a_direction_that_rows_span():
    """Next to a mean of 1e17, float64 cannot tell numbers of size 1 from 0."""
    x = np.array([[1e17, 0.0], [1e17, 1.0], [1e17, -1.0]])
    assert moments(x).rank == 1
    assert moments(x / [1e10, 1]).rank == 2
