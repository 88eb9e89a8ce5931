"""A model has the fields it was made of, and each of them can be replaced."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import LINKS

FIELDS = {
    "left": np.eye(3, 2), "right": np.ones((4, 2)), "link": "softmax", "left_bias": np.arange(3.0),
    "right_bias": np.arange(4.0), "offset": 0.5, "roles": ("word", "label"), "left_ids": np.arange(3),
    "right_ids": np.arange(4), "left_names": np.array(["a", "b", "c"]), "right_names": np.array(["p", "q", "r", "s"]),
    "objective": "softmax-decay",
}  # fmt: skip


@pytest.mark.parametrize("name", ["softmax", "identity", "cosine", "ranking"])
def test_a_model_takes_a_link_or_its_name(name):
    link = LINKS[name]
    assert link.name == name
    for given in (link, name):
        assert ea.FactorModel(np.eye(2), np.eye(2), link=given).link == link


def test_a_model_is_made_of_its_flat_fields_and_has_them():
    model = ea.FactorModel(**FIELDS)
    for name, given in FIELDS.items():
        if name == "link":
            continue
        np.testing.assert_array_equal(getattr(model, name), given)
    assert model.link.name == "softmax"


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_can_be_replaced(name):
    changed = {
        "left": 2 * FIELDS["left"],
        "right": 2 * FIELDS["right"],
        "link": "ranking",
        "objective": "softmax",
    }
    changed |= {
        "offset": 2.0,
        "roles": ("input", "word"),
        "left_ids": np.arange(5, 8),
        "right_ids": np.arange(5, 9),
    }
    changed |= {
        f"{side}_bias": 1 + FIELDS[f"{side}_bias"] for side in ("left", "right")
    }
    changed |= {
        f"{side}_names": np.array(list("wxyz"))[: len(FIELDS[side])]
        for side in ("left", "right")
    }
    model = ea.FactorModel(**FIELDS | {"objective": None})
    value = getattr(model.replace(**{name: changed[name]}), name)
    if name == "link":
        assert value.name == "ranking"
    else:
        np.testing.assert_array_equal(value, changed[name])
