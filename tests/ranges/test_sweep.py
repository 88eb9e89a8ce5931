"""The sweep over windows of ratios finds what trying every interval finds."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range, sweep, weights
from embaudit.ranges.sweep import best_interval


def sorted_pairs(k, m, slope, spread, square, seed):
    """Rows by pairs as the search takes them, of which some weights make the cosine positive."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((m, k)) * np.exp(spread * draw.standard_normal(k))
    y = draw.standard_normal((m, k)) * np.exp(spread * draw.standard_normal(k)) + slope * x
    positive = x * y > 0
    able = square * np.maximum(x * y, 0).sum(axis=1) > -np.minimum(x * y, 0).sum(axis=1)
    order = np.argsort(np.where(positive, np.abs(y) / np.abs(x), np.inf), axis=1)[able]
    x, y = (np.ascontiguousarray(np.take_along_axis(z[able], order, axis=1).T) for z in (x, y))
    return x, y, positive[able].sum(axis=1)


def value_of(x, y, start, stop, square):
    high = (np.arange(len(x))[:, None] >= start) & (np.arange(len(x))[:, None] < stop)
    w = np.where(high, square, 1.0)
    cosine = (w * x * y).sum(axis=0) / np.sqrt((w * x * x).sum(axis=0) * (w * y * y).sum(axis=0))
    return cosine * np.abs(cosine)


@pytest.mark.parametrize("k", [2, 3, 5, 40, 300])
@pytest.mark.parametrize("square", [1.0001, 1.21, 4.0, 1e4])
@pytest.mark.parametrize(("slope", "spread"), [(0, 0), (0.3, 2), (2, 0), (30, 3), (-0.5, 1)])
def test_it_is_the_best_of_all_intervals(k, square, slope, spread):
    x, y, count = sorted_pairs(k, 60, slope, spread, square, k)
    if not len(count):
        pytest.skip("no weights make a cosine positive")
    start, stop, value = best_interval(x, y, count, square)
    _, _, expected = weights._scan(x, y, count, square)
    np.testing.assert_allclose(value, expected, atol=2e-14)
    np.testing.assert_allclose(value_of(x, y, start, stop, square), value, atol=2e-14)
    assert (stop <= count).all()
    assert (start <= stop).all()


@pytest.mark.parametrize("seed", range(5))
def test_windows_hold_what_has_not_left_and_what_enters_in_time(seed):
    draw = np.random.default_rng(seed)
    # Whole numbers, so that widths and gaps are often equal.
    ratios = np.sort(draw.integers(-9, 9, size=(20, 12)).astype(float), axis=1)
    widths = np.append(draw.integers(0, 20, size=18), [0, 2048]).astype(float)
    left = sweep._left(ratios, widths)
    entered = sweep._entered(left)
    for line, width, gone, there in zip(ratios, widths, left, entered, strict=True):
        assert gone.tolist() == [int((line < ratio - width).sum()) for ratio in line]
        assert there.tolist() == [int((line <= ratio + width).sum()) for ratio in line]


def test_many_rounds_are_not_needed(monkeypatch):
    rounds = []
    real = sweep._round
    monkeypatch.setattr(sweep, "_round", lambda *given: rounds.append(len(given[3])) or real(*given))
    best_interval(*sorted_pairs(500, 100, 0.2, 1, 4.0, 0), 4.0)
    assert len(rounds) < 10
    assert rounds[0] == 100
    assert rounds[-1] < 100


def test_ratios_as_far_apart_as_float64_holds_do_not_mix_pairs():
    draw = np.random.default_rng(3)
    x = np.exp(draw.uniform(-170, 170, (6, 50)))
    y = np.exp(draw.uniform(-170, 170, (6, 50)))
    order = np.argsort(np.abs(y) / np.abs(x), axis=0)
    x, y = (np.take_along_axis(z, order, axis=0) for z in (x, y))
    count = np.full(50, 6)
    np.testing.assert_allclose(
        best_interval(x, y, count, 4.0)[2], weights._scan(x, y, count, 4.0)[2], rtol=1e-10, atol=1e-300
    )


def test_ranges_of_many_dimensions_are_swept(monkeypatch):
    k = weights.TRIED + 1
    rows = np.random.default_rng(0).standard_normal((8, k))
    model, pairs = FactorModel.from_vectors(rows), [[0, 1], [2, 3], [4, 5], [6, 7]]
    monkeypatch.setattr(weights, "_scan", lambda *_: pytest.fail("all intervals tried"))
    found = cosine_range(model, Diagonal(k, max_condition=2.0), pairs=pairs)
    monkeypatch.undo()
    monkeypatch.setattr(weights, "TRIED", k)
    monkeypatch.setattr(weights, "best_interval", lambda *_: pytest.fail("swept"))
    tried = cosine_range(model, Diagonal(k, max_condition=2.0), pairs=pairs)
    np.testing.assert_allclose(found.lower, tried.lower, atol=1e-13)
    np.testing.assert_allclose(found.upper, tried.upper, atol=1e-13)
    reached = found.witness(0, "upper").act(model).cosines("right", [pairs[0]])[0]
    assert reached == pytest.approx(found.upper[0], abs=1e-12)
