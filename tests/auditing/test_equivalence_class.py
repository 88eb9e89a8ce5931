"""The description of the set of equivalent models, for every link and pattern of
biases.
"""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.auditing.equivalence_class import Freedom, equivalence_class_of
from embaudit.auditing.finding import Kind
from embaudit.gauges import Gauge
from embaudit.model import FactorModel, softmax_link

BOTH = ("right", "left")
PLANE = random_model(n=7, p=6, k=2)
LINE = random_model(n=7, p=6, k=1)
CAPPED, UNIT = softmax_link(soft_cap=3.0), softmax_link(unit_rows=True)
SHIFTED = (
    "One vector added to every {0} row changes no {1}, and can make two {0}s opposite."
)
LINEAR = (
    "A linear change of the axes changes no {} and, if large enough, can give two "
    "rows that are not parallel any cosine "
    "between -1 and 1."
)
SIGNS = (
    "In one dimension {} cosines are signs, "
    "and no model of one dimension with the same predictions turns one."
)
PROVEN, UNDECIDED = Kind.PROVEN, Kind.UNDECIDED


def biased(model, *sides):
    return model.replace(
        **{f"{side}_bias": np.zeros(len(model.factors(side))) for side in sides}
    )


SHIFTED_ITEMS = Freedom(True, PROVEN, SHIFTED.format("item", "score"))
SHIFTED_USERS = Freedom(True, PROVEN, SHIFTED.format("user", "score"))
LINEAR_ROWS = Freedom(True, PROVEN, LINEAR.format("score"))
ITEM_SIGNS = Freedom(False, PROVEN, SIGNS.format("item-item"))
USER_SIGNS = Freedom(False, PROVEN, SIGNS.format("user-user"))


@pytest.mark.parametrize(
    ("model", "biases", "items", "users"),
    [
        (PLANE, ["left"], SHIFTED_ITEMS, LINEAR_ROWS),
        (PLANE, ["right"], LINEAR_ROWS, SHIFTED_USERS),
        (PLANE, ["left", "right"], SHIFTED_ITEMS, SHIFTED_USERS),
        (LINE, ["left"], SHIFTED_ITEMS, USER_SIGNS),
        (LINE, ["right"], ITEM_SIGNS, SHIFTED_USERS),
        (LINE, ["left", "right"], SHIFTED_ITEMS, SHIFTED_USERS),
    ],
)
def test_a_free_bias_of_one_side_lets_the_rows_of_the_other_move(
    model, biases, items, users
):
    freedom = equivalence_class_of(biased(model, *biases), BOTH).freedom
    assert freedom["right"] == items
    assert freedom["left"] == users


def test_the_bias_of_unit_labels_lets_the_inputs_move():
    model = biased(PLANE, "right").replace(link=UNIT)
    freedom = equivalence_class_of(model, ["left"]).freedom
    assert freedom["left"] == Freedom(
        True, PROVEN, SHIFTED.format("user", "probability")
    )


@pytest.mark.parametrize(
    ("biases", "reason"),
    [(["left", "right"], SHIFTED_ITEMS), (["right"], SHIFTED_USERS)],
)
def test_a_free_bias_lets_the_cosines_of_users_with_items_move(biases, reason):
    freedom = equivalence_class_of(biased(LINE, *biases), ["cross"]).freedom
    assert freedom["cross"].because == reason.because


def largest_share_outside(rows, others):
    """Return the largest squared share of a row outside the span of other rows."""
    residuals = np.linalg.lstsq(others.T, rows.T)[1]
    return (residuals / (rows**2).sum(axis=1)).max()


@pytest.mark.parametrize("is_swapped", [False, True])
def test_what_no_prediction_sees_of_a_side_lies_outside_the_rows_of_the_other(
    is_swapped,
):
    drawn = random_model(n=5, p=7, k=32)
    left, right = drawn.left, drawn.right * np.geomspace(1, 1e-5, 32)
    if is_swapped:
        left, right = right, left
    model = FactorModel.from_arrays(left, right)
    outside = equivalence_class_of(model, BOTH).outside
    assert outside["left"] == pytest.approx(largest_share_outside(left, right))
    assert outside["right"] == pytest.approx(largest_share_outside(right, left))


def test_predictions_see_all_of_both_sides_of_a_model_that_was_stretched():
    stretch = Gauge.diagonal(np.geomspace(1, 1e9, 5))
    model = stretch.act(random_model(n=9, p=8, k=5))
    assert equivalence_class_of(model, BOTH).outside == {}


@pytest.mark.parametrize(
    ("link", "sides", "scope", "is_whole"),
    [
        ("softmax", (), "every model of rank 2 with the same predictions", True),
        ("ranking", (), "linear maps and shifts of all items, among others", False),
        (
            "ranking",
            BOTH,
            "linear maps and shifts of all items and shifts of all users, among others",
            False,
        ),
        (CAPPED, (), "linear maps, among others", False),
        (
            CAPPED,
            ("right",),
            "linear maps and shifts of all users, among others",
            False,
        ),
    ],
)
def test_the_set_is_called_whole_only_where_it_is(link, sides, scope, is_whole):
    model = biased(PLANE, *sides).replace(link=link)
    found = equivalence_class_of(model, BOTH)
    assert str(found.scope) == scope
    assert found.scope.whole == is_whole


@pytest.mark.parametrize(
    ("n_items", "sample"),
    [
        # 200 · 199 / 2 = 19,900 pairs are fewer than 20,000; of 201 items there are
        # 20,100.
        (200, "all 19,900 item-item pairs"),
        (201, "20,000 of 20,100 item-item pairs"),
        # 2,000 · 1,999 / 2 pairs. With one item more, pairs are drawn among 2,000
        # items.
        (2_000, "20,000 of 2 million item-item pairs"),
        (2_001, "20,000 of 2 million item-item pairs among 2,000 drawn rows"),
    ],
)
def test_the_movement_under_another_temperature_names_its_sample(n_items, sample):
    draw = np.random.default_rng(0)
    items, users = draw.standard_normal((n_items, 4)), draw.standard_normal((30, 4))
    towers = FactorModel.from_arrays(users, items, link="cosine", objective="clip")
    freedom = equivalence_class_of(towers, BOTH).freedom
    assert freedom["right"].because.endswith(f" on average, over {sample}.")
    assert freedom["left"].because.endswith("over all 435 user-user pairs.")


def test_a_row_of_zeros_is_not_counted_in_the_sample():
    items = np.vstack([np.eye(4), np.zeros(4)])
    towers = FactorModel.from_arrays(np.eye(4), items, link="cosine", objective="clip")
    because = equivalence_class_of(towers, ["right"]).freedom["right"].because
    assert because.endswith("over all 6 item-item pairs.")


def test_the_sample_is_one_of_all_rows_where_a_model_is_some_of_them():
    """20 of 40 items have 190 of 780 pairs."""
    rows = np.random.default_rng(0).standard_normal((40, 4))
    towers = FactorModel.from_arrays(rows, rows, link="cosine", objective="clip")
    some = towers.take(right=np.arange(20))
    found = equivalence_class_of(some, ["right"], uncut=towers)
    sample = "over 190 of 780 item-item pairs among 20 drawn rows."
    assert found.freedom["right"].because.endswith(sample)


@pytest.mark.parametrize("compared", ["cosine", "dot"])
def test_rows_compared_with_each_other_are_proven_to_keep_their_cosines(compared):
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((40, 4)) * [4.0, 2.0, 1.0, 0.5] + 0.3
    table = FactorModel.from_vectors(rows, compared=compared)
    found = equivalence_class_of(table, ["right"])
    freedom = found.freedom["right"]
    assert (freedom.moves, str(freedom.kind)) == (False, "proven")
    models = "models that compare these rows with each other in the same way"
    assert found.scope.models == models
    assert models in freedom.because
    assert found.scope.whole
