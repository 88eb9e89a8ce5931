"""Canonical forms, ranks, habits and pins where a number is exactly zero or a side lacks a direction."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import normalisation_test
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.canonical.form import _is_ordinary, _scale, canonical_form
from embaudit.canonical.habits import Habit, recognise
from embaudit.canonical.reduction import outside_shares, reduced, seen_directions
from embaudit.canonical.words import AT, _next
from embaudit.errors import InputError

DRAW = np.random.default_rng(1)


@pytest.mark.parametrize("link", ["identity", "softmax"])
def test_a_centre_with_one_zero_coordinate_keeps_its_bias(link):
    """Users miss the last direction; the centre of the labels is zero in the first and counts in the others."""
    left = np.column_stack([DRAW.normal(size=(9, 2)), np.zeros(9)])
    right = DRAW.normal(size=(7, 3))
    right += np.array([0.0, 2.0, 3.0]) - right.mean(axis=0)
    assert abs(right.mean(axis=0)[0]) < 1e-15
    model = ea.FactorModel(left, right, link=link, right_bias=DRAW.normal(size=7))
    smaller = reduced(model).model
    assert smaller.rank == 2
    np.testing.assert_allclose(smaller.predictions(), model.predictions(), atol=1e-12)


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


def test_shares_where_some_rows_are_zero():
    basis = np.array([[1.0], [0.0]])
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 2.0], [5.0, 0.0], [3e-200, 4e-200], [3e150, 4e150]])
    np.testing.assert_allclose(outside_shares(rows, basis), [0, 0.64, 1, 0, 0.64, 0.64], rtol=1e-14)
    # A zero beside a number whose square no float64 holds.
    np.testing.assert_array_equal(outside_shares(np.array([[0.0, 2e-200], [0.0, 3e200]]), basis), [1, 1])


def test_columns_that_one_side_alone_uses_have_no_size_in_scores():
    assert _scale(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])) == 0.0
    assert _scale(np.array([[3.0, 0.0]]), np.array([[4.0, 1.0]])) == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("size", "ordinary"), [(1e-90, False), (1.01e-90, True), (1.0, True), (0.99e90, True), (1e90, False)]
)
def test_sizes_whose_products_surely_fit(size, ordinary):
    assert _is_ordinary(SimpleNamespace(root=np.array([[-size, size / 2]]))) is ordinary


@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_a_rescaling_of_columns_loses_no_direction(scale):
    model = ea.FactorModel(np.diag([scale, 1.0]), np.diag([1 / scale, 1.0]))
    np.testing.assert_array_equal(seen_directions(model, ()), np.eye(2))


@pytest.mark.parametrize(("distance", "kept"), [(AT * 0.999, True), (AT, False)])
def test_item_vectors_are_kept_where_they_are_whitened_already(distance, kept):
    given = SimpleNamespace(
        roles=("user", "item"),
        link=SimpleNamespace(predicts=None),
        effective_rank=2,
        distances={"left-whitened": distance, "right-whitened": 0.0},
    )
    assert _next(given).startswith("Keep the item vectors; for users use ") == kept


def test_without_a_gauge_or_a_shift_nothing_is_shifted():
    model = ea.FactorModel.from_softmax([[3.0, 4.0]])
    assert EquivalentModel("one", "kind", "one", 1.0, 2.0, None, None).shift_in(model) == 0.0
    still = EquivalentModel("one", "kind", "one", 1.0, 0.0, ea.gauges.Gauge.identity(2), None)
    assert still.shift_in(model.replace(right=[[0.0, 0.0]])) == 0.0
