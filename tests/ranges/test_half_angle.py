"""Ends of ranges against extended precision: nearly parallel rows, extreme norms, budgets of 1 and 1e8."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from embaudit.gauges import Diagonal, GeneralLinear, Translation
from embaudit.ranges.cosine_range import range_solver_for

mpmath.mp.dps = 120
RELATIVE = 1e-9
ANGLES = (3e-14, 1e-11, 1e-8, 1e-5, 1e-2, 1.0)
mpf = mpmath.mpf


def exact(row: np.ndarray) -> list:
    return [mpf(float(value)) for value in row]


def mp_dot(x: list, y: list, w: list | None = None) -> mpf:
    return mpmath.fsum(
        a * b * c for a, b, c in zip(x, y, w or [mpf(1)] * len(x), strict=True)
    )


def mp_tangent(x: list, y: list, w: list | None = None) -> mpf:
    """tan(θ/2) by the definition of the cosine, in 120 digits."""
    cosine = mp_dot(x, y, w) / mpmath.sqrt(mp_dot(x, x, w) * mp_dot(y, y, w))
    return mpmath.sqrt((1 - cosine) / (1 + cosine))


def near_pairs(k: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs at every angle, acute and obtuse, of ordinary, huge and tiny lengths."""
    draw = np.random.default_rng(seed)
    pairs = []
    for angle, sign, (a, b) in itertools.product(
        ANGLES, (1, -1), ((1, 1), (1e150, 1e-150), (1e-160, 1e160), (1e68, 1e69))
    ):
        x, across = draw.normal(size=(2, k))
        pairs.append((a * x, sign * b * (x * draw.uniform(0.5, 2) + angle * across)))
    return pairs


def close(value: float, truth: mpf) -> None:
    assert abs(mpf(float(value)) / truth - 1) < RELATIVE, (value, truth)


@pytest.mark.parametrize("k", [2, 3, 16])
@pytest.mark.parametrize("budget", [1.0, 1.0 + 1e-9, 1.5, 1e8])
def test_linear_ends(k: int, budget: float) -> None:
    for x, y in near_pairs(k):
        ends = range_solver_for(
            GeneralLinear(k, max_condition=budget), "right", 2
        ).ends(x[None], y[None])
        truth = mp_tangent(exact(x), exact(y))
        close(ends.lower[0], truth * budget)
        close(ends.upper[0], truth / budget)


@pytest.mark.parametrize("budget", [1.0 + 1e-9, 1.5, 1e8])
def test_cross_ends(budget: float) -> None:
    draw = np.random.default_rng(1)
    orthogonal = [
        (np.array([1.0, e, 1.0]), np.array([1.0, 1.0, -1.0 + e]))
        for e in (1e-12, -1e-9, 1e-6, 0.1)
    ]
    for x, y in [*near_pairs(3), *orthogonal, *draw.normal(size=(5, 2, 3))]:
        ends = range_solver_for(
            GeneralLinear(3, max_condition=budget), "cross", 2
        ).ends(x[None], y[None])
        p, q = exact(x), exact(y)
        cosine = mp_dot(p, q) / mpmath.sqrt(mp_dot(p, p) * mp_dot(q, q))
        depth = mpmath.acosh(1 / abs(cosine))
        deep, shallow = depth + mpmath.log(mpf(budget)), depth - mpmath.log(mpf(budget))
        small = [mpmath.tanh(deep / 2), mpmath.tanh(max(mpf(0), shallow) / 2)]
        truths = (
            small
            if cosine > 0
            else [1 / small[1] if small[1] else mpmath.inf, 1 / small[0]]
        )
        for value, truth in zip((ends.lower[0], ends.upper[0]), truths, strict=True):
            if truth in (0, mpmath.inf):
                assert value == float(truth)
            elif shallow == 0 or abs(shallow) > 1e-6 * depth:
                close(value, truth)


def mp_vertices(x: list, y: list, square: mpf) -> mpf:
    """Smallest tangent over all 2^k vertices."""
    return min(
        mp_tangent(x, y, list(w))
        for w in itertools.product((mpf(1), square), repeat=len(x))
    )


def mp_definite(x: list, y: list, square: mpf) -> mpf:
    """Largest tangent where every weighted cosine is positive: golden section in s, all vertices for e(s)."""
    vertices = list(itertools.product((mpf(1), square), repeat=len(x)))

    def level(log_s: mpf) -> mpf:
        s = mpmath.exp(log_s)
        costs = [(s * a - b) ** 2 / (2 * s) for a, b in zip(x, y, strict=True)]
        return max(
            mpmath.fsum(w * c for w, c in zip(v, costs, strict=True)) / mp_dot(x, y, v)
            for v in vertices
        )

    middle = mpmath.log(mp_dot(y, y) / mp_dot(x, x)) / 2
    width = mpmath.log(square) + mpf(10) ** -6
    low, high = middle - width, middle + width
    golden = (mpmath.sqrt(5) - 1) / 2
    inner = [high - golden * (high - low), low + golden * (high - low)]
    values = [level(s) for s in inner]
    while high - low > mpf(10) ** -33:
        if values[0] < values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - golden * (high - low)
            values[0] = level(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + golden * (high - low)
            values[1] = level(inner[1])
    excess = min(values)
    return mpmath.sqrt(excess / (2 + excess))


def assert_bounded_diagonal_ends(x: np.ndarray, y: np.ndarray, budget: float) -> None:
    """Both ends are exact to 1e-9, by all vertices or the saddle point."""
    group, square = Diagonal(len(x), max_condition=budget), mpf(budget) ** 2
    ends = range_solver_for(group, "left", 2).ends(x[None], y[None])
    p = exact(x)
    for tangent, other in ((ends.upper[0], exact(y)), (1 / ends.lower[0], exact(-y))):
        products = [a * b for a, b in zip(p, other, strict=True)]
        if mpmath.fsum(max(r, r * square) for r in products) > 0:
            truth = mp_vertices(p, other, square)
        else:
            truth = 1 / mp_definite(p, [-b for b in other], square)
        assert abs(mp_cosine(mpf(float(tangent))) - mp_cosine(truth)) < 1e-9


def mp_cosine(tangent: mpf) -> mpf:
    return (1 - tangent**2) / (1 + tangent**2)


@pytest.mark.parametrize("budget", [1.1, 3.0, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("angle", [1e-6, 1e-4, 1e-2, 1.0])
def test_bounded_diagonal_ends(budget: float, sign: int, angle: float) -> None:
    draw = np.random.default_rng(3)
    for size in (1.0, 1e100, 1e-100):
        x, across = draw.normal(size=(2, 3))
        y = sign * (x * draw.uniform(0.5, 2) + angle * across)
        assert_bounded_diagonal_ends(size * x, y / size, budget)


@pytest.mark.parametrize("near", [None, 1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_bounded_diagonal_ends_of_entries_over_five_decades(
    near: float | None, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    x, y = 10 ** draw.uniform(-2.5, 2.5, size=(2, 4)) * draw.choice([-1, 1], (2, 4))
    if near is not None:
        y = x * (1 + near * draw.normal(size=4))
    with mpmath.workdps(60):
        assert_bounded_diagonal_ends(x, y, 1e6)


def test_unbounded_diagonal_ends() -> None:
    # Of the second rows no ratio is exact in float64.
    for angle, x in itertools.product(
        ANGLES, (np.array([1.0, 2.0, 3.0]), np.array([1.1, 2.3, 0.7]))
    ):
        y = x * np.array([1.0, 1.0 + angle, 1.0 + angle / 3])
        ends = range_solver_for(Diagonal(3), "left", 2).ends(x[None], y[None])
        ratios = [b / a for a, b in zip(exact(x), exact(y), strict=True)]
        close(ends.lower[0], mpmath.tanh(mpmath.log(max(ratios) / min(ratios)) / 4))
        assert ends.upper[0] == 0


@pytest.mark.parametrize("radius", [1e-9, 0.1, 0.6])
def test_translation_ends(radius: float) -> None:
    draw = np.random.default_rng(2)
    for angle, size in itertools.product(ANGLES, (1.0, 1e150, 1e-150)):
        x, across = draw.normal(size=(2, 3))
        x /= np.linalg.norm(x)
        a, b = size * x, size * (1.5 * x + angle * across)
        p, q, r = exact(a), exact(b), mpf(radius * size)
        area = mpmath.sqrt(mp_dot(p, p) * mp_dot(q, q) - mp_dot(p, q) ** 2)
        base = mpmath.sqrt(mpmath.fsum((s - t) ** 2 for s, t in zip(p, q, strict=True)))
        tangents = mpmath.sqrt((mp_dot(p, p) - r * r) * (mp_dot(q, q) - r * r))
        ends = range_solver_for(
            Translation(3, max_shift=radius * size), "right", 2
        ).ends(a[None], b[None])
        if mp_dot(p, q) > max(r * r, mp_dot(p, p)):
            close(ends.lower[0], (area + r * base) / (mp_dot(p, q) - r * r + tangents))
            upper = (area - r * base) / (mp_dot(p, q) - r * r + tangents)
            if upper <= 0:
                assert ends.upper[0] == 0
            elif upper > mpf(10) ** -6 * area / base:
                close(ends.upper[0], upper)
