"""Figures about neighbours without twins are those of a model that has one row of each group."""

from __future__ import annotations

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.gauges import Gauge
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.movements import movement
from embaudit.movements.neighbourhoods import neighbourhoods

STRETCH = Gauge.diagonal(np.array([1.0, 1.3, 2.0, 0.6]))


def copied(n=30, groups=(3, 1, 5), **fields):
    """A model whose first items have so many copies each, at the end; and the model without these."""
    model = random_model(p=n, k=4, **fields)
    rows = np.repeat(np.arange(len(groups)), groups)
    return model.take(right=np.concatenate([np.arange(n), rows])), model


def test_lists_have_one_row_of_each_group_and_none_of_the_own():
    x = np.array([[1.0, 0.0], [0.8, 0.6], [2.0, 0.0], [0.0, 1.0], [0.0, 0.0], [3.0, 0.0], [0.8, 0.6]])
    first = np.array([0, 1, 0, 3, 4, 0, 1])
    found = neighbours(x, 3, first=first)
    assert found.indices.tolist() == [[1, 3, -1], [0, 3, -1], [1, 3, -1], [1, 0, -1], [-1] * 3, [1, 3, -1], [0, 3, -1]]
    draw = np.random.default_rng(0)
    base = draw.standard_normal((3_000, 3))
    first = np.concatenate([np.arange(3_000), draw.integers(3_000, size=500)])
    found, wanted = neighbours(base[first], 4, first=first), neighbours(base, 4)
    assert found.indices[:3_000].tolist() == wanted.indices.tolist()
    assert found.indices.tolist() == found.indices[first].tolist()
    np.testing.assert_allclose(found.runner_up[:3_000], wanted.runner_up, atol=1e-12)


def test_movement_without_twins_is_that_of_one_row_each():
    many, few = copied()
    found, wanted = (movement(model, STRETCH.act(model), n_neighbours=5) for model in (many, few))
    assert found.top_n_overlap == wanted.top_n_overlap < 1
    assert (found.n_lists, wanted.n_lists) == (30, 30)
    by_all = neighbours(many.right, 5).overlap(neighbours(STRETCH.act(many).right, 5))
    assert found.top_n_overlap != by_all


@pytest.mark.usefixtures("without_attacks")
@pytest.mark.parametrize("side", ["left", "right"])
def test_certificates_without_twins_are_those_of_one_row_each(side):
    many, few = copied()
    if side == "left":
        many, few = (model.replace(left=model.right, right=model.left) for model in (many, few))
    (found,), (wanted,) = (limits(m, [side], max_condition=2.0, n_neighbours=3).certificates for m in (many, few))
    assert (found.entries, found.lists, found.n_rows, found.exact) == (wanted.entries, wanted.lists, 30, True)
    assert found.found.indices.tolist() == wanted.found.indices.tolist()
    assert 0 < found.lists[1.1] < 1
    two = FactorModel.from_user_item(np.eye(2), [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    assert limits(two, ["right"], max_condition=2.0, n_neighbours=1).certificates == ()


def test_neighbours_shown_have_no_copies_and_say_how_many_were_left_out():
    x = [[1.0, 0.0], [0.8, 0.6], [2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.8, 0.6], [-1.0, 0.1]]
    model = FactorModel.from_vectors(x, ids=list("abcdefg"))
    one, twin, other, alone = neighbourhoods(model, model.right, rows=np.array([0, 2, 3, 6]), n=2)
    assert [name for name, _ in one.before] == [name for name, _ in twin.before] == ["b", "d"]
    assert (one.name, one.left_out, twin.name, twin.left_out) == ("a", 3, "c", 3)
    assert ([name for name, _ in other.before], other.left_out) == (["b", "g"], 1)
    assert ([name for name, _ in alone.before], alone.left_out) == (["d", "b"], 1)
    assert alone.to_dict()["left_out"] == 1
    turned = FactorModel.from_vectors(np.array(x)[[0, 6, 2, 3, 4, 5, 1]], ids=list("abcdefg"))
    assert [n.left_out for n in neighbourhoods(model, turned.right, rows=np.array([3, 6]), n=1)] == [1, 2]
