"""Canonical forms, ranks, habits and pins where a number is exactly zero or a side lacks a direction."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical.form import EXPONENTS, canonical_form, prediction_map
from embaudit.canonical.habits import Habit, recognise
from embaudit.canonical.identified import prediction_view
from embaudit.canonical.reduction import reduced
from embaudit.errors import InputError

DRAW = np.random.default_rng(1)


def test_a_centre_seen_by_one_side_only_becomes_a_bias():
    left = np.column_stack([DRAW.normal(size=(9, 2)), np.full(9, 2.0)])
    right = np.column_stack([DRAW.normal(size=(7, 2)), DRAW.normal(size=7)])
    right[:, 0] -= right[:, 0].mean()
    model = ea.FactorModel(left, right, link="softmax")
    small = reduced(model)
    np.testing.assert_allclose(small.model.predictions(), model.predictions(), atol=1e-12)


@pytest.mark.parametrize(
    ("values", "rank"),
    [((1.0,), 1), ((1.0, 1.0), 2), ((10.0, 1.0), 1), ((9.0, 1.0), 2), ((3.0, 2.0, 1e-9), 2), ((1e90, 1e89, 1e70), 1)],
)
def test_energy_rank_counts_the_fewest_directions(values, rank):
    """100 of 101 is above 99 %, 81 of 82 is below."""
    k = len(values)
    left = np.linalg.qr(DRAW.normal(size=(12, k)))[0] * np.array(values)
    right = np.linalg.qr(DRAW.normal(size=(10, k)))[0]
    assert ea.position(ea.FactorModel(left, right)).energy_rank == rank


@pytest.mark.parametrize(
    ("left", "right", "habit"),
    [
        ((3.0, 2.0, 1.0), (1.0, 1.0, 0.0), Habit.TRUNCATED_SVD),
        ((1.0, 1.0, 0.0), (3.0, 2.0, 1.0), Habit.PURE_SVD),
        ((3.0, 2.0, 0.0), (3.0, 2.0, 0.0), Habit.BALANCED),
        ((3.0, 2.0, 0.0), (1.0, 2.0, 5.0), Habit.ALIGNED),
        ((3.0, 0.0, 0.0), (1.0, 2.0, 5.0), Habit.UNKNOWN),
    ],
)
def test_habits_are_told_by_the_directions_that_both_sides_have(left, right, habit):
    p = np.linalg.qr(DRAW.normal(size=(12, 3)))[0] * np.array(left)
    q = np.linalg.qr(DRAW.normal(size=(10, 3)))[0] * np.array(right)
    assert recognise(canonical_form(ea.FactorModel(p, q))) is habit


def test_prediction_vectors_are_those_of_the_map_of_their_side():
    left, right = np.random.default_rng(2).standard_normal((2, 9, 3))
    model = ea.FactorModel(left, right)
    form = canonical_form(model)
    for role, rows, other in (("right", right, left), ("left", left, right)):
        found = prediction_view(model, form, role)
        whole = rows @ prediction_map(form, role)
        np.testing.assert_allclose(np.vstack([found[:4], found[4:]]), whole, rtol=1e-9)
        scores = other @ rows.T
        np.testing.assert_allclose(whole @ whole.T, scores.T @ scores, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError) as refused:
        prediction_map(form, "cross")
    assert str(refused.value) == """role must be one of "left", "right"; got 'cross'."""


def test_a_position_is_a_table_of_all_gauges():
    model = ea.FactorModel(*np.random.default_rng(3).standard_normal((2, 9, 3)))
    found = ea.position(model)
    frame = found.to_frame()
    assert frame.index.name == "gauge"
    assert frame.index.tolist() == [*found.distances, "nearest"]
    assert frame["exponent"].tolist() == [*(EXPONENTS[name] for name in found.distances), found.exponent]
    wanted = np.exp([*found.distances.values(), found.distance])
    np.testing.assert_allclose(frame["condition"], wanted, rtol=1e-15)
