"""The adversary moves free cosines and cannot move pinned cosines, for every link and
pattern of biases.
"""

from __future__ import annotations

import numpy as np
import pytest
from adversary import break_claim

from embaudit.errors import InputError
from embaudit.model import FactorModel, softmax_link

UNIT = softmax_link(unit_rows=True)


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def model(k=2, link="identity", **biases):
    given = {
        name: rows(n, 1, 7)[:, 0]
        for name, n in (("left_bias", 6), ("right_bias", 5))
        if biases.get(name)
    }
    return FactorModel.from_arrays(rows(6, k), rows(5, k, 1), link=link, **given)


FREE = {
    "scores": (model(), "right"),
    "scores, left": (model(), "left"),
    "sigmoid": (model(link="sigmoid"), "right"),
    "softmax": (model(link="softmax"), "right"),
    "capped": (model(link=softmax_link(soft_cap=3.0)), "right"),
    "ranking": (model(link="ranking"), "right"),
    "ranking, left": (model(link="ranking"), "left"),
    "rank 1 with a user bias": (model(1, left_bias=True), "right"),
    "rank 1 with an item bias": (model(1, right_bias=True), "left"),
    "rank 1 softmax": (model(1, "softmax"), "right"),
    "rank 1 softmax with a label bias": (model(1, "softmax", right_bias=True), "left"),
    "rank 1 ranking": (model(1, "ranking"), "right"),
    "rank 1 in two dimensions": (
        model(1).replace(left=rows(6, 1) @ [[1, 1]], right=rows(5, 1, 1) @ [[1, 1]]),
        "right",
    ),
    "parallel rows in two dimensions": (
        model().replace(right=rows(5, 1, 1) @ [[1, 2]]),
        "right",
    ),
    "few unit rows": (
        FactorModel.from_arrays(rows(4, 4), rows(5, 4, 1), link="cosine"),
        "right",
    ),
    "many unit rows, a temperature": (
        model(2, "cosine").replace(objective="temperature"),
        "right",
    ),
    "many unit rows, a temperature, left": (
        model(2, "cosine").replace(objective="temperature"),
        "left",
    ),
    "a head without inputs": (
        FactorModel.from_arrays(None, rows(5, 2), link="softmax"),
        "right",
    ),
    "labels on three axes": (
        FactorModel.from_arrays(None, np.vstack([np.eye(3), -np.eye(3)]), link=UNIT),
        "right",
    ),
    "as many labels as inputs can meet, capped": (
        FactorModel.from_arrays(
            rows(7, 2), rows(3, 2), link=softmax_link(unit_rows=True, soft_cap=3.0)
        ),
        "right",
    ),
    "four labels on a circle": (
        FactorModel.from_arrays(None, rows(4, 2), link=UNIT),
        "right",
    ),
}
PINNED = {
    "rank 1": (model(1), "right"),
    "rank 1, a bias of its own side": (model(1, right_bias=True), "right"),
    "rank 1 softmax, inputs": (model(1, "softmax"), "left"),
    "rank 1 capped": (model(1, softmax_link(soft_cap=3.0)), "right"),
    "rank 1 cosine": (model(1, "cosine"), "right"),
    "many unit rows": (model(2, "cosine"), "right"),
    "many unit rows, left": (model(2, "cosine"), "left"),
    "axes on both sides": (
        FactorModel.from_arrays(np.eye(2), np.eye(2), link="cosine"),
        "right",
    ),
    "one item": (model().replace(right=[[1.0, 2.0]]), "right"),
    "five labels on a circle": (
        FactorModel.from_arrays(None, rows(5, 2), link=UNIT),
        "right",
    ),
}


@pytest.mark.parametrize("name", FREE)
def test_what_is_free_is_broken(name):
    given, role = FREE[name]
    found = break_claim(given, role=role)
    assert found.found
    assert found.gap <= found.bound < 1e-6
    twin = found.model
    before = given.replace(
        left=None if given.left is None else given.left.astype(float)
    )
    if given.objective == "temperature":
        ratio = given.scores() / twin.scores()
        assert np.ptp(ratio) < 1e-6
    elif given.left is not None:  # predictions and movement, computed apart
        assert given.link.gap(given.scores(), twin.scores()) == found.gap
    x, y = (
        m.factors(role) / np.linalg.norm(m.factors(role), axis=1, keepdims=True)
        for m in (before, twin)
    )
    assert np.abs(x @ x.T - y @ y.T).max() == pytest.approx(found.max_abs)


@pytest.mark.parametrize("name", PINNED)
def test_what_is_pinned_is_not_broken(name):
    given, role = PINNED[name]
    found = break_claim(given, role=role)
    assert not found.found
    assert found.max_abs < 1e-6


def test_a_break_needs_equal_predictions_and_a_movement():
    found = break_claim(model())
    assert (
        type(found)(found.model, 2 * found.bound, found.bound, 0.1, 0.5).found is False
    )
    assert type(found)(found.model, 0.0, found.bound, 0.0, 5e-4).found is False


def test_what_cannot_be_searched_is_refused():
    with pytest.raises(InputError, match="at most 2,000 predictions"):
        break_claim(FactorModel.from_arrays(rows(60, 2), rows(60, 2)))
    for link in ("cosine", "ranking"):
        with pytest.raises(InputError, match="the left side must be given"):
            break_claim(FactorModel.from_arrays(None, rows(6, 2), link=link))
