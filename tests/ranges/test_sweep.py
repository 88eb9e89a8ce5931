"""The largest cosine under diagonal gauges with a budget, against all intervals.

The best weights are high on an interval of the coordinates with a positive product, in
order of |y/x|. The tests try every interval.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range


def upper_ends(x: np.ndarray, y: np.ndarray, kappa: float) -> np.ndarray:
    m, k = x.shape
    model = FactorModel.from_vectors(np.vstack([x, y]))
    pairs = np.column_stack([np.arange(m), m + np.arange(m)])
    return cosine_range(model, Diagonal(k, max_condition=kappa), pairs=pairs).upper


def can_be_positive(x: np.ndarray, y: np.ndarray, kappa: float) -> np.ndarray:
    """Flag the pairs that some weights between 1 and κ² give a positive cosine."""
    product = x * y
    positive_part = np.maximum(product, 0).sum(axis=1)
    negative_part = -np.minimum(product, 0).sum(axis=1)
    return kappa**2 * positive_part > negative_part


def best_of_all_intervals(x: np.ndarray, y: np.ndarray, kappa: float) -> np.ndarray:
    """Compute the largest `N / √(P Q)` of each pair over all intervals, O(k²) per pair.

    `N = Σ w x y`, `P = Σ w x²` and `Q = Σ w y²` have weights κ² on an interval of the
    coordinates with a positive product, sorted by |y/x|, and 1 elsewhere. Assumption:
    some weights make the cosine of each pair positive.
    """
    # Coordinates without a positive product come last, behind all intervals.
    ratios = np.where(x * y > 0, np.log(np.abs(y / x)), np.inf)
    order = np.argsort(ratios, axis=1)
    ratios = np.take_along_axis(ratios, order, axis=1)
    x = np.take_along_axis(x, order, axis=1)
    y = np.take_along_axis(y, order, axis=1)
    is_positive = np.isfinite(ratios)

    terms = np.stack([x * y, x * x, y * y])
    unweighted = terms.sum(axis=2, keepdims=True)
    best = np.full(len(x), -np.inf)
    for first in range(x.shape[1]):
        # Entry j is the sum over the interval of the coordinates first, ..., first + j.
        interval_sums = np.cumsum(terms[:, :, first:], axis=2)
        dot, p, q = unweighted + (kappa**2 - 1) * interval_sums
        cosines = dot / np.sqrt(p * q)
        allowed = np.where(is_positive[:, first:], cosines, -1)
        best = np.maximum(best, allowed.max(axis=1))
    return best


@pytest.mark.parametrize("k", [2, 5, 40, 300])
@pytest.mark.parametrize("kappa", [1.00005, 2.0, 100.0])
@pytest.mark.parametrize(
    ("slope", "spread"), [(0, 0), (0.3, 2), (2, 0), (30, 3), (-0.5, 1)]
)
def test_the_upper_end_is_the_best_of_all_intervals(
    k: int, kappa: float, slope: float, spread: float
) -> None:
    draw = np.random.default_rng(k)
    x, y = draw.standard_normal((2, 60, k)) * np.exp(
        spread * draw.standard_normal((2, 1, k))
    )
    y += slope * x
    able = can_be_positive(x, y, kappa)
    if not able.any():
        pytest.skip("no weights make a cosine positive")
    x, y = x[able], y[able]
    expected = best_of_all_intervals(x, y, kappa)
    np.testing.assert_allclose(upper_ends(x, y, kappa), expected, atol=2e-14)


@pytest.mark.parametrize("k", [20, 70, 250])
@pytest.mark.parametrize("near", [0.0, 1e-6, 1e-3])
def test_entries_over_five_decades_lose_nothing_to_rounding_at_kappa_1e6(
    k: int, near: float
) -> None:
    draw = np.random.default_rng(k)
    size = 10 ** draw.uniform(-2.5, 2.5, size=(2, 40, k))
    x, y = size * draw.choice([-1, 1], size=(2, 40, k))
    if near:
        y = x * (1 + near * draw.standard_normal((40, k)))
    expected = best_of_all_intervals(x, y, 1e6)
    np.testing.assert_allclose(upper_ends(x, y, 1e6), expected, atol=1e-12)


@pytest.mark.parametrize("k", [12, 400])
def test_the_witness_of_an_upper_end_reaches_it(k: int) -> None:
    rows = np.random.default_rng(0).standard_normal((8, k))
    model = FactorModel.from_vectors(rows)
    pairs = [[0, 1], [2, 3], [4, 5], [6, 7]]
    group = Diagonal(k, max_condition=2.0)
    found = cosine_range(model, group, pairs=pairs)
    first_rows, second_rows = rows[::2], rows[1::2]
    expected = best_of_all_intervals(first_rows, second_rows, 2.0)
    np.testing.assert_allclose(found.upper, expected, atol=1e-13)

    # The witness is a gauge: applied to the model, it moves the first pair to the end.
    witness = found.witness(0, "upper")
    equivalent_model = witness.act(model)
    reached = equivalent_model.cosines("right", [pairs[0]])[0]
    assert reached == pytest.approx(found.upper[0], abs=1e-12)
