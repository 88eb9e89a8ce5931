"""Ends of ranges are within 1e-9 of those in extended precision over the contract.

The contract holds for condition numbers up to 1e6 and for row lengths from 1e-100 to
1e100. Angles of nearly parallel rows may be as small as float64 holds them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

from embaudit.gauges import Diagonal, GeneralLinear, Translation
from embaudit.ranges.cosine_range import range_solver_for

mpmath.mp.dps = 120
CONTRACT = 1e-9
"""Largest difference of a cosine from the exact one."""
ANGLES = (3e-14, 1e-11, 1e-8, 1e-6, 1e-5, 1e-2, 1.0)
LENGTHS = ((1, 1), (1e100, 1e-100), (1e-100, 1e100), (1e68, 1e69))
mpf = mpmath.mpf


def exact(row: np.ndarray) -> list:
    return [mpf(float(value)) for value in row]


def mp_dot(x: list, y: list) -> mpf:
    return mpmath.fsum(a * b for a, b in zip(x, y, strict=True))


def mp_tangent(x: list, y: list) -> mpf:
    """tan(θ/2) by the definition of the cosine, in 120 digits."""
    cosine = mp_dot(x, y) / mpmath.sqrt(mp_dot(x, x) * mp_dot(y, y))
    return mpmath.sqrt((1 - cosine) / (1 + cosine))


def mp_scaled(x: list, weights: list) -> list:
    """Multiply the coordinates of x by the square roots of their weights."""
    return [mpmath.sqrt(w) * a for w, a in zip(weights, x, strict=True)]


def mp_cosine(tangent: mpf) -> mpf:
    """cos θ = (1 - t²) / (1 + t²) with t = tan(θ/2), which is infinite at -1."""
    if mpmath.isinf(tangent):
        return mpf(-1)
    return (1 - tangent**2) / (1 + tangent**2)


def near_pairs(k: int, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs at every angle, acute and obtuse, of ordinary, huge and tiny lengths."""
    draw = np.random.default_rng(seed)
    pairs = []
    for angle, sign, (a, b) in itertools.product(ANGLES, (1, -1), LENGTHS):
        x, across = draw.normal(size=(2, k))
        y = sign * (x * draw.uniform(0.5, 2) + angle * across)
        pairs.append((a * x, b * y))
    return pairs


def assert_end(tangent: float, cosine: mpf) -> None:
    """Check the end of a range, given by its half-angle tangent, against its cosine."""
    difference = mp_cosine(mpf(float(tangent))) - cosine
    assert abs(difference) < CONTRACT, (tangent, cosine)


@pytest.mark.parametrize("k", [2, 3, 16])
@pytest.mark.parametrize("budget", [1.0, 1.0 + 1e-9, 1.5, 1e3, 1e6])
def test_linear_ends(k: int, budget: float) -> None:
    solver = range_solver_for(GeneralLinear(k, max_condition=budget), "right", 2)
    for x, y in near_pairs(k):
        ends = solver.ends(x[None], y[None])
        tangent = mp_tangent(exact(x), exact(y))
        assert_end(ends.lower.tangent[0], mp_cosine(tangent * mpf(budget)))
        assert_end(ends.upper.tangent[0], mp_cosine(tangent / mpf(budget)))


def nearly_orthogonal_pairs() -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of 3 and of 64 columns whose cosines are 1e-17 to 0.1 in size."""
    pairs = [
        (np.array([1.0, e, 1.0]), np.array([1.0, 1.0, -1.0 + e]))
        for e in (1e-12, -1e-9, 1e-6, 0.1)
    ]
    draw = np.random.default_rng(2)
    for cosine in (0.0, 1e-15, -1e-12, 1e-9, -1e-6, 1e-3):
        x, y = draw.normal(size=(2, 64))
        x /= np.linalg.norm(x)
        y -= (x @ y) * x
        pairs.append((x, y / np.linalg.norm(y) + cosine * x))
    return pairs


def assert_cross_ends(x: np.ndarray, y: np.ndarray, budget: float) -> None:
    """Check that |cos'| goes from sech(w + ln κ) to sech(max(0, w - ln κ)).

    Here w is `arsech|cos|`, and the sign of the cosine stays.
    """
    group = GeneralLinear(len(x), max_condition=budget)
    ends = range_solver_for(group, "cross", 2).ends(x[None], y[None])
    p, q = exact(x), exact(y)
    cosine = mp_dot(p, q) / mpmath.sqrt(mp_dot(p, p) * mp_dot(q, q))
    depth = mpmath.acosh(1 / abs(cosine))
    step = mpmath.log(mpf(budget))
    near_zero = mpmath.sech(depth + step)
    near_one = mpmath.sech(max(mpf(0), depth - step))
    if cosine > 0:
        lower, upper = near_zero, near_one
    else:
        lower, upper = -near_one, -near_zero
    assert_end(ends.lower.tangent[0], lower)
    assert_end(ends.upper.tangent[0], upper)


@pytest.mark.parametrize("budget", [1.0 + 1e-9, 1.5, 1e3, 1e6])
def test_cross_ends(budget: float) -> None:
    draw = np.random.default_rng(1)
    for x, y in near_pairs(3):
        assert_cross_ends(x, y, budget)
    for x, y in nearly_orthogonal_pairs():
        assert_cross_ends(x, y, budget)
    for x, y in draw.normal(size=(5, 2, 3)):
        assert_cross_ends(x, y, budget)


@pytest.mark.parametrize("seed", range(6))
def test_cross_ends_of_very_long_sums(seed: int) -> None:
    """Terms of the dot product that are first positive and then negative add up to 0.

    A gauge of condition κ multiplies the rounding of such a cosine by up to κ.
    """
    k = 2**14
    draw = np.random.default_rng(seed)
    x, y = draw.uniform(0.5, 1.5, size=(2, k))
    y[k // 2 :] *= -1
    y -= (x @ y) / (x @ x) * x
    with mpmath.workdps(50):
        assert_cross_ends(x, y, 1e6)


@pytest.mark.parametrize("k", [2**12, 2**14, 2**16])
@pytest.mark.parametrize("value", [0.1, 0.3, 0.7])
def test_cross_ends_of_very_long_sums_of_equal_terms(k: int, value: float) -> None:
    """All terms of one sign are equal, so each step of one sum is rounded alike."""
    x, y = np.full((2, k), value)
    y[k // 2 :] *= -1 + 1e-8
    with mpmath.workdps(50):
        assert_cross_ends(x, y, 1e6)


def mp_vertices(x: list, y: list, square: mpf) -> mpf:
    """Smallest tangent over all 2^k vertices."""
    vertices = itertools.product((mpf(1), square), repeat=len(x))
    return min(mp_tangent(mp_scaled(x, w), mp_scaled(y, w)) for w in vertices)


def mp_definite(x: list, y: list, square: mpf) -> mpf:
    """Compute the largest half-angle tangent if all weights make the cosine positive.

    For weights w and any s > 0, with P = Σ w x², Q = Σ w y² and N = Σ w x y,

        1 / cos θ <= (s P + Q / s) / (2 N) = 1 + Σ w (s x - y)² / (2 s N),

    with equality at s² = Q / P. So the largest 1 / cos θ is 1 + the minimum over s of
    the largest excess `Σ w (s x - y)² / (2 s N)`. A vertex has the largest excess for a
    given s, and the minimum over ln s is found by golden section.
    """
    vertices = list(itertools.product((mpf(1), square), repeat=len(x)))
    products = [a * b for a, b in zip(x, y, strict=True)]

    def largest_excess(log_s: mpf) -> mpf:
        s = mpmath.exp(log_s)
        costs = [(s * a - b) ** 2 / (2 * s) for a, b in zip(x, y, strict=True)]
        excesses = []
        for weights in vertices:
            weighted_dot = mp_dot(weights, products)
            excesses.append(mp_dot(weights, costs) / weighted_dot)
        return max(excesses)

    # √(Q / P) is within a factor κ² of its value for equal weights.
    middle = mpmath.log(mp_dot(y, y) / mp_dot(x, x)) / 2
    width = mpmath.log(square) + mpf(10) ** -6
    log_s = golden_section(largest_excess, middle - width, middle + width)
    excess = largest_excess(log_s)
    # t² = (1 - cos θ) / (1 + cos θ) with cos θ = 1 / (1 + excess).
    return mpmath.sqrt(excess / (2 + excess))


def golden_section(function: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """Find the minimum of a function with one minimum between two bounds to 1e-33.

    Each round cuts off the part beyond the inner point with the larger value. The
    golden ratio makes the other inner point one of the next two.
    """
    golden = (mpmath.sqrt(5) - 1) / 2
    left = high - golden * (high - low)
    right = low + golden * (high - low)
    left_value = function(left)
    right_value = function(right)
    while high - low > mpf(10) ** -33:
        if left_value < right_value:
            high = right
            right = left
            right_value = left_value
            left = high - golden * (high - low)
            left_value = function(left)
        else:
            low = left
            left = right
            left_value = right_value
            right = low + golden * (high - low)
            right_value = function(right)
    if left_value < right_value:
        return left
    return right


def mp_upper_tangent(x: list, y: list, square: mpf) -> mpf:
    """tan(θ/2) at the largest cosine of x and y over weights between 1 and κ².

    If some weights make the cosine positive, a vertex is best. Otherwise all weights
    make the cosine of x and -y positive; the angle of x and y is π minus theirs, so its
    half-angle tangent is the reciprocal of the largest half-angle tangent of x and -y.
    """
    products = [a * b for a, b in zip(x, y, strict=True)]
    largest_dot = mpmath.fsum(max(r, r * square) for r in products)
    if largest_dot > 0:
        return mp_vertices(x, y, square)
    opposite = [-b for b in y]
    return 1 / mp_definite(x, opposite, square)


def assert_bounded_diagonal_ends(x: np.ndarray, y: np.ndarray, budget: float) -> None:
    """Check that both ends of the cosine are exact to 1e-9.

    The lower end of x and y is minus the upper end of x and -y.
    """
    group = Diagonal(len(x), max_condition=budget)
    ends = range_solver_for(group, "left", 2).ends(x[None], y[None])
    square = mpf(budget) ** 2
    upper = mp_cosine(mp_upper_tangent(exact(x), exact(y), square))
    upper_of_opposite = mp_cosine(mp_upper_tangent(exact(x), exact(-y), square))
    assert_end(ends.upper.tangent[0], upper)
    assert_end(ends.lower.tangent[0], -upper_of_opposite)


@pytest.mark.parametrize("budget", [1.1, 3.0, 1e6])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("angle", [1e-6, 1e-4, 1e-2, 1.0])
def test_bounded_diagonal_ends(budget: float, sign: int, angle: float) -> None:
    draw = np.random.default_rng(3)
    for size in (1.0, 1e100, 1e-100):
        x, across = draw.normal(size=(2, 3))
        y = sign * (x * draw.uniform(0.5, 2) + angle * across)
        assert_bounded_diagonal_ends(size * x, y / size, budget)


def entries_over_five_decades(draw: np.random.Generator) -> np.ndarray:
    """Four entries of both signs, from 0.003 to 300 in size."""
    sizes = 10 ** draw.uniform(-2.5, 2.5, size=4)
    return sizes * draw.choice([-1, 1], size=4)


# At κ = 1e6 sums of squares of these entries extend over 22 decades, so 60 digits are
# enough for the exact ends.
DIGITS_OF_DECADES = 60


@pytest.mark.parametrize("seed", range(4))
def test_bounded_diagonal_ends_of_entries_over_five_decades(seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, y = entries_over_five_decades(draw), entries_over_five_decades(draw)
    with mpmath.workdps(DIGITS_OF_DECADES):
        assert_bounded_diagonal_ends(x, y, 1e6)


@pytest.mark.parametrize("distance", [1e-6, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_bounded_diagonal_ends_of_near_rows_over_five_decades(
    distance: float, seed: int
) -> None:
    """Every coordinate of the second row differs by about a share `distance`."""
    draw = np.random.default_rng(seed)
    x = entries_over_five_decades(draw)
    y = x * (1 + distance * draw.normal(size=4))
    with mpmath.workdps(DIGITS_OF_DECADES):
        assert_bounded_diagonal_ends(x, y, 1e6)


ROW_OF_WHOLE_NUMBERS = np.array([1.0, 2.0, 3.0])
ROW_OF_DECIMALS = np.array([1.1, 2.3, 0.7])
"""Ratios of its coordinates are not exact in float64."""


def row_at(x: np.ndarray, angle: float) -> np.ndarray:
    """Multiply the coordinates of x by 1, 1 + angle and 1 + angle/3."""
    return x * np.array([1.0, 1.0 + angle, 1.0 + angle / 3])


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("x", [ROW_OF_WHOLE_NUMBERS, ROW_OF_DECIMALS])
def test_unbounded_diagonal_lower_ends(x: np.ndarray, angle: float) -> None:
    """For ratios r = y/x > 0 the lower limit is t = tanh(ln(max r / min r) / 4)."""
    y = row_at(x, angle)
    ratios = [b / a for a, b in zip(exact(x), exact(y), strict=True)]
    spread = mpmath.log(max(ratios) / min(ratios))
    expected = mp_cosine(mpmath.tanh(spread / 4))

    solver = range_solver_for(Diagonal(3), "left", 2)
    ends = solver.ends(x[None], y[None])

    assert_end(ends.lower.tangent[0], expected)


@pytest.mark.parametrize("angle", ANGLES)
def test_unbounded_diagonal_upper_ends_are_cosine_1(angle: float) -> None:
    """Rows with a positive product approach one axis, so t approaches 0."""
    x, y = ROW_OF_WHOLE_NUMBERS, row_at(ROW_OF_WHOLE_NUMBERS, angle)
    ends = range_solver_for(Diagonal(3), "left", 2).ends(x[None], y[None])
    assert ends.upper.tangent[0] == 0


def mp_translation_tangents(p: list, q: list, r: mpf) -> tuple[mpf, mpf]:
    """tan(θ/2) at the lower and the upper end for rows p and q and shifts up to r.

    The half-angle tangents are

        t = (A ± r |p - q|) / (p·q - r² + √((|p|² - r²) (|q|² - r²))),

    where A = √(|p|² |q|² - (p·q)²) is twice the area of the triangle 0, p, q. The upper
    end of the cosine is 1, so t = 0, if the numerator with the minus sign is negative.
    Assumption: p·q > r² and p·q > |p|².
    """
    dot, p_square, q_square = mp_dot(p, q), mp_dot(p, p), mp_dot(q, q)
    assert dot > r**2
    assert dot > p_square
    area = mpmath.sqrt(p_square * q_square - dot**2)
    difference = [a - b for a, b in zip(p, q, strict=True)]
    distance = mpmath.sqrt(mp_dot(difference, difference))
    tangent_lengths = mpmath.sqrt((p_square - r**2) * (q_square - r**2))
    denominator = dot - r**2 + tangent_lengths
    lower = (area + r * distance) / denominator
    upper = (area - r * distance) / denominator
    return lower, max(upper, mpf(0))


@pytest.mark.parametrize("radius", [1e-9, 0.1, 0.6])
@pytest.mark.parametrize("size", [1.0, 1e100, 1e-100])
@pytest.mark.parametrize("angle", ANGLES)
def test_translation_ends(radius: float, size: float, angle: float) -> None:
    """The rows have about the lengths 1 and 1.5, times `size`."""
    draw = np.random.default_rng(2)
    x, across = draw.normal(size=(2, 3))
    x /= np.linalg.norm(x)
    # Without its part along x, `across` does not change the product of both rows.
    across -= (across @ x) * x
    a = size * x
    b = size * (1.5 * x + angle * across)
    group = Translation(3, max_shift=radius * size)
    ends = range_solver_for(group, "right", 2).ends(a[None], b[None])
    lower, upper = mp_translation_tangents(exact(a), exact(b), mpf(radius * size))
    assert_end(ends.lower.tangent[0], mp_cosine(lower))
    assert_end(ends.upper.tangent[0], mp_cosine(upper))
