"""Gauges of very many dimensions: drawn without a square matrix, with the properties of those that have one."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import (
    Affine,
    Diagonal,
    Gauge,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.linalg.structured import WIDE, StructuredLinearMap
from embaudit.model import FactorModel
from embaudit.model.drift import drift
from embaudit.movements.movement import movement

K = WIDE + 1
GROUPS: list[GaugeGroup] = [
    Orthogonal(K),
    Diagonal(K, max_condition=3.0),
    GeneralLinear(K, max_condition=3.0),
    Translation(K, max_shift=2.0),
    Affine(K, max_condition=3.0, max_shift=2.0),
    Affine(K, side="left", max_condition=3.0),
    Diagonal(K),
]


def dense(gauge: Gauge) -> Gauge:
    return Gauge(
        np.asarray(gauge.left),
        np.asarray(gauge.right),
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
def test_a_draw_is_what_its_matrix_is(group: GaugeGroup, head: FactorModel) -> None:
    gauge = group.sample(rng=1)
    matrix = dense(gauge)
    assert isinstance(gauge.left, StructuredLinearMap)
    assert isinstance(matrix.left, np.ndarray)
    assert gauge.condition_number == pytest.approx(matrix.condition_number, rel=1e-12)
    assert gauge.condition_number == pytest.approx(
        np.linalg.cond(matrix.left), rel=1e-11
    )
    assert gauge.linear_kind is matrix.linear_kind
    assert gauge.preserves is matrix.preserves
    assert gauge.is_isometry is matrix.is_isometry
    assert group.contains(gauge)
    assert group.contains(matrix)
    if gauge.preserves >= head.predicts:
        assert np.abs(gauge.act(head).right - matrix.act(head).right).max() < 1e-12


def test_budgets_are_spent() -> None:
    affine = Affine(K, max_condition=3.0, max_shift=2.0)
    assert GeneralLinear(K, max_condition=3.0).sample(
        rng=2
    ).condition_number == pytest.approx(3, rel=1e-12)
    assert affine.sample(rng=2).condition_number == pytest.approx(3, rel=1e-12)
    assert np.linalg.norm(affine.shift_of(affine.sample(rng=2))) == pytest.approx(
        2, rel=1e-12
    )


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
    assert (
        (moved.max_abs < 1e-13)
        if isinstance(group, Orthogonal)
        else (moved.mean_abs > 0.01)
    )


def test_a_change_that_is_none_of_the_same_is_noticed(head: FactorModel) -> None:
    gauge = GeneralLinear(K, max_condition=3.0).sample(rng=3)
    assert head.left is not None
    other = head.replace(
        left=head.left @ np.asarray(gauge.left),
        right=head.right @ np.asarray(gauge.left),
    )
    assert not drift(head, other, condition_number=3.0).ok


def test_gauges_compose_and_are_undone() -> None:
    shift, stretch = (
        Translation(K, max_shift=2.0).sample(rng=0),
        GeneralLinear(K, max_condition=3.0).sample(rng=0),
    )
    both, expected = shift @ stretch, dense(shift) @ dense(stretch)
    assert isinstance(both.left, StructuredLinearMap)
    assert np.abs(np.asarray(both.left) - expected.left).max() < 1e-13
    assert np.abs(both.right_shift - expected.right_shift).max() < 1e-13
    other = stretch @ shift
    assert (
        isinstance(other.left, StructuredLinearMap)
        or np.abs(other.left - np.asarray(stretch.left)).max() < 1e-13
    )
    undone = stretch.inverse()
    assert undone.condition_number == pytest.approx(3, rel=1e-12)
    assert (
        np.abs(np.asarray(undone.left) @ np.asarray(stretch.left) - np.eye(K)).max()
        < 1e-13
    )
    assert (stretch @ undone).condition_number == pytest.approx(1, abs=1e-12)
