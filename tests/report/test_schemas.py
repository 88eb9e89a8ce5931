"""The records that `--json` writes have exactly the fields of their JSON Schema."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from schemas import misfits

import embaudit as ea
from embaudit.report.schemas import NAMES, record, schema


@pytest.fixture(scope="module")
def records():
    """Return records of each command for models of several kinds, read back from JSON."""
    draw = np.random.default_rng(0)
    users = draw.standard_normal((40, 4))
    items = draw.standard_normal((30, 4))
    model = ea.FactorModel.from_user_item(
        users, items, item_bias=draw.standard_normal(30), objective="factors"
    )
    stretched = model.replace(right=items * [1.0, 2.0, 3.0, 4.0])
    head = ea.FactorModel.from_softmax(items + 1, embeddings=users)
    vectors = ea.FactorModel.from_vectors(items)
    frame = pd.DataFrame(
        {"x": np.arange(60.0), "y": np.arange(60.0) % 7, "g": list("abc") * 20}
    )
    without_entries = {"a": np.zeros(2), "b": np.ones(3)}
    results = {
        "audit": [
            ea.audit(model, n_gauges=1, n_pairs=50),
            *(ea.audit(one, quick=True, n_pairs=50) for one in (head, vectors)),
        ],
        "blocks": [
            ea.block_cosines(users[0], users[1], blocks="coordinates"),
            ea.block_cosines(without_entries, without_entries),
        ],
        "compare": [ea.compare(model, stretched), ea.compare(head, head)],
        "evaluate": [ea.evaluate_similarities(model, list("abc") * 10, n_neighbours=3)],
        "simpson": [ea.simpson(frame, x="x", y="y", n_permutations=n) for n in (0, 9)],
    }
    return {
        name: [json.loads(json.dumps(record(one))) for one in several]
        for name, several in results.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_records_have_the_fields_of_their_schema_and_no_others(records, name):
    for one in records[name]:
        assert misfits(name, one) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_or_retyped_field_violates_the_schema(records, name):
    complete = records[name][-1]
    for field, value in complete.items():
        without = {other: x for other, x in complete.items() if other != field}
        assert misfits(name, without), field
        other_type = 3.5 if isinstance(value, dict) else {"no": 1}
        assert misfits(name, complete | {field: other_type}), field


@pytest.mark.parametrize("name", NAMES)
def test_unknown_fields_are_allowed_by_the_schema(records, name):
    validator = Draft202012Validator(json.loads(schema(name)))
    assert validator.is_valid(records[name][0] | {"added_later": 1})


@pytest.mark.parametrize("name", NAMES)
def test_every_field_has_a_description(name):
    whole = json.loads(schema(name))
    for part in (whole, *whole["$defs"].values()):
        for field, node in part["properties"].items():
            assert {"description", "properties"} & set(node), field


def test_the_schema_command_lists_and_prints_the_schemas(embaudit):
    listed = embaudit("schema")
    assert (listed.code, listed.out.split()) == (0, list(NAMES))
    for name in NAMES:
        assert embaudit("schema", name).out == schema(name)


def test_the_schema_command_names_the_nearest_command_for_a_misspelling(embaudit):
    refused = embaudit("schema", "simson")
    assert (refused.code, refused.out) == (2, "")
    assert "got 'simson'; the nearest one is simpson." in refused.err


@pytest.mark.parametrize("name", NAMES)
def test_every_record_has_version_one(records, name):
    assert {one["schema_version"] for one in records[name]} == {1}
    assert json.loads(schema(name))["properties"]["schema_version"]["const"] == 1
