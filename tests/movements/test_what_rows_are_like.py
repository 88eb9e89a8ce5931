"""What the rows of one side are like: every measure against loops over pairs, and what it must not change with."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from embaudit.linalg.nearest import neighbours
from embaudit.model.side import Side
from embaudit.movements.common_direction import common_direction, mean_cosine
from embaudit.movements.hubs import hubs
from embaudit.movements.nearest_changed import NearestChanged


def drawn(p, k, seed=0, mean=0.0):
    return np.random.default_rng(seed).standard_normal((p, k)) + mean


def cosine(x, i, j):
    return float(x[i] @ x[j] / np.sqrt((x[i] @ x[i]) * (x[j] @ x[j])))


def nearest(x, i):
    """The nearest row by a loop over all others."""
    return max((j for j in range(len(x)) if j != i), key=lambda j: cosine(x, i, j))


def changed(x, y):
    return float(np.mean([nearest(x, i) != nearest(y, i) for i in range(len(x))]))


@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_the_mean_cosine_is_that_over_all_pairs(mean):
    x = drawn(23, 4, mean=mean)
    expected = np.mean([cosine(x, i, j) for i, j in combinations(range(23), 2)])
    assert mean_cosine(x) == pytest.approx(expected, abs=1e-12)
    assert mean_cosine(np.vstack([x, np.zeros((5, 4))])) == pytest.approx(expected, abs=1e-12)


def test_a_common_direction_is_its_mean_row_and_what_centring_changes():
    side = Side(drawn(40, 5, mean=0.8), "item")
    found = common_direction(side, neighbours(side.rows, 3))
    mean = side.rows.mean(axis=0)
    lengths = [np.sqrt(row @ row) for row in side.rows]
    assert found.offset == pytest.approx(np.sqrt(mean @ mean) / np.median(lengths), rel=1e-12)
    assert found.centring.share == found.centring.ci_low == changed(side.rows, side.rows - mean) > 0.2
    assert found.centring.n_rows == 40


def test_some_rows_give_an_interval_and_all_of_them_give_none():
    x = drawn(40, 5)
    some = neighbours(x, 1, rows=np.arange(0, 40, 2))
    other = neighbours(x * [9, 1, 1, 1, 1], 1, rows=some.rows)
    found = NearestChanged.of(some, other, exact=False)
    assert found.ci_low < found.share < found.ci_high
    assert NearestChanged.of(some, other, exact=True).ci_high == found.share


def test_hubs_are_counted_over_all_lists():
    x = drawn(250, 3)
    x[[7, 9]] = [[5.0, 5.0, 5.0], [4.0, 4.0, 4.1]]
    x[20:] = np.abs(x[20:])
    lists = neighbours(x, 5)
    found = hubs(lists)
    occurs = [sum(j in row for row in lists.indices.tolist()) for j in range(250)]
    assert found.skewness == pytest.approx(float(stats.skew(occurs)), rel=1e-12)
    first, second = sorted(range(250), key=lambda j: -occurs[j])[:2]
    assert found.few == (first, second)
    assert found.lists_with == (occurs[first] / 250, occurs[second] / 250)
    assert found.filled == (occurs[first] + occurs[second]) / (5 * 250)
    assert (found.n_lists, found.top_n) == (250, 5)
