"""Edges of the kernels: zeros among coordinates, cosines of copies, shares of few, matrices that are no stretch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from embaudit.kernels import moments
from embaudit.kernels.intervals import wilson_interval
from embaudit.kernels.screened import screened


def test_a_row_with_zeros_is_no_zero_row():
    x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.0, 0.0]])
    best, settled = screened(x, np.array([0, 3]), 1)
    assert best.columns.tolist() == [[1], [-1]]
    assert best.values[0, 0] == pytest.approx(1 / np.sqrt(1.01), rel=1e-15)
    assert np.isnan(best.values[1, 0])
    assert settled.tolist() == [True, True]


@pytest.mark.parametrize(("count", "n"), [(0, 3), (1, 7), (30, 30), (13, 200)])
def test_intervals_of_shares_are_scipys(count, n):
    expected = binomtest(count, n).proportion_ci(method="wilson")
    assert wilson_interval(count / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_wide_gram_matrix_of_rows_far_from_the_origin_is_exact(monkeypatch):
    monkeypatch.setattr(moments, "WIDE_BYTES", 8 * 5 * 7)
    x = np.round(np.random.default_rng(0).standard_normal((40, 5)), 3) + 2.0**27
    x = np.round(x, 7)
    mean, gram = moments._wide_gram(x, normalise=False)
    exact = x - 2.0**27
    centred = exact - exact.mean(axis=0)
    np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(gram, centred.T @ centred, atol=1e-6)
