"""A model returns the arrays and sides that it was created from, and each can be
replaced.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.model import LINKS, Side

FIELDS = {
    "left": np.eye(3, 2),
    "right": np.ones((4, 2)),
    "link": "softmax",
    "left_bias": np.arange(3.0),
    "right_bias": np.arange(4.0),
    "offset": 0.5,
    "roles": ("word", "label"),
    "left_ids": np.arange(3),
    "right_ids": np.arange(4),
    "left_names": np.array(["a", "b", "c"]),
    "right_names": np.array(["p", "q", "r", "s"]),
    "objective": "softmax-decay",
}
OTHER_FIELDS = {
    "left": np.full((3, 2), 2.0),
    "right": np.full((4, 2), 3.0),
    "link": "ranking",
    "left_bias": np.arange(1.0, 4.0),
    "right_bias": np.arange(1.0, 5.0),
    "offset": 2.0,
    "roles": ("input", "word"),
    "left_ids": np.arange(5, 8),
    "right_ids": np.arange(5, 9),
    "left_names": np.array(["w", "x", "y"]),
    "right_names": np.array(["w", "x", "y", "z"]),
    "objective": "softmax",
}


@pytest.mark.parametrize("name", ["softmax", "identity", "cosine", "ranking"])
def test_a_model_takes_a_link_or_its_name(name):
    link = LINKS[name]
    assert link.name == name
    for given in (link, name):
        assert ea.FactorModel.from_arrays(np.eye(2), np.eye(2), link=given).link == link


def test_a_model_is_made_of_its_flat_fields_and_has_them():
    model = ea.FactorModel.from_arrays(**FIELDS)
    for name, given in FIELDS.items():
        if name == "link":
            continue
        np.testing.assert_array_equal(getattr(model, name), given)
    assert model.link.name == "softmax"


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_can_be_replaced(name):
    model = ea.FactorModel.from_arrays(**FIELDS | {"objective": None})
    value = getattr(model.replace(**{name: OTHER_FIELDS[name]}), name)
    if name == "link":
        assert value.name == "ranking"
    else:
        np.testing.assert_array_equal(value, OTHER_FIELDS[name])


USERS = np.eye(3, 2)
ITEMS = np.ones((4, 2))


@pytest.mark.parametrize(
    ("left", "right"),
    [(USERS, ITEMS), (Side(USERS, "user"), Side(ITEMS, "item"))],
    ids=["arrays", "sides"],
)
def test_two_arrays_or_two_sides_make_a_model(left, right):
    model = ea.FactorModel(left, right, "ranking", objective="bpr")
    assert model.left_side.title == "user"
    assert model.right_side.title == "item"
    assert model.link.name == "ranking"
    assert model.objective == "bpr"
    np.testing.assert_array_equal(model.scores(), USERS @ ITEMS.T)


def test_sides_keep_their_arrays_and_take_the_titles_of_the_model():
    items = Side(np.ones((2, 2)), "thing", bias=[0.5, 0.0], ids=["a", "b"])
    head = ea.FactorModel(None, items, "softmax", roles=("input", "label"))
    assert head.right_side.title == "label"
    assert head.right_bias.tolist() == [0.5, 0.0]
    assert head.right_ids.tolist() == ["a", "b"]


def test_the_index_of_a_frame_is_taken_for_ids():
    frame = pd.DataFrame(np.eye(2), index=["a", "b"])
    assert ea.FactorModel(None, frame).right_ids.tolist() == ["a", "b"]


def test_fields_of_a_model_and_of_a_side_cannot_be_set():
    model = ea.FactorModel(np.eye(2), np.eye(2))
    for frozen, field in ((model, "link"), (model, "left"), (model.right_side, "rows")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(frozen, field, None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((None, None), "item factors must be"),
        ((np.eye(2), np.eye(3)), "user and item factors must be of the same number"),
        (
            (np.eye(2), np.eye(2), "compared-dot"),
            "a model compared by dot product must",
        ),
        ((np.eye(2), np.eye(2), "identity", "1"), "offset must be a finite number"),
        ((np.eye(2), np.eye(2), "identity", 0.0, "item"), "roles must be two texts"),
    ],
)
def test_the_constructor_refuses_sides_that_make_no_model(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        ea.FactorModel(*arguments)
