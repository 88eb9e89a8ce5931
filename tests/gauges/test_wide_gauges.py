"""Gauges of more than 256 dimensions give the products of their matrices without
forming them.
"""

from __future__ import annotations

import numpy as np
import pytest

import embaudit.gauges
from embaudit.errors import InputError
from embaudit.gauges import (
    Affine,
    Diagonal,
    Gauge,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.model import FactorModel
from embaudit.model.drift import drift
from embaudit.movements.movement import movement

K = 257
GROUPS: list[GaugeGroup] = [
    Orthogonal(K),
    Diagonal(K, max_condition=3.0),
    GeneralLinear(K, max_condition=3.0),
    Translation(K, max_shift=2.0),
    Affine(K, max_condition=3.0, max_shift=2.0),
    Affine(K, side="left", max_condition=3.0),
    Diagonal(K),
]


def test_every_group_has_a_wide_example() -> None:
    covered = {type(group) for group in GROUPS}
    missing = [kind.__name__ for kind in embaudit.gauges.GROUPS if kind not in covered]
    assert not missing, f"GROUPS above lacks {missing}"


def dense(gauge: Gauge) -> Gauge:
    return Gauge(
        gauge.matrix("left"),
        gauge.matrix("right"),
        gauge.left_shift,
        gauge.right_shift,
    )


@pytest.fixture(scope="module")
def head() -> FactorModel:
    draw = np.random.default_rng(0)
    return FactorModel.from_softmax(
        draw.standard_normal((40, K)), embeddings=draw.standard_normal((30, K)) / 8
    )


@pytest.mark.parametrize("group", GROUPS, ids=repr)
def test_a_draw_acts_as_its_matrix_does(group: GaugeGroup, head: FactorModel) -> None:
    gauge = group.sample(rng=1)
    matrix = dense(gauge)
    assert gauge.left.ndim == 1
    assert matrix.left.shape == (K, K)
    assert gauge.condition_number == pytest.approx(matrix.condition_number, rel=1e-12)
    assert gauge.condition_number == pytest.approx(
        np.linalg.cond(matrix.left), rel=1e-11
    )
    assert gauge.linear_kind is matrix.linear_kind
    assert gauge.preserves is matrix.preserves
    assert gauge.is_isometry is matrix.is_isometry
    assert gauge.is_diagonal is matrix.is_diagonal
    assert group.contains(gauge)
    assert group.contains(matrix)
    if gauge.preserves >= head.predicts:
        assert np.abs(gauge.act(head).right - matrix.act(head).right).max() < 1e-12


def test_budgets_are_spent() -> None:
    affine = Affine(K, max_condition=3.0, max_shift=2.0)
    linear = GeneralLinear(K, max_condition=3.0).sample(rng=2)
    assert linear.condition_number == pytest.approx(3, rel=1e-12)
    assert affine.sample(rng=2).condition_number == pytest.approx(3, rel=1e-12)
    shift = affine.shift_of(affine.sample(rng=2))
    assert np.linalg.norm(shift) == pytest.approx(2, rel=1e-12)


@pytest.mark.parametrize("group", GROUPS[:5], ids=repr)
def test_predictions_stay_and_cosines_move(
    group: GaugeGroup, head: FactorModel
) -> None:
    gauge = group.sample(rng=3)
    after = gauge.act(head)
    found = drift(head, after, condition_number=gauge.condition_number)
    assert found.ok
    assert found.max_abs < 1e-9
    moved = movement(head, after, n_neighbours=5)
    if isinstance(group, Orthogonal):
        assert moved.max_abs < 1e-13
    else:
        assert moved.mean_abs > 0.01


def test_a_change_of_both_sides_by_one_matrix_is_noticed(head: FactorModel) -> None:
    gauge = GeneralLinear(K, max_condition=3.0).sample(rng=3)
    assert head.left is not None
    other = head.replace(
        left=gauge.apply(head.left, "left"), right=gauge.apply(head.right, "left")
    )
    assert not drift(head, other, condition_number=3.0).ok


def test_gauges_compose_and_are_undone() -> None:
    shift = Translation(K, max_shift=2.0).sample(rng=0)
    stretch = GeneralLinear(K, max_condition=3.0).sample(rng=0)
    for first, then in ((shift, stretch), (stretch, shift)):
        both, expected = then @ first, dense(then) @ dense(first)
        assert both.basis is stretch.basis or np.array_equal(both.basis, stretch.basis)
        assert np.abs(both.matrix("left") - expected.matrix("left")).max() < 1e-13
        assert np.abs(both.right_shift - expected.right_shift).max() < 1e-13
    undone = stretch.inverse()
    assert undone.condition_number == pytest.approx(3, rel=1e-12)
    product = undone.matrix("left") @ stretch.matrix("left")
    assert np.abs(product - np.eye(K)).max() < 1e-13
    assert (stretch @ undone).condition_number == pytest.approx(1, abs=1e-12)


# --- the three forms of M in two dimensions ----------------------------------------

STRETCH = Gauge([3.0], [1 / 3], basis=[[0.6], [0.8]])
"""M = I + 2 w wᵀ for w = (0.6, 0.8)."""


def test_a_basis_stretches_its_columns_and_leaves_the_rest() -> None:
    expected = [[1.72, 0.96], [0.96, 2.28]]
    np.testing.assert_allclose(STRETCH.matrix("left"), expected, atol=1e-15)
    np.testing.assert_allclose(
        STRETCH.matrix("right"), np.linalg.inv(expected), atol=1e-15
    )
    assert STRETCH.condition_number == pytest.approx(3)
    assert STRETCH.inverse().condition_number == pytest.approx(3)
    # A scale above and a scale below 1: the direction that stays lies between them.
    both = Gauge([2.0, 0.5], [0.5, 2.0], basis=[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert both.condition_number == 4
    assert GeneralLinear(3, max_condition=4.0).contains(both)
    assert Diagonal(3, max_condition=4.0).contains(both)


def test_scales_and_their_diagonal_matrix_are_the_same_gauge() -> None:
    scales = Gauge.diagonal([2.0, -0.5])
    matrix = Gauge(np.diag([2.0, -0.5]), np.diag([0.5, -2.0]))
    rows = np.array([[1.0, 2.0], [3.0, -4.0]])
    for side in ("left", "right"):
        np.testing.assert_array_equal(
            scales.apply(rows, side), matrix.apply(rows, side)
        )
    assert scales.condition_number == matrix.condition_number == 4
    assert Diagonal(2).contains(matrix)


@pytest.mark.parametrize(
    ("left", "basis", "sentence"),
    [
        ([3.0], [[1.0], [1.0]], "orthonormal"),
        ([3.0, 3.0], [[0.6], [0.8]], "as many as the 2 scales"),
        ([3.0, 2.0], np.eye(2), "fewer columns than rows"),
    ],
)
def test_bases_that_are_not_orthonormal_columns_are_refused(
    left: object, basis: object, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Gauge(left, 1 / np.asarray(left), basis=basis)
