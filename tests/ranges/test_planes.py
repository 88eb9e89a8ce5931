"""Ranges of cosines under scales of blocks, by search and by closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from embaudit.ranges.planes import block_ranges
from embaudit.ranges.weights import largest_cosine


def weighted_cosine(x, y, blocks, logarithms):
    weights = np.zeros(len(x))
    for block, logarithm in zip(blocks, logarithms, strict=True):
        weights[block] = np.exp(logarithm)
    product = (weights * x * y).sum()
    return product / np.sqrt((weights * x * x).sum() * (weights * y * y).sum())


def random_pair(seed):
    """Two rows in up to four blocks; of each three pairs, one is acute or obtuse."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 4, size=draw.integers(1, 5))
    columns = draw.permutation(sizes.sum())
    blocks = np.split(columns, np.cumsum(sizes)[:-1])
    x, y = draw.standard_normal((2, len(columns)))
    if seed % 3 == 0:
        y = x * draw.uniform(0.3, 3, size=len(x)) * (1 if seed % 2 else -1)
    return x, y, blocks


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("max_condition", [1.5, 10.0])
def test_a_search_reaches_both_ends_within_a_budget(seed, max_condition):
    x, y, blocks = random_pair(seed)
    found = block_ranges(x[None], y[None], blocks, max_condition)
    most = 2 * np.log(max_condition)
    draw = np.random.default_rng(seed)
    vertices = list(itertools.product([0.0, most], repeat=len(blocks)))
    starts = [*vertices, *draw.uniform(0, most, (8, len(blocks)))]
    reached = []
    for start, sign in itertools.product(starts, (1, -1)):
        reached.append(weighted_cosine(x, y, blocks, start))
        best = minimize(
            lambda at, sign=sign: sign * weighted_cosine(x, y, blocks, at),
            start,
            bounds=[(0, most)] * len(blocks),
            method="L-BFGS-B",
        )
        reached.append(weighted_cosine(x, y, blocks, best.x))
    assert min(reached) >= found.lower[0] - 1e-9
    assert max(reached) <= found.upper[0] + 1e-9
    assert min(reached) == pytest.approx(found.lower[0], abs=1e-6)
    assert max(reached) == pytest.approx(found.upper[0], abs=1e-6)


@pytest.mark.parametrize("seed", range(30))
def test_large_budgets_come_near_the_ends_without_a_budget(seed):
    x, y, blocks = random_pair(seed)
    free = block_ranges(x[None], y[None], blocks)
    wide = block_ranges(x[None], y[None], blocks, 1e5)
    assert free.lower[0] <= wide.lower[0] + 1e-9
    assert free.upper[0] >= wide.upper[0] - 1e-9
    assert wide.lower[0] == pytest.approx(free.lower[0], abs=1e-4)
    assert wide.upper[0] == pytest.approx(free.upper[0], abs=1e-4)


def test_blocks_of_one_column_are_a_diagonal_gauge():
    x, y = np.random.default_rng(0).standard_normal((2, 200, 6))
    y[:100] = np.abs(y[:100]) * np.sign(x[:100])
    blocks = [np.array([column]) for column in range(6)]
    found = block_ranges(x, y, blocks, 3.0)
    tangent = largest_cosine(x, y, 3.0).tangent
    expected = (1 - tangent**2) / (1 + tangent**2)
    np.testing.assert_allclose(found.upper, expected, atol=1e-12)


def test_without_a_budget_the_ends_have_closed_forms():
    blocks = [np.array([0, 1]), np.array([2, 3])]
    # Cosines 0.6 and -0.8 in the blocks: one of them can have nearly all weight.
    x = np.array([[1.0, 0.0, 2.0, 0.0]])
    y = np.array([[0.6, 0.8, -0.8, 0.6]])
    found = block_ranges(x, y, blocks)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [-0.8, 0.6])
    # Two positive cosines c with lengths whose ratios differ by ρ: the infimum is
    # c / cosh(ln √ρ).
    x = np.array([[1.0, 0.0, 1.0, 0.0]])
    y = np.array([[0.6, 0.8, 3 * 0.6, 3 * 0.8]])
    found = block_ranges(x, y, blocks)
    expected = 0.6 / np.cosh(np.log(3) / 2)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [expected, 0.6])


def test_zero_blocks_and_zero_rows():
    blocks = [np.array([0, 1]), np.array([2, 3]), np.array([4])]
    # Block 2 is zero in one row, so weight there takes the cosine to 0; block 4 is
    # zero in both rows.
    x = np.array([[1.0, 0.0, 1.0, 1.0, 0.0], [0.0] * 5])
    y = np.array([[3.0, 4.0, 0.0, 0.0, 0.0], [1.0] * 5])
    for max_condition in (None, 2.0):
        found = block_ranges(x, y, blocks, max_condition)
        assert np.isnan(found.lower[1])
        assert np.isnan(found.upper[1])
    found = block_ranges(x, y, blocks)
    np.testing.assert_allclose([found.lower[0], found.upper[0]], [0, 0.6])


def test_one_block_and_no_budget_to_use_move_nothing():
    x, y = np.random.default_rng(0).standard_normal((2, 50, 4))
    cosines = np.vecdot(x, y) / np.sqrt(np.vecdot(x, x) * np.vecdot(y, y))
    one = block_ranges(x, y, [np.arange(4)])
    unit = block_ranges(x, y, [np.array([0, 1]), np.array([2, 3])], 1.0)
    for found in (one, unit):
        np.testing.assert_allclose(found.lower, cosines, atol=1e-12)
        np.testing.assert_allclose(found.upper, cosines, atol=1e-12)


def test_no_pairs_have_no_ranges():
    assert (
        len(block_ranges(np.empty((0, 2)), np.empty((0, 2)), [np.arange(2)]).width) == 0
    )
