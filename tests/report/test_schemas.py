"""The record of `audit --json` has exactly the fields of its JSON Schema."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from schemas import misfits

import embaudit as ea
from embaudit.report.schemas import record, schema


@pytest.fixture(scope="module")
def records():
    """Return records of audits of a model of two sides, a head and vectors, read back
    from JSON.
    """
    draw = np.random.default_rng(0)
    users = draw.standard_normal((40, 4))
    items = draw.standard_normal((30, 4))
    model = ea.FactorModel.from_user_item(
        users, items, item_bias=draw.standard_normal(30), objective="factors"
    )
    head = ea.FactorModel.from_softmax(items + 1, embeddings=users)
    vectors = ea.FactorModel.from_vectors(items)
    audits = [
        ea.audit(model, n_gauges=1, n_pairs=50, tolerance=0.05, noise=0.1),
        ea.audit(head, quick=True, n_pairs=50),
        ea.audit(vectors, quick=True, n_pairs=50, queries=users),
    ]
    return [json.loads(json.dumps(record(one))) for one in audits]


def test_records_have_the_fields_of_their_schema_and_no_others(records):
    for one in records:
        assert misfits(one) == []


def test_a_missing_or_retyped_field_violates_the_schema(records):
    complete = records[-1]
    for field, value in complete.items():
        without = {other: x for other, x in complete.items() if other != field}
        assert misfits(without), field
        other_type = 3.5 if isinstance(value, dict) else {"no": 1}
        assert misfits(complete | {field: other_type}), field


@pytest.mark.parametrize("name", [field.name for field in fields(ea.AuditOptions)])
def test_the_schema_describes_the_values_of_each_option(records, name):
    """Records of audits hold the defaults; no option is a dict, and few can be null."""
    may_be_null = {
        "roles",
        "role",
        "objective",
        "compared",
        "soft_cap",
        "by",
        "tolerance",
        "noise",
        "served",
        "queries",
    }
    record = records[0]
    without = {key: x for key, x in record["options"].items() if key != name}
    assert misfits(record | {"options": without})
    for value, fits in (({"no": 1}, False), (None, name in may_be_null)):
        assert (misfits(record | {"options": without | {name: value}}) == []) == fits


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("role", "item"),
        ("roles", ["left", "north"]),
        ("roles", "left"),
        ("groups", [1]),
        ("compared", "cosines"),
        ("n_pairs", 0.5),
        ("max_condition", "2"),
        ("quick", 1),
        ("by", ["old", "new"]),
    ],
)
def test_a_value_that_no_audit_writes_violates_the_schema(records, name, value):
    record = records[0]
    assert misfits(record | {"options": record["options"] | {name: value}})


def test_unknown_fields_are_allowed_by_the_schema(records):
    validator = Draft202012Validator(json.loads(schema()))
    assert validator.is_valid(records[0] | {"added_later": 1})


def test_every_field_has_a_description():
    whole = json.loads(schema())
    for part in (whole, *whole["$defs"].values()):
        for field, node in part["properties"].items():
            assert {"description", "properties"} & set(node), field


def test_the_schema_command_prints_the_schema(embaudit):
    printed = embaudit("schema")
    assert (printed.code, printed.out) == (0, schema())


def test_every_record_has_version_one(records):
    assert {one["schema_version"] for one in records} == {1}
    assert json.loads(schema())["properties"]["schema_version"]["const"] == 1
