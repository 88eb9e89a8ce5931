"""Whose neighbours a comparison shows, and that these are the nearest in either model."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.change import examples
from embaudit.comparison.matching import match
from embaudit.gauges import Gauge


@pytest.fixture(scope="module")
def models():
    names = np.array([f"item {i}" for i in range(30)])
    one = random_model(n=40, p=30, k=4).replace(right_names=names)
    return one, random_model(n=40, p=30, k=4, seed=1).replace(right_names=names)


@pytest.fixture(scope="module")
def found(models):
    return compare(*models)


def nearest(rows, at, n):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = unit @ unit[at]
    order = np.argsort(-cosines)
    return [(int(i), cosines[i]) for i in order if i != at][:n]


def test_lists_are_those_of_either_model_among_all_that_are_shared(models, found):
    change = found.changes["right"]
    assert len(change.examples) == 4
    for example in change.examples:
        at = int(example.name.removeprefix("item "))
        lists = [nearest(model.right, at, 10) for model in models]
        for shown, known in zip((example.before, example.after), lists, strict=True):
            assert [name for name, _ in shown] == [f"item {i}" for i, _ in known]
            assert [cosine for _, cosine in shown] == pytest.approx([cosine for _, cosine in known])
        sets = [{i for i, _ in known} for known in lists]
        assert example.stay == tuple(i in sets[1] for i, _ in lists[0])
        assert example.stayed == tuple(i in sets[0] for i, _ in lists[1])
        assert example.kept == len(sets[0] & sets[1]) < 10


def test_who_did_not_move_is_not_shown_and_float32_counts_as_equal(models):
    model = models[0]
    turned = Gauge.diagonal([1.0, 1.0, 1.0, 1.0]).act(model)
    assert compare(model, turned).changes["right"].examples == ()
    rounded = model.replace(left=model.left.astype(np.float32), right=model.right.astype(np.float32))
    shared = match(model, rounded, "right")
    shown = examples(shared, (model.right, rounded.right.astype(float)), np.ones(30), n=40)
    assert [len(one.before) for one in shown] == [29] * 4
    assert all(one.kept == 29 and all(one.stayed) for one in shown)
