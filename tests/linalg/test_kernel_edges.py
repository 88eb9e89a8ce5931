"""Edges of the kernels: zeros among coordinates, cosines of copies, shares of few, matrices that are no stretch."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.screened import screened


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
