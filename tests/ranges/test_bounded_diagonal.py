"""The bounded diagonal range against optimisation and, in small ranks, all vertices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import embaudit as ea
from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.weights import largest_cosine

PATTERNS = {
    "mixed": lambda x, y: (x, y),
    "all positive": lambda x, y: (abs(x), abs(y)),
    "all negative": lambda x, y: (abs(x), -abs(y)),
    "one negative": lambda x, y: (
        abs(x),
        np.where(np.arange(len(y)) == 0, -abs(y), abs(y)),
    ),
    "zeros": lambda x, y: (np.where(x > 0.5, 0, x), np.where(y < -0.5, 0, y)),
    "lone zeros": lambda x, y: (np.where(np.arange(len(x)) == 0, 0, abs(x)), abs(y)),
    "ties": lambda x, y: (np.round(x) + 0.5, np.round(y) + 0.5),
    "equal ratios": lambda x, y: (abs(x), abs(x) * np.round(1 + abs(y))),
    "near": lambda x, y: (x, x + 0.05 * y),
    "opposed": lambda x, y: (x, -x + 0.3 * y),
}


def weighted(
    logs: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the weighted cosine and its gradient in the logarithms of the weights."""
    w = np.exp(logs)
    dot, p, q = (w * x * y).sum(), (w * x * x).sum(), (w * y * y).sum()
    value = dot / np.sqrt(p * q)
    return -value, -w * (x * y / np.sqrt(p * q) - value / 2 * (x * x / p + y * y / q))


def optimised(
    x: np.ndarray, y: np.ndarray, kappa: float, draw: np.random.Generator
) -> float:
    window = 2 * np.log(kappa)
    corners = window * np.array(list(itertools.product((0, 1), repeat=len(x))))
    best = corners[np.argsort(-weighted_all(np.exp(corners), x, y))[:2]]
    starts = [*best, window * draw.random(len(x))]
    bounds = [(0, window)] * len(x)
    options = {"ftol": 1e-15, "gtol": 1e-12}
    found = [
        minimize(
            weighted,
            s,
            args=(x, y),
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options=options,
        )
        for s in starts
    ]
    return max(-result.fun for result in found)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_both_ends_agree_with_multi_start_optimisation(pattern: str) -> None:
    draw = np.random.default_rng(len(pattern))
    for trial in range(24):
        k = int(draw.integers(2, 9))
        x, y = PATTERNS[pattern](*draw.normal(size=(2, k)))
        if not x.any() or not y.any():
            continue
        kappa = (1.05, 1.5, 4.0, 30.0)[trial % 4]
        found = cosine_range(
            FactorModel.from_vectors([x, y]),
            Diagonal(k, max_condition=kappa),
            pairs=[[0, 1]],
        )
        assert found.upper[0] == pytest.approx(optimised(x, y, kappa, draw), abs=1e-6)
        assert found.lower[0] == pytest.approx(-optimised(x, -y, kappa, draw), abs=1e-6)


@given(
    st.integers(2, 7),
    st.sampled_from(list(PATTERNS)),
    st.floats(1.001, 1e4),
    st.integers(0, 2**32 - 1),
)
def test_no_vertex_and_no_inner_point_does_better(
    k: int, pattern: str, kappa: float, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    x, y = PATTERNS[pattern](*draw.normal(size=(2, k)))
    if not x.any() or not y.any():
        return
    best = largest_cosine(x[None], y[None], kappa)
    corners = kappa ** np.array(list(itertools.product((0, 1), repeat=k)))
    inner = kappa ** draw.random((200, k))
    tried = np.concatenate(
        [-weighted_all(corners**2, x, y), -weighted_all(inner**2, x, y)]
    )
    top = cosine_of(best.tangent)[0]
    assert -tried.min() <= top + 1e-12
    assert -weighted_all(best.weights, x, y)[0] == pytest.approx(-top, abs=1e-10)
    assert best.weights.min() >= 1
    assert best.weights.max() <= kappa**2 * (1 + 1e-12)


def weighted_all(weights: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return weights @ (x * y) / np.sqrt((weights @ (x * x)) * (weights @ (y * y)))


def test_a_large_budget_approaches_the_unbounded_range() -> None:
    draw = np.random.default_rng(0)
    model = FactorModel.from_vectors(np.abs(draw.normal(size=(40, 3))))
    pairs = [[i, i + 1] for i in range(39)]
    wide, free = (
        cosine_range(model, Diagonal(3, max_condition=b), pairs=pairs)
        for b in (1e7, None)
    )
    np.testing.assert_allclose(wide.lower, free.lower, atol=1e-6)
    np.testing.assert_allclose(wide.upper, free.upper, atol=1e-6)


def test_share_of_pairs_any_diagonal_gauge_says_nothing_about() -> None:
    # One sign pattern in 2^(k-1) is definite.
    draw = np.random.default_rng(0)
    for k, share in ((2, 0.5), (4, 0.875), (8, 0.992)):
        model = FactorModel.from_vectors(draw.normal(size=(400, k)))
        found = cosine_range(
            model, Diagonal(k), pairs=draw.integers(400, size=(20_000, 2))
        )
        assert found.is_vacuous.mean() == pytest.approx(share, abs=0.015)


def log_lengths(logs: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return np.log((np.exp(logs) * x * x).sum() * (np.exp(-logs) * y * y).sum()) / 2


def test_cross_ends_away_from_zero_are_optimal_and_the_others_bound_every_vertex() -> (
    None
):
    draw = np.random.default_rng(1)
    reached = 0
    for _ in range(60):
        k = int(draw.integers(2, 8))
        x, y = draw.normal(size=(2, k))
        model = FactorModel.from_user_item([x], [y])
        kappa = float(draw.choice([1.1, 2.0, 10.0]))
        found = cosine_range(
            model, Diagonal(k, max_condition=kappa), role="cross", pairs=[[0, 0]]
        )
        size = np.abs([found.lower[0], found.upper[0]])
        corners = kappa ** (2 * np.array(list(itertools.product((0, 1), repeat=k))))
        products = np.sqrt((corners @ (x * x)) * ((1 / corners) @ (y * y)))
        exact = abs(x @ y) / products.max()
        assert size.min() <= exact + 1e-12
        attained = (
            found.lower_attained if size[0] < size[1] else found.upper_attained
        )[0]
        assert not attained or size.min() == pytest.approx(exact, rel=1e-9)
        reached += attained
        convex = minimize(
            log_lengths,
            np.full(k, np.log(kappa)),
            args=(x, y),
            bounds=[(0, 2 * np.log(kappa))] * k,
            options={"ftol": 1e-15, "gtol": 1e-10},
        )
        assert size.max() == pytest.approx(abs(x @ y) / np.exp(convex.fun), abs=1e-6)
    assert reached > 0


def ends_of(found):
    return (
        found.lower.tolist(),
        found.upper.tolist(),
        found.lower_attained.tolist(),
        found.upper_attained.tolist(),
    )


def cross(left, right, group, pairs=((0, 0),)):
    return ea.cosine_range(
        ea.FactorModel.from_arrays(left, right),
        group,
        role="cross",
        pairs=np.array(pairs),
    )


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # Both rows are off an axis: 0 is a limit, and 1 is attained.
        ([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0]], ([0.0], [1.0], [False], [True])),
        # One on an axis, the other beside it: neither end is attained.
        ([[1.0, 0.0]], [[1.0, 1.0]], ([0.0], [1.0], [False], [False])),
        ([[1.0, 0.0]], [[-1.0, 1.0]], ([-1.0], [0.0], [False], [False])),
        # At right angles nothing moves: both ends are attained for a third reason.
        ([[1.0, 0.0]], [[0.0, 1.0]], ([0.0], [0.0], [True], [True])),
        ([[1.0, 1.0]], [[1.0, -1.0]], ([0.0], [0.0], [True], [True])),
    ],
)
def test_what_is_attained_under_unbounded_diagonals(left, right, expected):
    found = cross(left, right, ea.gauges.Diagonal(len(left[0])))
    np.testing.assert_allclose(
        np.column_stack(ends_of(found)[:2]), np.column_stack(expected[:2]), atol=1e-15
    )
    assert ends_of(found)[2:] == expected[2:]
