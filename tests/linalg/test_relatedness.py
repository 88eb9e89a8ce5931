"""Relatedness of two sets of rows: formulas against tensors, and random rotations."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2, norm

from embaudit.linalg.relatedness import (
    aligned_shapes,
    n_harmonics,
    shared_directions,
)


def rotation(n_columns, rng):
    """Draw a rotation or reflection from the Haar measure."""
    q, r = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    return q * np.sign(np.diag(r))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def symmetrised(tensor):
    """Average a tensor over all orders of its axes."""
    orders = list(permutations(range(tensor.ndim)))
    return sum(np.transpose(tensor, order) for order in orders) / len(orders)


def traceless_power(x, degree):
    """Return the k-th power of a unit vector as a symmetric tensor of trace 0."""
    d = len(x)
    identity = np.eye(d)
    if degree == 3:
        cube = np.einsum("i,j,k->ijk", x, x, x)
        shifted = symmetrised(np.einsum("i,jk->ijk", x, identity))
        return cube - 3 / (d + 2) * shifted
    fourth = np.einsum("i,j,k,l->ijkl", x, x, x, x)
    shifted = symmetrised(np.einsum("i,j,kl->ijkl", x, x, identity))
    constant = symmetrised(np.einsum("ij,kl->ijkl", identity, identity))
    return fourth - 6 / (d + 4) * shifted + 3 / ((d + 2) * (d + 4)) * constant


@pytest.mark.parametrize("degree", [3, 4])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_shapes_align_by_the_cosine_of_mean_traceless_tensors(d, degree):
    rng = np.random.default_rng(d)
    first, second = unit(rng.normal(size=(9, d))), unit(rng.normal(size=(7, d)))
    means = [
        np.mean([traceless_power(row, degree) for row in rows], axis=0)
        for rows in (first, second)
    ]
    # The tensors have trace 0 in every pair of axes, so they are harmonics.
    assert np.trace(means[0]) == pytest.approx(0, abs=1e-12)
    cosine = np.vdot(*means) / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
    expected = np.sqrt(n_harmonics(d, degree)) * cosine
    assert aligned_shapes(first, second, degree) == pytest.approx(expected)


@pytest.mark.parametrize("degree", [3, 4])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_harmonics_are_the_span_of_traceless_powers(d, degree):
    rows = unit(np.random.default_rng(0).normal(size=(120, d)))
    powers = [traceless_power(row, degree).ravel() for row in rows]
    assert np.linalg.matrix_rank(powers) == n_harmonics(d, degree)


@pytest.mark.parametrize("degree", [3, 4])
def test_shapes_have_mean_0_and_variance_1_under_random_rotations(degree):
    rng = np.random.default_rng(1)
    first, second = unit(rng.normal(size=(9, 5))), unit(rng.normal(size=(7, 5)))
    values = np.array(
        [
            aligned_shapes(first, second @ rotation(5, rng), degree)
            for _ in range(10_000)
        ]
    )
    # Both are known up to about 1 / √10,000.
    assert values.mean() == pytest.approx(0, abs=0.04)
    assert values.var() == pytest.approx(1, abs=0.06)


def test_shapes_that_prefer_no_direction_are_not_related():
    # The rows ±e_1 have no third moments.
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert aligned_shapes(rows, rows, 3) == 0


def groups_of(variances):
    """Number the groups of 2, 4, 8, … directions.

    Groups before group g have 2^(g+1) − 2 directions. The group that holds the last
    direction with a variance also holds all directions after it.
    """
    rank = int((variances > 1e-12 * variances[0]).sum())
    numbers = [int(np.log2(place + 2)) - 1 for place in range(len(variances))]
    last = numbers[rank - 1]
    return [min(number, last) for number in numbers]


def explicit_chi_squared(first, second):
    """Add up the table entry by entry, with all principal directions."""
    d = first.shape[1]
    directions, numbers = [], []
    for rows in (first, second):
        variances, vectors = np.linalg.eigh(rows.T @ rows)
        directions.append(vectors[:, ::-1].T)
        numbers.append(groups_of(variances[::-1]))
    n_groups = [max(number) + 1 for number in numbers]
    observed = np.zeros(n_groups)
    expected = np.zeros(n_groups)
    for u, i in zip(directions[0], numbers[0], strict=True):
        for v, j in zip(directions[1], numbers[1], strict=True):
            observed[i, j] += (u @ v) ** 2
            expected[i, j] += 1 / d
    terms = (observed - expected) ** 2 / expected
    freedom = (n_groups[0] - 1) * (n_groups[1] - 1)
    return (d - 1) * (d + 2) / (2 * d) * terms.sum(), freedom


def chi_squared_of(z, freedom):
    """Invert the cube root of Wilson and Hilferty."""
    variance = 2 / (9 * freedom)
    return freedom * (1 - variance + z * np.sqrt(variance)) ** 3


# 40 rows have directions of variance 0 in 60 dimensions.
@pytest.mark.parametrize("d", [12, 30, 60])
def test_shares_of_directions_are_those_of_an_explicit_table(d):
    rng = np.random.default_rng(d)
    scales = 1 / np.arange(1.0, d + 1)
    first = rng.normal(size=(40, d)) * scales
    second = rng.normal(size=(50, d)) * scales @ rotation(d, rng)
    expected, freedom = explicit_chi_squared(first, second)
    z = shared_directions(first, second)
    assert chi_squared_of(z, freedom) == pytest.approx(expected)
    # A normal number exceeds z with the probability that χ² exceeds this value.
    assert z == pytest.approx(norm.isf(chi2.sf(expected, freedom)), abs=0.05)


def test_the_mean_over_random_rotations_is_the_number_of_degrees_of_freedom():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(40, 16)), rng.normal(size=(40, 16))
    # Groups of 2, 4, 8 and the last 2 of 16 directions.
    freedom = 3 * 3
    z = np.array(
        [shared_directions(first, second @ rotation(16, rng)) for _ in range(3_000)]
    )
    values = chi_squared_of(z, freedom)
    assert values.mean() == pytest.approx(freedom, abs=4 * np.sqrt(18 / 3_000))
    # The threshold of an audit is exceeded about as rarely as by normal numbers.
    assert (z >= 4).mean() <= 0.002


def test_directions_that_agree_and_directions_that_avoid_each_other_are_related():
    rng = np.random.default_rng(3)
    scales = 1 / np.arange(1.0, 25)
    first = rng.normal(size=(500, 24)) * scales
    agrees = rng.normal(size=(500, 24)) * scales
    avoids = rng.normal(size=(500, 24)) * scales[::-1]
    assert shared_directions(first, agrees) > 10
    assert shared_directions(first, avoids) > 10
    assert abs(shared_directions(first, agrees @ rotation(24, rng))) < 4


def test_few_directions_form_no_table():
    rows = np.random.default_rng(4).normal(size=(30, 2))
    assert shared_directions(rows, rows) == 0
