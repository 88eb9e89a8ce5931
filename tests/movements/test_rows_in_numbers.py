"""What the rows of one side are like, number by number: intervals, bounds from both sides, and what is drawn."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.kernels.intervals import wilson_interval
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.model.side import Side
from embaudit.movements import levels
from embaudit.movements.bias_columns import counts_bias
from embaudit.movements.common_direction import common_direction
from embaudit.movements.hubs import hubs
from embaudit.movements.twins import twins

TWINS, LEVELS = (sys.modules[f"embaudit.movements.{name}"] for name in ("twins", "levels"))


def drawn(p, k, seed=0, mean=0.0):
    return np.random.default_rng(seed).standard_normal((p, k)) + mean


def nearest(x, rows):
    """The nearest of each of some rows, by all cosines."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit[rows] @ unit.T
    cosines[np.arange(len(rows)), rows] = -2
    return cosines.argmax(axis=1)


def interval(share, n):
    return (pytest.approx(share), *map(pytest.approx, wilson_interval(share, n)), n)


@pytest.mark.parametrize("asked", [np.arange(1, 40, 3), np.arange(40)])
def test_a_share_of_changed_rows_has_an_interval_where_some_are_asked(asked):
    x = drawn(40, 20, mean=0.4)
    found = common_direction(Side(x, "item"), neighbours(x, 3, rows=asked)).centring
    share = np.mean(nearest(x - x.mean(axis=0), asked) != nearest(x, asked))
    assert 0 < share < 1
    expected = (share, share, share, 40) if len(asked) == 40 else interval(share, len(asked))
    assert (found.share, found.ci_low, found.ci_high, found.n_rows) == expected


def test_the_mean_row_is_measured_in_median_rows():
    x = np.vstack([np.full((3, 2), 4.0), np.zeros((3, 2)), [[0.0, 2.0]]])
    found = common_direction(Side(x, "item"), neighbours(x, 1, rows=[0, 1, 2, 6]))
    assert found.offset == pytest.approx(np.hypot(12 / 7, 2.0) / 2)
    empty = np.vstack([x, np.zeros((2, 2))])
    assert np.isnan(common_direction(Side(empty, "item"), neighbours(empty, 1, rows=[0])).offset)


def test_rows_that_occur_alike_are_not_skewed():
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    found = hubs(neighbours(np.column_stack([np.cos(turn), np.sin(turn)]), 2))
    assert (found.skewness, found.few, found.lists_with, found.filled) == (0.0, (0,), (2 / 12,), 2 / 24)
    # Pairs, but for one row in two lists: counts (2, 1, 0, 1, 1) have a variance below 1.
    lists = neighbours(np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.3], [-1.0, 0.0], [-1.0, 0.1]]), 1)
    off = np.bincount(lists.indices.ravel(), minlength=5) - 1.0
    assert sorted(off) == [-1, 0, 0, 0, 1]
    assert hubs(lists).skewness == 0
    some = neighbours(lists.searched, 1, rows=[0, 2, 3])
    counts = np.array([1, 1, 0, 0, 1]) - 0.6
    assert sorted(np.bincount(some.indices.ravel(), minlength=5) - 0.6) == sorted(counts)
    assert 0 < (counts**2).mean() < 1
    assert hubs(some).skewness == pytest.approx((counts**3).mean() / (counts**2).mean() ** 1.5)
    assert hubs(some).filled == 1 / 3


def test_a_bias_tells_rows_apart_by_any_difference():
    model = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]], item_bias=[0.0, 0.25])
    assert counts_bias(model)
    assert not counts_bias(model.replace(right_bias=[0.25, 0.25]))
    head = FactorModel.from_softmax([[1.0], [2.0]], [0.0, 3.0])
    assert not counts_bias(head)
    assert not counts_bias(head.replace(left=np.ones((3, 1))))


def test_a_tolerance_of_ones_own_is_not_answered_with_what_is_known():
    model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    assert (twins(model).n_pairs, twins(model, tolerance=0.1).n_pairs, twins(model).n_pairs) == (0, 1, 0)
    assert twins(model) is twins(model)
    assert twins(model, rng=np.random.default_rng(0)) is not twins(model)


def test_rows_without_direction_have_no_twins_and_no_share():
    found = twins(FactorModel.from_user_item(np.eye(2), np.zeros((3, 2))))
    assert (found.n_rows, found.share, found.n_pairs, found.first.tolist()) == (0, 0.0, 0, [0, 1, 2])


def test_every_block_of_rows_is_asked_whether_it_lies_on_the_line(monkeypatch):
    monkeypatch.setattr(TWINS, "row_blocks", lambda n, _: [slice(at, at + 1) for at in range(n)])
    assert twins(FactorModel.from_vectors([[1.0, 0.0], [2.0, 0.0], [-3.0, 0.0]])).on_a_line
    assert not twins(FactorModel.from_vectors([[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]])).on_a_line


@pytest.mark.parametrize(("sample", "searched", "n"), [(150, 10**6, 150), (400, 120 * 300, 120), (50, 10**6, 100)])
def test_as_many_rows_are_asked_for_their_twin_as_is_affordable(sample, searched, n, monkeypatch):
    for name, value in (("ROWS", 0), ("SAMPLE", sample), ("SEARCHED", searched)):
        monkeypatch.setattr(TWINS, name, value)
    x = drawn(240, 8)
    x = np.vstack([x[:100], np.zeros((1, 8)), x[100:], 3 * x[:60]])
    model = FactorModel.from_vectors(x)
    rows = sample_rows(model.right_side.directed, n, np.random.default_rng(4))
    unit = x[model.right_side.directed] / np.linalg.norm(x[model.right_side.directed], axis=1, keepdims=True)
    near = (unit @ unit.T > 1 - 1e-12).sum(axis=1) > 1
    share = np.mean([near[row - (row > 100)] for row in rows])
    found = twins(model, rng=4)
    assert (found.share, found.ci_low, found.ci_high) == (share, *wilson_interval(share, n))
    assert 0.2 < share < 0.6


def test_up_to_the_stated_number_all_pairs_are_read(monkeypatch):
    model = FactorModel.from_vectors(drawn(30, 4))
    for most, exact in ((435, True), (434, False)):
        monkeypatch.setattr(LEVELS, "ALL", most)
        found = levels(model)
        assert (found.exact, found.n_pairs) == (exact, most)
        assert found.cosines.tolist() == levels(model).cosines.tolist()
    assert levels(model, rng=3).cosines.tolist() == levels(model, rng=3).cosines.tolist()


def test_of_one_pair_and_of_none_a_share_is_told():
    model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]])
    assert levels(model).below([0.6, 0.61]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match=r"^cosines must be "):
        levels(model).below("high")
    assert levels(model, role="right").explain() == (
        "Of 1 pair of items half have a cosine above 0.60, one in a hundred above 0.60."
    )
