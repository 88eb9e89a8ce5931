"""Ends under shifts that are nearly as long as a row, against extended precision.

Such a shift can turn the row by nearly a right angle. The cosine of that turn is
√(1 - (r / length)²), so rounding of r over the length is magnified many times, and a
gauge of condition κ multiplies the result once more.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from embaudit.gauges import Affine, Translation
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range

mpf = mpmath.mpf
CONTRACT = 1e-9
"""Largest difference of a cosine from the exact one."""
REST = (1e-1, 1e-3, 1e-6, 1e-9, 1e-12)
"""How much shorter than the row the shift is, relative to the row."""


def model_of(left: np.ndarray, right: np.ndarray) -> FactorModel:
    """Return a model whose free biases absorb every shift."""
    return FactorModel.from_arrays(
        left=left,
        right=right,
        left_bias=np.zeros(len(left)),
        right_bias=np.zeros(len(right)),
        link="softmax",
    )


def exact(row: np.ndarray) -> list:
    return [mpf(float(value)) for value in row]


def same_side_ends(
    x: np.ndarray, y: np.ndarray, shift: float, kappa: float
) -> tuple[mpf, mpf]:
    """Compute both ends within a side for a shift that is shorter than both rows.

    With twice the area W of the triangle of the origin, x and y, and its base L, the
    half-angle tangents are `(W ± r L) / (x·y - r² + √((‖x‖² - r²) (‖y‖² - r²)))`. The
    cosine is -1 where the disc of radius r meets the segment, and 1 where it meets the
    line through it outside of the segment.
    """
    p, q, r = exact(x), exact(y), mpf(shift)
    p_square, q_square, dot = (
        mpmath.fdot(p, p),
        mpmath.fdot(q, q),
        mpmath.fdot(p, q),
    )
    base = mpmath.sqrt(p_square + q_square - 2 * dot)
    area = mpmath.sqrt(p_square * q_square - dot**2)
    denominator = dot - r**2 + mpmath.sqrt((p_square - r**2) * (q_square - r**2))
    meets_line = r * base >= area
    foot_is_inside = dot < min(p_square, q_square)
    lower = upper = None
    if meets_line and foot_is_inside:
        lower = mpf(-1)
    if meets_line and not foot_is_inside:
        upper = mpf(1)
    if lower is None:
        lower = mp_cosine((area + r * base) / denominator * mpf(kappa))
    if upper is None:
        upper = mp_cosine((area - r * base) / denominator / mpf(kappa))
    return lower, upper


def mp_cosine(tangent: mpf) -> mpf:
    """cos θ = (1 - t²) / (1 + t²) with t = tan(θ/2)."""
    return (1 - tangent**2) / (1 + tangent**2)


def cross_ends(
    x: np.ndarray, y: np.ndarray, shift: float, kappa: float
) -> tuple[mpf, mpf]:
    """Compute both ends of a left row x and a shifted right row y.

    The shift turns y by at most arcsin(r / ‖y‖). Then |cos| = sech w becomes at least
    sech(w + ln κ) and at most sech(max(0, w - ln κ)).
    """
    p, q = exact(x), exact(y)
    y_length = mpmath.sqrt(mpmath.fdot(q, q))
    cosine = mpmath.fdot(p, q) / mpmath.sqrt(mpmath.fdot(p, p)) / y_length
    angle = mpmath.acos(cosine)
    turn = mpmath.asin(mpf(shift) / y_length)
    smallest = mpmath.cos(min(angle + turn, mpmath.pi))
    largest = mpmath.cos(max(angle - turn, mpf(0)))
    return least_stretched(smallest, kappa), -least_stretched(-largest, kappa)


def least_stretched(cosine: mpf, kappa: float) -> mpf:
    """Compute the smallest left-right cosine under gauges of condition κ."""
    depth = mpmath.acosh(1 / abs(cosine))
    step = mpmath.log(mpf(kappa))
    if cosine > 0:
        return mpmath.sech(depth + step)
    return -mpmath.sech(max(mpf(0), depth - step))


def near_rows(draw: np.random.Generator, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of any angle, nearly equal rows, and rows that are nearly equally long."""
    pairs = []
    for spread in (1e-9, 1e-6, 1e-3, 1.0):
        x, other = draw.normal(size=(2, k))
        across = other - (other @ x) / (x @ x) * x
        across *= np.linalg.norm(x) / np.linalg.norm(across)
        turned = np.cos(spread) * x + np.sin(spread) * across
        pairs.append((x, x + spread * other))
        pairs.append((x, x + spread * across))
        pairs.append((x, 1.5 * turned))
        pairs.append((turned, -(1 + spread) * x))
        pairs.append((x, (1 + spread) * across))
    return pairs


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("kappa", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("size", [1.0, 1e-100, 1e100])
def test_ends_within_a_side(rest: float, kappa: float, size: float) -> None:
    draw = np.random.default_rng(0)
    for x, y in near_rows(draw, 3):
        rows = size * np.array([x, y])
        shift = np.linalg.norm(rows, axis=1).min() * (1 - rest)
        group = Affine(3, max_condition=kappa, max_shift=shift)
        found = cosine_range(model_of(rows, rows), group, pairs=[[0, 1]])
        with mpmath.workdps(80):
            lower, upper = same_side_ends(rows[0], rows[1], shift, kappa)
            assert abs(mpf(found.lower[0]) - lower) < CONTRACT
            assert abs(mpf(found.upper[0]) - upper) < CONTRACT


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("kappa", [1.0 + 1e-9, 1e3, 1e6])
@pytest.mark.parametrize("k", [2, 64])
def test_ends_across_the_sides(rest: float, kappa: float, k: int) -> None:
    """Half of the rows are at the angle that a shift turns into a right angle."""
    draw = np.random.default_rng(1)
    for _ in range(10):
        x, y, across = draw.normal(size=(3, k))
        across -= (across @ x) / (x @ x) * x
        across *= np.linalg.norm(x) / np.linalg.norm(across)
        cosine = np.sqrt(rest * (2 - rest))
        for right in (y, (1 - rest) * x + cosine * across):
            shift = np.linalg.norm(right) * (1 - rest)
            group = Affine(k, max_condition=kappa, max_shift=shift)
            model = model_of(x[None], right[None])
            found = cosine_range(model, group, role="cross", pairs=[[0, 0]])
            with mpmath.workdps(80):
                lower, upper = cross_ends(x, right, shift, kappa)
                assert abs(mpf(found.lower[0]) - lower) < CONTRACT
                assert abs(mpf(found.upper[0]) - upper) < CONTRACT


def test_a_shift_that_is_as_long_as_a_row_to_all_digits_is_told_from_a_longer_one() -> (
    None
):
    """The lengths of (1, 1e-9) and of (1 - 2⁻⁵³, 0) differ from 1 by rounding only.

    A shift by 1 turns the first row by less than a right angle, by less than takes it
    from above to below the row (1, 0.1). It turns the second row anywhere.
    """
    rows = np.array([[1.0, 0.1], [1.0, 1e-9], [1.0 - 2.0**-53, 0.0]])
    found = cosine_range(
        model_of(rows, rows),
        Translation(2, max_shift=1.0),
        role="cross",
        pairs=[[0, 1], [0, 2]],
    )
    assert found.lower[0] == pytest.approx(-0.1 / np.sqrt(1.01), abs=1e-8)
    assert found.lower[1] == -1
    assert found.lower_attained.tolist() == [True, True]


@pytest.mark.parametrize("size", [1e-160, 1e-120])
def test_rows_that_are_far_shorter_than_the_longest_one_have_ends_of_their_own(
    size: float,
) -> None:
    """The squares of such rows vanish in float64. Ends do not depend on the scale."""
    small = size * np.array([[1.0, 0.3], [0.7, -0.9]])
    rows = np.vstack([small, [[1.0, 1.0]]])
    group = Translation(2, max_shift=0.5 * size)
    found = cosine_range(model_of(rows, rows), group, pairs=[[0, 1]])
    group = Translation(2, max_shift=0.5)
    scaled = model_of(rows / size, rows / size)
    same = cosine_range(scaled, group, pairs=[[0, 1]])
    assert found.lower[0] == pytest.approx(same.lower[0], abs=CONTRACT)
    assert found.upper[0] == pytest.approx(same.upper[0], abs=CONTRACT)
    assert -1 < found.lower[0] < found.upper[0] < 1


def test_rows_of_equal_lengths_up_to_rounding_have_ends_if_the_shift_is_as_long() -> (
    None
):
    """The length of the second row is 1 less 4e-17, so a shift by 1 covers that row."""
    rows = np.array([[1.0, 0.0], [0.8, 0.6 - 2.0**-53]])
    found = cosine_range(
        model_of(rows, rows), Translation(2, max_shift=1.0), pairs=[[0, 1]]
    )
    assert (found.lower[0], found.upper[0]) == (-1, 1)


@pytest.mark.parametrize("role", ["cross", "right"])
@pytest.mark.parametrize("kappa", [1.0, 2.0, None])
@pytest.mark.parametrize("excess", [0.0, 1e-15, 1e-12, 1e-9])
def test_ends_have_witnesses_if_the_shift_exceeds_a_row_by_rounding_only(
    role: str, kappa: float | None, excess: float
) -> None:
    """An audit shifts by the median length: that of a row if their number is odd."""
    draw = np.random.default_rng(2)
    for _ in range(20):
        rows, left = draw.normal(size=(2, 3, 2))
        shift = float(np.median(np.linalg.norm(rows, axis=1))) * (1 + excess)
        group = Affine(2, max_condition=kappa, max_shift=shift)
        pairs = [[0, 1], [0, 2], [1, 2]]
        found = cosine_range(model_of(left, rows), group, role=role, pairs=pairs)
        for pair in range(len(pairs)):
            for end, goal in (("lower", found.lower), ("upper", found.upper)):
                gauge = found.witness(pair, end)
                assert group.contains(gauge)
                reached = found.cosine_under(gauge, pair)
                assert reached == pytest.approx(goal[pair], abs=1e-7)
