"""Canonical forms, ranks, habits and pins where a number is exactly zero or a side lacks a direction."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import normalisation_test
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.canonical.form import canonical_form
from embaudit.canonical.habits import Habit, recognise
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


@pytest.mark.parametrize("size", [1e-12, 0.5, 1 - 1e-12])
def test_a_witness_of_free_lengths_keeps_them_within_its_bounds(size):
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    test = normalisation_test(ea.FactorModel.from_vectors(rows))
    assert (test.rank, test.needed, test.n_rows) == (2, 3, 3)
    moved = rows @ test.witness(size)
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), np.linalg.norm(rows, axis=1), rtol=1e-12)
    cosine = moved[0] @ moved[1] / np.prod(np.linalg.norm(moved[:2], axis=1))
    assert abs(cosine) == pytest.approx(size, rel=1e-3)


@pytest.mark.parametrize("size", [0.0, 1.0, -0.5, 1.5, np.nan])
def test_a_witness_beyond_its_bounds_is_refused(size):
    with pytest.raises(InputError, match="size must be above 0 and below 1"):
        normalisation_test(ea.FactorModel.from_vectors(np.eye(2))).witness(size)


def test_without_a_gauge_or_a_shift_nothing_is_shifted():
    model = ea.FactorModel.from_softmax([[3.0, 4.0]])
    assert EquivalentModel("one", "kind", "one", 1.0, 2.0, None, None).shift_in(model) == 0.0
    still = EquivalentModel("one", "kind", "one", 1.0, 0.0, ea.gauges.Gauge.identity(2), None)
    assert still.shift_in(model.replace(right=[[0.0, 0.0]])) == 0.0
