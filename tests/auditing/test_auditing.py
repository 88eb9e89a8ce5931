"""The audit as a whole: what it finds, refuses, and that it repeats itself."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from inspect import signature

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.audit import audit
from embaudit.auditing.options import AuditOptions, OptionKeywords
from embaudit.errors import InputError
from embaudit.io import OPTIONS
from embaudit.model.final_norm import FinalNorm


def stretched_model(**fields):
    """Draw a model whose users have columns of different scales.

    Gauges can move its cosines much.
    """
    return random_model(scales=([5, 3, 2, 1, 0.5], 1), **fields)


def codes(result):
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "model",
    [stretched_model(n=90, p=80), stretched_model(n=None, p=80, link="softmax")],
    ids=["a pair", "a head"],
)
def test_the_same_seed_gives_the_same_numbers_and_another_does_not(model):
    """There are more pairs and lists than the audit draws, so that the draws count."""
    few = {"n_gauges": 2, "n_pairs": 50, "n_lists": 9, "n_starts": 1, "n_steps": 2}

    def record(seed):
        return json.dumps(audit(model, rng=seed, **few).to_dict())

    first = record(seed=3)
    assert record(seed=3) == first
    assert record(seed=4) != first


@pytest.mark.parametrize(
    "options",
    [
        {"groups": ["canonical"]},
        {"groups": ["orthogonal"]},
        {"groups": ["diagonal"], "max_condition": 1.0},
        {"max_condition": 1.05, "n_gauges": 1},
        {"roles": ["cross"]},
    ],
    ids=str,
)
def test_cosines_that_the_product_penalty_leaves_free_are_an_issue_for_any_sample(
    options,
):
    """The answer follows from the training, even if no random gauge moves cosines."""
    options = {"n_gauges": 1, "n_starts": 0} | options
    result = audit(stretched_model(objective="product"), **options)
    assert codes(result) == ["EMB101"]
    assert result.answer.word == "NO"


def test_balanced_factors_declared_as_trained_with_decay_are_reported_as_emb103():
    balanced = ea.at_exponent(stretched_model(), 0.5).replace(objective="factors")
    assert codes(audit(balanced, n_gauges=1, n_starts=0)) == ["EMB103"]


def test_rescaled_factors_declared_as_trained_with_decay_are_reported_as_emb104():
    """Weight decay leaves balanced factors; here one column is three times as long."""
    rescale = ea.Gauge.diagonal([1, 1, 1, 1, 3])
    rescaled = rescale.act(ea.at_exponent(stretched_model(), 0.5)).replace(
        objective="factors"
    )
    assert set(codes(audit(rescaled, n_gauges=1, n_starts=0))) == {"EMB103", "EMB104"}


def vectors_of_size(scale, dtype):
    rows = np.random.default_rng(0).standard_normal((12, 3)) * scale
    return ea.FactorModel.from_vectors(rows.astype(dtype))


@pytest.mark.parametrize(
    ("scale", "dtype"),
    [(1e200, np.float64), (1e-310, np.float64), (1e-30, np.float32)],
)
def test_factors_whose_squares_overflow_or_underflow_are_refused(scale, dtype):
    with pytest.raises(InputError, match="a constant, which changes no cosine"):
        audit(vectors_of_size(scale, dtype))


@pytest.mark.parametrize(("scale", "dtype"), [(1e60, np.float64), (1e-6, np.float32)])
def test_large_and_small_factors_within_the_range_of_their_type_are_audited(
    scale, dtype
):
    result = audit(vectors_of_size(scale, dtype), n_gauges=1, n_starts=0)
    assert result.predictions_hold


@pytest.mark.parametrize(
    "link", ["identity", "softmax", "sigmoid", "cosine", "ranking"]
)
def test_models_of_every_link_are_audited(link):
    result = audit(stretched_model().replace(link=link), n_gauges=1)
    assert result.predictions_hold


def test_an_audit_of_one_side_measures_the_cosines_of_that_side_alone():
    result = audit(stretched_model().replace(left=None), n_gauges=1)
    roles = {movement.role for visit in result.evidence.movement for movement in visit}
    assert roles == {"right"}
    assert result.evidence.position is None
    assert result.predictions_hold


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_gauges": 0}, "n_gauges must be an integer from 1 to 10000; got 0."),
        ({"n_pairs": 10**12}, "n_pairs must be an integer from 1 to 100000000; got"),
        ({"n_lists": 0}, "n_lists must be an integer from 1 to 100000; got 0."),
        ({"n_starts": -1}, "n_starts must be an integer from 0 to 1000; got -1."),
        ({"n_steps": -1}, "n_steps must be an integer from 0 to 10000; got -1."),
        ({"n_neighbours": -1}, "n_neighbours must be an integer >= 1; got -1."),
        ({"max_condition": 0.5}, "max_condition must be a finite number >= 1; got 0.5"),
        ({"quick": 1}, "quick must be True or False; got 1."),
        ({"normalised": "yes"}, "normalised must be True or False; got 'yes'."),
        ({"hull": "yes"}, "hull must be True or False; got 'yes'."),
        ({"soft_cap": -1.0}, "soft_cap must be a positive number; got -1"),
        ({"objective": "magic"}, "objective must be a word of `embaudit explain obj"),
        ({"objective": "clip"}, "link must be cosine for the objective clip"),
        ({"groups": ["magic"]}, "groups must be one of canonical, affine, diagonal, "),
        (
            {"roles": []},
            "roles must be one or more of right, left, cross; got an empty list.",
        ),
        ({"roles": ["movie"]}, 'role must be one of "left" (user), "right" (item)'),
        ({"show": ["film 3"]}, "show must be"),
        ({"final_norm": FinalNorm("rms", [1.0])}, "as wide as the head, 5 dimensions"),
    ],
)
def test_an_option_outside_its_set_is_refused_by_name(options, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        audit(stretched_model(link="softmax"), **options)


@pytest.mark.parametrize(
    "name", [option.name for option in fields(AuditOptions) if option.default is False]
)
def test_every_switch_takes_booleans_alone(name):
    with pytest.raises(InputError, match=f"^{name} must be True or False; got 'yes'"):
        AuditOptions(**{name: "yes"})


def test_the_hull_is_refused_of_a_model_without_a_head():
    sentence = "the model must be a softmax head for hull; got one with identity link"
    with pytest.raises(InputError, match=sentence):
        audit(stretched_model(), hull=True)


def test_options_are_declared_once_for_python_the_command_line_and_json():
    """Each field of AuditOptions is a keyword of `audit` and a key of its JSON."""
    names = [field.name for field in fields(AuditOptions)]
    parameters = signature(ea.audit).parameters
    assert set(names) <= set(parameters)
    assert [parameters[name].default for name in names] == [
        field.default for field in fields(AuditOptions)
    ]
    assert list(AuditOptions().to_dict()) == names


def test_type_checkers_know_the_type_of_each_option():
    # Both classes hold their annotations as texts.
    keywords = {
        name: hint.__forward_arg__
        for name, hint in OptionKeywords.__annotations__.items()
    }
    assert keywords == {field.name: field.type for field in fields(AuditOptions)}


def test_keywords_of_an_audit_take_precedence_over_its_options():
    few = AuditOptions(n_gauges=1, n_pairs=50, n_starts=0, role="left")
    audited = ea.audit(random_model(), options=few, role="item", n_pairs=60)
    options = audited.options
    assert (options.role, options.n_pairs, options.n_gauges) == ("right", 60, 1)
    assert options.effort.n_lists == 400


def test_an_audit_takes_what_load_takes(tmp_path):
    draw = np.random.default_rng(0)
    arrays = {"U": draw.standard_normal((9, 3)), "V": draw.standard_normal((8, 3))}
    np.savez(tmp_path / "m.npz", **arrays, extra=np.ones(4))
    reading = {"left": "U", "weight": "V", "ignore": "extra", "link": "sigmoid"}
    model = ea.load(tmp_path / "m.npz", **reading)
    few = {"n_gauges": 1, "n_starts": 0}
    audited = ea.audit(tmp_path / "m.npz", **reading, **few)
    assert audited.fingerprint == ea.audit(model, **few).fingerprint
    assert audited.model.link.name == "sigmoid"
    assert set(signature(ea.audit).parameters) >= set(reading) | set(OPTIONS)
