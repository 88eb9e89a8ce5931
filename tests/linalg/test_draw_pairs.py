"""Sampled pairs without replacement, sums over all pairs, and confidence intervals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom, t

from embaudit.errors import InputError
from embaudit.linalg.intervals import jackknife_margin, wilson_interval
from embaudit.linalg.pair_changes import RowSums, pair_sums
from embaudit.linalg.pairs import draw_pairs, pairs_at
from embaudit.linalg.rows import unit_rows


def every_pair(n_rows, n_second):
    """List the pairs i < j of one side, or all pairs of two sides, in order."""
    if n_second is None:
        return [(i, j) for i in range(n_rows) for j in range(i + 1, n_rows)]
    return [(i, j) for i in range(n_rows) for j in range(n_second)]


def places_of(pairs, n_rows, n_second):
    """Return the place of each drawn pair in the list of all pairs."""
    place_of = {pair: place for place, pair in enumerate(every_pair(n_rows, n_second))}
    return [place_of[i, j] for i, j in pairs.tolist()]


SIZES = st.integers(2, 40)
"""Number of rows; of right rows as well, if there are two sides."""


@given(SIZES, st.none() | SIZES, st.integers(0, 900), st.integers(0, 2**32))
def test_no_pair_is_drawn_twice_and_pairs_are_in_order(n_rows, n_second, size, seed):
    pairs = draw_pairs(n_rows, size, n_second=n_second, rng=seed)
    places = places_of(pairs, n_rows, n_second)
    assert places == sorted(set(places))


@given(SIZES, st.none() | SIZES, st.integers(0, 900), st.integers(0, 2**32))
def test_as_many_pairs_are_drawn_as_wanted_or_all(n_rows, n_second, size, seed):
    pairs = draw_pairs(n_rows, size, n_second=n_second, rng=seed)
    n_all = len(every_pair(n_rows, n_second))
    assert len(pairs) == min(size, n_all)


@pytest.mark.parametrize("n_second", [None, 30])
def test_a_seed_and_its_generator_draw_the_same_pairs(n_second):
    by_seed = draw_pairs(30, 100, n_second=n_second, rng=7)
    generator = np.random.default_rng(7)
    by_generator = draw_pairs(30, 100, n_second=n_second, rng=generator)
    np.testing.assert_array_equal(by_seed, by_generator)


N_DRAWN, N_REPEATS = 8, 4_000


def repeated_draws(n_rows, n_second):
    """Draw eight pairs many times, and return the places of the pairs (4,000, 8)."""
    draw = np.random.default_rng(0)
    draws = []
    for _ in range(N_REPEATS):
        pairs = draw_pairs(n_rows, N_DRAWN, n_second=n_second, rng=draw)
        draws.append(places_of(pairs, n_rows, n_second))
    return np.array(draws)


@pytest.mark.parametrize(("n_rows", "n_second", "n_all"), [(7, None, 21), (4, 5, 20)])
def test_every_pair_is_drawn_equally_often(n_rows, n_second, n_all):
    """The counts pass a χ² test.

    Counts of draws without replacement vary less than independent ones, by the factor
    1 − n/N for n drawn pairs of N.
    """
    counts = np.bincount(repeated_draws(n_rows, n_second).ravel(), minlength=n_all)
    expected = N_DRAWN * N_REPEATS / n_all
    chi_squared = np.sum((counts - expected) ** 2 / expected) / (1 - N_DRAWN / n_all)
    assert stats.chi2(n_all - 1).sf(chi_squared) > 0.01


@pytest.mark.parametrize(("n_rows", "n_second", "n_all"), [(7, None, 21), (4, 5, 20)])
def test_two_pairs_are_drawn_together_as_often_as_without_replacement(
    n_rows, n_second, n_all
):
    """The probability is n/N · (n − 1)/(N − 1)."""
    draws = repeated_draws(n_rows, n_second)
    has_both = (draws == 0).any(axis=1) & (draws == 1).any(axis=1)
    expected = N_DRAWN / n_all * (N_DRAWN - 1) / (n_all - 1)
    assert has_both.mean() == pytest.approx(expected, abs=0.02)


def test_a_draw_from_very_many_pairs_takes_memory_for_the_drawn_ones_only():
    """There are 2e12 pairs. The drawn ones take 1.6 MB."""
    tracemalloc.start()
    draw_pairs(2_000_000, 100_000, rng=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


def test_a_draw_from_very_many_pairs_has_different_pairs_from_everywhere():
    """The smaller number of a random pair of n is n/3 on average."""
    pairs = draw_pairs(2_000_000, 100_000, rng=1)
    assert len(np.unique(pairs, axis=0)) == 100_000
    assert pairs[:, 0].mean() == pytest.approx(2_000_000 / 3, rel=0.01)


def test_pairs_of_billions_of_rows_are_found_by_their_places():
    """Square roots of such large places are rounded, so a row could be off by one.

    The pairs (i, j) stand in the order of i. Before the first pair of row i there are
    i (2n − i − 1)/2 pairs, and n − i − 1 pairs have it as first row.
    """
    n = 3_000_000_000
    row = np.unique(np.geomspace(1, n - 2, 20_000).astype(np.int64))
    place_of_first = row * (2 * n - row - 1) // 2
    first_pairs = pairs_at(place_of_first, n)
    last_pairs = pairs_at(place_of_first + n - row - 2, n)
    np.testing.assert_array_equal(first_pairs, np.column_stack([row, row + 1]))
    np.testing.assert_array_equal(last_pairs[:, 0], row)
    assert (last_pairs[:, 1] == n - 1).all()


def test_one_row_forms_no_pair():
    sentence = r"^the number of rows must be at least 2 to form a pair; got 1\.$"
    with pytest.raises(InputError, match=sentence):
        draw_pairs(1, 5)


# Sums over all pairs, against the list of all pairs


def unit_rows_of_two_models(n, seed):
    """Unit rows before (n, 4) and after (n, 5); row 2 has no direction in both."""
    draw = np.random.default_rng(seed)
    before = draw.standard_normal((n, 4)) + 0.5
    after = np.column_stack([before, np.zeros(n)]) + draw.standard_normal((n, 5))
    before[2] = 0
    after[2] = 0
    return unit_rows(before), unit_rows(after)


def cross_gram(before, after):
    """Compute `BᵀC`; rows without direction, which are NaN, count as zero."""
    return np.nan_to_num(before).T @ np.nan_to_num(after)


def assert_sums(sums, cosines_before, cosines_after):
    """Compare sums with lists of the cosines of all pairs that have one."""
    s, t = np.array(cosines_before), np.array(cosines_after)
    assert sums.total == len(s)
    assert sums.before == pytest.approx(s.sum(), rel=1e-10)
    assert sums.after == pytest.approx(t.sum(), rel=1e-10)
    assert sums.before_squared == pytest.approx((s**2).sum(), rel=1e-10)
    assert sums.after_squared == pytest.approx((t**2).sum(), rel=1e-10)
    assert sums.product == pytest.approx((s * t).sum(), rel=1e-10)


def test_sums_of_one_side_are_those_of_its_pairs():
    before, after = unit_rows_of_two_models(9, seed=0)
    sums = pair_sums(
        [RowSums.from_unit_rows(before)],
        [RowSums.from_unit_rows(after)],
        [cross_gram(before, after)],
    )
    cosines_before, cosines_after = [], []
    for i, j in every_pair(9, None):
        if 2 not in (i, j):
            cosines_before.append(before[i] @ before[j])
            cosines_after.append(after[i] @ after[j])
    assert_sums(sums, cosines_before, cosines_after)


def test_sums_of_two_sides_are_those_of_all_their_pairs():
    left_before, left_after = unit_rows_of_two_models(9, seed=0)
    right_before, right_after = unit_rows_of_two_models(6, seed=1)
    sums = pair_sums(
        [RowSums.from_unit_rows(left_before), RowSums.from_unit_rows(right_before)],
        [RowSums.from_unit_rows(left_after), RowSums.from_unit_rows(right_after)],
        [cross_gram(left_before, left_after), cross_gram(right_before, right_after)],
    )
    cosines_before, cosines_after = [], []
    for i, j in every_pair(9, 6):
        if 2 not in (i, j):
            cosines_before.append(left_before[i] @ right_before[j])
            cosines_after.append(left_after[i] @ right_after[j])
    assert_sums(sums, cosines_before, cosines_after)


# Intervals


@pytest.mark.parametrize("n", [20, 100, 1_000])
def test_a_wilson_interval_holds_the_share_about_as_often_as_it_says(n):
    """The coverage is the probability of all counts whose interval holds the share."""
    intervals = np.array([wilson_interval(count / n, n) for count in range(n + 1)])
    coverages = []
    for share in np.linspace(0.02, 0.98, 197):
        holds_share = (intervals[:, 0] <= share) & (share <= intervals[:, 1])
        probabilities = binom.pmf(np.arange(n + 1), n, share)
        coverages.append(probabilities[holds_share].sum())
    assert 0.945 <= np.mean(coverages) <= 0.965
    assert min(coverages) >= 0.85


VALUES = np.random.default_rng(0).standard_normal((12, 2))
LEAVE_ONE_OUT = (VALUES.sum(axis=0) - VALUES) / 11
"""The mean of each column without one value in turn."""
STANDARD_ERROR = VALUES.std(axis=0, ddof=1) / np.sqrt(12)


def test_leaving_out_one_value_in_turn_gives_the_interval_of_the_mean():
    """It is Student's interval: the t quantile of 11 degrees times the error."""
    expected = t.ppf(0.975, 11) * STANDARD_ERROR
    np.testing.assert_allclose(jackknife_margin(LEAVE_ONE_OUT), expected)


def test_five_intervals_that_hold_together_have_a_fifth_of_the_error_probability():
    expected = t.ppf(0.995, 11) * STANDARD_ERROR
    np.testing.assert_allclose(jackknife_margin(LEAVE_ONE_OUT, 5), expected)


def test_an_independent_standard_error_adds_by_squares():
    expected = t.ppf(0.975, 11) * np.sqrt(STANDARD_ERROR**2 + 3**2)
    found = jackknife_margin(LEAVE_ONE_OUT, other_error=3.0)
    np.testing.assert_allclose(found, expected)


def test_the_interval_is_infinite_if_nothing_remains_without_a_value():
    replicates = LEAVE_ONE_OUT.copy()
    replicates[3, 0] = np.nan
    assert np.isinf(jackknife_margin(replicates)).tolist() == [True, False]
