"""An undeclared link is a dot product, or unknown if all rows have length 1."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import EquivalenceError
from embaudit.gauges import Gauge, Orthogonal
from embaudit.model import Equivalence, FactorModel


def unit(n, k, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, k))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


USERS = unit(30, 3, 1)
ITEMS = unit(25, 3, 2)
OPEN = FactorModel.from_user_item(USERS, ITEMS)
"""Nobody declared the link of this model, and all of its rows have length 1."""


@pytest.mark.parametrize(
    ("users", "items", "unknown"),
    [
        (USERS, ITEMS, True),
        (USERS.astype(np.float32), ITEMS.astype(np.float16), True),
        (np.vstack([USERS, np.zeros(3)]), ITEMS, True),
        (USERS * 1.0005, ITEMS, True),
        (USERS * 1.01, ITEMS, False),
        (USERS, np.vstack([ITEMS, 1.5 * ITEMS[:1]]), False),
        (np.zeros((2, 3)), ITEMS, False),
        (np.vstack([np.tile(USERS, (40, 1)), 2 * USERS[:1]]), ITEMS, False),
    ],
)
def test_a_link_is_unknown_if_and_only_if_all_rows_with_a_direction_have_length_one(
    users, items, unknown
):
    model = FactorModel.from_user_item(users, items)
    assert (model.link.name == "unknown") == unknown
    assert (model.predicts is Equivalence.COSINES) == unknown
    declared = FactorModel.from_user_item(users, items, link="identity")
    assert declared.link.name == "identity"
    assert FactorModel(users, items).link.name == "identity"


def test_a_rotation_acts_on_an_unknown_link():
    np.testing.assert_allclose(OPEN.scores(), USERS @ ITEMS.T)
    after = Orthogonal(3).sample(rng=1).act(OPEN)
    np.testing.assert_allclose(after.scores(), OPEN.scores(), atol=1e-14)
    assert after.link.name == "unknown"


@pytest.mark.parametrize(
    "gauge",
    [Gauge.diagonal([1.0, 2.0, 3.0]), Gauge.translation(3, right=[1.0, 0.0, 0.0])],
)
def test_a_gauge_that_changes_lengths_is_refused_for_an_unknown_link(gauge):
    remedy = "read the model with link='identity' if their dot products were trained"
    with pytest.raises(EquivalenceError, match=remedy):
        gauge.act(OPEN)


def test_a_scale_of_the_columns_acts_on_a_declared_dot_product():
    after = Gauge.diagonal([1.0, 2.0, 3.0]).act(OPEN.replace(link="identity"))
    assert after.link.name == "identity"
