"""Thresholds against optimisers and brute force."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from embaudit.blocks import block_cosines
from embaudit.blocks.thresholds import block_factors, norm_change
from embaudit.errors import InputError


def problem(rng: np.random.Generator, m: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    a, b = rng.random((2, m)) + 0.02
    return a / np.linalg.norm(a), b / np.linalg.norm(b) * rng.uniform(low, high, m)


def best_of_many(a: np.ndarray, g: np.ndarray, t: float, rng: np.random.Generator) -> float:
    """Smallest `‖a' − a‖` with `a' ≥ 0` and the cosine at the threshold, by a general optimiser from many starts."""
    sign = -1 if a @ g >= t else 1
    constraint = {"type": "ineq", "fun": lambda v: sign * (v @ g - t * np.sqrt(v @ v + 1e-18))}
    best = math.inf
    for _ in range(12):
        start = a * rng.exponential(1.0, len(a))
        found = minimize(
            lambda v: float((v - a) @ (v - a)),
            start,
            jac=lambda v: 2 * (v - a),
            bounds=[(0, None)] * len(a),
            constraints=[constraint],
            method="SLSQP",
            options={"maxiter": 300, "ftol": 1e-12},
        )
        v = found.x
        if constraint["fun"](v) > -1e-8 and np.linalg.norm(v) > 1e-4:
            best = min(best, float(np.linalg.norm(v - a)))
    return best


@pytest.mark.parametrize("signs", [(-1.0, 1.0), (0.2, 1.0), (-1.0, -0.2)])
@pytest.mark.parametrize("m", [2, 3, 6])
def test_norm_change_is_the_optimum(m: int, signs: tuple[float, float]) -> None:
    rng = np.random.default_rng([m, int(10 * signs[0]) + 20])
    solved = 0
    for _ in range(12):
        a, g = problem(rng, m, *signs)
        low, high = norm_change(a, g, 0.0, "x").reachable
        t = float(rng.uniform(low, high))
        change = norm_change(a, g, t, "x")
        assert change.distance is not None
        assert change.factors is not None
        new = change.factors * a
        assert (new >= 0).all()
        assert new @ g / np.linalg.norm(new) == pytest.approx(t, abs=1e-7)
        assert np.linalg.norm(new - a) == pytest.approx(change.distance, abs=1e-12)
        other = best_of_many(a, g, t, rng)
        solved += other < math.inf
        assert change.distance <= other + 1e-5
        if other < math.inf:
            assert change.distance == pytest.approx(other, abs=2e-3)
    assert solved > 6


def test_norm_change_on_two_blocks() -> None:
    """All local cosines high: only a profile close to the weakest blocks goes below the threshold."""
    a, g = np.array([0.2, 0.9, 0.387]), np.array([0.4, 0.99, 0.5])
    a = a / np.linalg.norm(a)
    change = norm_change(a, g, 0.45, "x")
    assert change.factors is not None
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 3), -1).reshape(-1, 3)[1:]
    grid /= np.linalg.norm(grid, axis=1, keepdims=True)
    feasible = grid[grid @ g <= 0.45]
    assert change.distance == pytest.approx(math.sqrt(1 - (feasible @ a).max() ** 2), abs=5e-3)


@given(st.integers(0, 10**6), st.floats(-1, 1))
@settings(max_examples=60)
def test_no_random_change_that_is_smaller_does_it(seed: int, t: float) -> None:
    rng = np.random.default_rng(seed)
    a, g = problem(rng, int(rng.integers(2, 7)), *sorted(rng.uniform(-1, 1, 2)))
    change = norm_change(a, g, t, "x")
    trials = np.abs(a + rng.standard_normal((500, len(a))) * rng.exponential(0.3, (500, 1)))
    reached = trials @ g / np.linalg.norm(trials, axis=1)
    crossed = reached <= t if change.breaks else reached >= t
    distances = np.linalg.norm(trials - a, axis=1)
    low, high = change.reachable
    assert (reached >= low - 1e-12).all()
    assert (reached <= high + 1e-12).all()
    if change.distance is None:
        assert not crossed.any()
    else:
        assert (distances[crossed] >= change.distance - 1e-9).all()


def test_reachable_is_approached() -> None:
    rng = np.random.default_rng(5)
    for signs in ((-1, 1), (0.2, 1), (-1, -0.2)):
        a, g = problem(rng, 4, *signs)
        low, high = norm_change(a, g, 0.0, "x").reachable
        assert norm_change(a, g, low + 1e-6, "x").distance is not None
        assert norm_change(a, g, high - 1e-6, "x").distance is not None
        assert norm_change(a, g, max(-1, low - 1e-3), "x").distance is None
        assert norm_change(a, g, min(1, high + 1e-3), "x").distance is None


def test_zero_blocks_keep_their_norm() -> None:
    change = block_cosines([[1.0], [0.0], [1.0]], [[1.0], [5.0], [2.0]]).norm_change(0.3)
    assert change.factors is not None
    assert change.factors[1] == 1


def test_the_changed_vectors_have_the_threshold_as_global_cosine() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((2, 5, 4))
    y += 1.5 * x
    result = block_cosines(x, y)
    for side in ("x", "y"):
        low, high = result.norm_change(0.0, side=side).reachable
        for t in np.linspace(low + 0.01, high - 0.01, 5):
            factors = result.norm_change(t, side=side).factors
            assert factors is not None
            pair = (x * factors[:, None], y) if side == "x" else (x, y * factors[:, None])
            assert block_cosines(*pair).global_cosine == pytest.approx(t, abs=1e-9)
        for b, factor in enumerate(result.block_factors(0.6, side=side)):
            if not math.isnan(factor):
                scale = np.where(np.arange(5) == b, factor, 1.0)[:, None]
                pair = (x * scale, y) if side == "x" else (x, y * scale)
                assert block_cosines(*pair).global_cosine == pytest.approx(0.6, abs=1e-7)


def test_block_factors_against_a_scan() -> None:
    rng = np.random.default_rng(2)
    s = np.exp(np.linspace(-8, 8, 20001))
    found = 0
    for _ in range(40):
        a, g = problem(rng, 4, -0.5, 1)
        t = float(np.clip(a @ g + rng.uniform(-0.2, 0.2), -1, 1))
        for b, factor in enumerate(block_factors(a, g, t)):
            others = np.delete(np.arange(4), b)
            value = (a[others] @ g[others] + s * a[b] * g[b]) / np.sqrt(a[others] @ a[others] + s**2 * a[b] ** 2) - t
            crossings = s[1:][np.diff(np.sign(value)) != 0]
            if math.isnan(factor):
                assert len(crossings) == 0
            elif math.exp(-7) < factor < math.exp(7):
                found += 1
                nearest = crossings[np.argmin(np.abs(np.log(crossings)))]
                assert factor == pytest.approx(nearest, rel=2e-3)
    assert found > 50


def test_local_threshold_says_what_holds() -> None:
    result = block_cosines([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [3.0, 4.0]])
    threshold = result.local_threshold(0.7)
    assert not threshold.holds
    assert threshold.n_below == 1
    assert threshold.guaranteed == pytest.approx(0.7 * result.norm_cosine)
    assert threshold.guaranteed_without_norms == 0
    assert result.local_threshold(-0.5).guaranteed_without_norms == -0.5
    assert result.local_threshold(0.6).holds
    assert json.loads(json.dumps(threshold.to_dict()))["level"] == 0.7
    assert "Not every (1 below)" in str(threshold)
    assert threshold.needed_for(result.norm_cosine) == pytest.approx(1)
    assert threshold.needed_for(min(1.0, result.norm_cosine + 0.01)) is None
    with pytest.raises(InputError, match="the local threshold must be a cosine, from -1 to 1; got 2"):
        result.local_threshold(2)


def test_norm_change_in_words() -> None:
    result = block_cosines([1, 1], [1, 2])
    assert "would break a global cosine of 0.9" in str(result.norm_change(0.9))
    assert "No block norms of y restore" in str(block_cosines([1, 1], [1, -2]).norm_change(0.99, side="y"))
    assert json.loads(json.dumps(result.norm_change(0.9).to_dict()))["breaks"]
    with pytest.raises(InputError, match="side must be one of"):
        result.norm_change(0.9, side="z")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="global threshold must be a cosine"):
        result.norm_change(float("nan"))
