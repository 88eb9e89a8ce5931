"""The decomposition against numpy, and p-values against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from embaudit.reversals.statistics import (
    GroupedRows,
    adjusted,
    grouping_p_value,
    within_p_values,
)

numbers = st.floats(-1000, 1000).map(lambda v: round(v, 2))


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(st.integers(4, 40))
    codes = draw(hnp.arrays(int, n, elements=st.integers(0, 3)))
    _, codes = np.unique(codes, return_inverse=True)
    return (
        draw(hnp.arrays(float, n, elements=numbers)),
        draw(hnp.arrays(float, n, elements=numbers)),
        codes,
    )


@given(tables(), st.sampled_from([0.0, 1e6]))
def test_within_plus_between_is_the_pooled_covariance(
    table: tuple[np.ndarray, np.ndarray, np.ndarray], offset: float
) -> None:
    x, y, codes = table
    moments = GroupedRows.sort(x + offset, y - offset, codes).moments()
    scale = max(1.0, moments.total[0], moments.total[1])
    expected = np.cov(x, y, bias=True) * len(x)
    assert moments.total == pytest.approx(
        (expected[0, 0], expected[1, 1], expected[0, 1]), abs=1e-8 * scale
    )
    for g in range(codes.max() + 1):
        part = codes == g
        dx, dy = x[part] - x[part].mean(), y[part] - y[part].mean()
        assert moments.sxy[g] == pytest.approx(dx @ dy, abs=1e-8 * scale)
        assert moments.n[g] == part.sum()
        assert (moments.sxx[g] == 0) == (np.ptp(x[part] + offset) == 0)
        if moments.sxx[g] > 1e-3:
            assert moments.slope[g] == pytest.approx(
                np.polyfit(x[part], y[part], 1)[0], abs=1e-5, rel=1e-5
            )


@given(tables())
def test_a_full_reversal_needs_a_between_term_that_opposes_and_outweighs(
    table: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    moments = GroupedRows.sort(*table).moments()
    pooled, within, between = moments.total[2], moments.within[2], moments.between[2]
    sign = np.sign(pooled)
    if sign and (moments.sxy * sign <= 0).all() and (moments.sxy * sign < 0).any():
        assert between * sign > 0
        assert abs(between) > abs(within)


def test_a_between_term_that_opposes_but_is_smaller_reverses_nothing() -> None:
    rows = GroupedRows.sort(
        np.array([0.0, 10.0, 1.0, 11.0]),
        np.array([1.0, 11.0, 0.0, 10.0]),
        np.array([0, 0, 1, 1]),
    )
    moments = rows.moments()
    assert moments.between[2] < 0 < moments.within[2]
    assert moments.total[2] > 0


def test_spearman_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    x, y, codes = (
        rng.integers(0, 5, 60).astype(float),
        rng.integers(0, 5, 60).astype(float),
        rng.integers(0, 3, 60),
    )
    found = GroupedRows.sort(x, y, codes).spearman()
    expected = [
        scipy.stats.spearmanr(x[codes == g], y[codes == g]).statistic for g in range(3)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_within_p_values_agree_with_all_permutations() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 9))
    y[:5] += x[:5]
    codes = np.repeat([0, 1], [5, 4])
    rows = GroupedRows.sort(x, y, codes)
    sums = [
        np.array(
            [
                x[p] @ y[p][list(order)] - len(x[p]) * x[p].mean() * y[p].mean()
                for order in orders
            ]
        )
        for p, orders in (
            (codes == g, itertools.permutations(range(n))) for g, n in ((0, 5), (1, 4))
        )
    ]
    exact = [np.mean(np.abs(s) >= abs(s[0]) - 1e-12) for s in sums]
    both = np.add.outer(sums[0], sums[1]).ravel()
    p_groups, p_within = within_p_values(rows, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(p_groups, exact, atol=0.015)
    assert p_within == pytest.approx(
        np.mean(np.abs(both) >= abs(both[0]) - 1e-12), abs=0.015
    )


def test_the_grouping_p_value_agrees_with_all_permutations() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 8))
    x[:4] += 1.5
    y[:4] -= 1.5

    def effect(chosen: tuple[int, ...]) -> float:
        codes = np.isin(np.arange(8), chosen).astype(int)
        m = GroupedRows.sort(x, y, codes).moments()
        return abs(m.association(m.total).r - m.association(m.within).r)

    effects = np.array(
        [effect(chosen) for chosen in itertools.combinations(range(8), 4)]
    )
    observed = effect((0, 1, 2, 3))
    exact = np.mean(effects >= observed - 1e-12)
    assert 0.02 < exact < 0.5
    rows = GroupedRows.sort(x, y, np.repeat([1, 0], 4))
    assert grouping_p_value(rows, 20_000, np.random.default_rng(0)) == pytest.approx(
        exact, abs=0.015
    )


def test_p_values_of_noise_are_uniform() -> None:
    rng = np.random.default_rng(7)
    codes = np.repeat([0, 1, 2], [10, 12, 8])
    pooled, grouping = [], []
    for _ in range(300):
        rows = GroupedRows.sort(*rng.standard_normal((2, 30)), codes)
        pooled.append(within_p_values(rows, 99, rng)[1])
        grouping.append(grouping_p_value(rows, 99, rng))
    for p in (pooled, grouping):
        assert scipy.stats.kstest(p, "uniform").pvalue > 1e-3
        assert min(p) >= 0.01


def shuffled_p_values(x, y, codes, n_permutations, rng):
    """The p-values of the first group, of all groups, and of the grouping, by shuffling."""
    groups = [np.flatnonzero(codes == g) for g in range(codes.max() + 1)]

    def centred_product(a, b, rows):
        return (a[rows] - a[rows].mean()) @ (b[rows] - b[rows].mean())

    def within(a, b):
        return sum(centred_product(a, b, rows) for rows in groups)

    def gap(a, b):
        r_within = within(a, b) / np.sqrt(within(a, a) * within(b, b))
        return np.corrcoef(a, b)[0, 1] - r_within

    def statistics(shuffled, dealt):
        first = centred_product(x, shuffled, groups[0])
        return np.abs([first, within(x, shuffled), gap(x[dealt], y[dealt])])

    observed = statistics(y, np.arange(len(x)))
    extreme = np.zeros(3)
    for _ in range(n_permutations):
        shuffled = y.copy()
        for rows in groups:
            shuffled[rows] = rng.permutation(y[rows])
        found = statistics(shuffled, rng.permutation(len(x)))
        extreme += found >= observed * (1 - 1e-12)
    return (1 + extreme) / (1 + n_permutations)


@pytest.mark.parametrize("shift", [0.0, 0.04])
def test_p_values_of_more_than_5000_rows_are_those_of_shuffling(shift: float) -> None:
    """Skewed data and unequal groups; p-values of many rows come from a normal limit."""
    rng = np.random.default_rng(9)
    codes = np.repeat([0, 1, 2], [5_200, 250, 10])
    x, y = rng.exponential(1, (2, len(codes)))
    x, y = x + shift * codes, y + 0.015 * x - shift * codes
    rows = GroupedRows.sort(x, y, codes)
    p_groups, p_within = within_p_values(rows, 4_000, np.random.default_rng(0))
    p_grouping = grouping_p_value(rows, 4_000, np.random.default_rng(0))
    expected = shuffled_p_values(x, y, codes, 1_500, np.random.default_rng(1))
    found = [p_groups[0], p_within, p_grouping]
    # Three standard errors of a p-value of ½ from 1,500 permutations.
    np.testing.assert_allclose(found, expected, atol=0.04)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=12))
def test_adjusted_p_values_follow_benjamini_and_hochberg(p: list[float]) -> None:
    values = np.array(p)
    m, order = len(p), np.argsort(p, kind="stable")
    hochberg = [
        min(1, min(m * values[order][j] / (j + 1) for j in range(i, m)))
        for i in range(m)
    ]
    np.testing.assert_allclose(adjusted(values)[order], hochberg)
    assert np.isnan(adjusted(np.array([np.nan]))).all()
