"""Each range formula on one pair of rows whose ends can be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.gauges import Affine, Diagonal, GaugeGroup, GeneralLinear, Translation
from embaudit.ranges import (
    certified_neighbours,
    condition_to_reach,
    cosine_range,
    shift_to_reach,
)

EAST = [1.0, 0.0]
COSINE_06 = [0.6, 0.8]
"""Its cosine with EAST is 0.6: artanh 0.6 = ln 2 and arsech 0.6 = ln 3."""


def ends_within(first: list[float], second: list[float], group: GaugeGroup) -> list:
    """Range of the cosine of two rows of the right side."""
    head = ea.FactorModel.from_softmax([first, second])
    found = cosine_range(head, group, pairs=[[0, 1]])
    return [found.lower[0], found.upper[0]]


def ends_across(left: list[float], right: list[float], group: GaugeGroup) -> list:
    """Range of the cosine of a left row and a right row; a bias absorbs shifts."""
    model = ea.FactorModel.from_arrays(
        [left], [right], left_bias=[0.0], right_bias=[0.0]
    )
    found = cosine_range(model, group, role="cross", pairs=[[0, 0]])
    return [found.lower[0], found.upper[0]]


@pytest.mark.parametrize(
    ("kappa", "expected"),
    [(1.0, [0.6, 0.6]), (2.0, [0.0, 15 / 17]), (4.0, [-0.6, 63 / 65])],
)
def test_linear_gauges_move_artanh_of_a_cosine_by_at_most_ln_kappa(
    kappa: float, expected: list[float]
) -> None:
    """The artanh of the ends is ln 2 - ln κ and ln 2 + ln κ."""
    found = ends_within(EAST, COSINE_06, GeneralLinear(2, max_condition=kappa))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kappa", "expected"),
    [(2.0, [12 / 37, 12 / 13]), (3.0, [9 / 41, 1.0]), (4.0, [24 / 145, 1.0])],
)
def test_linear_gauges_move_arsech_of_a_cross_cosine_by_at_most_ln_kappa(
    kappa: float, expected: list[float]
) -> None:
    """The ends are sech(ln 3 + ln κ) and sech(ln 3 - ln κ), which is at most 1."""
    group = GeneralLinear(2, max_condition=kappa)
    assert ends_across(EAST, COSINE_06, group) == pytest.approx(expected, abs=1e-12)


def test_linear_gauges_keep_the_sign_of_a_cross_cosine() -> None:
    group = GeneralLinear(2, max_condition=2.0)
    negative = ends_across(EAST, [-0.6, 0.8], group)
    assert negative == pytest.approx([-12 / 13, -12 / 37], abs=1e-12)
    assert ends_across(EAST, [0.0, 1.0], group) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("shift", "expected"),
    [(0.0, [0.0, 0.0]), (0.5, [-3 / 5, 5 / 13]), (1.0, [-1.0, 3 / 5])],
)
def test_translations_reach_the_ends_of_the_inscribed_angle(
    shift: float, expected: list[float]
) -> None:
    """Rows (±1, 1): a shift of (0, -r) ends at the lower, one of (0, r) at the upper.

    Half-angle tangents are 1/(1 - r) and 1/(1 + r).
    """
    group = Translation(2, max_shift=shift)
    found = ends_within([1.0, 1.0], [-1.0, 1.0], group)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_shift_turns_a_row_across_sides_by_arcsin_of_its_share_of_the_length() -> (
    None
):
    """A shift of 3 turns a row of length 5 by arcsin 3/5."""
    group = Translation(2, max_shift=3.0)
    found = ends_across(EAST, [0.0, 5.0], group)
    assert found == pytest.approx([-0.6, 0.6], abs=1e-12)


def test_an_affine_range_is_the_linear_range_around_the_translation_range() -> None:
    """The shift takes half-angle tangents to 2/3 and 2; κ = 2 makes these 1/3 and 4."""
    group = Affine(2, max_condition=2.0, max_shift=0.5)
    found = ends_within([1.0, 1.0], [-1.0, 1.0], group)
    assert found == pytest.approx([-15 / 17, 4 / 5], abs=1e-12)


def test_an_affine_cross_range_is_the_linear_one_around_what_the_shift_reaches() -> (
    None
):
    """The shift reaches cosines of ±0.6, which κ = 2 takes to ±12/13."""
    group = Affine(2, max_condition=2.0, max_shift=3.0)
    found = ends_across(EAST, [0.0, 5.0], group)
    assert found == pytest.approx([-12 / 13, 12 / 13], abs=1e-12)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([1.0, 16.0], [8 / 17, 1.0]),
        ([1.0, -16.0], [-1.0, 1.0]),
        ([-1.0, -16.0], [-1.0, -8 / 17]),
    ],
    ids=["positive products", "mixed products", "negative products"],
)
def test_unbounded_diagonal_gauges_reach_a_range_that_ratios_of_entries_decide(
    second: list[float], expected: list[float]
) -> None:
    """With (1, 1) and (1, 16), squared scales (16, 1) give the least: 32/√(17·272)."""
    found = ends_within([1.0, 1.0], second, Diagonal(2))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ([1.0, 16.0], [20 / 1300**0.5, 65 / 5125**0.5]),
        ([1.0, -16.0], [-63 / 5125**0.5, -12 / 1300**0.5]),
    ],
    ids=["positive products", "mixed products"],
)
def test_bounded_diagonal_gauges_weigh_coordinates_by_at_most_kappa_squared(
    second: list[float], expected: list[float]
) -> None:
    """With κ = 2 the ends have squared scales of ratio 4 and 1/4."""
    found = ends_within([1.0, 1.0], second, Diagonal(2, max_condition=2.0))
    assert found == pytest.approx(expected, abs=1e-12)


def test_diagonal_gauges_scale_a_cross_pair_in_opposite_directions() -> None:
    """The cosine is 1/√(1 + w₂/w₁) with squared scales w of ratio 1/4 to 4."""
    group = Diagonal(2, max_condition=2.0)
    lower, upper = 1 / 5**0.5, 2 / 5**0.5
    found = ends_across([1.0, 1.0], [1.0, 0.0], group)
    assert found == pytest.approx([lower, upper], abs=1e-12)


@pytest.mark.parametrize("kappa", [2.0, None])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_diagonal_gauges_do_not_move_a_cross_pair_on_one_axis(
    kappa: float | None, sign: float
) -> None:
    group = Diagonal(2, max_condition=kappa)
    assert ends_across([1.0, 0.0], [2.0 * sign, 0.0], group) == [sign, sign]


@pytest.mark.parametrize(
    ("cosine", "target", "expected"),
    [
        (0.6, 0.0, 2.0),
        (0.0, 0.6, 2.0),
        (0.6, -0.6, 4.0),
        (0.8, 0.6, 1.5),
        (1.0, 1.0, 1.0),
        (1.0, 0.5, np.inf),
        (0.5, 1.0, np.inf),
    ],
)
def test_the_condition_to_reach_a_cosine_is_exp_of_the_change_of_its_artanh(
    cosine: float, target: float, expected: float
) -> None:
    assert condition_to_reach(cosine, target) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("target", "expected"), [(0.0, 0.0), (5 / 13, 0.5), (-3 / 5, 0.5), (-1.0, 1.0)]
)
def test_the_shift_to_reach_a_cosine_is_the_shortest_one(
    target: float, expected: float
) -> None:
    length = shift_to_reach([1.0, 1.0], [-1.0, 1.0], target)
    assert length == pytest.approx(expected, abs=1e-12)


def test_a_neighbour_is_certified_up_to_half_its_lead_in_artanh() -> None:
    """Cosines 0.8 and 0 lie ln 3 apart in artanh, so the radius is exp(ln 3 / 2)."""
    model = ea.FactorModel.from_vectors([EAST, [0.8, 0.6], [0.0, -1.0]])
    found = certified_neighbours(model, n=1)
    assert found.indices[0].tolist() == [1]
    assert found.radii[0, 0] == pytest.approx(3**0.5, rel=1e-12)
    assert found.certified(1.73)[0].tolist() == [True]
    assert found.certified(1.74)[0].tolist() == [False]


@pytest.mark.parametrize(
    "group",
    [
        GeneralLinear(2, max_condition=2.0),
        Diagonal(2, max_condition=2.0),
        Translation(2, max_shift=0.5),
        Affine(2, max_condition=2.0, max_shift=0.5),
    ],
    ids=lambda group: type(group).__name__,
)
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_the_witness_takes_the_pair_to_the_end_of_its_range(
    group: GaugeGroup, end: str
) -> None:
    head = ea.FactorModel.from_softmax([[1.0, 1.0], [-0.5, 1.0]])
    found = cosine_range(head, group, pairs=[[0, 1]])
    gauge = found.witness(0, end)
    assert group.contains(gauge)
    reached = gauge.act(head).cosines("right", [[0, 1]])[0]
    assert reached == pytest.approx(getattr(found, end)[0], abs=1e-9)
