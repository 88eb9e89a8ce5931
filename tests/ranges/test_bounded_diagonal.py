"""The bounded diagonal range against optimisation and, in small ranks, all vertices.

A diagonal gauge of condition at most κ gives the coordinates weights w between 1 and
κ². A vertex is a choice of weights that are all 1 or κ².
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import CosineRange, cosine_range
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.weights import Best, largest_cosine

Rows = tuple[np.ndarray, np.ndarray]
"""Two rows (k,)."""

# Pairs of rows whose products have different patterns of signs and zeros. Each function
# makes such a pair from two rows with normally distributed entries.


def mixed_signs(x: np.ndarray, y: np.ndarray) -> Rows:
    return x, y


def all_positive(x: np.ndarray, y: np.ndarray) -> Rows:
    return np.abs(x), np.abs(y)


def all_negative(x: np.ndarray, y: np.ndarray) -> Rows:
    return np.abs(x), -np.abs(y)


def one_negative(x: np.ndarray, y: np.ndarray) -> Rows:
    y = np.abs(y)
    y[0] *= -1
    return np.abs(x), y


def zeros(x: np.ndarray, y: np.ndarray) -> Rows:
    """Set some coordinates of either row, or of both, to 0."""
    return np.where(x > 0.5, 0, x), np.where(y < -0.5, 0, y)


def one_zero(x: np.ndarray, y: np.ndarray) -> Rows:
    """Set one coordinate of the first row to 0."""
    x = np.abs(x)
    x[0] = 0
    return x, np.abs(y)


def equal_entries(x: np.ndarray, y: np.ndarray) -> Rows:
    return np.round(x) + 0.5, np.round(y) + 0.5


def equal_ratios(x: np.ndarray, y: np.ndarray) -> Rows:
    """Make y/x a small whole number in every coordinate."""
    return np.abs(x), np.abs(x) * np.round(1 + np.abs(y))


def nearly_parallel(x: np.ndarray, y: np.ndarray) -> Rows:
    return x, x + 0.05 * y


def nearly_opposite(x: np.ndarray, y: np.ndarray) -> Rows:
    return x, -x + 0.3 * y


PATTERNS = (
    mixed_signs,
    all_positive,
    all_negative,
    one_negative,
    zeros,
    one_zero,
    equal_entries,
    equal_ratios,
    nearly_parallel,
    nearly_opposite,
)
Pattern = Callable[[np.ndarray, np.ndarray], Rows]


# Independent computations


def cosines(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute Σ w x y / √(Σ w x² · Σ w y²) for each row of weights, (m, k)."""
    return weights @ (x * y) / np.sqrt((weights @ (x * x)) * (weights @ (y * y)))


def vertices(k: int, kappa: float) -> np.ndarray:
    """List all 2^k vertices."""
    return np.array(list(itertools.product((1.0, kappa**2), repeat=k)))


def negative_cosine(
    log_weights: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return minus the weighted cosine, and its gradient by the logarithms of w.

    With N = Σ w x y, P = Σ w x² and Q = Σ w y² the cosine is c = N / √(P Q), and

        ∂c / ∂ ln w_i = w_i (x_i y_i / √(P Q) − c/2 (x_i² / P + y_i² / Q)).
    """
    w = np.exp(log_weights)
    n = np.sum(w * x * y)
    p = np.sum(w * x * x)
    q = np.sum(w * y * y)
    cosine = n / np.sqrt(p * q)
    gradient = w * (x * y / np.sqrt(p * q) - cosine / 2 * (x * x / p + y * y / q))
    return -cosine, -gradient


def largest_cosine_by_search(
    x: np.ndarray, y: np.ndarray, kappa: float, draw: np.random.Generator
) -> float:
    """Maximise the cosine from the two best vertices and from random weights."""
    all_vertices = vertices(len(x), kappa)
    order = np.argsort(-cosines(all_vertices, x, y))
    window = 2 * np.log(kappa)
    starts = [
        np.log(all_vertices[order[0]]),
        np.log(all_vertices[order[1]]),
        window * draw.random(len(x)),
    ]
    largest = -1.0
    for start in starts:
        result = minimize(
            negative_cosine,
            start,
            args=(x, y),
            jac=True,
            bounds=[(0, window)] * len(x),
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12},
        )
        largest = max(largest, -result.fun)
    return largest


# Pairs of one side


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kappa", [1.05, 1.5, 4.0, 30.0])
def test_both_ends_agree_with_multi_start_optimisation(
    pattern: Pattern, kappa: float
) -> None:
    """The smallest cosine of x and y is minus the largest cosine of x and −y."""
    draw = np.random.default_rng(0)
    for k in (2, 3, 4, 5, 6, 8):
        x, y = pattern(*draw.normal(size=(2, k)))
        model = FactorModel.from_vectors([x, y])
        group = Diagonal(k, max_condition=kappa)
        found = cosine_range(model, group, pairs=[[0, 1]])
        upper = largest_cosine_by_search(x, y, kappa, draw)
        lower = -largest_cosine_by_search(x, -y, kappa, draw)
        assert found.upper[0] == pytest.approx(upper, abs=1e-6)
        assert found.lower[0] == pytest.approx(lower, abs=1e-6)


for_all_rows = given(
    k=st.integers(2, 7),
    pattern=st.sampled_from(PATTERNS),
    kappa=st.floats(1.001, 1e4),
    seed=st.integers(0, 2**32 - 1),
)


def rows_of(k: int, pattern: Pattern, seed: int) -> Rows:
    """Draw a pair of rows; a row that became zero gets another entry."""
    x, y = pattern(*np.random.default_rng(seed).normal(size=(2, k)))
    if not x.any():
        x[0] = 1
    if not y.any():
        y[-1] = 1
    return x, y


def best_weights(x: np.ndarray, y: np.ndarray, kappa: float) -> Best:
    return largest_cosine(x[None], y[None], kappa)


@for_all_rows
def test_no_vertex_has_a_larger_cosine(
    k: int, pattern: Pattern, kappa: float, seed: int
) -> None:
    x, y = rows_of(k, pattern, seed)
    largest = cosine_of(best_weights(x, y, kappa).tangent)[0]
    assert cosines(vertices(k, kappa), x, y).max() <= largest + 1e-12


@for_all_rows
def test_no_inner_weights_have_a_larger_cosine(
    k: int, pattern: Pattern, kappa: float, seed: int
) -> None:
    x, y = rows_of(k, pattern, seed)
    largest = cosine_of(best_weights(x, y, kappa).tangent)[0]
    inner_weights = kappa ** (2 * np.random.default_rng(seed).random((200, k)))
    assert cosines(inner_weights, x, y).max() <= largest + 1e-12


@for_all_rows
def test_the_best_weights_have_the_largest_cosine(
    k: int, pattern: Pattern, kappa: float, seed: int
) -> None:
    x, y = rows_of(k, pattern, seed)
    best = best_weights(x, y, kappa)
    largest = cosine_of(best.tangent)[0]
    assert cosines(best.weights, x, y)[0] == pytest.approx(largest, abs=1e-10)


@for_all_rows
def test_the_best_weights_are_within_the_budget(
    k: int, pattern: Pattern, kappa: float, seed: int
) -> None:
    x, y = rows_of(k, pattern, seed)
    best = best_weights(x, y, kappa)
    assert best.weights.min() >= 1
    assert best.weights.max() <= kappa**2 * (1 + 1e-12)


def test_a_large_budget_approaches_the_unbounded_range() -> None:
    draw = np.random.default_rng(0)
    model = FactorModel.from_vectors(np.abs(draw.normal(size=(40, 3))))
    pairs = [[i, i + 1] for i in range(39)]
    bounded = cosine_range(model, Diagonal(3, max_condition=1e7), pairs=pairs)
    unbounded = cosine_range(model, Diagonal(3), pairs=pairs)
    np.testing.assert_allclose(bounded.lower, unbounded.lower, atol=1e-6)
    np.testing.assert_allclose(bounded.upper, unbounded.upper, atol=1e-6)


@pytest.mark.parametrize("k", [2, 4, 8])
def test_a_range_is_vacuous_unless_all_products_have_one_sign(k: int) -> None:
    """Of the 2^k patterns of signs, two are definite: a share of 1/2^(k−1)."""
    draw = np.random.default_rng(0)
    model = FactorModel.from_vectors(draw.normal(size=(400, k)))
    pairs = draw.integers(400, size=(20_000, 2))
    found = cosine_range(model, Diagonal(k), pairs=pairs)
    assert found.is_vacuous.mean() == pytest.approx(1 - 0.5 ** (k - 1), abs=0.015)


# Pairs of two sides: the cosine is x·y / √F(w) with F(w) = Σ w x² · Σ y² / w.


def cross_range(x: np.ndarray, y: np.ndarray, kappa: float | None) -> CosineRange:
    """Compute the range of one user x and one item y."""
    model = FactorModel.from_user_item([x], [y], link="identity")
    group = Diagonal(len(x), max_condition=kappa)
    return cosine_range(model, group, role="cross", pairs=[[0, 0]])


def cross_pairs() -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Sixty pairs of rows of 2 to 7 columns, each with a budget κ."""
    draw = np.random.default_rng(1)
    pairs = []
    for _ in range(60):
        k = int(draw.integers(2, 8))
        x, y = draw.normal(size=(2, k))
        pairs.append((x, y, float(draw.choice([1.1, 2.0, 10.0]))))
    return pairs


def half_log_f(log_weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Compute ln √F(w), which is convex in the logarithms of the weights."""
    w = np.exp(log_weights)
    return np.log(np.sum(w * x * x) * np.sum(y * y / w)) / 2


def test_the_end_of_a_cross_range_away_from_zero_has_the_smallest_f() -> None:
    for x, y, kappa in cross_pairs():
        found = cross_range(x, y, kappa)
        smallest = minimize(
            half_log_f,
            np.full(len(x), np.log(kappa)),
            args=(x, y),
            bounds=[(0, 2 * np.log(kappa))] * len(x),
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        expected = abs(x @ y) / np.exp(smallest.fun)
        away_from_zero = max(abs(found.lower[0]), abs(found.upper[0]))
        assert away_from_zero == pytest.approx(expected, abs=1e-6)


def smallest_cross_cosine(x: np.ndarray, y: np.ndarray, kappa: float) -> float:
    """Compute the smallest |cos|: a convex function is largest at some vertex."""
    weights = vertices(len(x), kappa)
    f = (weights @ (x * x)) * ((1 / weights) @ (y * y))
    return float(abs(x @ y) / np.sqrt(f.max()))


def end_towards_zero(found: CosineRange) -> tuple[float, bool]:
    """Return the |cos| of the end towards 0, and whether a gauge attains it."""
    if abs(found.lower[0]) < abs(found.upper[0]):
        return abs(found.lower[0]), bool(found.lower_attained[0])
    return abs(found.upper[0]), bool(found.upper_attained[0])


def test_the_end_of_a_cross_range_towards_zero_bounds_every_vertex() -> None:
    for x, y, kappa in cross_pairs():
        bound, _ = end_towards_zero(cross_range(x, y, kappa))
        assert bound <= smallest_cross_cosine(x, y, kappa) + 1e-12


def test_the_end_of_a_cross_range_towards_zero_is_exact_where_it_is_attained() -> None:
    n_attained = 0
    for x, y, kappa in cross_pairs():
        end, is_attained = end_towards_zero(cross_range(x, y, kappa))
        if is_attained:
            expected = smallest_cross_cosine(x, y, kappa)
            assert end == pytest.approx(expected, rel=1e-9)
            n_attained += 1
    assert n_attained > 0


def assert_unbounded_ends(
    x: list[float],
    y: list[float],
    *,
    lower: float,
    upper: float,
    lower_attained: bool,
    upper_attained: bool,
) -> None:
    """Compare the range of a user x and an item y under all diagonal gauges."""
    found = cross_range(np.array(x), np.array(y), None)
    assert found.lower[0] == pytest.approx(lower, abs=1e-15)
    assert found.upper[0] == pytest.approx(upper, abs=1e-15)
    assert found.lower_attained[0] == lower_attained
    assert found.upper_attained[0] == upper_attained


def test_equal_rows_approach_a_right_angle_but_never_reach_it() -> None:
    """A large weight takes x to one axis and y to the other. Without it they agree."""
    row = [1.0, 1.0, 0.0]
    assert_unbounded_ends(
        row, row, lower=0, upper=1, lower_attained=False, upper_attained=True
    )


def test_opposite_rows_approach_a_right_angle_from_below() -> None:
    row, opposite = [1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]
    assert_unbounded_ends(
        row, opposite, lower=-1, upper=0, lower_attained=True, upper_attained=False
    )


@pytest.mark.parametrize(
    ("y", "lower", "upper"), [([1.0, 1.0], 0, 1), ([-1.0, 1.0], -1, 0)]
)
def test_a_row_on_an_axis_and_a_row_off_it_attain_neither_end(
    y: list[float], lower: float, upper: float
) -> None:
    """Scales turn y towards either axis, and x stays on its axis."""
    assert_unbounded_ends(
        [1.0, 0.0],
        y,
        lower=lower,
        upper=upper,
        lower_attained=False,
        upper_attained=False,
    )


@pytest.mark.parametrize(
    ("x", "y"), [([1.0, 0.0], [0.0, 1.0]), ([1.0, 1.0], [1.0, -1.0])]
)
def test_a_right_angle_of_a_user_and_an_item_stays(
    x: list[float], y: list[float]
) -> None:
    """Gauges keep the product of a user and an item, which is 0."""
    assert_unbounded_ends(
        x, y, lower=0, upper=0, lower_attained=True, upper_attained=True
    )
