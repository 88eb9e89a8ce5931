"""The mean row and the Gram root of rows, against the same sums over dense rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from embaudit.linalg.moments import Moments, _by_gram, _by_qr, moments

BY_ROUTE = {"qr": _by_qr, "gram": _by_gram}


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


def test_large_matrices_in_float64_take_the_qr_route():
    """Their singular values have more digits than the Gram matrix holds."""
    assert moments(np.zeros((2**20 + 1, 16))).route == "qr"


def near_collinear(draw):
    x = draw.standard_normal((60, 4))
    x[:, 3] = x[:, 2] + 1e-5 * x[:, 3]
    return x


KINDS = {
    "plain": lambda draw: draw.standard_normal((60, 4)),
    "a large mean": lambda draw: draw.standard_normal((60, 4)) + 1e6,
    "columns of other scales": lambda draw: (
        draw.standard_normal((60, 4)) * [1.0, 1e6, 1e-12, 1e-6]
    ),
    "near-collinear columns": near_collinear,
    "equal columns": lambda draw: np.repeat(draw.standard_normal((60, 2)), 2, axis=1),
    "a constant column": lambda draw: (
        draw.standard_normal((60, 4)) * [1, 1, 0, 1] + [0, 0, 0.1, 0]
    ),
    "fewer rows than columns": lambda draw: draw.standard_normal((3, 4)) + 5,
    "equal rows": lambda draw: np.tile(draw.standard_normal(4), (60, 1)),
    "zeros": lambda draw: np.zeros((60, 4)),
}


def as_fractions(x):
    """Return an array of rational numbers, which equal those of the given array."""
    return np.vectorize(Fraction, otypes=[object])(x.astype(np.float64))


def exact_moments(x):
    """Compute the mean row and the centred Gram matrix without rounding."""
    exact = as_fractions(x)
    mean = exact.sum(axis=0) / len(x)
    centred = exact - mean
    return mean, centred.T @ centred


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", BY_ROUTE)
def test_each_route_agrees_with_rational_arithmetic(route, kind, dtype):
    with np.errstate(over="ignore"):
        x = KINDS[kind](np.random.default_rng(4)).astype(dtype)
    # float16 ends at 65,504.
    x = np.clip(x, -6e4, 6e4) if dtype == np.float16 else x
    mean, root = BY_ROUTE[route](x, normalise=False)

    exact_mean, exact_gram = exact_moments(x)
    lengths = np.linalg.norm(x.astype(np.float64), axis=0)
    spreads = np.sqrt(np.diag(exact_gram).astype(np.float64))
    mean_error = (as_fractions(mean) - exact_mean).astype(np.float64)
    assert (np.abs(mean_error) <= 1e-14 * lengths).all()
    gram_error = (as_fractions(root.T @ root) - exact_gram).astype(np.float64)
    # A rounding of size eps of a column of length l leaves eps l spread in a product.
    by_rounding = np.outer(lengths, spreads)
    bound = 1e-14 * (by_rounding + by_rounding.T) + 1e-28 * np.outer(lengths, lengths)
    assert (np.abs(gram_error) <= bound).all()


def test_the_gram_route_adds_up_chunks_of_wide_rows():
    """33,000 rows of 257 columns are two chunks of 64 MiB in float64."""
    x = np.random.default_rng(5).standard_normal((33_000, 257)).astype(np.float32) + 2
    mean, root = _by_gram(x, normalise=False)
    rows = x.astype(np.float64)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(mean, rows.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(root.T @ root, centred.T @ centred, atol=1e-8)


def moments_by(route, x, precision):
    mean, root = BY_ROUTE[route](x, normalise=False)
    return Moments(len(x), mean, root, precision, route)


@pytest.mark.parametrize(("route", "rtol"), [("qr", 1e-13), ("gram", 1e-9)])
def test_axes_are_the_singular_vectors_of_the_centred_rows(route, rtol):
    scales = [1, 1e-1, 1e-2, 1e-3]  # singular values of about 16 to 16e-3
    draw = np.random.default_rng(6)
    rows = draw.standard_normal((300, 4)) * scales + 3
    _, expected_values, expected_vectors = np.linalg.svd(rows - rows.mean(axis=0))

    values, vectors = moments_by(route, rows, precision=1e-8).axes

    np.testing.assert_allclose(values, expected_values, rtol=rtol)
    # A singular vector has any sign.
    cosines = np.abs(vectors @ expected_vectors.T)
    np.testing.assert_allclose(cosines, np.eye(4), atol=1e-9)


N_WIDE = 257


def rank_five():
    draw = np.random.default_rng(3)
    return draw.standard_normal((600, 5)) @ draw.standard_normal((5, N_WIDE))


SIX_ROWS = np.random.default_rng(3).standard_normal((6, N_WIDE))
RANKS = {
    "600 rows of rank 5": (rank_five(), 5),
    "600 rows of rank 5 about a mean outside of them": (rank_five() + 1, 6),
    "six rows": (SIX_ROWS, 6),
    "a row that occurs twice": (np.vstack([SIX_ROWS, SIX_ROWS[:1]]), 6),
    "equal rows": (np.ones((4, N_WIDE)), 1),
    "rows of zeros": (np.zeros((4, N_WIDE)), 0),
    "rows that rounding makes equal": (SIX_ROWS + 1e17, 1),
    "rows on a line through the origin": (np.outer([1.0, 2.0, 5.0], SIX_ROWS[0]), 1),
    "rows on a line beside the origin": (
        np.outer([1.0, 2.0, 5.0], SIX_ROWS[0]) + SIX_ROWS[1],
        2,
    ),
}


@pytest.mark.parametrize("name", RANKS)
@pytest.mark.parametrize("route", BY_ROUTE)
def test_the_rank_counts_the_dimensions_of_the_rows_and_of_their_mean(route, name):
    rows, rank = RANKS[name]
    eps = np.finfo(float).eps
    precision = N_WIDE * eps if route == "qr" else np.sqrt(N_WIDE * eps)
    assert moments_by(route, rows, precision).rank == rank


def test_a_direction_counts_if_its_singular_value_exceeds_the_precision():
    scales = np.ones(N_WIDE)
    scales[-1] = 1e-3
    rows = np.random.default_rng(3).standard_normal((600, N_WIDE)) * scales
    mean, root = _by_qr(rows, normalise=False)
    s = np.linalg.svd(rows, compute_uv=False)
    share = s[-1] / s[0]
    assert Moments(600, mean, root, 0.99 * share, "qr").rank == N_WIDE
    assert Moments(600, mean, root, 1.01 * share, "qr").rank == N_WIDE - 1


def test_a_large_mean_does_not_count_as_a_direction_that_rows_span():
    """Next to a mean of 1e17, float64 cannot tell numbers of size 1 from 0."""
    x = np.array([[1e17, 0.0], [1e17, 1.0], [1e17, -1.0]])
    assert moments(x).rank == 1
    assert moments(x / [1e10, 1]).rank == 2


def rows_with_constant_columns():
    rows = np.random.default_rng(7).standard_normal((500, 5)).astype(np.float32)
    rows[:, 1] = 0.1
    rows[:, 2] = 0.0
    rows[:, 3] += 1e3
    return rows


@pytest.mark.parametrize("route", BY_ROUTE)
def test_column_norms_are_those_of_the_rows(route):
    rows = rows_with_constant_columns()
    expected = np.linalg.norm(rows.astype(np.float64), axis=0)
    found = moments_by(route, rows, precision=float(np.finfo(np.float32).eps))
    np.testing.assert_allclose(found.column_norms, expected, rtol=1e-13)


@pytest.mark.parametrize("route", BY_ROUTE)
def test_constant_columns_are_found_unless_they_are_zero(route):
    """A column of zeros is no bias, and a column of large numbers is not constant."""
    rows = rows_with_constant_columns()
    found = moments_by(route, rows, precision=float(np.finfo(np.float32).eps))
    assert found.constant_columns == (1,)
