"""Every equivalent model an audit visits predicts the same and stays within its budget."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from models import random_model

from embaudit import gauges, identified_cosines
from embaudit.auditing.equivalents import (
    GROUPS,
    KINDS,
    default_groups,
    equivalent_models,
    one_equivalent,
)  # fmt: skip
from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, GaugeGroup, Translation
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
    found = equivalent_models(model, n_gauges=3, max_condition=5.0, rng=np.random.default_rng(1))
    assert len({e.name for e in found}) == len(found)
    for equivalent in found:
        after = equivalent.of(model)
        assert drift(model, after, condition_number=equivalent.condition_number).ok, equivalent.name
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


def test_translations_of_both_sides_need_both_biases():
    names = {e.name for e in equivalent_models(MODELS["biases"], n_gauges=1, rng=np.random.default_rng(0))}
    assert {"translation of users 1", "translation of items 1"} <= names
    names = {e.name for e in equivalent_models(MODELS["right bias"], n_gauges=1, rng=np.random.default_rng(0))}
    assert "translation of items 1" not in names


def test_chosen_families_and_own_groups():
    assert kinds(MODELS["identity"], groups=["diagonal"]) == {"diagonal"}
    assert kinds(MODELS["identity"], groups=[Diagonal(4, max_condition=9.0)]) == {"diagonal"}
    assert kinds(MODELS["identity"], groups=["linear", Diagonal(4, max_condition=9.0)]) == {"linear", "diagonal"}
    found = equivalent_models(MODELS["softmax"], groups=[Affine(4)], n_gauges=1, rng=np.random.default_rng(0))
    assert [e.name for e in found] == ["affine of items 1"]


def test_every_public_group_is_drawn_from_and_has_a_name_and_a_title_of_its_own():
    public = {group for group in vars(gauges).values() if isinstance(group, type) and issubclass(group, GaugeGroup)}
    public.remove(GaugeGroup)
    assert set(GROUPS) == public
    assert len({group.kind for group in public}) == len({group.title for group in public}) == len(public)
    assert all("kind" in vars(group) and "gauges" not in group.title for group in public)


@pytest.mark.parametrize(
    ("model", "group"),
    [("identity", "translation"), ("cosine", "linear"), ("identity", "nonsense"), ("identity", None)],
)
def test_a_family_without_gauges_for_the_model_is_refused(model, group):
    with pytest.raises(InputError, match="group must be"):
        equivalent_models(MODELS[model], groups=[group], rng=np.random.default_rng(0))


def test_a_group_of_another_rank_is_refused():
    found = equivalent_models(MODELS["identity"], groups=[Diagonal(7)], rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="rank"):
        found[0].of(MODELS["identity"])


def test_directions_no_prediction_sees_have_canonical_models_without_a_gauge():
    model = make(scales=([1, 1, 1, 0], 1))
    canonical = [e for e in equivalent_models(model, rng=np.random.default_rng(0)) if e.kind == "canonical"]
    assert len(canonical) == 3
    for equivalent in canonical:
        assert equivalent.gauge is None
        after = equivalent.of(model)
        assert after.rank == 3
        np.testing.assert_allclose(after.scores(), model.scores(), atol=1e-12)


def test_one_equivalent_at_an_exponent_or_drawn():
    model = MODELS["identity"]
    balanced = one_equivalent(model, exponent=0.5).of(model)
    np.testing.assert_allclose(balanced.left.T @ balanced.left, balanced.right.T @ balanced.right, atol=1e-10)
    assert one_equivalent(model, kind="linear", max_condition=3.0).condition_number == pytest.approx(3.0)
    assert set(KINDS) >= {one_equivalent(model, kind=kind).kind for kind in ("diagonal", "linear", "orthogonal")}


def test_the_groups_that_keep_predictions_and_their_budgets():
    model = MODELS["biases"]
    rotations, stretches, maps, right, both, left, also = default_groups(model, max_condition=3.0)
    assert [type(group).__name__ for group in (rotations, stretches, maps, right, both, left, also)] == [
        "Orthogonal", "Diagonal", "GeneralLinear", "Translation", "Affine", "Translation", "Affine",
    ]  # fmt: skip
    assert [group.max_condition for group in (stretches, maps, both, also)] == [3.0] * 4
    assert {group.rank for group in (rotations, stretches, maps, right, both, left, also)} == {4}
    for side, groups in (("right", (right, both)), ("left", (left, also))):
        length = np.median(np.linalg.norm(model.factors(side), axis=1))
        assert [(group.side, group.max_shift) for group in groups] == [(side, pytest.approx(length))] * 2
    (alone,) = default_groups(MODELS["cosine"], max_condition=3.0)
    assert alone.kind == "orthogonal"


def test_canonical_models_are_called_what_their_cosines_are():
    whitened = [made for made in equivalent_models(MODELS["right bias"], rng=0) if made.kind in ("canonical", "linear")]
    called = {role: [made.called(role) for made in whitened[:4]] for role in ("right", "left", "cross")}
    plainly = ["users whitened", "balanced", "items whitened", "linear 1"]
    assert called["cross"] == plainly
    assert called["right"] == ["users whitened (prediction cosine)", *plainly[1:]]
    assert called["left"] == [*plainly[:2], "items whitened (prediction cosine)", "linear 1"]
    model = MODELS["right bias"]
    pairs = np.array([[0, 1], [1, 2], [0, 3]])
    for made, role in ((whitened[0], "right"), (whitened[2], "left")):
        pinned = identified_cosines(model, role=role, pairs=pairs)
        np.testing.assert_allclose(made.of(model).cosines(role, pairs), pinned, atol=1e-12)


def test_the_length_of_a_shift_is_that_beside_the_rows_at_hand():
    model = MODELS["softmax"]
    group = Affine(4, max_condition=3.0, max_shift=0.5)
    (affine,) = equivalent_models(model, groups=[group], n_gauges=1, rng=np.random.default_rng(0))
    assert affine.shift == pytest.approx(0.5)
    assert np.linalg.norm(affine.gauge.right_shift) != pytest.approx(0.5)
    gauge = Translation(4, max_shift=0.5)
    (shifted,) = equivalent_models(model, groups=[gauge], n_gauges=1, rng=np.random.default_rng(0))
    assert shifted.shift == pytest.approx(np.linalg.norm(shifted.gauge.right_shift)) == pytest.approx(0.5)
