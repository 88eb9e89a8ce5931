"""The tally of pairs against statistics computed from the full list of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from embaudit.kernels import tally
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.tally import BINS, TILE, tally_all_pairs, tally_pairs, tally_tables


def cosines_of_all_pairs(unit):
    return (unit @ unit.T)[np.triu_indices(len(unit), 1)]


def two_models(rows, rank, seed):
    draw = np.random.default_rng(seed)
    before = unit_rows(draw.standard_normal((rows, rank)) + 0.3)
    return before, unit_rows(before + 0.5 * draw.standard_normal((rows, rank)))


def test_ranks_are_those_of_every_pair_of_few_rows_and_of_every_other_of_more():
    before, after = two_models(3 * TILE - 1, 4, 0)
    few = (before[:7], after[:7]), (before[:5], after[:5])
    many = (before[: 2 * TILE], after[: 2 * TILE]), (before, after)
    for (sides, others), step, first in ((few, 1, 0), (many, 2, 1)):
        for found, x, y in zip(tally._sampled_bins(sides, others), sides, others, strict=True):
            expected = tally._RankBins.of((x[::step] @ y[first::step].T).ravel())
            assert (found.lowest, found.scale) == (expected.lowest, expected.scale)
            assert np.array_equal(found.cells, expected.cells)


@pytest.mark.parametrize("rows", [2, 3, TILE - 1, TILE, TILE + 1, 2 * TILE + 7])
def test_tiles_visit_every_pair_once(rows):
    before, after = two_models(rows, 6, rows)
    b, c = cosines_of_all_pairs(before), cosines_of_all_pairs(after)
    change = np.abs(c - b)
    tally = tally_all_pairs(before, after)
    assert tally.count == len(b)
    assert tally.mean_abs == pytest.approx(change.mean(), rel=1e-12)
    assert tally.max_abs == pytest.approx(change.max(), rel=1e-12)
    assert tally.sign_flips == pytest.approx((b * c < -1e-12).mean(), abs=1e-15)
    assert tally.histogram.sum() == tally.count
    for level in (0.25, 0.5, 0.95):
        assert tally.quantile(level) == pytest.approx(np.quantile(change, level), abs=5e-3 if rows > 200 else 2)


def test_a_sign_changes_where_a_product_is_below_minus_rounding():
    before = np.array([-1.0, -1.001, 1.0]) * tally.ROUNDING
    assert tally.tally_pairs(before, np.ones(3)).flips == 1


def test_quantiles_begin_below_the_first_bin():
    none = np.zeros(0)
    counts = np.zeros(len(tally.EDGES) - 1, dtype=np.int64)
    counts[0], counts[3] = 1, 3
    found = tally.PairTally(4, 1.0, 0.9, 0, counts, none, none)
    width = tally.EDGES[1]
    assert found.quantile(0.125) == pytest.approx(width / 2)
    assert found.quantile(0.25) == pytest.approx(3 * width)
    assert found.quantile(0.5) == pytest.approx((3 + 1 / 3) * width)


@pytest.mark.parametrize(("rows", "columns"), [(5, 300), (300, 5), (TILE + 3, TILE + 9)])
def test_tiles_of_two_sides_visit_every_pair_once(rows, columns):
    (x, y), (u, v) = two_models(rows, 4, 1), two_models(columns, 4, 2)
    change = np.abs((y @ v.T) - (x @ u.T))
    tally = tally_all_pairs(x, y, u, v)
    assert tally.count == rows * columns
    assert tally.mean_abs == pytest.approx(change.mean(), rel=1e-12)
    assert tally.max_abs == pytest.approx(change.max(), rel=1e-12)


def test_spearman_agrees_with_exact_ranks():
    before, after = two_models(700, 5, 3)
    b, c = cosines_of_all_pairs(before), cosines_of_all_pairs(after)
    exact = stats.spearmanr(b, c).statistic
    assert tally_all_pairs(before, after).spearman == pytest.approx(exact, abs=2e-3)
    assert tally_pairs(b, c).spearman == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("rows", [2, 9, 40, 64])
def test_few_cosines_have_the_rank_bins_of_the_table(rows, monkeypatch):
    unit = two_models(rows, 3, rows)
    b, c = map(cosines_of_all_pairs, unit)
    searched = tally_all_pairs(*unit).joint, tally_pairs(b, c).joint, tally_pairs(b, np.round(c, 1)).joint
    monkeypatch.setattr("embaudit.kernels.tally.SEARCHED", 0)
    looked_up = tally_all_pairs(*unit).joint, tally_pairs(b, c).joint, tally_pairs(b, np.round(c, 1)).joint
    for one, other in zip(searched, looked_up, strict=True):
        assert one.tolist() == other.tolist()


def test_spearman_of_cosines_crowded_near_one():
    draw = np.random.default_rng(4)
    b = 1 - draw.uniform(0, 2e-2, 20_000)
    c = 1 - (1 - b) ** 2
    assert tally_pairs(b, c).spearman > 0.99


def test_spearman_sees_reversal_and_constancy():
    b = np.linspace(-0.9, 0.9, 5000)
    assert tally_pairs(b, -b).spearman == pytest.approx(-1, abs=1e-4)
    assert np.isnan(tally_pairs(b, np.full(5000, 0.5)).spearman)


def test_extreme_cosines_stay_inside_the_bins():
    b, c = np.array([1.0, -1.0, 1 + 2e-16]), np.array([-1.0, 1.0, -1 - 2e-16])
    tally = tally_pairs(b, c)
    assert tally.histogram[BINS - 1] == 3
    assert tally.sign_flips == 1


def test_rounding_is_no_sign_flip():
    assert tally_pairs(np.array([1e-16, 0.5]), np.array([-1e-16, 0.5])).sign_flips == 0
    assert tally_pairs(np.array([1e-3, 0.5]), np.array([-1e-3, 0.5])).sign_flips == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(2, 400))
def test_a_tally_of_parts_adds_up(seed, size):
    draw = np.random.default_rng(seed)
    b, c = draw.uniform(-1, 1, (2, size))
    cut = draw.integers(1, size)
    whole = tally_pairs(b, c)
    parts = tally_pairs(b[:cut], c[:cut]) + tally_pairs(b[cut:], c[cut:])
    assert parts.count == whole.count
    assert parts.mean_abs == pytest.approx(whole.mean_abs, rel=1e-12)
    assert parts.max_abs == whole.max_abs
    assert (parts.histogram == whole.histogram).all()


def test_the_interval_covers_the_mean_of_the_population():
    draw = np.random.default_rng(5)
    population = np.abs(draw.standard_normal(200_000)).clip(0, 2) / 2
    covered = 0
    for _ in range(200):
        sample = draw.choice(population, 400)
        low, high = tally_pairs(np.zeros(400), sample).interval
        covered += low <= population.mean() <= high
    # 95 % of 200 with a standard deviation of 3.1.
    assert 178 <= covered <= 200
    assert covered < 200


def test_rank_correlation_of_rounding_noise_is_none():
    noise = 1 - np.random.default_rng(0).uniform(0, 1e-15, 1000)
    assert np.isnan(tally_pairs(noise, noise[::-1].copy()).spearman)


def test_sums_of_all_pairs_are_those_of_the_matrices(monkeypatch):
    monkeypatch.setattr(tally, "TILE", 7)
    draw = np.random.default_rng(0)
    x, y, u, v = (unit_rows(draw.standard_normal((n, 5))) for n in (20, 20, 9, 9))
    upper = np.triu_indices(20, 1)
    for found, before, after in (
        (tally_all_pairs(x, y), (x @ x.T)[upper], (y @ y.T)[upper]),
        (tally_all_pairs(x, y, u, v), (x @ u.T).ravel(), (y @ v.T).ravel()),
    ):
        sums = found.sums
        expected = (before.sum(), after.sum(), before @ before, after @ after, before @ after)
        np.testing.assert_allclose(found.totals, expected, rtol=1e-12)
        assert sums.total == len(before)
        assert sums.mean == pytest.approx(np.mean(after - before))
        assert sums.rms == pytest.approx(np.sqrt(np.mean((after - before) ** 2)))
        assert sums.pearson == pytest.approx(np.corrcoef(before, after)[0, 1])


@pytest.mark.parametrize("compiled_from", [0, np.inf])
def test_tables_are_tallied_as_the_rows_that_make_them(monkeypatch, compiled_from):
    monkeypatch.setattr(tally, "COMPILED", compiled_from)
    x, y, u, v = (two_models(rows, 6, rows)[0] for rows in (TILE + 7, TILE + 7, 9, 9))
    for before, after, others in ((x, y, ()), (x, y, (u, v)), (u, v, (x, y))):
        one, two = others or (before, after)
        found = tally_tables(before @ one.T, after @ two.T, symmetric=not others)
        made = tally_all_pairs(before, after, *others)
        assert found.count == made.count
        assert found.max_abs == pytest.approx(made.max_abs, rel=1e-12)
        assert found.mean_abs == pytest.approx(made.mean_abs, rel=1e-12)
        np.testing.assert_allclose(found.totals, made.totals, rtol=1e-12)
        assert (found.histogram == made.histogram).all()
        assert (found.joint == made.joint).all()


def test_ranks_of_tables_are_those_of_cosines_spread_evenly(monkeypatch):
    bins = []
    monkeypatch.setattr(tally, "_tally", lambda tiles, *given, symmetric: bins.append(given))
    table = np.arange(2.0 * TILE * (3 * TILE - 1)).reshape(2 * TILE, -1)
    tally_tables(table, -table, symmetric=False)
    ((shape, found),) = bins
    assert shape == table.shape
    expected = tuple(tally._RankBins.of(one[::2, 1::2].ravel()) for one in (table, -table))
    assert [(one.lowest, one.scale) for one in found] == [(one.lowest, one.scale) for one in expected]
