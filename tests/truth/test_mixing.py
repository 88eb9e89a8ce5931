"""Whether old and new vectors can be mixed, on models with known answers."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.gauges import GeneralLinear

DRAW = np.random.default_rng(0)
SPREAD = np.geomspace(1, 0.3, 8)
USERS = DRAW.standard_normal((600, 8)) * SPREAD
ITEMS = DRAW.standard_normal((400, 8)) * SPREAD
NOISE = DRAW.standard_normal((600, 8)) * SPREAD, DRAW.standard_normal((400, 8)) * SPREAD
OLD = ea.FactorModel.from_user_item(
    USERS, ITEMS, user_ids=np.arange(600) + 1, item_ids=np.arange(400) + 1
)


def in_other_axes(users, items):
    gauge = GeneralLinear(8, max_condition=20.0).sample(rng=1)
    return gauge.act(OLD.replace(left=users, right=items))


ALL = {"user → user", "item → item", "user → item"}
BIAS = 20 * np.random.default_rng(1).standard_normal(400)
"""A bias that decides most of each list of items for users."""


def with_bias(model):
    return model.replace(right_bias=BIAS)


NEW_MODELS = {
    "the old model in other axes": (in_other_axes(USERS, ITEMS), ALL, set()),
    "a little noise": (
        in_other_axes(USERS + 0.05 * NOISE[0], ITEMS + 0.05 * NOISE[1]),
        ALL,
        set(),
    ),
    "rows that have nothing to do with the old ones": (
        in_other_axes(*NOISE),
        set(),
        ALL,
    ),
    "rows under the ids of other rows": (
        in_other_axes(USERS[::-1], ITEMS[::-1]),
        set(),
        ALL,
    ),
    "items learned anew, and users as before": (
        in_other_axes(USERS, NOISE[1]),
        set(),
        {"item → item", "user → item"},
    ),
}


def user_item_answer(new):
    old = with_bias(OLD)
    lists = ea.fix(with_bias(new), align_to=old).alignment.lists_frame()
    return lists.set_index("direction").loc["user → item"]


def test_a_bias_that_decides_the_lists_does_not_make_unrelated_vectors_mix():
    answer = user_item_answer(in_other_axes(*NOISE))
    assert min(answer["old_among_new"], answer["new_among_old"]) > 0.6
    assert answer["may_be_mixed"] == "no"


def test_vectors_may_be_mixed_under_a_bias_if_they_are_nearly_the_old_ones():
    new = in_other_axes(USERS + 0.05 * NOISE[0], ITEMS + 0.05 * NOISE[1])
    assert user_item_answer(new)["may_be_mixed"] == "yes"


@pytest.mark.parametrize("name", NEW_MODELS)
def test_the_directions_that_may_be_mixed_are_those_that_were_made_so(name):
    new, mixed, apart = NEW_MODELS[name]
    frame = ea.fix(new, align_to=OLD).alignment.lists_frame()
    answers = frame.groupby("may_be_mixed")["direction"].agg(set).to_dict()
    assert answers.get("yes", set()) >= mixed
    assert answers.get("no", set()) >= apart
    if mixed == ALL or apart == ALL:
        assert len(answers) == 1
