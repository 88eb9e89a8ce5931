"""Compiled or not, all intervals of high weights are tried, and the best one is the same."""

import numpy as np
import pytest

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range, weights
from embaudit.ranges.intervals import every_interval
from tests.ranges.test_sweep import sorted_pairs, value_of


@pytest.mark.parametrize("k", [2, 3, 5, 40, 190])
@pytest.mark.parametrize("square", [1.0001, 4.0, 1e4])
@pytest.mark.parametrize(("slope", "spread"), [(0, 0), (0.3, 2), (30, 3)])
def test_it_finds_what_numpy_finds(k, square, slope, spread):
    x, y, count = sorted_pairs(k, 60, slope, spread, square, k)
    start, stop, value = every_interval(x, y, count, square)
    _, _, expected = weights._scan(x, y, count, square)
    np.testing.assert_allclose(value, expected, atol=2e-14)
    np.testing.assert_allclose(value_of(x, y, start, stop, square), value, atol=2e-14)
    assert (start < stop).all()
    assert (stop <= count).all()


def test_ratios_as_far_apart_as_float64_holds_divide_by_nothing():
    draw = np.random.default_rng(3)
    x, y = (np.exp(draw.uniform(-170, 170, (6, 50))) for _ in range(2))
    order = np.argsort(y / x, axis=0)
    x, y = (np.take_along_axis(z, order, axis=0) for z in (x, y))
    count = np.full(50, 6)
    found, expected = (scan(x, y, count, 4.0)[2] for scan in (every_interval, weights._scan))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("positive", [False, True])
def test_ranges_are_the_same(monkeypatch, positive):
    rows = np.random.default_rng(1).standard_normal((30, 12))
    model = FactorModel.from_vectors(np.abs(rows) if positive else rows)
    monkeypatch.setattr(weights, "COMPILED", 436)
    plain = cosine_range(model, Diagonal(12, max_condition=2.0))
    monkeypatch.setattr(weights, "COMPILED", 435)
    monkeypatch.setattr(weights, "_scan", lambda *_: pytest.fail("not compiled"))
    found = cosine_range(model, Diagonal(12, max_condition=2.0))
    np.testing.assert_allclose(found.lower, plain.lower, atol=1e-14)
    np.testing.assert_allclose(found.upper, plain.upper, atol=1e-14)


@pytest.mark.parametrize(("rank", "pairs", "there", "name"), [
    (192, 200_000, True, "every_interval"), (193, 200_000, True, "best_interval"), (192, 199_999, True, "_scan"),
    (192, 200_000, False, "_scan"), (193, 0, False, "best_interval"),
])  # fmt: skip
def test_the_way_is_chosen_by_rank_pairs_and_what_is_installed(monkeypatch, rank, pairs, there, name):
    monkeypatch.setattr(weights, "has_numba", lambda: there)
    assert weights.scan_for(rank, pairs).__name__ == name
