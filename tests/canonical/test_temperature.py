"""Two towers of unit rows with a temperature: other models with the same probabilities."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import other_temperature, pinned_test
from embaudit.errors import InputError
from embaudit.model import FactorModel

QUICK = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def test_directions_of_items_alone_move_item_cosines_and_no_probability():
    """Users e1 and e2, items e1 and (0.6, 0.8), whose cosine is 0.6; b = 0.36.

    The items become (0.6, 0, 0.8, 0) and (0.36, 0.48, 0, 0.8): their directions of
    their own are at right angles, so that their cosine is 0.36 · 0.6 = 0.216. User-item
    cosines are 0.6 times as large, as is the temperature.
    """
    users, items = np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]])
    other_users = np.eye(2, 4)
    other_items = np.array([[0.6, 0.0, 0.8, 0.0], [0.36, 0.48, 0.0, 0.8]])
    np.testing.assert_allclose(np.linalg.norm(other_items, axis=1), 1)
    np.testing.assert_allclose(other_users @ other_items.T, 0.6 * users @ items.T)
    assert other_items[0] @ other_items[1] == pytest.approx(0.216)
    for temperature in (0.05, 1.0):
        before = users @ items.T / temperature
        after = other_users @ other_items.T / (0.6 * temperature)
        np.testing.assert_allclose(softmax(before), softmax(after), rtol=1e-12)
        np.testing.assert_allclose(softmax(before.T), softmax(after.T), rtol=1e-12)
    answers = {
        str(
            ea.audit(FactorModel(p, q, link="cosine", objective="clip"), **QUICK).answer
        )
        for p, q in ((users, items), (other_users, other_items))
    }
    (answer,) = answers
    assert answer.startswith("AS A CONVENTION")


def test_one_column_that_all_rows_share_moves_levels_and_no_probability():
    """b = 0.36: (0.8 x, 0.6) on both sides has cosines 0.64 c + 0.36 at 0.64 τ."""
    draw = np.random.default_rng(0)
    users, items = (unit(draw.standard_normal((n, 3))) for n in (7, 5))
    shared = [np.hstack([0.8 * x, np.full((len(x), 1), 0.6)]) for x in (users, items)]
    cosines, moved = users @ items.T, shared[0] @ shared[1].T
    np.testing.assert_allclose(moved, 0.64 * cosines + 0.36)
    before, after = softmax(cosines / 0.1), softmax(moved / 0.064)
    np.testing.assert_allclose(before, after, rtol=1e-10)
    order, other_order = (np.argsort(-x, axis=1) for x in (cosines, moved))
    np.testing.assert_array_equal(order, other_order)


def test_the_other_model_has_unit_rows_and_the_same_predictions():
    draw = np.random.default_rng(0)
    towers = FactorModel(
        draw.standard_normal((40, 4)), draw.standard_normal((30, 4)), link="cosine"
    )
    twin = other_temperature(towers, share=0.25)
    assert twin.temperature == 0.25
    for side in ("left", "right"):
        rows = twin.model.factors(side)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
        before, after = unit(towers.factors(side)), rows
        pairs = np.triu_indices(len(rows), 1)
        change = np.abs(after @ after.T - before @ before.T)[pairs]
        # Every pair is drawn here, some of them more than once.
        assert twin.moved[side].max_abs == pytest.approx(change.max())
        assert twin.moved[side].mean_abs == pytest.approx(change.mean(), rel=0.05)
    np.testing.assert_allclose(twin.model.scores(), 0.25 * towers.scores(), atol=1e-14)
    alone = other_temperature(towers.replace(left=None), share=0.25)
    assert alone.temperature == 0.5
    assert set(alone.moved) == {"right"}


def test_a_row_of_zeros_stays_one():
    towers = FactorModel(np.eye(2), [[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], link="cosine")
    assert not other_temperature(towers).model.right[1].any()


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (FactorModel(np.eye(2), np.eye(2)), {}, "the link must be cosine"),
        (FactorModel(np.eye(2), np.eye(2), link="cosine"), {"share": 1.0}, "between 0 and 1"),
    ],
)  # fmt: skip
def test_what_has_no_other_temperature_is_refused(model, options, sentence):
    with pytest.raises(InputError, match=sentence):
        other_temperature(model, **options)


def test_a_softmax_with_a_fixed_temperature_hides_a_number_if_items_lie_on_a_circle():
    """Items (0.8 cos t, 0.8 sin t, 0.6) become (0.6 cos t, 0.6 sin t, 0.8).

    A user (x, y, z) becomes (4/3 x, 4/3 y, z'), so that the first two columns make the
    same part of each score, and the third one adds 0.8 z' − 0.6 z to all scores of the
    user. Its length is 1 for z'² = 1 − 16/9 (x² + y²), here with x² + y² < 9/16.
    """
    angles = np.arange(9.0)
    round_, ones = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.ones((9, 1))
    items = np.hstack([0.8 * round_, 0.6 * ones])
    other_items = np.hstack([0.6 * round_, 0.8 * ones])
    flat = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20, 2))
    up = np.sqrt(1 - np.square(flat).sum(axis=1, keepdims=True))
    other_up = np.sqrt(1 - 16 / 9 * np.square(flat).sum(axis=1, keepdims=True))
    users = np.hstack([flat, up])
    other_users = np.hstack([4 / 3 * flat, other_up])
    np.testing.assert_allclose(np.linalg.norm(other_users, axis=1), 1)
    before, after = softmax(users @ items.T), softmax(other_users @ other_items.T)
    np.testing.assert_allclose(before, after, rtol=1e-12)
    assert np.abs(other_items @ other_items.T - items @ items.T).max() > 0.3
    towers = FactorModel(users, items, link="cosine")
    statuses = {
        word: pinned_test(towers.replace(objective=word)).status
        for word in ("cosine", "fixed-temperature")
    }
    assert statuses == {"cosine": "pinned", "fixed-temperature": "undecided"}


def test_a_fixed_temperature_pins_what_either_side_spans():
    """20 rows in 3 dimensions span all 6 forms, and all 9 forms with a linear part."""
    draw = np.random.default_rng(0)
    many, few = draw.standard_normal((20, 3)), draw.standard_normal((4, 3))
    towers = FactorModel(many, few, link="cosine", objective="fixed-temperature")
    assert pinned_test(towers).status == "pinned"
    assert pinned_test(towers.replace(left=few, right=many)).status == "pinned"
    # Three items lie on a plane, whatever they are.
    assert pinned_test(towers.replace(right=few[:3])).status == "undecided"
