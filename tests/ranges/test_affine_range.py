"""Affine ranges: no gauge leaves them, and witnesses reach both ends.

Without one part, an affine range is the range of the other part.
"""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from range_ends import defined_ends, ends_at

from embaudit.errors import InputError
from embaudit.gauges import Affine, GeneralLinear, Translation
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range
from embaudit.ranges.cosine_range import range_solver_for
from embaudit.ranges.half_angle import cosine_of

mpf = mpmath.mpf
SETTINGS = [
    (k, kappa, tau)
    for k in (2, 3, 4, 8)
    for kappa in (1.0, 1.3, 4.0, 100.0)
    for tau in (0.0, 0.1, 0.7, 2.0, 10)
]


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (
        np.einsum("ij,ij->i", x, y)
        / np.linalg.norm(x, axis=1)
        / np.linalg.norm(y, axis=1)
    )


def model_of(rows: np.ndarray, others: np.ndarray | None = None) -> FactorModel:
    """A model whose free biases absorb every shift."""
    others = rows if others is None else others
    return FactorModel.from_arrays(
        left=others,
        right=rows,
        left_bias=np.zeros(len(others)),
        right_bias=np.zeros(len(rows)),
        link="softmax",
    )


def random_gauges(
    n: int, k: int, kappa: float, tau: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw a shift in the ball, axes and scales for each of n pairs.

    Half of the scales use the two ends of the budget only.
    """
    draw = np.random.default_rng([n, k])
    shifts = draw.normal(size=(n, k))
    shifts *= (
        tau
        * np.round(draw.random((n, 1)), 1) ** (1 / k)
        / np.linalg.norm(shifts, axis=1, keepdims=True)
    )
    logs = draw.random((n, k))
    logs[::2] = np.round(logs[::2])
    return shifts, np.linalg.qr(draw.normal(size=(n, k, k))).Q, kappa**logs


def test_no_random_affine_gauge_leaves_its_range() -> None:
    """Each of 100,000 gauges has a pair of its own, within a side and across."""
    n = 1300
    outside, widest = 0, []
    for k, kappa, tau in SETTINGS:
        x, y = np.random.default_rng(k).normal(size=(2, n, k)) + 0.3
        shifts, axes, scales = random_gauges(n, k, kappa, tau)
        turned = [np.einsum("ij,ijk->ik", z, axes) for z in (x, y, shifts)]
        moved = (turned[0] + turned[2]) * scales, (turned[1] + turned[2]) * scales
        for role, one, other in (
            ("right", *moved),
            ("cross", turned[0] / scales, moved[1]),
        ):
            ends = range_solver_for(
                Affine(k, max_condition=kappa, max_shift=tau), role, 2
            ).ends(x, y)
            after, lower, upper = (
                cosines(one, other),
                cosine_of(ends.lower.tangent),
                cosine_of(ends.upper.tangent),
            )
            outside += int(((after > upper + 1e-9) | (after < lower - 1e-9)).sum())
            widest.append(
                float(
                    (
                        np.abs(after - cosines(x, y)) / np.maximum(upper - lower, 1e-12)
                    ).max()
                )
            )
    assert outside == 0
    assert max(widest) > 0.9, (
        "the gauges tried are violent enough to see a range that is too narrow"
    )


@pytest.mark.parametrize(
    "narrow",
    [
        {"max_condition": 3.0, "max_shift": 0.5},
        {"max_condition": 2.0, "max_shift": 0.3},
    ],
)
def test_a_budget_too_small_is_left(narrow: dict[str, float]) -> None:
    """What the test above is able to see: ends are reached by larger budgets only."""
    rows = np.random.default_rng(0).normal(size=(20, 3))
    model, pairs = model_of(rows), np.array([[i, i + 1] for i in range(19)])
    found = cosine_range(
        model, Affine(3, max_condition=3.0, max_shift=0.7), pairs=pairs
    )
    inner = cosine_range(model, Affine(3, **narrow), pairs=pairs)
    assert not inner.contains(found.lower)[found.lower > -1].any()
    assert not inner.contains(found.upper)[found.upper < 1].any()


def hard_rows(k: int, seed: int) -> np.ndarray:
    """Nearly parallel rows, opposite rows, one row twice as long, two equal ones."""
    rows = np.random.default_rng(seed).normal(size=(8, k))
    rows[1] = 1.7 * rows[0] + 1e-6 * rows[1]
    rows[3], rows[5], rows[7] = -rows[2], 2 * rows[4], rows[6]
    return rows


HARD = [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [2, 5]]


def count_attained_ends(model: FactorModel, group: Affine, role: str) -> int:
    """Check that witnesses reach the ends of hard pairs, and count attained ends."""
    found = cosine_range(model, group, role=role, pairs=HARD)
    n_attained = 0
    for pair, end, cosine, is_attained in defined_ends(found):
        gauge = found.witness(pair, end, tol=1e-6)
        assert group.contains(gauge)
        reached = gauge.act(model).cosines(role, [HARD[pair]])[0]
        if is_attained:
            assert reached == pytest.approx(cosine, abs=1e-9)
            n_attained += 1
        else:
            assert reached == pytest.approx(cosine, abs=1e-6)
    return n_attained


@pytest.mark.parametrize("k", [2, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kappa", [None, 1.0, 1.5, 1e3, 1e8])
def test_witnesses_reach_both_ends_within_their_budgets(
    k: int, kappa: float | None
) -> None:
    rows = hard_rows(k, k)
    model = model_of(rows, rows[::-1].copy())
    n_attained = 0
    for tau in (None, 0.0, 1e-9, 0.3, 2.0):
        for side in ("left", "right"):
            group = Affine(k, side=side, max_condition=kappa, max_shift=tau)
            for role in ("left", "right", "cross"):
                n_attained += count_attained_ends(model, group, role)
    assert n_attained > (150 if kappa is None else 250)


@settings(max_examples=15)
@given(st.integers(2, 6), st.floats(1, 50), st.floats(0, 3), st.integers(0, 2**32 - 1))
def test_without_one_part_it_is_the_range_of_the_other(
    k: int, kappa: float, tau: float, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    model, pairs = (
        model_of(*draw.normal(size=(2, 8, k))),
        draw.integers(8, size=(10, 2)),
    )
    for role in ("left", "right", "cross"):
        for whole, part in (
            (
                Affine(k, max_condition=kappa, max_shift=0.0),
                GeneralLinear(k, max_condition=kappa),
            ),
            (
                Affine(k, max_condition=1.0, max_shift=tau),
                Translation(k, max_shift=tau),
            ),
            (Affine(k, max_shift=0.0), GeneralLinear(k)),
            (Affine(k, max_condition=1.0), Translation(k)),
        ):
            found, same = (
                cosine_range(model, group, role=role, pairs=pairs)
                for group in (whole, part)
            )
            for end in ("lower", "upper"):
                cosines_found, attained = ends_at(found, end)
                cosines_of_same, attained_by_same = ends_at(same, end)
                np.testing.assert_array_equal(cosines_found, cosines_of_same)
                np.testing.assert_array_equal(attained, attained_by_same)


@settings(max_examples=20)
@example(2, 2.0, 1.0, 2.2e-313, 0)
@given(
    st.integers(1, 5),
    st.floats(1, 20),
    st.floats(0, 3),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_larger_budgets_contain_smaller_ones(
    k: int, kappa: float, tau: float, share: float, seed: int
) -> None:
    model = model_of(hard_rows(k, seed), hard_rows(k, seed + 1))
    inner = Affine(k, max_condition=1 + share * (kappa - 1), max_shift=share * tau)
    for outer in (
        Affine(k, max_condition=kappa, max_shift=share * tau),
        Affine(k, max_condition=1 + share * (kappa - 1), max_shift=tau),
        Affine(k, max_condition=kappa),
        Affine(k, max_shift=tau),
    ):
        assert inner <= outer
        for role in ("right", "left", "cross"):
            small, large = (
                cosine_range(model, group, role=role, pairs=HARD)
                for group in (inner, outer)
            )
            assert large.contains(small.lower).all()
            assert large.contains(small.upper).all()
            assert small.contains(small.before).all()


def test_without_budgets_everything_is_reached_and_equal_rows_stay() -> None:
    model = model_of(hard_rows(3, 0))
    for group in (Affine(3), Affine(3, max_shift=0.01)):
        found = cosine_range(model, group, pairs=HARD)
        assert found.lower.tolist() == [-1, -1, -1, 1, -1, -1]
        assert found.upper.tolist() == [1, 1, 1, 1, 1, 1]
        assert found.lower_attained[3]
        assert found.upper_attained[3]
    # Parallel rows keep 1 until they part, opposite ones -1.
    assert found.upper_attained[2]
    assert found.lower_attained[1]
    assert not found.upper_attained[4]


def mp_ends(a: np.ndarray, b: np.ndarray, tau: float, kappa: float) -> tuple[mpf, mpf]:
    """Compute the half-angle tangents of both ends in 120 digits.

    The points that see the segment from a to b under one angle lie on an arc. Each end
    belongs to the arc at the distance τ from the origin, which is found by bisection
    between the angle at the origin and π or 0.
    """
    p = [mpf(float(value)) for value in a]
    q = [mpf(float(value)) for value in b]
    max_shift = mpf(tau)
    dot = mpmath.fdot(p, q)
    p_square = mpmath.fdot(p, p)
    q_square = mpmath.fdot(q, q)

    # Coordinates of the origin from the middle of the segment: `offset` along the
    # segment and `height` across it.
    base = mpmath.sqrt(p_square + q_square - 2 * dot)
    area = mpmath.sqrt(p_square * q_square - dot**2)
    height = area / base
    offset = abs(q_square - p_square) / (2 * base)

    def distance_to_arc(angle: mpf) -> mpf:
        """Assumption: the arc comes nearest to the origin between its ends."""
        centre = base / 2 * mpmath.cot(angle)
        radius = base / (2 * mpmath.sin(angle))
        return abs(mpmath.hypot(offset, height - centre) - radius)

    def tangent_towards(limit: mpf) -> mpf:
        reached = mpmath.atan2(area, dot)
        not_reached = limit
        for _ in range(400):
            middle = (reached + not_reached) / 2
            if distance_to_arc(middle) < max_shift:
                reached = middle
            else:
                not_reached = middle
        return mpmath.tan(reached / 2)

    lower = tangent_towards(mpmath.pi) * mpf(kappa)
    upper = tangent_towards(mpf(0)) / mpf(kappa)
    return lower, upper


def mp_cosine(tangent: mpf) -> mpf:
    """cos θ = (1 - t²) / (1 + t²) with t = tan(θ/2)."""
    return (1 - tangent**2) / (1 + tangent**2)


@pytest.mark.parametrize("kappa", [1.0 + 1e-9, 1.5, 1e3, 1e6])
@pytest.mark.parametrize("angle", [1e-11, 1e-8, 1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("tau", [1e-12, 1e-6, 0.3])
def test_ends_in_extended_precision(angle: float, tau: float, kappa: float) -> None:
    with mpmath.workdps(120):
        draw = np.random.default_rng(3)
        a, across = draw.normal(size=(2, 3))
        a /= np.linalg.norm(a)
        across -= (across @ a) * a
        across /= np.linalg.norm(across)
        b = 1.5 * (a + np.tan(angle) * across)
        group = Affine(3, max_condition=kappa, max_shift=tau)
        ends = range_solver_for(group, "right", 2).ends(a[None], b[None])
        lower, upper = mp_ends(a, b, tau, kappa)
        reached = mp_cosine(mpf(float(ends.lower.tangent[0])))
        assert abs(reached - mp_cosine(lower)) < 1e-9
        # Where the disc meets the line through the rows they become parallel.
        height = np.linalg.norm(np.cross(a, b)) / np.linalg.norm(a - b)
        if tau < 0.999 * height:
            reached = mp_cosine(mpf(float(ends.upper.tangent[0])))
            assert abs(reached - mp_cosine(upper)) < 1e-9
        elif tau > 1.001 * height:
            assert ends.upper.tangent[0] == 0


def test_rows_through_the_origin_part_at_the_rate_of_the_shift() -> None:
    """A shift of length τ across parallel rows a and 2a opens an angle between them.

    With |a| = 1 its half-angle tangent is `τ / (2 - τ² + √((1 - τ²) (4 - τ²)))`.
    """
    a = np.array([[1.0, 0.0, 0.0]])
    tau = 1e-7
    kappa = 1e3
    group = Affine(3, max_condition=kappa, max_shift=tau)
    ends = range_solver_for(group, "right", 2).ends(a, 2 * a)
    with mpmath.workdps(60):
        square = mpf(tau) ** 2
        product = mpmath.sqrt((1 - square) * (4 - square))
        tangent = mpf(tau) / (2 - square + product)
        ratio = mpf(float(ends.lower.tangent[0])) / (tangent * mpf(kappa))
        assert abs(ratio - 1) < 1e-12
    assert ends.upper.tangent[0] == 0
    assert ends.upper.is_attained[0]


def nearly_orthogonal_rows(k: int, seed: int) -> np.ndarray:
    """Two rows that are orthogonal up to rounding."""
    x, y = np.random.default_rng(seed).normal(size=(2, k))
    for _ in range(2):
        y -= (x @ y) / (x @ x) * x
    return np.array([x, y])


@pytest.mark.parametrize("kappa", [2.0, 1e3, 1e6])
@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("size", [0, 1e-17, 3e-16, 1e-12, 1e-6])
@pytest.mark.parametrize("seed", [0, 1])
def test_within_a_budget_both_ends_are_attained_and_have_witnesses(
    k: int, size: float, seed: int, kappa: float
) -> None:
    """Also of nearly orthogonal rows across the sides and of nearly parallel rows."""
    x, y = nearly_orthogonal_rows(k, seed)
    nearly_orthogonal = model_of(np.array([y + size * x, x]), np.array([x, y]))
    nearly_parallel = model_of(np.array([x, x + size * y]), np.array([x, y]))
    group = GeneralLinear(k, max_condition=kappa)
    across = cosine_range(nearly_orthogonal, group, role="cross", pairs=[[0, 0]])
    within = cosine_range(nearly_parallel, group, role="right", pairs=[[0, 1]])
    for found in (across, within):
        for pair, end, cosine, is_attained in defined_ends(found):
            assert is_attained
            reached = found.cosine_under(found.witness(pair, end), pair)
            assert reached == pytest.approx(cosine, abs=1e-9)


def test_a_witness_above_the_contract_reaches_its_end_or_is_refused() -> None:
    """Beyond κ = 1e6, rounding of nearly orthogonal rows grows past the contract."""
    n_reached = 0
    refusals = []
    for size, seed in itertools.product((0, 1e-17, 3e-16, 1e-12), (0, 1)):
        x, y = nearly_orthogonal_rows(3, seed)
        model = model_of(np.array([y + size * x]), np.array([x]))
        for kappa in (1e8, 1e10, 1e12):
            group = GeneralLinear(3, max_condition=kappa)
            found = cosine_range(model, group, role="cross", pairs=[[0, 0]])
            for pair, end, cosine, _ in defined_ends(found):
                try:
                    gauge = found.witness(pair, end)
                except InputError as refusal:
                    refusals.append(str(refusal))
                    continue
                reached = gauge.act(model).cosines("cross", [[0, 0]])[0]
                assert reached == pytest.approx(cosine, abs=1e-6)
                n_reached += 1
    assert n_reached > 0
    assert refusals
    for sentence in refusals:
        assert "no gauge was found within 1e-07 of the" in sentence


@pytest.mark.parametrize("k", [2, 3, 8])
@pytest.mark.parametrize("size", [1e-4, 1e-2, 1.0])
def test_without_a_budget_a_cross_cosine_reaches_1_and_only_comes_near_to_0(
    k: int, size: float
) -> None:
    x, y = nearly_orthogonal_rows(k, 0)
    model = model_of(np.array([y + size * x]), np.array([x]))
    found = cosine_range(model, GeneralLinear(k), role="cross", pairs=[[0, 0]])
    assert (found.lower[0], found.upper[0]) == (0, 1)
    assert not found.lower_attained[0]
    assert found.upper_attained[0]
    assert abs(found.cosine_under(found.witness(0, "upper"), 0) - 1) <= 1e-9
    assert abs(found.cosine_under(found.witness(0, "lower", tol=1e-4), 0)) <= 1e-4


def test_without_a_budget_rows_that_are_orthogonal_up_to_rounding_stay_so() -> None:
    x, y = nearly_orthogonal_rows(8, 0)
    model = model_of(np.array([y]), np.array([x]))
    found = cosine_range(model, GeneralLinear(8), role="cross", pairs=[[0, 0]])
    assert (found.lower[0], found.upper[0]) == (0, 0)
    assert found.lower_attained[0]
    assert found.upper_attained[0]
