"""Every equivalent model that an audit visits has the same predictions and stays within
its budget.
"""

from __future__ import annotations

from dataclasses import fields

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


def small_model(**fields):
    """Draw a model of 20 users and 15 items in four dimensions."""
    return random_model(n=20, p=15, k=4, **fields)


MODELS = {
    "identity": small_model(),
    "biases": small_model(left_bias=np.ones(20), right_bias=np.arange(15.0)),
    "right bias": small_model(right_bias=np.arange(15.0)),
    "softmax": small_model(link="softmax"),
    "softmax with bias": small_model(link="softmax", right_bias=np.arange(15.0)),
    "sigmoid": small_model(link="sigmoid"),
    "ranking": small_model(link="ranking"),
    "cosine": small_model(link="cosine"),
}


def kinds_of_equivalents(model, **options):
    """Return the kinds of the equivalent models that an audit of the model visits."""
    rng = np.random.default_rng(0)
    return {
        equivalent.kind for equivalent in equivalent_models(model, rng=rng, **options)
    }


@pytest.fixture(params=MODELS)
def model(request):
    """Return each of the models in turn."""
    return MODELS[request.param]


@pytest.fixture
def equivalents(model):
    """Return three equivalent models per group with gauges up to κ = 5."""
    rng = np.random.default_rng(1)
    return list(equivalent_models(model, n_gauges=3, max_condition=5.0, rng=rng))


def test_every_equivalent_model_predicts_the_same(model, equivalents):
    for equivalent in equivalents:
        after = equivalent.apply(model)
        change = drift(model, after, condition_number=equivalent.condition_number)
        assert change.ok, equivalent.name


def test_equivalent_models_have_different_names(equivalents):
    names = {equivalent.name for equivalent in equivalents}
    assert len(names) == len(equivalents)


def test_drawn_stretches_and_linear_maps_have_the_largest_allowed_condition_number(
    equivalents,
):
    for equivalent in equivalents:
        if equivalent.kind in ("diagonal", "linear"):
            assert equivalent.condition_number == pytest.approx(5.0, rel=1e-9)


LINEAR_KINDS = {"canonical", "diagonal", "linear", "orthogonal"}
KINDS_WITH_SHIFTS = LINEAR_KINDS | {"translation", "affine"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("identity", LINEAR_KINDS),
        ("biases", KINDS_WITH_SHIFTS),
        ("right bias", KINDS_WITH_SHIFTS),
        ("softmax", KINDS_WITH_SHIFTS),
        ("cosine", {"orthogonal"}),
    ],
)
def test_shifts_need_a_bias_or_a_softmax_and_cosines_allow_rotations_only(name, kinds):
    assert kinds_of_equivalents(MODELS[name]) == kinds


def test_one_side_alone_has_no_canonical_form():
    items_alone = MODELS["identity"].replace(left=None)
    assert kinds_of_equivalents(items_alone) == LINEAR_KINDS - {"canonical"}


@pytest.mark.parametrize(
    ("groups", "kinds"),
    [
        (["diagonal"], {"diagonal"}),
        ([Diagonal(4, max_condition=9.0)], {"diagonal"}),
        (["linear", Diagonal(4, max_condition=9.0)], {"linear", "diagonal"}),
    ],
    ids=["a name", "a group", "a name and a group"],
)
def test_groups_are_chosen_by_name_or_given_as_objects(groups, kinds):
    assert kinds_of_equivalents(MODELS["identity"], groups=groups) == kinds


def test_an_affine_gauge_of_a_softmax_model_names_the_side_that_it_shifts():
    (equivalent,) = equivalent_models(
        MODELS["softmax"], groups=[Affine(4)], n_gauges=1, rng=np.random.default_rng(0)
    )
    assert equivalent.name == "affine of items 1"


def test_gauges_are_drawn_from_every_public_group():
    groups = default_groups(MODELS["biases"], max_condition=3.0)
    drawn = {type(group) for group in groups}
    missing = sorted(group.__name__ for group in set(GROUPS) - drawn)
    assert not missing, f"default_groups of auditing/equivalents.py lacks {missing}"


def test_every_public_group_has_its_own_kind_and_title():
    assert len({group.kind for group in GROUPS}) == len(GROUPS)
    assert len({group.title for group in GROUPS}) == len(GROUPS)
    for group in GROUPS:
        assert "kind" in vars(group)
        assert "gauges" not in group.title


def test_the_help_of_the_option_groups_names_every_kind():
    (option,) = (field for field in fields(AuditOptions) if field.name == "groups")
    description = option.metadata["description"]
    missing = [kind for kind in KINDS if kind not in description]
    assert not missing, f"the help of `groups` in auditing/options.py lacks {missing}"


@pytest.fixture
def groups_with_biases():
    """Return the groups from which gauges of a model with two biases are drawn."""
    return default_groups(MODELS["biases"], max_condition=3.0)


def test_a_model_with_biases_has_linear_groups_and_shifts_of_both_sides(
    groups_with_biases,
):
    assert [type(group).__name__ for group in groups_with_biases] == [
        "Orthogonal",
        "Diagonal",
        "GeneralLinear",
        "Translation",
        "Affine",
        "Translation",
        "Affine",
    ]
    sides = [group.side for group in groups_with_biases[3:]]
    assert sides == ["right", "right", "left", "left"]


def test_default_groups_have_the_rank_of_the_model_and_the_budget_of_the_audit(
    groups_with_biases,
):
    assert {group.rank for group in groups_with_biases} == {4}
    _, diagonal, linear, _, affine_right, _, affine_left = groups_with_biases
    for group in (diagonal, linear, affine_right, affine_left):
        assert group.max_condition == 3.0


def test_shifts_are_at_most_as_long_as_the_median_row_of_their_side(groups_with_biases):
    for group in groups_with_biases[3:]:
        rows = MODELS["biases"].factors(group.side)
        median_length = np.median(np.linalg.norm(rows, axis=1))
        assert group.max_shift == pytest.approx(median_length)


def test_a_model_of_cosines_has_rotations_only():
    (group,) = default_groups(MODELS["cosine"], max_condition=3.0)
    assert group.kind == "orthogonal"


class MistakenGroup(GeneralLinear):
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


@pytest.mark.parametrize(
    ("diagonal_budget", "linear_budget", "text"),
    [(3.0, 1.5, "of κ up to 3 move"), (1.5, 1.5, "of κ = 1.5 move")],
)
def test_an_audit_names_the_largest_condition_number_of_its_gauges(
    users_and_items, diagonal_budget, linear_budget, text
):
    groups = [
        Diagonal(5, max_condition=diagonal_budget),
        GeneralLinear(5, max_condition=linear_budget),
    ]
    assert text in audit(users_and_items, groups=groups, n_gauges=1).explain()


def test_a_drawn_gauge_that_changes_predictions_is_refused(users_and_items):
    with pytest.raises(EquivalenceError, match="must preserve its scores"):
        audit(users_and_items, groups=[MistakenGroup(5)], n_gauges=1)
