"""The decomposition against numpy, and p-values against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from embaudit.reversals import statistics
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


def test_the_negative_side_an_opposing_between_term_alone_reverses_nothing() -> None:
    rows = GroupedRows.sort(
        np.array([0.0, 10.0, 1.0, 11.0]),
        np.array([1.0, 11.0, 0.0, 10.0]),
        np.array([0, 0, 1, 1]),
    )
    moments = rows.moments()
    assert moments.between[2] < 0 < moments.within[2]
    assert moments.total[2] > 0


def test_spearman_is_scipys() -> None:
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


def test_within_p_values_against_enumeration() -> None:
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


def test_grouping_p_value_against_enumeration() -> None:
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


def test_p_values_are_uniform_when_nothing_is_there() -> None:
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


def test_the_normal_limit_has_the_distribution_of_the_permutations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Skewed data, unequal groups: the p-values of effects of any size are those of shuffling."""
    rng = np.random.default_rng(9)
    codes = np.repeat([0, 1, 2, 3], [300, 250, 40, 10])
    for shift in (0.0, 0.05, 0.1):
        x, y = rng.exponential(1, (2, 600))
        x, y = x + shift * codes, y + 0.06 * x - shift * codes
        rows = GroupedRows.sort(x, y, codes)
        found = []
        for large in (5_000, 100):
            monkeypatch.setattr(statistics, "LARGE", large)
            generator = np.random.default_rng(0)
            p_within = within_p_values(rows, 4000, generator)
            found.append(
                [*p_within[0], p_within[1], grouping_p_value(rows, 4000, generator)]
            )
        np.testing.assert_allclose(found[0], found[1], atol=0.04)
        assert found[0] != found[1]


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=12))
def test_adjustments_by_their_definition(p: list[float]) -> None:
    values = np.array(p)
    m, order = len(p), np.argsort(p, kind="stable")
    hochberg = [
        min(1, min(m * values[order][j] / (j + 1) for j in range(i, m)))
        for i in range(m)
    ]
    np.testing.assert_allclose(adjusted(values)[order], hochberg)
    assert np.isnan(adjusted(np.array([np.nan]))).all()
