"""The sweep over windows of ratios finds the best of all intervals."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.weights import NEVER, best_interval, largest_cosine


def sorted_pairs(k, m, slope, spread, square, seed):
    """Rows as the search takes them, of which some weights make the cosine positive."""
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((m, k)) * np.exp(spread * draw.standard_normal(k))
    y = (
        draw.standard_normal((m, k)) * np.exp(spread * draw.standard_normal(k))
        + slope * x
    )
    able = square * np.maximum(x * y, 0).sum(axis=1) > -np.minimum(x * y, 0).sum(axis=1)
    return in_order(x[able], y[able])


def in_order(x, y):
    ratios = np.where(x * y > 0, np.log(np.abs(y / x)), NEVER)
    order = np.argsort(ratios, axis=1)
    return tuple(np.take_along_axis(z, order, axis=1) for z in (x, y, ratios))


def cosines_of(x, y, start, stop, square):
    high = (np.arange(x.shape[1]) >= start[:, None]) & (
        np.arange(x.shape[1]) < stop[:, None]
    )
    w = np.where(high, square, 1.0)
    return (w * x * y).sum(axis=1) / np.sqrt(
        (w * x * x).sum(axis=1) * (w * y * y).sum(axis=1)
    )


def best_of_all(x, y, ratios, square):
    """The largest cosine of all intervals of high weights, each tried."""
    best = np.full(len(x), -np.inf)
    terms, step = np.stack([x * y, x * x, y * y]), square - 1
    base = terms.sum(axis=2)[:, :, None] / step
    for first in range(x.shape[1]):
        dot, p, q = base + np.cumsum(terms[:, :, first:], axis=2)
        found = np.where(ratios[:, first:] < NEVER, dot / np.sqrt(p * q), -np.inf)
        best = np.maximum(best, found.max(axis=1))
    return best


@pytest.mark.parametrize("k", [2, 5, 40, 300])
@pytest.mark.parametrize("square", [1.0001, 4.0, 1e4])
@pytest.mark.parametrize(
    ("slope", "spread"), [(0, 0), (0.3, 2), (2, 0), (30, 3), (-0.5, 1)]
)
def test_it_is_the_best_of_all_intervals(k, square, slope, spread):
    x, y, ratios = sorted_pairs(k, 60, slope, spread, square, k)
    if not len(x):
        pytest.skip("no weights make a cosine positive")
    start, stop, cosine = best_interval(x, y, ratios, square)
    np.testing.assert_allclose(cosine, best_of_all(x, y, ratios, square), atol=2e-14)
    np.testing.assert_allclose(
        cosines_of(x, y, start, stop, square), cosine, atol=2e-14
    )
    assert (start < stop).all()
    assert (stop <= (ratios < NEVER).sum(axis=1)).all()


@pytest.mark.parametrize("k", [20, 70, 250])
def test_weights_far_apart_of_coordinates_far_apart_lose_nothing_to_rounding(k):
    draw = np.random.default_rng(k)
    x, y = (
        np.exp(8 * draw.standard_normal((40, k))) * draw.choice([-1, 1], size=(40, k))
        for _ in range(2)
    )
    kappa = 1e8
    ordered = in_order(x, y)
    expected = best_of_all(*ordered, kappa**2)
    np.testing.assert_allclose(
        cosine_of(largest_cosine(x, y, kappa).tangent), expected, atol=1e-12
    )
    # Differences of plain sums over all coordinates lose up to 1e-9 here: sums within a window are far below these.
    found = best_interval(*ordered, kappa**2)
    np.testing.assert_allclose(
        cosines_of(*ordered[:2], *found[:2], kappa**2), expected, atol=1e-13
    )


@pytest.mark.parametrize("k", [12, 400])
def test_ends_of_ranges_are_reached(k):
    rows = np.random.default_rng(0).standard_normal((8, k))
    model, pairs = FactorModel.from_vectors(rows), [[0, 1], [2, 3], [4, 5], [6, 7]]
    found = cosine_range(model, Diagonal(k, max_condition=2.0), pairs=pairs)
    for pair, upper in zip(pairs, found.upper, strict=True):
        x, y, ratios = in_order(*(rows[[row]] for row in pair))
        assert upper == pytest.approx(best_of_all(x, y, ratios, 4.0)[0], abs=1e-13)
    reached = found.witness(0, "upper").act(model).cosines("right", [pairs[0]])[0]
    assert reached == pytest.approx(found.upper[0], abs=1e-12)
