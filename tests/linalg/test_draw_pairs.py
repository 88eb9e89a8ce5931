"""Pairs drawn without replacement, sums over all pairs, and intervals of figures."""

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
from embaudit.linalg.pairs import all_pairs, draw_pairs, n_pairs
from embaudit.linalg.rows import unit_rows


def numbers(pairs, n_rows, n_columns):
    """The place of each pair among all."""
    if n_columns is None:
        every = all_pairs(n_rows)
    else:
        every = np.indices((n_rows, n_columns)).reshape(2, -1).T
    places = {tuple(pair): place for place, pair in enumerate(every.tolist())}
    return [places[tuple(pair)] for pair in pairs.tolist()]


@given(
    st.integers(2, 40),
    st.none() | st.integers(1, 40),
    st.integers(0, 900),
    st.integers(0, 2**32),
)
def test_different_pairs_are_drawn_in_order_and_all_where_there_are_no_more(
    n_rows, n_columns, size, seed
):
    pairs = draw_pairs(n_rows, size, n_columns=n_columns, rng=seed)
    found, total = numbers(pairs, n_rows, n_columns), n_pairs(n_rows, n_columns)
    assert found == sorted(set(found))
    assert len(found) == min(size, total)
    np.testing.assert_array_equal(
        pairs,
        draw_pairs(n_rows, size, n_columns=n_columns, rng=np.random.default_rng(seed)),
    )


@pytest.mark.parametrize(("n_rows", "n_columns"), [(7, None), (4, 5)])
def test_each_set_of_pairs_is_as_probable(n_rows, n_columns):
    draw, total = np.random.default_rng(0), n_pairs(n_rows, n_columns)
    drawn = [
        numbers(draw_pairs(n_rows, 8, n_columns=n_columns, rng=draw), n_rows, n_columns)
        for _ in range(4_000)
    ]
    counts = np.bincount(np.ravel(drawn), minlength=total)
    # Counts of draws without replacement vary less than independent ones, by the share
    # of pairs that are not drawn.
    expected = 8 * 4_000 / total
    chi_squared = ((counts - expected) ** 2).sum() / expected / (1 - 8 / total)
    assert stats.chi2(total - 1).sf(chi_squared) > 0.01
    together = np.mean([0 in one and 1 in one for one in drawn])
    assert together == pytest.approx(8 * 7 / total / (total - 1), abs=0.02)


def test_a_draw_from_very_many_takes_memory_for_itself_alone():
    tracemalloc.start()
    pairs = draw_pairs(2_000_000, 100_000, rng=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(np.unique(pairs, axis=0)) == 100_000
    assert pairs[:, 0].mean() == pytest.approx(2_000_000 / 3, rel=0.01)
    assert peak < 20e6


def test_bad_draws_are_one_sentence():
    with pytest.raises(
        InputError,
        match=r"^the number of rows must be at least 2 to form a pair; got 1\.$",
    ):
        draw_pairs(1, 5)


def two_models(n, seed):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((n, 4)) + 0.5
    y = x + draw.standard_normal((n, 4))
    x[2] = y[2] = 0
    further_column = draw.standard_normal(n)
    further_column[2] = 0
    return unit_rows(x), unit_rows(np.column_stack([y, further_column]))


def compared(b, c):
    """What the sums must say, of the lists of cosines themselves."""
    return {
        "total": len(b),
        "before": b.sum(),
        "after": c.sum(),
        "before_squared": b @ b,
        "after_squared": c @ c,
        "product": b @ c,
    }


def cross_gram(before, after):
    """Rows without direction, which are NaN, count as zero."""
    return np.nan_to_num(before).T @ np.nan_to_num(after)


def test_sums_of_one_side_are_those_of_its_pairs():
    before, after = two_models(9, 0)
    found = pair_sums(
        [RowSums.of(before)], [RowSums.of(after)], [cross_gram(before, after)]
    )
    upper = np.triu_indices(8, 1)
    b, c = (np.delete(unit, 2, axis=0) for unit in (before, after))
    wanted = compared((b @ b.T)[upper], (c @ c.T)[upper])
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(
        wanted, rel=1e-10
    )


def test_sums_of_two_sides_are_those_of_all_their_pairs():
    (x, u), (y, v) = two_models(9, 0), two_models(6, 1)
    rows = [[RowSums.of(side) for side in sides] for sides in ((x, y), (u, v))]
    found = pair_sums(*rows, [cross_gram(x, u), cross_gram(y, v)])
    x, u, y, v = (np.delete(side, 2, axis=0) for side in (x, u, y, v))
    wanted = compared((x @ y.T).ravel(), (u @ v.T).ravel())
    assert {name: getattr(found, name) for name in wanted} == pytest.approx(
        wanted, rel=1e-10
    )


@pytest.mark.parametrize("n", [20, 100, 1_000])
def test_wilson_holds_a_share_about_as_often_as_it_says(n):
    shares = np.linspace(0.02, 0.98, 197)
    ends = np.array([wilson_interval(k / n, n) for k in range(n + 1)])
    held = (ends[:, 0] <= shares[:, None]) & (shares[:, None] <= ends[:, 1])
    coverage = (binom.pmf(np.arange(n + 1), n, shares[:, None]) * held).sum(axis=1)
    assert 0.945 <= coverage.mean() <= 0.965
    assert coverage.min() >= 0.85


def test_leaving_out_one_of_a_sample_gives_the_standard_error_of_its_mean():
    values = np.random.default_rng(0).standard_normal((12, 2))
    replicates = (values.sum(axis=0) - values) / 11
    error = values.std(axis=0, ddof=1) / np.sqrt(12)
    np.testing.assert_allclose(jackknife_margin(replicates), t.ppf(0.975, 11) * error)
    np.testing.assert_allclose(
        jackknife_margin(replicates, 5), t.ppf(0.995, 11) * error
    )
    np.testing.assert_allclose(
        jackknife_margin(replicates, beside=3.0), t.ppf(0.975, 11) * np.hypot(error, 3)
    )
    replicates[3, 0] = np.nan
    assert np.isinf(jackknife_margin(replicates)).tolist() == [True, False]
