"""Translations: the range against optimisation, its inverse, a published example."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from embaudit.errors import InputError
from embaudit.gauges import Translation
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range, shift_to_reach


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def head(rows: np.ndarray) -> FactorModel:
    return FactorModel.from_softmax(rows)


def best_on_circle(a: np.ndarray, b: np.ndarray, radius: float, sign: float) -> float:
    """Compute the largest sign · cosine over plane shifts of exactly that length.

    A search over many directions is followed by an optimiser.
    """

    def loss(angle: float) -> float:
        v = radius * np.array([np.cos(angle), np.sin(angle)])
        return -sign * cosine(a + v, b + v)

    grid = np.linspace(0, 2 * np.pi, 2001)
    start = grid[np.argmin([loss(angle) for angle in grid])]
    polished = minimize_scalar(
        loss,
        bounds=(start - 0.01, start + 0.01),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return -polished.fun


def test_ends_agree_with_a_search_over_all_directions() -> None:
    draw = np.random.default_rng(0)
    for _ in range(25):
        a, b = draw.normal(size=(2, 2))
        radius = float(draw.uniform(0.05, 0.9)) * min(
            np.linalg.norm(a), np.linalg.norm(b)
        )
        found = cosine_range(
            head([a, b]), Translation(2, max_shift=radius), pairs=[[0, 1]]
        )
        # Before the disc meets the line through the rows, the ends lie on its rim.
        if found.upper[0] < 1:
            assert found.upper[0] == pytest.approx(
                best_on_circle(a, b, radius, 1), abs=1e-9
            )
        if found.lower[0] > -1:
            assert found.lower[0] == pytest.approx(
                -best_on_circle(a, b, radius, -1), abs=1e-9
            )


@given(
    st.integers(2, 6),
    st.floats(0.01, 3),
    st.sampled_from(["lower", "upper"]),
    st.integers(0, 2**32 - 1),
)
def test_shift_to_reach_is_the_inverse_of_the_range(
    k: int, radius: float, end: str, seed: int
) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, k))
    found = cosine_range(head([a, b]), Translation(k, max_shift=radius), pairs=[[0, 1]])
    reached = getattr(found, end)[0]
    needed = shift_to_reach(a, b, reached)
    assert needed <= radius * (1 + 1e-7) + 1e-7
    if abs(reached) < 1:
        corner = min(np.linalg.norm(a), np.linalg.norm(b))
        assert needed == pytest.approx(min(radius, corner), rel=1e-5)


@given(st.integers(2, 5), st.floats(-1, 1), st.integers(0, 2**32 - 1))
def test_shift_to_reach_agrees_with_its_witness_and_with_the_range_around_it(
    k: int, target: float, seed: int
) -> None:
    a, b = np.random.default_rng(seed).normal(size=(2, k))
    length = shift_to_reach(a, b, target)
    model = head([a, b])
    more, less = (
        cosine_range(model, Translation(k, max_shift=length * factor), pairs=[[0, 1]])
        for factor in (1 + 1e-6, 1 - 1e-6)
    )
    assert more.lower[0] - 1e-9 <= target <= more.upper[0] + 1e-9
    if length > 1e-6:
        assert not less.lower[0] + 1e-9 < target < less.upper[0] - 1e-9


@given(
    st.floats(-100, 100),
    st.floats(0.05, 1.4),
    st.floats(0.05, 1.4),
    st.integers(0, 2**32 - 1),
)
@example(100.0, 0.5, 0.6, 0)
@example(-99.9, 0.6, 0.5, 1)
@example(17.25, 0.5, 1.2, 2)
def test_a_row_beside_one_that_is_far_longer_is_turned_alone(
    power: float, now: float, aim: float, seed: int
) -> None:
    assume(abs(power) > 12)
    assume(abs(now - aim) > 1e-3)
    """The shift hardly turns the longer row, so the shorter row turns by the angle.

    The row `scaled` is longer than 1e12 or shorter than 1e-12, and the row `other` has
    the length 3.
    """
    columns = np.random.default_rng(seed).normal(size=(5, 2))
    first, second = np.linalg.qr(columns).Q.T
    scaled = 10.0**power * first
    other = 3 * (np.cos(now) * first + np.sin(now) * second)
    shorter_length = min(3, 10.0**power)
    # The shortest shift that turns a row by an acute angle is across the new direction.
    wanted = shorter_length * np.sin(abs(now - aim))
    target = np.cos(aim)
    assert shift_to_reach(scaled, other, target) == pytest.approx(wanted, rel=1e-6)
    assert shift_to_reach(other, scaled, target) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("seed", range(200))
def test_a_disc_that_nearly_touches_the_line_does_not_turn_an_end_over(
    seed: int,
) -> None:
    """Rows are nearly parallel, so rounding decides whether the disc meets their line.

    The rows have equal lengths, from which the longest shift differs by at most 1e-10.
    So one shift opens the angle to nearly π, and another one closes it further: both
    true ends are within 1e-6 of -1 and 1.
    """
    draw = np.random.default_rng(seed)
    a, across = np.linalg.qr(draw.normal(size=(3, 2))).Q.T
    angle = 10 ** draw.uniform(-6, -5)
    b = np.cos(angle) * a + np.sin(angle) * across
    height = np.cos(angle / 2)
    change = draw.choice([-1, 1]) * 10 ** draw.uniform(-13, -10)
    group = Translation(3, max_shift=height * (1 + change))
    found = cosine_range(head([a, b]), group, pairs=[[0, 1]])
    assert found.upper[0] == pytest.approx(1, abs=1e-6)
    assert found.lower[0] == pytest.approx(-1, abs=1e-6)


PUBLISHED_ROWS = np.array(
    [[1, 0.5], [0.5, 1], [-1, 0.4], [-0.8, -0.8], [0.9, -1.2]],
)
"""Five labels of Nielsen 2026, figure 1. Labels 0 and 1 have the cosine 0.8."""


def test_a_shift_makes_two_published_labels_opposite_or_parallel() -> None:
    found = cosine_range(head(PUBLISHED_ROWS), Translation(2), pairs=[[0, 1]])
    assert found.lower[0] == -1
    assert found.upper[0] == 1


@pytest.mark.parametrize(
    ("published_shift", "target"), [((-0.75, -0.75), -1), ((-1.25, -0.25), 1)]
)
def test_no_published_shift_is_shorter_than_the_shortest_one(
    published_shift: tuple[float, float], target: float
) -> None:
    first, second = PUBLISHED_ROWS[:2]
    moved_cosine = cosine(first + published_shift, second + published_shift)
    assert moved_cosine == pytest.approx(target)
    shortest = shift_to_reach(first, second, target)
    assert shortest <= np.linalg.norm(published_shift) + 1e-12


def test_no_shift_is_needed_to_reach_the_cosine_that_two_rows_have() -> None:
    first, second = PUBLISHED_ROWS[:2]
    assert shift_to_reach(first, second, 0.8) == pytest.approx(0, abs=1e-15)


def test_the_witness_of_the_lower_end_makes_two_published_labels_opposite() -> None:
    model = head(PUBLISHED_ROWS)
    found = cosine_range(model, Translation(2), pairs=[[0, 1]])
    moved = found.witness(0, "lower").act(model)
    assert moved.cosines("right", [[0, 1]])[0] == pytest.approx(-1)


def test_the_range_of_equal_rows_is_cosine_1() -> None:
    model = head(np.array([[1.0, 2.0], [1.0, 2.0]]))
    group = Translation(2, max_shift=9.0)
    found = cosine_range(model, group, pairs=[[0, 1]])
    assert found.lower[0] == 1
    assert found.upper[0] == 1


@pytest.mark.parametrize(("target", "length"), [(1.0, 0), (0.5, np.inf)])
def test_no_shift_separates_equal_rows(target: float, length: float) -> None:
    row = [1.0, 2.0]
    assert shift_to_reach(row, row, target) == length


@pytest.mark.parametrize(("max_shift", "lower"), [(0.9, 1), (1.1, -1)])
def test_a_shift_beyond_the_shorter_row_of_one_dimension_flips_its_sign(
    max_shift: float, lower: float
) -> None:
    model = head(np.array([[1.0], [3.0]]))
    found = cosine_range(model, Translation(1, max_shift=max_shift), pairs=[[0, 1]])
    assert (found.lower[0], found.upper[0]) == (lower, 1)


ROW, TABLE = [1.0, 0.0], np.ones((2, 3))


@pytest.mark.parametrize(
    ("a", "b", "target", "part"),
    [
        (ROW, [1.0, 0.0, 0.0], 0.5, "got shapes (2,), (3,) and ()"),
        (TABLE, np.ones((3, 3)), 0.5, "got shapes (2, 3), (3, 3) and ()"),
        (TABLE, TABLE, [0.5] * 3, "got shapes (2, 3), (2, 3) and (3,)"),
        ([ROW, [1.0]], ROW, 0.5, "a must be a rectangular array"),
        ([1.0, np.inf], ROW, 0.5, "a must be one or more rows of at least 2 finite"),
        (ROW, [np.nan, 0.0], 0.5, "b must be one or more rows of at least 2 finite"),
        (ROW, "b", 0.5, "b must be an array of real numbers"),
        ([1.0], [2.0], 0.5, "a must be one or more rows of at least 2 finite numbers"),
        (ROW, ROW, np.inf, "target must be a cosine, from -1 to 1; got inf"),
        (ROW, ROW, "0", "target must be an array of real numbers"),
    ],
)
def test_shift_to_reach_refuses_other_shapes_and_values(
    a: Any, b: Any, target: Any, part: str
) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        shift_to_reach(a, b, target)


def test_the_witness_of_an_attained_end_ignores_the_tolerance() -> None:
    model = head(np.array([[1.0, 0.2], [0.3, 1.0]]))
    found = cosine_range(model, Translation(2, max_shift=0.3), pairs=[[0, 1]])
    assert found.lower_attained[0]
    moved = found.witness(0, "lower", tol=1.0).act(model)
    cosine_of_witness = moved.cosines("right", [[0, 1]])[0]
    assert cosine_of_witness == pytest.approx(found.lower[0], abs=1e-12)


@pytest.mark.parametrize("tol", [0.25, 1e-3])
def test_the_witness_of_a_limit_comes_within_the_tolerance(tol: float) -> None:
    """A shift by 1 takes the shorter row to the origin, where it has no cosine."""
    model = head(np.array([[1.0, 0.0], [2.0, 0.0]]))
    found = cosine_range(model, Translation(2, max_shift=1.0), pairs=[[0, 1]])
    assert not found.lower_attained[0]
    moved = found.witness(0, "lower", tol=tol).act(model)
    cosine_of_witness = moved.cosines("right", [[0, 1]])[0]
    assert 1e-9 < cosine_of_witness - found.lower[0] <= tol
