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


@pytest.fixture(scope="module")
def skewed():
    """A model whose users weigh its directions unequally, and of whose items one lies
    where no user looks.
    """
    model = random_model(3, n=30, p=12, k=4, scales=([4, 2, 1, 0], 1))
    rows = model.right.copy()
    rows[5] = [0, 0, 0, 1]
    return model.replace(right=rows)


def cosines(x):
    return x @ x.T / np.outer(*2 * [np.linalg.norm(x, axis=1)])


def test_what_no_prediction_sees_is_removed_from_the_sides_that_hold_it(skewed):
    probe = MovementProbe(skewed, ["right", "left"])
    (found,) = without_unseen(probe, ["right"])
    seen = np.delete(np.arange(12), 5)
    change = cosines(skewed.right[seen, :3]) - cosines(skewed.right[seen])
    assert found.mean_abs == pytest.approx(
        np.abs(change)[np.triu_indices(11, 1)].mean()
    )
    assert without_unseen(probe, []) == ()


def test_a_penalty_chooses_the_model_balanced_with_the_counts_that_weigh_it():
    model = random_model(
        0, n=25, p=20, k=3, scales=([3, 1, 0.5], 1), objective="factors"
    )
    found = penalty_form(MovementProbe(model, ["right", "left"]))
    balanced = ea.at_exponent(model, 0.5)
    for record in found.movement:
        change = cosines(balanced.factors(record.role)) - cosines(
            model.factors(record.role)
        )
        assert record.mean_abs == pytest.approx(
            np.abs(change)[np.triu_indices(len(change), 1)].mean()
        )
    assert plain(found)["stretch"] == found.stretch > 1.5
    assert penalty_form(
        MovementProbe(balanced.replace(objective="factors"), ["right"])
    ).stretch == pytest.approx(1)
    counted = model.replace(objective="factors-counted")
    assert penalty_form(MovementProbe(counted, ["right"])) is None, (
        "without counts nobody can judge"
    )
    alike = counted.replace(left_counts=np.full(25, 4.0), right_counts=np.full(20, 4.0))
    assert penalty_form(MovementProbe(alike, ["right"])).stretch == pytest.approx(
        found.stretch
    )
    others = (
        model.replace(objective="product"),
        model.replace(left_bias=np.zeros(25)),
        model.replace(left=None),
    )
    assert all(
        penalty_form(MovementProbe(other, ["right"])) is None for other in others
    )
