"""Prediction cosines and balanced cosines, listed next to the cosines of the stored
rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.predicted import penalty_form, without_unseen
from embaudit.core.plain import plain
from embaudit.movements.movement import MovementProbe


def cosines_of_all_pairs(rows):
    """Compute the cosines of all pairs of different rows, by brute force."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(rows), 1)]


def mean_change_of_cosines(before, after):
    """Return the mean absolute change of the cosines of all pairs of rows."""
    change = cosines_of_all_pairs(after) - cosines_of_all_pairs(before)
    return np.abs(change).mean()


@pytest.fixture(scope="module")
def model_with_unseen_column():
    """Return a model whose users are all zero in the last column.

    No prediction depends on the last column of an item, and item 5 has no other.
    """
    model = random_model(3, n=30, p=12, k=4, scales=([4, 2, 1, 0], 1))
    items = model.right.copy()
    items[5] = [0, 0, 0, 1]
    return model.replace(right=items)


def test_components_that_no_prediction_sees_are_removed_from_the_given_sides(
    model_with_unseen_column,
):
    """Item 5 has no seen component, hence no cosine, and is not counted."""
    probe = MovementProbe(model_with_unseen_column, ["right", "left"])
    (record,) = without_unseen(probe, ["right"])
    items = np.delete(model_with_unseen_column.right, 5, axis=0)
    expected = mean_change_of_cosines(items, items[:, :3])
    assert record.mean_abs == pytest.approx(expected)


def test_no_side_with_unseen_components_gives_no_record(model_with_unseen_column):
    probe = MovementProbe(model_with_unseen_column, ["right", "left"])
    assert without_unseen(probe, []) == ()


@pytest.fixture(scope="module")
def unbalanced_model():
    """Return a model with declared weight decay, which would balance its columns."""
    return random_model(
        0, n=25, p=20, k=3, scales=([3, 1, 0.5], 1), objective="factors"
    )


def penalty_form_of_items(model):
    """Compare the items with the form that the penalty would have chosen."""
    return penalty_form(MovementProbe(model, ["right"]))


def test_weight_decay_chooses_the_balanced_model(unbalanced_model):
    form = penalty_form(MovementProbe(unbalanced_model, ["right", "left"]))
    balanced = ea.at_exponent(unbalanced_model, 0.5)
    assert {record.role for record in form.movement} == {"right", "left"}
    for record in form.movement:
        expected = mean_change_of_cosines(
            unbalanced_model.factors(record.role), balanced.factors(record.role)
        )
        assert record.mean_abs == pytest.approx(expected)


def test_the_stretch_to_the_chosen_form_is_recorded(unbalanced_model):
    form = penalty_form_of_items(unbalanced_model)
    assert form.stretch > 1.5
    assert plain(form)["stretch"] == form.stretch


def test_a_balanced_model_has_the_form_that_weight_decay_chooses(unbalanced_model):
    balanced = ea.at_exponent(unbalanced_model, 0.5).replace(objective="factors")
    assert penalty_form_of_items(balanced).stretch == pytest.approx(1)


def test_a_penalty_by_counts_has_no_form_without_counts(unbalanced_model):
    counted = unbalanced_model.replace(objective="factors-counted")
    assert penalty_form_of_items(counted) is None


def test_a_penalty_by_equal_counts_chooses_the_same_form_as_without_counts(
    unbalanced_model,
):
    counted = unbalanced_model.replace(
        objective="factors-counted",
        left_counts=np.full(25, 4.0),
        right_counts=np.full(20, 4.0),
    )
    expected = penalty_form_of_items(unbalanced_model).stretch
    assert penalty_form_of_items(counted).stretch == pytest.approx(expected)


@pytest.mark.parametrize(
    "fields",
    [{"objective": "product"}, {"left_bias": np.zeros(25)}, {"left": None}],
    ids=["another penalty", "a bias", "one side"],
)
def test_models_without_the_law_of_weight_decay_have_no_form(unbalanced_model, fields):
    assert penalty_form_of_items(unbalanced_model.replace(**fields)) is None
