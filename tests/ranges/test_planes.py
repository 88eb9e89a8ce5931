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

    # A search over the logarithms of the weights starts at all corners of the budget
    # and at some points inside it.
    largest = 2 * np.log(max_condition)
    corners = itertools.product([0.0, largest], repeat=len(blocks))
    inside = np.random.default_rng(seed).uniform(0, largest, (8, len(blocks)))
    reached = []
    for start, sign in itertools.product([*corners, *inside], (1, -1)):
        best = minimize(
            lambda at, sign=sign: sign * weighted_cosine(x, y, blocks, at),
            start,
            bounds=[(0, largest)] * len(blocks),
            method="L-BFGS-B",
        )
        reached.append(weighted_cosine(x, y, blocks, start))
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


TWO_BLOCKS = [np.array([0, 1]), np.array([2, 3])]


def test_without_a_budget_one_block_can_have_nearly_all_weight():
    """The cosines in the two blocks are 0.6 and -0.8."""
    x = np.array([[1.0, 0.0, 2.0, 0.0]])
    y = np.array([[0.6, 0.8, -0.8, 0.6]])
    found = block_ranges(x, y, TWO_BLOCKS)
    np.testing.assert_allclose(found.lower, [-0.8])
    np.testing.assert_allclose(found.upper, [0.6])


def test_without_a_budget_lengths_decide_how_far_equal_cosines_of_blocks_fall():
    """Both blocks have the cosine c, and the ratios of their lengths differ by ρ.

    The infimum is c / cosh(ln √ρ), and the supremum is c.
    """
    cosine, ratio = 0.6, 3
    x = np.array([[1.0, 0.0, 1.0, 0.0]])
    y = np.array([[0.6, 0.8, ratio * 0.6, ratio * 0.8]])
    found = block_ranges(x, y, TWO_BLOCKS)
    np.testing.assert_allclose(found.lower, [cosine / np.cosh(np.log(ratio) / 2)])
    np.testing.assert_allclose(found.upper, [cosine])


@pytest.mark.parametrize("max_condition", [None, 2.0])
def test_a_row_of_zeros_has_no_range(max_condition):
    zeros = np.zeros((1, 4))
    ones = np.ones((1, 4))
    found = block_ranges(zeros, ones, TWO_BLOCKS, max_condition)
    assert np.isnan(found.lower[0])
    assert np.isnan(found.upper[0])


def test_weight_on_a_block_that_is_zero_in_one_row_takes_the_cosine_to_zero():
    """The second block is zero in one row, and the third one in both rows."""
    blocks = [*TWO_BLOCKS, np.array([4])]
    x = np.array([[1.0, 0.0, 1.0, 1.0, 0.0]])
    y = np.array([[3.0, 4.0, 0.0, 0.0, 0.0]])
    found = block_ranges(x, y, blocks)
    np.testing.assert_allclose(found.lower, [0])
    np.testing.assert_allclose(found.upper, [0.6])


@pytest.mark.parametrize(
    ("blocks", "max_condition"),
    [([np.arange(4)], None), (TWO_BLOCKS, 1.0)],
    ids=["one block", "no budget to use"],
)
def test_one_block_and_no_budget_to_use_move_nothing(blocks, max_condition):
    x, y = np.random.default_rng(0).standard_normal((2, 50, 4))
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    cosines = np.vecdot(x, y) / lengths
    found = block_ranges(x, y, blocks, max_condition)
    np.testing.assert_allclose(found.lower, cosines, atol=1e-12)
    np.testing.assert_allclose(found.upper, cosines, atol=1e-12)


def test_no_pairs_have_no_ranges():
    no_rows = np.empty((0, 2))
    found = block_ranges(no_rows, no_rows, [np.arange(2)])
    assert len(found.width) == 0
