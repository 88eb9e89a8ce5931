"""What the rows of one side are like, number by number: intervals, bounds from both sides, and what is drawn."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.kernels.intervals import wilson_interval
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import sample_rows
from embaudit.kernels.storage import FLOAT16, Grid
from embaudit.model import FactorModel
from embaudit.model.side import Side
from embaudit.movements import levels
from embaudit.movements.bias_columns import counts_bias
from embaudit.movements.common_direction import common_direction
from embaudit.movements.few_coordinates import dimension_shares, few_coordinates
from embaudit.movements.hubs import hubs
from embaudit.movements.rounding import redrawn_within, rounding
from embaudit.movements.tail import Kept, tail
from embaudit.movements.twins import Twins, twins

FEW, ROUNDING, TAIL, TWINS, LEVELS = (
    sys.modules[f"embaudit.movements.{name}"] for name in ("few_coordinates", "rounding", "tail", "twins", "levels")
)


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
    x[:, 3] += 9
    side = Side(x, "item")
    lists = neighbours(x, 3, rows=asked)
    few = few_coordinates(side, lists)
    others = {"centred": x - x.mean(axis=0), "few": np.delete(x, few.columns, axis=1)}
    found = {"centred": common_direction(side, lists).centring, "few": few.without}
    for name, one in found.items():
        share = np.mean(nearest(others[name], asked) != nearest(x, asked))
        assert 0 < share < 1
        expected = (share, share, share, 40) if len(asked) == 40 else interval(share, len(asked))
        assert (one.share, one.ci_low, one.ci_high, one.n_rows) == expected


@pytest.mark.parametrize("asked", [np.arange(1, 60, 2), np.arange(60)])
def test_what_rounding_changes_has_an_interval_where_some_are_asked(asked, monkeypatch):
    side = Side(np.rint(drawn(60, 12) / 0.5) * 0.5, "item")
    lists = neighbours(side.rows, 5, rows=asked)
    other = drawn(60, 12) * 3
    monkeypatch.setattr(ROUNDING, "storage_of", lambda *_: FLOAT16)
    monkeypatch.setattr(ROUNDING, "_nearest_redrawn", lambda *_: neighbours(other, 1, rows=asked))
    found = rounding(side, lists, np.random.default_rng(0)).redrawn
    # What is nearest after the draw counts as kept where it is nearest, or tied with it, before.
    unit = side.rows / np.linalg.norm(side.rows, axis=1, keepdims=True)
    cosines = unit @ unit.T - 3 * np.eye(60)
    share = np.mean(
        [cosines[i, j] < cosines[i].max() - 1e-9 for i, j in zip(asked, nearest(other, asked), strict=True)]
    )
    assert 0 < share < 1
    expected = (share, share, share, 60) if len(asked) == 60 else interval(share, len(asked))
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


@pytest.mark.parametrize(("p", "k"), [(12, 5), (4, 9)])
def test_rows_without_direction_carry_nothing(p, k):
    x = drawn(p, k)
    holed = np.vstack([x[:2], np.zeros((2, k)), x[2:], np.zeros((1, k))])
    for found, wanted in zip(dimension_shares(holed), dimension_shares(x), strict=True):
        np.testing.assert_allclose(found[: min(p, k)], wanted[: min(p, k)], atol=1e-12)


def test_two_drawn_rows_have_one_pair():
    x = np.array([[3.0, 4.0], [1.0, 0.0]])
    stored, principal = dimension_shares(x, of=7)
    square = np.array([[1.36, 0.48], [0.48, 0.64]])  # UᵀU
    values = np.linalg.eigvalsh(square)[::-1]
    own, both = square.diagonal(), (square**2).sum(axis=0)
    for found, one, two in ((stored, own, both), (principal, values, values**2)):
        total = one + 6 * (two - one)
        np.testing.assert_allclose(found, total / total.sum(), atol=1e-12)


def test_from_the_stated_width_on_shares_are_summed_in_float32(monkeypatch):
    x = drawn(90, 40) * np.linspace(1, 3, 40)
    stored, principal = dimension_shares(x)
    monkeypatch.setattr(FEW, "WIDE", 40)
    for found, wanted in zip(dimension_shares(x), (stored, principal), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    monkeypatch.setattr(FEW, "WIDE", 39)
    short, largest = dimension_shares(np.vstack([x, np.zeros((3, 40))]), of=93)
    assert 1e-12 < np.abs(short / stored - 1).max() < 1e-5
    np.testing.assert_allclose(largest / largest.sum(), principal[:3] / principal[:3].sum(), rtol=1e-5)


def test_half_of_the_squared_cosines_is_enough_to_look_without_the_few():
    axes = np.eye(10)[[0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]  # 3² on one axis, nine on the others
    found = few_coordinates(Side(axes, "item"), neighbours(axes, 1))
    assert (found.columns, found.stored) == ((0,), 0.5)
    assert found.without is not None
    wider = np.vstack([axes, np.eye(11)[10:, :10], [[0.0] * 9 + [1.0]]])
    assert few_coordinates(Side(wider, "item"), neighbours(wider, 1)).without is None


def test_rows_drawn_for_shares_are_those_of_seed_nought(monkeypatch):
    x = drawn(60, 20)
    x[5] = 0
    side = Side(x, "item")
    monkeypatch.setattr(FEW, "rows_drawn", lambda *counts: 30 if counts == (59, 20) else None)
    found = few_coordinates(side, neighbours(x, 1, rows=[0]))
    rows = sample_rows(side.directed, 30, np.random.default_rng(0))
    stored, principal = dimension_shares(x[rows], of=59)
    order = np.argsort(-stored)[:2]
    assert (found.n_drawn, found.columns) == (30, tuple(order.tolist()))
    assert (found.stored, found.principal) == (pytest.approx(stored[order].sum()), pytest.approx(principal[:2].sum()))


def test_numbers_are_redrawn_evenly_with_the_generator_given():
    x = drawn(9, 4).astype(np.float16).astype(float)
    draw = np.random.default_rng(3).spawn(1)[0].uniform(-1, 1, (9, 4))
    found = redrawn_within(x, FLOAT16, np.random.default_rng(3))
    np.testing.assert_array_equal(found, x + FLOAT16.half_steps(x) * draw)


@pytest.fixture
def sizes(monkeypatch):
    """How many rows were drawn each time; every number is moved towards one direction, as far as it may."""
    found = []

    def pushed(x, storage, _):
        found.append(len(x))
        return x + storage.half_steps(np.asarray(x, dtype=float)) * np.array([1, -1])

    monkeypatch.setattr(ROUNDING, "redrawn_within", pushed)
    return found


def clustered():
    """Three rows far from others, and twelve that lie within the rounding of float16 of each other."""
    turn = np.r_[-2.0, -1.9, -1.7, 1 + 1e-5 * np.arange(12)]
    return np.column_stack([np.cos(turn), np.sin(turn)])


@pytest.mark.parametrize(("longer", "n_drawn"), [(11, 14), (12, 15), (3, 16)])
def test_only_lists_that_leave_it_open_are_made_longer(longer, n_drawn, sizes, monkeypatch):
    x = np.vstack([clustered(), np.zeros((1, 2))])
    monkeypatch.setattr(ROUNDING, "LONGER", longer)
    side, asked = Side(x, "item"), np.array([0, 8])
    lists = neighbours(x, 1, rows=asked)
    found = ROUNDING._nearest_redrawn(side, FLOAT16, lists, np.random.default_rng(0))
    # Both rows asked, the nearest of the first, and the cluster of the other; all rows where a list leaves it open.
    assert sizes == [n_drawn]
    whole = x + FLOAT16.half_steps(x) * np.array([1, -1]) * x.any(axis=1, keepdims=True)
    assert found.indices.shape == (2, 1)
    np.testing.assert_array_equal(found.rows, asked)
    best = neighbours(whole, 1, rows=asked)
    np.testing.assert_allclose(found.cosines, best.cosines, atol=1e-12)
    assert found.indices[0, 0] == best.indices[0, 0] == 1


@pytest.mark.parametrize(("longer", "n_drawn"), [(14, 15), (13, 16)])
def test_a_list_of_all_others_leaves_nothing_open(longer, n_drawn, sizes, monkeypatch):
    x = np.vstack([clustered(), np.zeros((1, 2))])
    monkeypatch.setattr(ROUNDING, "LONGER", longer)
    lists = neighbours(x, 1, rows=[0, 8])
    ROUNDING._nearest_redrawn(Side(x, "item"), Grid(1.0), lists, np.random.default_rng(0))
    assert sizes == [n_drawn]  # the row without direction has no part, unless all are drawn


def test_a_bias_tells_rows_apart_by_any_difference():
    model = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]], item_bias=[0.0, 0.25])
    assert counts_bias(model)
    assert not counts_bias(model.replace(right_bias=[0.25, 0.25]))
    head = FactorModel.from_softmax([[1.0], [2.0]], [0.0, 3.0])
    assert not counts_bias(head)
    assert not counts_bias(head.replace(left=np.ones((3, 1))))


def test_the_interval_of_a_weighted_mean_is_that_of_a_ratio():
    kept, weights = np.array([0.2, 0.4, 0.9]), np.array([1.0, 2.0, 5.0])
    found = Kept.of(kept, weights, exact=False)
    error = np.sqrt(((weights * (kept - 0.6875)) ** 2).sum()) / 8
    assert found.share == pytest.approx(0.6875)
    assert found.ci_low == pytest.approx(0.6875 - 1.959963984540054 * error)
    assert found.ci_high == pytest.approx(min(1, 0.6875 + 1.959963984540054 * error))
    assert found.n_lists == 3


def shares(x, y, rows, n):
    lists = [np.argsort(-(z[rows] @ z.T) / np.linalg.norm(z, axis=1), axis=1) for z in (x, y)]
    lists = [[[j for j in row if j != i][:n] for i, row in zip(rows, one, strict=True)] for one in lists]
    return np.array([len(set(a) & set(b)) / n for a, b in zip(*lists, strict=True)])


@pytest.mark.parametrize("n", [1, 3])
def test_of_some_rows_without_counts_those_asked_are_weighed_by_length(n):
    x, y = drawn(50, 3), drawn(50, 3) * [1, 1, 3]
    asked, side = np.arange(0, 50, 2), Side(x, "item")
    found = tail(side, y, neighbours(x, n, rows=asked), np.random.default_rng(0))
    each, length = shares(x, y, asked, n), np.linalg.norm(x, axis=1)
    long = length[asked] >= np.median(length)
    for one, kept, weights in (
        (found.over_all, each, np.ones(25)),
        (found.frequent, each[long], np.ones(long.sum())),
        (found.weighted, each, length[asked]),
    ):
        wanted = Kept.of(kept, weights, exact=False)
        assert vars(one) == {name: pytest.approx(value, rel=1e-12) for name, value in vars(wanted).items()}
        assert one.ci_low < one.share < one.ci_high
    assert found.n_frequent == (length >= np.median(length)).sum()


def test_of_some_rows_with_counts_others_are_drawn_and_looked_up():
    x, y, counts = drawn(40, 3), drawn(40, 3) * [1, 1, 3], np.r_[np.zeros(30), 5.0 * np.arange(1, 11)]
    asked, draw = np.arange(0, 40, 2), np.random.default_rng(1)
    found = tail(Side(x, "item", counts=counts), y, neighbours(x, 2, rows=asked), np.random.default_rng(1))
    by_worth = draw.choice(np.arange(40), 200, p=counts / counts.sum())
    for one, rows, exact in (
        (found.over_all, asked, False),
        (found.frequent, np.arange(30, 40), True),  # all ten were looked up
        (found.weighted, by_worth, False),
    ):
        assert one == Kept.of(shares(x, y, rows, 2), np.ones(len(rows)), exact=exact)
    assert (found.known, found.n_frequent, found.top_n) == ("counts", 10, 2)


def test_one_frequent_row_is_enough_for_a_tail():
    x, y = drawn(20, 3), drawn(20, 3) * [1, 1, 4]
    found = tail(Side(x, "item", counts=[4] * 19 + [5]), y, neighbours(x, 2), np.random.default_rng(0))
    assert found.n_frequent == 1
    assert found.frequent == Kept.of(shares(x, y, np.array([19]), 2), np.ones(1), exact=True)
    most = tail(Side(x, "item", counts=[4] + [5] * 19), y, neighbours(x, 2), np.random.default_rng(0))
    assert most.n_frequent == 19


def made(**fields):
    known = {
        "role": "right", "title": "item", "tolerance": 1e-4, "n_rows": 9, "exact": True, "n_pairs": 0, "n_groups": 0,
        "largest": 0, "names": (), "share": 0.0, "ci_low": 0.0, "ci_high": 0.0, "first": np.arange(9),
        "alone": np.ones(9, dtype=bool),
    }  # fmt: skip
    return Twins(**known | fields)


def test_beyond_chance_is_more_than_three_standard_deviations_above():
    # 36 pairs, a quarter of them by chance: 9, and three standard deviations are 9.
    for n_pairs, beyond in ((18, False), (19, True)):
        assert made(n_pairs=n_pairs, chance=0.25).beyond_chance is beyond
    for low, beyond in ((0.085, False), (0.087, True)):  # 1 - exp(-9 / 100)
        assert made(exact=False, ci_low=low, chance=0.01).beyond_chance is beyond
    assert not made(exact=False, ci_low=0.0).beyond_chance
    assert made(exact=False, ci_low=1e-9).beyond_chance


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
    x = np.vstack([x[:100], np.zeros((1, 8)), x[100:], x[:60] + 1e-4])
    model = FactorModel.from_vectors(x)
    rows = sample_rows(model.right_side.directed, n, np.random.default_rng(4))
    unit = x[model.right_side.directed] / np.linalg.norm(x[model.right_side.directed], axis=1, keepdims=True)
    near = (unit @ unit.T > 1 - 1e-4).sum(axis=1) > 1
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
