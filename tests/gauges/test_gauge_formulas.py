"""Each formula of a gauge, on models small enough to be computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Translation
from embaudit.model import SideName

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


def test_the_condition_number_of_the_identity_is_1() -> None:
    assert Gauge.identity(3).condition_number == 1


def test_the_condition_number_of_scales_is_the_largest_over_the_smallest() -> None:
    """The sign of a scale does not count: it is 4 over 0.5."""
    gauge = Gauge.diagonal([-4.0, 0.5, 1.0])
    assert gauge.condition_number == pytest.approx(8, rel=1e-12)


def test_the_condition_number_of_a_shear_is_the_square_of_the_golden_ratio() -> None:
    """The singular values of [[1, 1], [0, 1]] are φ and 1/φ with φ = (1 + √5)/2."""
    golden_ratio = (1 + 5**0.5) / 2
    gauge = Gauge.linear([[1.0, 1.0], [0.0, 1.0]])
    assert gauge.condition_number == pytest.approx(golden_ratio**2, rel=1e-12)


def test_the_condition_number_of_a_rotation_that_scales_all_rows_is_1() -> None:
    gauge = Gauge.linear([[0.0, 3.0], [-3.0, 0.0]])
    assert gauge.condition_number == pytest.approx(1, rel=1e-12)


def test_shifts_do_not_count_in_the_condition_number() -> None:
    assert Gauge.translation(2, right=[7.0, 9.0]).condition_number == 1


def stretch_then_shift() -> Gauge:
    """P' = P diag(2, 0.5) + (1, 1) and Q' = Q diag(0.5, 2) + (1, 1)."""
    return Gauge([2.0, 0.5], [0.5, 2.0], left_shift=[1.0, 1.0], right_shift=[1.0, 1.0])


def test_the_inverse_of_a_gauge_has_the_inverse_matrices() -> None:
    undo = stretch_then_shift().inverse()
    np.testing.assert_allclose(undo.matrix("left"), np.diag([0.5, 2.0]), atol=1e-15)
    np.testing.assert_allclose(undo.matrix("right"), np.diag([2.0, 0.5]), atol=1e-15)


def test_the_inverse_of_a_gauge_takes_shifts_back_through_the_inverse_matrices() -> (
    None
):
    """P = (P' − (1, 1)) diag(0.5, 2), and Q = (Q' − (1, 1)) diag(2, 0.5)."""
    undo = stretch_then_shift().inverse()
    np.testing.assert_allclose(undo.left_shift, [-0.5, -2.0], atol=1e-15)
    np.testing.assert_allclose(undo.right_shift, [-2.0, -0.5], atol=1e-15)


def test_a_stretch_after_a_shift_stretches_the_shift() -> None:
    """`g @ h` applies h first. Right rows are multiplied by the inverse scales."""
    stretch = Gauge.diagonal([2.0, 1.0])
    shift = Gauge.translation(2, left=[1.0, 0.0], right=[1.0, 0.0])
    shift_first = stretch @ shift
    np.testing.assert_allclose(shift_first.left_shift, [2.0, 0.0])
    np.testing.assert_allclose(shift_first.right_shift, [0.5, 0.0])


def test_a_shift_after_a_stretch_stays_as_it_is() -> None:
    stretch = Gauge.diagonal([2.0, 1.0])
    shift = Gauge.translation(2, left=[1.0, 0.0], right=[1.0, 0.0])
    stretch_first = shift @ stretch
    np.testing.assert_allclose(stretch_first.left_shift, [1.0, 0.0])
    np.testing.assert_allclose(stretch_first.right_shift, [1.0, 0.0])


def test_a_composition_multiplies_rows_by_the_matrix_of_its_second_factor_first() -> (
    None
):
    """Rows stand on the left of a matrix, so `M = diag(2, 1) · [[1, 2], [0, 1]]`.

    On the right side it is `diag(1/2, 1) · [[1, 0], [-2, 1]]`.
    """
    stretch_first = Gauge.linear(SHEAR) @ Gauge.diagonal([2.0, 1.0])
    left, right = stretch_first.matrix("left"), stretch_first.matrix("right")
    np.testing.assert_allclose(left, [[2.0, 4.0], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(right, [[0.5, 0.0], [-2.0, 1.0]], atol=1e-12)


def test_an_affine_gauge_shifts_left_rows_before_it_stretches_them() -> None:
    """(P + 1uᵀ) diag(2, 0.5) is P diag(2, 0.5) + 1u'ᵀ with u' = u diag(2, 0.5)."""
    stretch = Gauge.diagonal([2.0, 0.5])
    gauge = Affine(2, side="left").after(np.ones(2), stretch)
    assert gauge.left_shift.tolist() == [2.0, 0.5]


def test_an_affine_gauge_shifts_right_rows_before_it_stretches_them() -> None:
    """Right rows are multiplied by the inverse scales, and so is their shift."""
    stretch = Gauge.diagonal([2.0, 0.5])
    gauge = Affine(2, side="right").after(np.ones(2), stretch)
    assert gauge.right_shift.tolist() == [0.5, 2.0]


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_affine_group_finds_the_shift_before_the_stretch(side: SideName) -> None:
    group = Affine(2, side=side)
    gauge = group.after(np.array([1.0, -3.0]), Gauge.diagonal([2.0, 0.5]))
    np.testing.assert_allclose(group.shift_of(gauge), [1.0, -3.0])


def test_an_affine_budget_admits_a_shift_that_only_the_stretch_makes_long() -> None:
    """A shift of 2 that was stretched by 2 had the length 1 before."""
    group = Affine(2, side="left", max_condition=2.0, max_shift=1.0)
    stretch = Gauge.diagonal([2.0, 1.0])
    shift = Gauge.translation(2, left=[2.0, 0.0])
    assert group.contains(shift @ stretch)


def test_an_affine_budget_rejects_a_shift_that_the_stretch_makes_short() -> None:
    """A shift of 0.75 that was stretched by 1/2 had the length 1.5 before."""
    group = Affine(2, side="left", max_condition=2.0, max_shift=1.0)
    stretch = Gauge.diagonal([0.5, 1.0])
    shift = Gauge.translation(2, left=[0.75, 0.0])
    assert not group.contains(shift @ stretch)


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
