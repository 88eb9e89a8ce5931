"""Each formula of a gauge, on models small enough to be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Translation

SHEAR = [[1.0, 2.0], [0.0, 1.0]]
"""Its inverse transpose is [[1, 0], [-2, 1]]."""


def one_pair(**biases: list[float]) -> ea.FactorModel:
    """One user (1, 2) and one item (3, 5); their score is 13."""
    return ea.FactorModel.from_arrays([[1.0, 2.0]], [[3.0, 5.0]], **biases)


def test_a_linear_gauge_multiplies_left_rows_by_its_matrix() -> None:
    moved = Gauge.linear(SHEAR).act(one_pair())
    np.testing.assert_allclose(moved.left, [[1.0, 4.0]], atol=1e-12)


def test_a_linear_gauge_multiplies_right_rows_by_the_inverse_transpose() -> None:
    moved = Gauge.linear(SHEAR).act(one_pair())
    np.testing.assert_allclose(moved.right, [[-7.0, 5.0]], atol=1e-12)


def test_a_diagonal_gauge_divides_right_columns_by_its_scales() -> None:
    moved = Gauge.diagonal([2.0, -4.0]).act(one_pair())
    assert moved.left.tolist() == [[2.0, -8.0]]
    assert moved.right.tolist() == [[1.5, -1.25]]


def test_the_left_bias_absorbs_the_product_of_left_rows_and_the_right_shift() -> None:
    gauge = Gauge.translation(2, right=[1.0, 0.0])
    moved = gauge.act(one_pair(left_bias=[0.5]))
    assert moved.right.tolist() == [[4.0, 5.0]]
    assert moved.left_bias.tolist() == [0.5 - 1.0]


def test_the_right_bias_absorbs_the_product_of_right_rows_and_the_left_shift() -> None:
    gauge = Gauge.translation(2, left=[0.0, 1.0])
    moved = gauge.act(one_pair(right_bias=[0.5]))
    assert moved.left.tolist() == [[1.0, 3.0]]
    assert moved.right_bias.tolist() == [0.5 - 5.0]


def test_the_product_of_both_shifts_is_absorbed_once_by_the_left_bias() -> None:
    """Shifted rows are (2, 3) and (4, 5) with product 23, so biases must lose 10."""
    gauge = Gauge.translation(2, left=[1.0, 1.0], right=[1.0, 0.0])
    moved = gauge.act(one_pair(left_bias=[0.0], right_bias=[0.0]))
    assert moved.left_bias.tolist() == [-2.0]
    assert moved.right_bias.tolist() == [-8.0]
    assert moved.scores().tolist() == [[13.0]]


@pytest.mark.parametrize(
    ("gauge", "expected"),
    [
        (Gauge.identity(3), 1.0),
        (Gauge.diagonal([4.0, 0.5, -1.0]), 8.0),
        (Gauge.linear([[1.0, 1.0], [0.0, 1.0]]), (3 + 5**0.5) / 2),
        (Gauge.linear([[0.0, 3.0], [-3.0, 0.0]]), 1.0),
        (Gauge.translation(2, right=[7.0, 9.0]), 1.0),
    ],
    ids=["identity", "diagonal", "shear", "scaled rotation", "translation"],
)
def test_the_condition_number_is_the_largest_over_the_smallest_stretch(
    gauge: Gauge, expected: float
) -> None:
    assert gauge.condition_number == pytest.approx(expected, rel=1e-12)


def test_the_inverse_takes_shifts_back_through_the_inverse_matrices() -> None:
    shifts = Gauge.translation(2, left=[1.0, 1.0], right=[1.0, 1.0])
    undo = (shifts @ Gauge.diagonal([2.0, 0.5])).inverse()
    np.testing.assert_allclose(undo.matrix("left"), np.diag([0.5, 2.0]), atol=1e-15)
    np.testing.assert_allclose(undo.matrix("right"), np.diag([2.0, 0.5]), atol=1e-15)
    np.testing.assert_allclose(undo.left_shift, [-0.5, -2.0], atol=1e-15)
    np.testing.assert_allclose(undo.right_shift, [-2.0, -0.5], atol=1e-15)


def test_a_composition_applies_its_second_factor_first() -> None:
    stretch = Gauge.diagonal([2.0, 1.0])
    shift = Gauge.translation(2, left=[1.0, 0.0], right=[1.0, 0.0])
    shift_first, stretch_first = stretch @ shift, shift @ stretch
    np.testing.assert_allclose(shift_first.left_shift, [2.0, 0.0])
    np.testing.assert_allclose(shift_first.right_shift, [0.5, 0.0])
    np.testing.assert_allclose(stretch_first.left_shift, [1.0, 0.0])
    np.testing.assert_allclose(stretch_first.right_shift, [1.0, 0.0])


def test_a_composition_multiplies_matrices_from_the_second_factor_on() -> None:
    stretch = Gauge.diagonal([2.0, 1.0])
    both = Gauge.linear(SHEAR) @ stretch
    np.testing.assert_allclose(
        both.matrix("left"), [[2.0, 4.0], [0.0, 1.0]], atol=1e-12
    )
    np.testing.assert_allclose(
        both.matrix("right"), [[0.5, 0.0], [-2.0, 1.0]], atol=1e-12
    )


@pytest.mark.parametrize(("side", "after"), [("left", [2.0, 0.5]), ("right", [0.5, 2])])
def test_an_affine_gauge_shifts_before_it_stretches(
    side: str, after: list[float]
) -> None:
    group, stretch = Affine(2, side=side), Gauge.diagonal([2.0, 0.5])
    gauge = group.after(np.ones(2), stretch)
    assert getattr(gauge, f"{side}_shift").tolist() == after
    np.testing.assert_allclose(group.shift_of(gauge), [1.0, 1.0])


def test_an_affine_budget_measures_the_shift_before_the_linear_part() -> None:
    """Stretched by 2 a left shift of 2 was 1 before; stretched by 1/2, it was 4."""
    for scale, inside in ((2.0, True), (0.5, False)):
        gauge = Gauge.translation(2, left=[2.0, 0.0]) @ Gauge.diagonal([scale, 1.0])
        group = Affine(2, side="left", max_condition=2.0, max_shift=1.0)
        assert group.contains(gauge) == inside


@pytest.mark.parametrize("kind", [Diagonal, GeneralLinear])
def test_a_budget_admits_condition_numbers_up_to_itself(kind: type[Diagonal]) -> None:
    group = kind(2, max_condition=2.0)
    assert group.contains(Gauge.diagonal([3.0, 1.5]))
    assert group.contains(Gauge.diagonal([0.5, 1.0]))
    assert not group.contains(Gauge.diagonal([2.01, 1.0]))


def test_a_translation_budget_is_the_euclidean_length_of_the_shift() -> None:
    group = Translation(2, max_shift=5.0)
    assert group.contains(Gauge.translation(2, right=[3.0, 4.0]))
    assert not group.contains(Gauge.translation(2, right=[3.0, 4.1]))
    assert not group.contains(Gauge.translation(2, left=[3.0, 4.0]))


def test_the_diagonal_group_holds_no_rotation_and_the_orthogonal_group_no_stretch() -> (
    None
):
    turn, stretch = Gauge.linear([[0.6, 0.8], [-0.8, 0.6]]), Gauge.diagonal([2.0, 1.0])
    assert not Diagonal(2).contains(turn)
    assert Diagonal(2).contains(stretch)
    assert ea.gauges.Orthogonal(2).contains(turn)
    assert not ea.gauges.Orthogonal(2).contains(stretch)
