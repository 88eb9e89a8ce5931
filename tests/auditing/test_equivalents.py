"""Every equivalent model that an audit visits has the same predictions and stays within
its budget.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial

import numpy as np
import pytest
from models import random_model

from embaudit import AuditOptions, audit
from embaudit.auditing.equivalents import (
    KINDS,
    default_groups,
    equivalent_models,
)
from embaudit.errors import EquivalenceError
from embaudit.gauges import GROUPS, Affine, Diagonal, Gauge, GeneralLinear
from embaudit.model import FactorModel
from embaudit.model.drift import drift

make = partial(random_model, n=20, p=15, k=4)
MODELS = {
    "identity": make(),
    "biases": make(left_bias=np.ones(20), right_bias=np.arange(15.0)),
    "right bias": make(right_bias=np.arange(15.0)),
    "softmax": make(link="softmax"),
    "softmax with bias": make(link="softmax", right_bias=np.arange(15.0)),
    "sigmoid": make(link="sigmoid"),
    "ranking": make(link="ranking"),
    "cosine": make(link="cosine"),
}


def kinds(model, **options):
    found = equivalent_models(model, rng=np.random.default_rng(0), **options)
    return {e.kind for e in found}


@pytest.mark.parametrize("name", MODELS)
def test_every_equivalent_predicts_the_same(name):
    model = MODELS[name]
    found = equivalent_models(
        model, n_gauges=3, max_condition=5.0, rng=np.random.default_rng(1)
    )
    assert len({e.name for e in found}) == len(found)
    for equivalent in found:
        after = equivalent.apply(model)
        assert drift(model, after, condition_number=equivalent.condition_number).ok, (
            equivalent.name
        )
        if equivalent.kind in ("diagonal", "linear"):
            assert equivalent.condition_number == pytest.approx(5.0, rel=1e-9)


def test_which_families_keep_which_predictions():
    linear = {"canonical", "diagonal", "linear", "orthogonal"}
    assert kinds(MODELS["identity"]) == linear
    assert kinds(MODELS["biases"]) == linear | {"translation", "affine"}
    assert kinds(MODELS["right bias"]) == linear | {"translation", "affine"}
    assert kinds(MODELS["softmax"]) == linear | {"translation", "affine"}
    assert kinds(MODELS["cosine"]) == {"orthogonal"}
    assert kinds(MODELS["identity"].replace(left=None)) == linear - {"canonical"}


def test_chosen_families_and_own_groups():
    assert kinds(MODELS["identity"], groups=["diagonal"]) == {"diagonal"}
    assert kinds(MODELS["identity"], groups=[Diagonal(4, max_condition=9.0)]) == {
        "diagonal"
    }
    assert kinds(
        MODELS["identity"], groups=["linear", Diagonal(4, max_condition=9.0)]
    ) == {"linear", "diagonal"}
    found = equivalent_models(
        MODELS["softmax"], groups=[Affine(4)], n_gauges=1, rng=np.random.default_rng(0)
    )
    assert [e.name for e in found] == ["affine of items 1"]


def test_every_public_group_is_drawn_from_and_has_a_name_and_a_title_of_its_own():
    groups = default_groups(MODELS["biases"], max_condition=3.0)
    drawn = {type(group) for group in groups}
    missing = sorted(group.__name__ for group in set(GROUPS) - drawn)
    assert not missing, f"default_groups of auditing/equivalents.py lacks {missing}"
    assert (
        len({group.kind for group in GROUPS})
        == len({group.title for group in GROUPS})
        == len(GROUPS)
    )
    assert all(
        "kind" in vars(group) and "gauges" not in group.title for group in GROUPS
    )


def test_the_help_names_every_family():
    (option,) = (field for field in fields(AuditOptions) if field.name == "groups")
    told = option.metadata["description"]
    missing = [kind for kind in KINDS if kind not in told]
    assert not missing, f"the help of `groups` in auditing/options.py lacks {missing}"


def test_the_groups_that_keep_predictions_and_their_budgets():
    model = MODELS["biases"]
    rotations, stretches, maps, right, both, left, also = default_groups(
        model, max_condition=3.0
    )
    assert [
        type(group).__name__
        for group in (rotations, stretches, maps, right, both, left, also)
    ] == [
        "Orthogonal",
        "Diagonal",
        "GeneralLinear",
        "Translation",
        "Affine",
        "Translation",
        "Affine",
    ]
    assert [group.max_condition for group in (stretches, maps, both, also)] == [3.0] * 4
    assert {
        group.rank for group in (rotations, stretches, maps, right, both, left, also)
    } == {4}
    for side, groups in (("right", (right, both)), ("left", (left, also))):
        length = np.median(np.linalg.norm(model.factors(side), axis=1))
        assert [(group.side, group.max_shift) for group in groups] == [
            (side, pytest.approx(length))
        ] * 2
    (alone,) = default_groups(MODELS["cosine"], max_condition=3.0)
    assert alone.kind == "orthogonal"


class Mistaken(GeneralLinear):
    """Claims to keep scores, but draws translations."""

    def sample(self, *, rng=None):
        shift = np.random.default_rng(rng).standard_normal(self.rank)
        return Gauge.translation(self.rank, right=shift)


@pytest.fixture(scope="module")
def users_and_items():
    draw = np.random.default_rng(0)
    return FactorModel.from_user_item(
        draw.standard_normal((40, 5)), draw.standard_normal((30, 5))
    )


def test_gauges_of_several_condition_numbers_have_the_largest_named(users_and_items):
    for budgets, told in (
        ((3.0, 1.5), "of κ up to 3 move"),
        ((1.5, 1.5), "of κ = 1.5 move"),
    ):
        groups = [
            Diagonal(5, max_condition=budgets[0]),
            GeneralLinear(5, max_condition=budgets[1]),
        ]
        assert told in audit(users_and_items, groups=groups, n_gauges=1).explain()


def test_a_drawn_gauge_that_changes_predictions_is_refused(users_and_items):
    with pytest.raises(EquivalenceError, match="must preserve its scores"):
        audit(users_and_items, groups=[Mistaken(5)], n_gauges=1)
