"""Ranks and rank correlations, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from embaudit.kernels.ranks import mid_ranks, rank_correlation


@pytest.mark.parametrize("levels", [2, 5, 1000])
def test_ranks_and_their_correlation_are_those_of_scipy(levels):
    draw = np.random.default_rng(levels)
    x, y = draw.integers(levels, size=(2, 60)).astype(float)
    assert np.array_equal(mid_ranks(x), stats.rankdata(x))
    assert rank_correlation(x, y) == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)


def test_orders_that_agree_that_are_reversed_and_that_are_none():
    x = np.array([1.0, 2.0, 5.0])
    assert rank_correlation(x, x**3) == 1
    assert rank_correlation(x, -x) == -1
    assert np.isnan(rank_correlation(x, np.ones(3)))
    assert np.isnan(rank_correlation(np.ones(3), x))
