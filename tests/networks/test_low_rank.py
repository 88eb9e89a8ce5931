"""Figures of products of two factors, each against the dense product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks.adapters import dense, pair, regauged
from scipy.linalg import subspace_angles
from scipy.stats import ortho_group

from embaudit.networks.low_rank import Update

SHAPES = [(60, 40, 4), (5, 30, 5), (30, 5, 8), (9, 7, 1)]


def update(factors):
    return Update.from_factors(*factors)


def cosines_of(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize("shape", SHAPES)
def test_one_update_against_its_dense_matrix(shape):
    factors = pair(1, *shape)
    matrix, found = dense(factors), update(factors)
    values = np.linalg.svd(matrix, compute_uv=False)
    assert found.norm == pytest.approx(np.linalg.norm(matrix), rel=1e-12)
    k = min(shape)
    np.testing.assert_allclose(found.values[:k], values[:k], rtol=1e-10)
    expected = (values**2).sum() ** 2 / (values**4).sum()
    assert found.effective_rank == pytest.approx(expected, rel=1e-10)
    assert found.rank == k
    np.testing.assert_allclose(
        cosines_of(found.output_rows), cosines_of(matrix), atol=1e-9
    )
    np.testing.assert_allclose(
        cosines_of(found.input_rows), cosines_of(matrix.T), atol=1e-9
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other_rank", [1, 3])
def test_two_updates_against_their_dense_matrices(shape, other_rank):
    n_outputs, n_inputs, _ = shape
    factors = pair(1, *shape), pair(2, n_outputs, n_inputs, other_rank)
    first, second = map(dense, factors)
    one, other = map(update, factors)
    assert one.product(other) == pytest.approx(np.trace(first.T @ second), rel=1e-9)
    distance = np.linalg.norm(first - second)
    assert one.distance(other) == pytest.approx(distance, rel=1e-10)
    angles = subspace_angles(
        np.linalg.svd(first)[0][:, : one.rank],
        np.linalg.svd(second)[0][:, : other.rank],
    )
    assert one.output_overlap(other) == pytest.approx((np.cos(angles) ** 2).mean())
    angles = subspace_angles(
        np.linalg.svd(first)[2][: one.rank].T, np.linalg.svd(second)[2][: other.rank].T
    )
    assert one.input_overlap(other) == pytest.approx((np.cos(angles) ** 2).mean())
    by_outputs = np.linalg.norm(second @ first.T) / np.sqrt(n_outputs)
    by_inputs = np.linalg.norm(second.T @ first) / np.sqrt(n_inputs)
    assert one.deviation_by_chance(other) == pytest.approx(max(by_outputs, by_inputs))


@pytest.mark.parametrize("side", ["outputs", "inputs"])
def test_the_deviation_by_chance_is_that_of_random_rotations(side):
    """Of 4,000 rotations the standard deviation errs by 1.1 %; the limit is 4 %."""
    n_outputs, n_inputs = (8, 12) if side == "outputs" else (12, 8)
    shared = pair(5, n_outputs, n_inputs, 2)
    b, a = pair(6, n_outputs, n_inputs, 2)
    # Both updates have the spaces of one side in common, as with one random A.
    second = (b, shared[1]) if side == "outputs" else (shared[0], a)
    one, other = dense(shared), dense(second)
    size = n_outputs if side == "outputs" else n_inputs
    products = []
    for turn in ortho_group.rvs(size, size=4000, random_state=0):
        turned = turn @ other if side == "outputs" else other @ turn
        products.append((one * turned).sum())
    deviation = update(shared).deviation_by_chance(update(second))
    assert abs(np.mean(products)) < 4 * deviation / np.sqrt(4000)
    assert np.std(products) == pytest.approx(deviation, rel=0.04)


def test_the_overlap_by_chance_is_that_of_random_spaces():
    """The mean over 500 pairs of random spaces has an error of about 1 %."""
    found = []
    for seed in range(500):
        one = update(pair(seed, 20, 15, 2))
        other = update(pair(1000 + seed, 20, 15, 3))
        found.append([one.output_overlap(other), one.input_overlap(other)])
    assert one.overlaps_by_chance(other) == (3 / 20, 3 / 15)
    np.testing.assert_allclose(np.mean(found, axis=0), (3 / 20, 3 / 15), rtol=0.06)


@given(
    st.integers(0, 1000),
    st.sampled_from([1.0, 10.0, 1e3, 1e6]),
    st.integers(1, 6),
)
def test_a_gauge_changes_no_number(seed, condition, rank):
    """Rounding grows with the condition number."""
    factors, others = pair(seed, rank=rank), pair(seed + 1, rank=3)
    turned = regauged(factors, seed, condition)
    before, after, other = map(update, (factors, turned, others))
    tolerance = 1e-13 * condition
    rounding = {"rel": tolerance, "abs": tolerance}
    assert after.norm == pytest.approx(before.norm, **rounding)
    assert after.effective_rank == pytest.approx(before.effective_rank, **rounding)
    scale = before.norm * other.norm
    product = before.product(other) / scale
    assert after.product(other) / scale == pytest.approx(product, **rounding)
    for name in ("deviation_by_chance", "distance", "output_overlap", "input_overlap"):
        expected = getattr(before, name)(other)
        assert getattr(after, name)(other) == pytest.approx(expected, **rounding)
    assert before.distance(after) <= tolerance * before.norm


def test_an_update_of_zero():
    zero = Update.from_factors(np.zeros((6, 2)), np.ones((2, 4)))
    other = update(pair(0, 6, 4, 2))
    assert (zero.norm, zero.rank) == (0.0, 0)
    assert np.isnan(zero.effective_rank)
    assert np.isnan(zero.output_overlap(other))
    assert zero.product(other) == 0
    assert zero.distance(other) == pytest.approx(other.norm)
