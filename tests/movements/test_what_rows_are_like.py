"""What the rows of one side are like: every measure against loops over pairs, and what it must not change with."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import row_norms, unit_rows
from embaudit.kernels.storage import FLOAT16, ByteRows, Grid, ShortFloats
from embaudit.model.side import Side
from embaudit.movements.common_direction import common_direction, mean_cosine
from embaudit.movements.few_coordinates import dimension_shares, few_coordinates, rows_drawn
from embaudit.movements.hubs import hubs
from embaudit.movements.nearest_changed import NearestChanged
from embaudit.movements.rounding import redrawn_within, rounding
from embaudit.movements.row_lengths import length_trend
from embaudit.movements.tail import DRAWN, Kept, Tail, tail


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


@pytest.mark.parametrize("small", [1e-289, 1e-291, 1e-307])
def test_the_mean_cosine_is_that_of_short_rows_too(small):
    x, lengths = drawn(9, 3, mean=0.5), np.where(np.arange(9) % 3 == 1, small, 1.0)[:, None]
    expected = mean_cosine(x)
    for norms in (None, row_norms(lengths * x)):
        assert mean_cosine(lengths * x, norms) == pytest.approx(expected, abs=1e-14)
    assert mean_cosine(x, 2 * row_norms(x)) != pytest.approx(expected, abs=1e-3)


def test_one_row_has_no_mean_cosine_and_two_have_theirs():
    assert np.isnan(mean_cosine(np.array([[1.0, 2.0], [0.0, 0.0]])))
    assert mean_cosine(np.array([[1.0, 0.0], [3.0, 4.0]])) == pytest.approx(0.6, abs=1e-12)


def test_a_common_direction_is_its_mean_row_and_what_centring_changes():
    side = Side(drawn(40, 5, mean=0.8), "item")
    found = common_direction(side, neighbours(side.rows, 3))
    mean = side.rows.mean(axis=0)
    lengths = [np.sqrt(row @ row) for row in side.rows]
    assert found.offset == pytest.approx(np.sqrt(mean @ mean) / np.median(lengths), rel=1e-12)
    assert found.centring.share == found.centring.ci_low == changed(side.rows, side.rows - mean) > 0.2
    assert found.centring.n_rows == 40


def test_rows_less_the_mean_row_that_were_looked_up_are_not_searched_again(monkeypatch):
    side = Side(drawn(40, 5, mean=0.8), "item")
    lists, found = neighbours(side.rows, 3), common_direction(side, neighbours(side.rows, 3))
    centred = neighbours(side.rows, 1, shift=-side.rows.mean(axis=0))
    monkeypatch.setattr(sys.modules["embaudit.movements.common_direction"], "neighbours", None)
    assert common_direction(side, lists, centred) == found


def test_centring_rows_that_are_centred_changes_nothing():
    x = drawn(40, 5)
    side = Side(x - x.mean(axis=0), "item")
    found = common_direction(side, neighbours(side.rows, 1))
    assert found.centring.share == 0
    assert found.offset < 1e-15


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


@pytest.mark.parametrize(("p", "few"), [(30, 1), (199, 1), (200, 2), (999, 9), (1000, 10), (1200, 10)])
def test_one_row_in_a_hundred_counts_among_the_few_and_ten_at_most(p, few):
    assert len(hubs(neighbours(drawn(p, 4), 2, rows=np.arange(9))).few) == few


def test_lengths_are_correlated_with_counts_else_with_the_bias():
    x, counts, bias = drawn(30, 3), np.arange(30) % 7, drawn(30, 1)[:, 0]
    x[4] = 0
    alive = np.arange(30) != 4
    for known, given in (("counts", {"counts": counts, "bias": bias}), ("bias", {"bias": bias})):
        expected = stats.spearmanr(np.linalg.norm(x[alive], axis=1), given[known][alive])[0]
        found = length_trend(Side(x, "item", **given))
        assert (found.known, found.n_rows) == (known, 29)
        assert found.spearman == pytest.approx(expected, abs=1e-12)
    assert length_trend(Side(x, "item")) is None


@pytest.mark.parametrize(("p", "k"), [(30, 12), (12, 30), (15, 15)])
def test_the_share_of_a_dimension_is_its_part_of_the_sum_of_squared_cosines(p, k):
    x = drawn(p, k) * np.linspace(1, 3, k)
    stored, principal = dimension_shares(x)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    parts = [float((cosines * np.outer(unit[:, at], unit[:, at])).sum()) for at in range(k)]
    assert stored == pytest.approx(np.array(parts) / (cosines**2).sum(), abs=1e-12)
    values = np.linalg.svd(unit, compute_uv=False) ** 4
    assert principal == pytest.approx(values / values.sum(), abs=1e-12)
    assert stored.sum() == pytest.approx(1, abs=1e-12)


def test_a_rotation_changes_stored_shares_and_no_principal_one():
    x = drawn(40, 12) * np.linspace(1, 3, 12)
    turn = np.linalg.qr(drawn(12, 12, 1))[0]
    (stored, principal), (other, same) = dimension_shares(x), dimension_shares(x @ turn)
    assert same == pytest.approx(principal, abs=1e-12)
    assert np.abs(other - stored).max() > 0.02


@pytest.mark.parametrize(("k", "few"), [(9, 0), (10, 1), (19, 1), (20, 2), (30, 3), (50, 3)])
def test_one_dimension_in_ten_counts_among_the_few_and_three_at_most(k, few):
    side = Side(drawn(12, k), "item")
    found = few_coordinates(side, neighbours(side.rows, 1))
    assert (0 if found is None else len(found.columns)) == few


def test_neighbours_are_sought_without_the_columns_that_carry_half():
    x = drawn(40, 20)
    x[:, [3, 11]] += [9, -7]
    side = Side(x, "item")
    found = few_coordinates(side, neighbours(x, 4))
    stored, principal = dimension_shares(x)
    assert found.columns == (3, 11)
    assert found.stored == pytest.approx(stored[[3, 11]].sum(), abs=1e-12)
    assert found.principal == pytest.approx(principal[:2].sum(), abs=1e-12)
    assert found.without.share == changed(x, np.delete(x, [3, 11], axis=1)) > 0.3
    assert few_coordinates(Side(drawn(40, 20), "item"), neighbours(x, 1)).without is None


def crowded(p=200):
    """Directions of a plane, close to each other, of rows that are one to two long."""
    turn, length = np.random.default_rng(0).uniform([[0], [1]], [[np.pi / 2], [2]], (2, p))
    return np.column_stack([np.cos(turn), np.sin(turn)]) * length[:, None]


def test_redrawn_numbers_are_stored_as_the_same_ones():
    x = crowded().astype(np.float16).astype(np.float32)
    y = redrawn_within(x, FLOAT16, np.random.default_rng(0))
    assert y.dtype == np.float32
    assert np.array_equal(y.astype(np.float16), x.astype(np.float16))
    steps = np.spacing(x.astype(np.float16)).astype(float)
    assert 0.45 < np.abs((y - x) / steps).max() <= 0.5


def test_as_many_nearest_rows_change_as_rounding_did_change():
    before = crowded(2000)
    side = Side(np.rint(before / 0.011) * 0.011, "item")
    found = rounding(side, neighbours(side.rows, 5), np.random.default_rng(0))
    # What is nearest before the rounding need not be so, nor tie, after it.
    truth = NearestChanged.of(neighbours(before, 1), neighbours(side.rows, 1), exact=True).share
    assert found.stored_as == "numbers of an even grid (step 0.011)"
    assert found.redrawn.share == pytest.approx(truth, abs=0.03)
    assert truth > 0.3


def test_rows_stored_as_equal_are_no_change_of_each_other():
    x = np.repeat(drawn(20, 16), 2, axis=0).astype(np.float16)
    side = Side(x, "item")
    assert rounding(side, neighbours(side.rows, 1), np.random.default_rng(0)).redrawn.share == 0


COARSE = ShortFloats("coarse", 4, -6)


def pushed(x, storage, _):
    """Numbers within half a step, the same for the same row, as far towards one direction as they may lie."""
    steps = storage.half_steps(np.asarray(x, dtype=float)) * x.any(axis=1, keepdims=True)
    return x + steps * np.where(np.arange(x.shape[1]) % 3 == 0, 1, -1)


@pytest.mark.parametrize("storage", [COARSE, Grid(0.2), ByteRows(), FLOAT16])
@pytest.mark.parametrize("seed", range(6))
def test_rows_that_have_no_part_in_a_draw_could_not_have_become_nearest(storage, seed, monkeypatch):
    module = sys.modules["embaudit.movements.rounding"]
    drawn_of = []

    def noted(x, storage, rng):
        drawn_of.append(len(x))
        return pushed(x, storage, rng)

    monkeypatch.setattr(module, "redrawn_within", noted)
    monkeypatch.setattr(module, "LONGER", 20)
    draw = np.random.default_rng(seed)
    centres = draw.standard_normal((30, 6))
    x = centres[draw.integers(0, 30, 300)] + draw.standard_normal((300, 6)) * 10.0 ** -draw.integers(0, 4, (300, 1))
    x[:20] *= 1e-2  # may turn far
    x[20:24] = x[30]
    x[24] = 0
    steps = np.maximum(2 * storage.half_steps(x), 1e-300)
    side = Side(np.rint(x / steps) * steps, "item")
    for rows in (side.directed[40:44], side.directed[::9]):
        found = module._nearest_redrawn(side, storage, neighbours(side.rows, 4, rows=rows), draw)
        whole = neighbours(pushed(side.rows, storage, None), 1, rows=rows)
        np.testing.assert_array_equal(found.rows, rows)
        tied = whole.cosines[:, 0] - found.cosines[:, 0]
        assert np.abs(tied).max() < 1e-12
        assert ((found.indices == whole.indices) | (whole.tied[:, None])).all()
    assert storage is not FLOAT16 or drawn_of[0] < 100  # of 300


def test_short_rows_are_drawn_in_any_case_and_where_they_are_many_all_rows_are(monkeypatch):
    module = sys.modules["embaudit.movements.rounding"]
    sizes = []
    monkeypatch.setattr(module, "redrawn_within", lambda x, storage, rng: sizes.append(len(x)) or pushed(x, storage, 0))
    x = drawn(400, 3).astype(np.float16)
    x[:30] = (x[:30] * 1e-6).astype(np.float16)
    side = Side(x, "item")
    lists = neighbours(side.rows, 3, rows=np.arange(100, 110))
    module._nearest_redrawn(side, FLOAT16, lists, np.random.default_rng(0))
    listed = np.union1d(lists.indices, lists.rows)
    few = len(np.union1d(listed, np.flatnonzero(side.norms < 1e-3)))
    assert sizes == [few]
    for most in (30, 29):
        monkeypatch.setattr(module, "MOST_LOOSE", most)
        found = module._nearest_redrawn(side, FLOAT16, lists, np.random.default_rng(0))
        assert found.indices.shape == (10, 1)
    assert sizes[1:] == [few, 400]


@pytest.mark.parametrize(("beyond", "settled"), [(1e-6, True), (-1e-6, False)])
def test_a_list_is_settled_where_all_turns_together_leave_a_gap(beyond, settled):
    module = sys.modules["embaudit.movements.rounding"]
    turns, usual = np.array([0.01, 0.02, 0.0, 0.0]), 0.04
    # The row asked turns twice, away from the nearest and towards the first left out; these turn once each.
    angles = np.array([0, 0.3, -2, 0.3 + 0.02 + 2 * 0.01 + usual + beyond])
    lists = neighbours(np.column_stack([np.cos(angles), np.sin(angles)]), 1, rows=[0])
    assert module._settled(lists, turns, usual).tolist() == [settled]


def test_rows_without_direction_are_not_given_one():
    x = np.zeros((3, 4))
    x[1, 2] = 1
    y = redrawn_within(x, FLOAT16, np.random.default_rng(0))
    assert not y[[0, 2]].any()
    # A number stored as 0 in a row of others was one; half of the least step of float16 away at most.
    assert 0 < np.abs(y[1, [0, 1, 3]]).max() <= 2.0**-25


def test_rows_that_were_not_rounded_have_no_rounding():
    side = Side(drawn(40, 16), "item")
    assert rounding(side, neighbours(side.rows, 1), np.random.default_rng(0)) is None


def kept(x, y, n, i):
    """Share of the n nearest rows that are among the n nearest elsewhere, by sorting all."""
    lists = [set(sorted((j for j in range(len(z)) if j != i), key=lambda j: -cosine(z, i, j))[:n]) for z in (x, y)]
    return len(lists[0] & lists[1]) / n


def test_figures_of_the_tail_are_means_over_lists():
    x, y = drawn(60, 3), drawn(60, 3) * [1, 1, 6]
    counts = np.arange(60) % 9
    found = tail(Side(x, "item", counts=counts), y, neighbours(x, 4), np.random.default_rng(0))
    shares = np.array([kept(x, y, 4, i) for i in range(60)])
    assert (found.known, found.top_n, found.n_rows) == ("counts", 4, 60)
    assert found.n_frequent == np.sum(counts >= 5)
    assert found.over_all.share == pytest.approx(shares.mean(), abs=1e-12)
    assert found.frequent.share == pytest.approx(shares[counts >= 5].mean(), abs=1e-12)
    assert found.weighted.share == pytest.approx((shares * counts).sum() / counts.sum(), abs=1e-12)
    assert [one.ci_low for one in (found.over_all, found.frequent)] == [found.over_all.share, found.frequent.share]


def test_where_no_counts_are_known_length_stands_for_them():
    x, y = drawn(41, 3), drawn(41, 3) * [1, 1, 6]
    found = tail(Side(x, "item"), y, neighbours(x, 4), np.random.default_rng(0))
    shares, lengths = np.array([kept(x, y, 4, i) for i in range(41)]), np.linalg.norm(x, axis=1)
    long = lengths >= np.median(lengths)
    assert (found.known, found.n_frequent) == ("length", 21)
    assert found.frequent.share == pytest.approx(shares[long].mean(), abs=1e-12)
    assert found.weighted.share == pytest.approx(np.average(shares, weights=lengths), abs=1e-12)


@pytest.mark.parametrize("counts", [[4] * 20, [5] * 20, [0] * 20])
def test_there_is_no_tail_where_none_or_all_are_frequent(counts):
    x = drawn(20, 3)
    assert tail(Side(x, "item", counts=counts), x, neighbours(x, 2), np.random.default_rng(0)) is None


def test_samples_hold_the_truth_within_their_intervals():
    x, counts = drawn(1500, 3), np.where(np.arange(1500) < 300, 50, 1)
    # Frequent rows keep their neighbours, which are theirs alone.
    x[:300] += 9 * np.array([1, 0, 0])
    y = np.where(counts[:, None] > 1, x * [1, 1, 1.5], drawn(1500, 3, 1))
    side, whole = (
        Side(x, "item", counts=counts),
        tail(Side(x, "item", counts=counts), y, neighbours(x, 3), np.random.default_rng(0)),
    )
    held = np.zeros(3)
    for seed in range(20):
        draw = np.random.default_rng(seed)
        rows = np.sort(draw.choice(1500, 300, replace=False))
        found = tail(side, y, neighbours(x, 3, rows=rows), draw)
        assert [one.n_lists for one in (found.over_all, found.frequent, found.weighted)] == [300, DRAWN, DRAWN]
        pairs = [(getattr(found, name), getattr(whole, name)) for name in ("over_all", "frequent", "weighted")]
        held += [one.ci_low <= truth.share <= one.ci_high for one, truth in pairs]
        assert all(one.ci_high - one.ci_low < 0.15 for one, _ in pairs)
    assert held.min() >= 17
    assert whole.frequent.share > whole.weighted.share > whole.over_all.share + 0.3


def test_the_interval_of_a_mean_is_that_of_independent_lists():
    values = drawn(50, 1)[:, 0] ** 2 / 10
    found = Kept.of(values, np.ones(50), exact=False)
    half = 1.959963984540054 * values.std() / np.sqrt(50)
    assert (found.share, found.n_lists) == (pytest.approx(values.mean(), abs=1e-12), 50)
    assert found.ci_high == pytest.approx(values.mean() + half, abs=1e-12)
    assert found.ci_low == pytest.approx(values.mean() - half, abs=1e-12)
    assert Kept.of(np.array([0.0, 1.0]), np.ones(2), exact=False).ci_low == 0
    assert Kept.of(np.array([0.0, 1.0]), np.ones(2), exact=False).ci_high == 1


def test_of_very_many_dimensions_shares_are_summed_in_strips(monkeypatch):
    draw = np.random.default_rng(0)
    x = (draw.standard_normal((90, 40)) * np.exp(draw.standard_normal(40))).astype(np.float32)
    stored, principal = dimension_shares(x)
    module = sys.modules["embaudit.movements.few_coordinates"]
    monkeypatch.setattr(module, "WIDE", 39)
    monkeypatch.setattr(sys.modules["embaudit.kernels.moments"], "STRIP", 9)
    monkeypatch.setattr(module, "WIDE_BYTES", 8 * 40 * 33)
    found, largest = dimension_shares(x)
    np.testing.assert_allclose(found, stored, rtol=1e-5)
    np.testing.assert_allclose(largest, principal[:3], rtol=1e-5)


def test_shares_of_drawn_rows_are_those_of_all_rows_on_average():
    x = drawn(7, 3) * [1, 2, 4]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    sums = np.array([unit[:, j] @ cosines @ unit[:, j] for j in range(3)])
    # What is divided by its sum is right on average only before: undo that for each draw of four of seven rows.
    met = []
    for rows in map(list, combinations(range(7), 4)):
        part = cosines[np.ix_(rows, rows)]
        apart = (part**2).sum() - 4
        met.append(dimension_shares(x[rows], of=7)[0] * (7 / 4 * (4 + 6 / 3 * apart)))
    np.testing.assert_allclose(np.mean(met, axis=0), sums, rtol=1e-12)
    for of_all, given in zip(dimension_shares(x), dimension_shares(x, of=7), strict=True):
        np.testing.assert_array_equal(of_all, given)  # none was left out


@pytest.mark.parametrize("k", [3, 12])
def test_principal_shares_of_drawn_rows_add_up_as_stored_ones_do(k):
    stored, principal = dimension_shares(drawn(8, k), of=80)
    assert stored.sum() == pytest.approx(1, abs=1e-12)
    assert principal.sum() == pytest.approx(1, abs=1e-12)
    assert dimension_shares(drawn(1, 3), of=1)[0] == pytest.approx((unit_rows(drawn(1, 3)) ** 2)[0], abs=1e-12)


def test_of_very_many_rows_some_are_drawn_for_shares_and_said_to_be(monkeypatch):
    module = sys.modules["embaudit.movements.few_coordinates"]
    draw = np.random.default_rng(5)
    x = draw.standard_normal((4_000, 20)) * np.r_[6, np.ones(19)]
    x[7] = 0
    side = Side(x, "item")
    lists = neighbours(x, 1, rows=np.arange(1, 5))
    whole = few_coordinates(side, lists)
    assert whole.n_drawn is None
    monkeypatch.setattr(module, "WIDE", 19)
    monkeypatch.setattr(module, "DRAWN", 1_000)
    monkeypatch.setattr(module, "_largest", lambda square: np.linalg.eigvalsh(square)[::-1])
    part = few_coordinates(side, lists)
    assert (part.n_drawn, part.columns[0], part.without is not None) == (1_000, 0, True)
    for found, true in ((part.stored, whole.stored), (part.principal, whole.principal)):
        assert 0 < abs(found - true) < 0.02
    # Without the sums over pairs of two rows carried over apart, shares of so few rows would be half an eighth off.
    again = sys.modules["embaudit.movements.few_coordinates"].dimension_shares(x[1:1_001])[0][:2].sum()
    assert abs(again - whole.stored) > 1e-4


@pytest.mark.parametrize(
    ("rows", "columns", "size"),
    [(32_768, 257, 16_384), (32_767, 257, None), (10**7, 256, None), (32_799, 4_100, None), (32_800, 4_100, 16_400)],
)
def test_rows_are_drawn_where_there_are_twice_as_many_and_more_than_256_columns(rows, columns, size):
    assert rows_drawn(rows, columns) == size


def test_neighbours_without_a_few_dimensions_are_those_of_the_others():
    x = np.random.default_rng(1).standard_normal((60, 20))
    x[:, 4] += 9
    side = Side(x, "item")
    found = few_coordinates(side, neighbours(x, 1))
    assert 4 in found.columns
    rest = neighbours(np.delete(x, found.columns, axis=1), 1)
    changed = (rest.indices != neighbours(x, 1).indices).mean()
    assert found.without.share == pytest.approx(changed)


def over(share, low, high):
    return Kept(share, low, high, 9)


def test_the_tail_is_told_by_the_figure_that_differs_most_and_by_no_more_than_intervals_allow():
    over_all, near = over(0.5, 0.4, 0.6), over(0.52, 0.4, 0.6)
    cases = {
        (0.8, 0.7, 0.9): 0.3,  # above, and apart
        (0.2, 0.1, 0.3): 0.3,  # below, and apart
        (0.8, 0.55, 1.0): 0.0,  # may be the same
        (0.8, 0.6, 1.0): 0.0,  # intervals that meet are not apart
        (0.2, 0.0, 0.4): 0.0,
        (0.55, 0.55, 0.55): 0.05,  # all rows meant were asked
    }
    for far, gap in cases.items():
        for frequent, weighted in ((over(*far), near), (near, over(*far))):
            found = Tail("counts", 4, 90, 9, over_all, frequent, weighted)
            assert found.furthest == over(*far)
            assert found.gap == pytest.approx(gap, abs=1e-12)


def test_the_largest_eigenvalues_of_a_large_matrix_are_found_alone():
    x = drawn(400, 300) * np.linspace(1, 2, 300)
    found = sys.modules["embaudit.movements.few_coordinates"]._largest(x.T @ x)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(x.T @ x)[:-4:-1], rtol=1e-9)
