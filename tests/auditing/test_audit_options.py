"""Options of an audit: each is declared once, and checked by name."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import signature

import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.options import AuditOptions, OptionKeywords
from embaudit.errors import InputError
from embaudit.model.final_norm import FinalNorm

FIELDS = fields(AuditOptions)
SWITCHES = [option.name for option in FIELDS if option.default is False]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_gauges": 0}, "n_gauges must be an integer from 1 to 10000; got 0."),
        (
            {"n_pairs": 10**12},
            "n_pairs must be an integer from 1 to 100000000; got 1000000000000.",
        ),
        ({"n_lists": 0}, "n_lists must be an integer from 1 to 100000; got 0."),
        ({"n_starts": -1}, "n_starts must be an integer from 0 to 1000; got -1."),
        ({"n_steps": -1}, "n_steps must be an integer from 0 to 10000; got -1."),
        ({"n_neighbours": -1}, "n_neighbours must be an integer >= 1; got -1."),
        (
            {"max_condition": 0.5},
            "max_condition must be a finite number >= 1; got 0.5; it is the largest "
            "stretch over the smallest, such as 2.",
        ),
        ({"soft_cap": -1.0}, "soft_cap must be a positive number; got -1.0; "),
        (
            {"objective": "magic"},
            "objective must be a name that `embaudit explain objectives` "
            "lists; got 'magic'; ",
        ),
        ({"objective": "clip"}, "link must be cosine for the objective clip "),
        (
            {"groups": ["magic"]},
            "groups must be one of canonical, affine, diagonal, linear, orthogonal, "
            "translation; got 'magic'.",
        ),
        (
            {"roles": []},
            "roles must be one or more of right, left, cross; got an empty list.",
        ),
        (
            {"roles": ["movie"]},
            'role must be one of "left" (user), "right" (item), "cross" (user-item); '
            "got 'movie'.",
        ),
        ({"show": ["film 3"]}, "show must be an id or title in the model; "),
        (
            {"final_norm": FinalNorm("rms", [1.0])},
            "a final norm must be as wide as the head, 5 dimensions; got 1.",
        ),
    ],
)
def test_a_value_that_an_option_does_not_allow_is_refused_by_name(options, sentence):
    head = random_model(link="softmax")
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        ea.audit(head, **options)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_takes_only_booleans(name):
    with pytest.raises(InputError, match=f"^{name} must be True or False; got 'yes'"):
        AuditOptions(**{name: "yes"})


def test_the_hull_is_refused_for_a_model_without_a_head():
    sentence = "the model must be a softmax head for hull; got one with identity link"
    with pytest.raises(InputError, match=sentence):
        ea.audit(random_model(), hull=True)


def test_each_option_is_a_keyword_of_audit_with_the_same_default():
    parameters = signature(ea.audit).parameters
    for option in FIELDS:
        assert parameters[option.name].default == option.default, option.name


def test_the_json_of_an_audit_holds_each_option_in_order():
    assert list(AuditOptions().to_dict()) == [option.name for option in FIELDS]


def test_type_checkers_know_the_type_of_each_option():
    # Both classes hold their annotations as texts.
    types = {
        name: annotation.__forward_arg__
        for name, annotation in OptionKeywords.__annotations__.items()
    }
    assert types == {option.name: option.type for option in FIELDS}


def test_keywords_of_an_audit_take_precedence_over_its_options():
    given = AuditOptions(n_gauges=1, n_pairs=50, n_starts=0, role="left")
    audited = ea.audit(random_model(), options=given, role="item", n_pairs=60)
    options = audited.options
    assert (options.role, options.n_pairs) == ("right", 60)
    assert (options.n_gauges, options.n_starts) == (1, 0)


def test_an_audit_records_the_default_sizes_of_options_that_are_not_given():
    given = AuditOptions(n_gauges=1, n_starts=0)
    assert given.n_lists is None
    assert ea.audit(random_model(), options=given).options.n_lists == 400
