"""Pairs of rows of different groups, and the errors of means over pairs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.linalg.intervals import PairErrors, share_interval, wilson_interval
from embaudit.linalg.pairs import draw_pairs
from embaudit.linalg.unrelated_pairs import UnrelatedPairs, group_codes

LABELS = st.lists(st.sampled_from(["a", "b", "c", None, ""]), min_size=1, max_size=9)


def related(first, second):
    return first == second and first not in (None, "")


@given(groups=LABELS, shift=st.integers(0, 3))
def test_the_pairs_of_one_side_are_those_of_different_groups(groups, shift):
    n = len(groups)
    rows = shift + 2 * np.arange(n)
    space = UnrelatedPairs(rows, group_codes(groups)[0])
    expected = {
        (rows[i], rows[j])
        for i, j in combinations(range(n), 2)
        if not related(groups[i], groups[j])
    }
    found = [tuple(pair) for pair in space.draw(100).tolist()]
    assert len(found) == space.total == len(set(found))
    assert set(found) == expected
    every_pair = np.array([(rows[i], rows[j]) for i, j in combinations(range(n), 2)])
    if n > 1:
        is_member = space.contains(every_pair)
        assert [pair in expected for pair in map(tuple, every_pair)] == list(is_member)


@given(left=LABELS, right=LABELS)
def test_the_pairs_of_two_sides_are_those_of_different_groups(left, right):
    rows = (3 + np.arange(len(left)), 2 * np.arange(len(right)))
    codes = group_codes(left, right)
    space = UnrelatedPairs(rows[0], codes[0], rows[1], codes[1])
    expected = {
        (rows[0][i], rows[1][j])
        for i, j in product(range(len(left)), range(len(right)))
        if not related(left[i], right[j])
    }
    found = [tuple(pair) for pair in space.draw(200).tolist()]
    assert len(found) == space.total == len(set(found))
    assert set(found) == expected


def test_without_groups_pairs_are_drawn_as_always():
    rows = np.arange(500)
    space = UnrelatedPairs(rows, rows)
    expected = draw_pairs(500, 300, rng=4)
    np.testing.assert_array_equal(space.draw(300, rng=4), expected)


def test_each_unrelated_pair_is_drawn_equally_often():
    groups = ["a"] * 4 + ["b"] * 2 + [None] * 3
    space = UnrelatedPairs(np.arange(9), group_codes(groups)[0])
    draw = np.random.default_rng(0)
    counts = Counter(
        tuple(pair) for _ in range(3_000) for pair in space.draw(3, rng=draw).tolist()
    )
    assert len(counts) == space.total == 36 - 6 - 1
    expected = 9_000 / space.total
    # Each count has a standard deviation of about 17.
    assert max(abs(count - expected) for count in counts.values()) < 70


def error_by_pairs(values, ends):
    """Sum products of residuals over all pairs of pairs that share an entity."""
    residuals = values - values.mean()
    total = 0.0
    for a, b in product(range(len(values)), repeat=2):
        if set(ends[a]) & set(ends[b]):
            total += residuals[a] * residuals[b]
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_error_of_a_mean_counts_pairs_that_share_an_entity(seed):
    draw = np.random.default_rng(seed)
    ends = draw.integers(6, size=(40, 2))
    # Many pairs of pairs share both entities.
    ends = ends[ends[:, 0] != ends[:, 1]]
    effects = draw.standard_normal(6)
    values = effects[ends].sum(axis=1) + 0.1 * draw.standard_normal(len(ends))
    square = error_by_pairs(values, ends.tolist())
    errors = PairErrors(ends)
    assert errors.of_mean(values) == pytest.approx(np.sqrt(square) / len(ends))


def test_a_share_of_independent_cases_has_the_interval_of_wilson():
    error = np.sqrt(0.2 * 0.8 / 50)
    found = share_interval(0.2, error, 10**9)
    np.testing.assert_allclose(found, wilson_interval(0.2, 50), atol=1e-6)


def test_a_share_without_error_counts_clusters():
    low, high = share_interval(1.0, 0.0, 30)
    assert high == 1
    assert 0.8 < low < wilson_interval(1.0, 30)[0]
    assert share_interval(0.5, 0.0, 1) == (0, 1)
    assert np.isnan(share_interval(np.nan, 0.0, 30)).all()
