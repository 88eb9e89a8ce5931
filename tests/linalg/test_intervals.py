"""Intervals that are called 95 %, against what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, t

from embaudit.linalg.intervals import (
    jackknife_margin,
    wilson_interval,
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
    np.testing.assert_allclose(jackknife_margin(replicates, 5), t.ppf(0.995, 11) * error)
    np.testing.assert_allclose(jackknife_margin(replicates, beside=3.0), t.ppf(0.975, 11) * np.hypot(error, 3))
    replicates[3, 0] = np.nan
    assert np.isinf(jackknife_margin(replicates)).tolist() == [True, False]
