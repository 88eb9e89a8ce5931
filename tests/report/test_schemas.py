"""The published schemas are true of what `--json` writes, and stay true of what later versions write."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator
from schemas import exactly, misfits

import embaudit as ea
from embaudit.report.schemas import NAMES, record, schema

PUBLISHED = Path(__file__).parent / "published"
"""The first schemas of each `schema_version`, as they were published: never edited, only replaced by a next version."""


@pytest.fixture(scope="module")
def written():
    """A few records of each command, as they are read back."""
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((40, 4)), draw.standard_normal((30, 4))
    model = ea.FactorModel.from_user_item(
        users, items, item_bias=draw.standard_normal(30), objective="factors"
    )
    other = model.replace(right=items @ np.diag([1.0, 2.0, 3.0, 4.0]))
    head = ea.FactorModel.from_softmax(items + 1, embeddings=users)
    frame = pd.DataFrame(
        {"x": np.arange(60.0), "y": np.arange(60.0) % 7, "g": list("abc") * 20}
    )
    zero = {"a": np.zeros(2), "b": np.ones(3)}
    audited = (model, head, ea.FactorModel.from_vectors(items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("embaudit.auditing.limits.ATTACKED_RANK", 0)
        audits = [ea.audit(one, n_gauges=1, n_pairs=50) for one in audited]
    results = {
        "audit": audits,
        "blocks": [
            ea.block_cosines(users[0], users[1], blocks="coordinates"),
            ea.block_cosines(zero, zero),
        ],
        "compare": [ea.compare(model, other), ea.compare(head, head)],
        "evaluate": [ea.evaluate_similarities(model, list("abc") * 10, n_neighbours=3)],
        "simpson": [ea.simpson(frame, x="x", y="y", n_permutations=n) for n in (0, 9)],
    }
    return {
        name: [json.loads(json.dumps(record(one))) for one in found]
        for name, found in results.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_records_have_the_fields_of_their_schema_and_no_others(written, name):
    assert [misfits(name, one) for one in written[name]] == [[]] * len(written[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_is_missing_or_of_another_type_is_noticed(written, name):
    one = written[name][-1]
    for field, value in one.items():
        assert misfits(
            name, {other: x for other, x in one.items() if other != field}
        ), field
        assert misfits(
            name,
            one | {field: {"no": 1}}
            if not isinstance(value, dict)
            else one | {field: 3.5},
        ), field


@pytest.mark.parametrize("name", NAMES)
def test_what_read_the_first_schema_reads_what_is_written_now(written, name):
    first = json.loads((PUBLISHED / f"{name}.json").read_text())
    now = json.loads(schema(name))
    assert (
        now["properties"]["schema_version"]["const"]
        == first["properties"]["schema_version"]["const"]
    ), "a next version is published beside this one"
    assert broken(first, now, (first, now)) == []
    assert all(Draft202012Validator(first).is_valid(one) for one in written[name])


def alternatives(part, root):
    """Resolve a reference and a union into schemas of one type each."""
    target = root["$defs"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    if "anyOf" in target:
        return [one for each in target["anyOf"] for one in alternatives(each, root)]
    narrower = part.get("properties", {})
    fields = {
        name: field | narrower.get(name, {})
        for name, field in target.get("properties", {}).items()
    }
    types, filled = target.get("type"), target | {"properties": fields}
    types = types if isinstance(types, list) else [types]
    return [
        {"type": one, "properties": {}} if one == "null" else filled | {"type": one}
        for one in types
    ]


def broken(first, now, roots, where="$"):
    """Name the fields of a schema that a later one leaves out, no longer promises, or gives another type."""
    told, former = [], alternatives(first, roots[0])
    for part in alternatives(now, roots[1]):
        values = part.get("enum", [part["const"]] if "const" in part else None)
        if values is not None:
            before = [
                {key: one[key] for key in ("type", "enum", "const") if one.get(key)}
                for one in former
            ]
            told += [where] * (
                not all(
                    Draft202012Validator({"anyOf": before}).is_valid(value)
                    for value in values
                )
            )
            continue
        same = next(
            (
                one
                for one in former
                if one["type"] == part["type"] and "enum" not in one
            ),
            None,
        )
        if same is None:
            return [where]
        told += [
            f"{where}.{name}"
            for name in same.get("required", ())
            if name not in part.get("required", ())
        ]
        for name, field in same["properties"].items():
            later, below = part["properties"].get(name), f"{where}.{name}"
            told += [below] if later is None else broken(field, later, roots, below)
        for key in {"items", "additionalProperties"} & {*same} & {*part}:
            told += (
                broken(same[key], part[key], roots, f"{where}[]")
                if isinstance(same[key], dict)
                else []
            )
    return told


def test_what_breaks_readers_is_named():
    first = json.loads((PUBLISHED / "audit.json").read_text())
    now = json.loads(schema("audit"))
    del now["properties"]["verdict"]
    now["properties"]["model"]["required"].remove("rank")
    now["$defs"]["finding"]["properties"]["kind"]["enum"].append("guessed")
    now["$defs"]["equivalent_movement"]["properties"]["quantiles"][
        "additionalProperties"
    ] = {"type": "string"}
    now["properties"]["added"] = {"type": "string"}
    assert broken(first, now, (first, now)) == [
        *(
            "$.model.rank",
            "$.movement[].quantiles[]",
            "$.findings[].kind",
            "$.notes[].kind",
            "$.verdict",
        )
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_field_is_described(name):
    whole = json.loads(schema(name))
    for part in (whole, *whole["$defs"].values()):
        assert [
            key
            for key, field in part["properties"].items()
            if not {"description", "properties"} & {*field}
        ] == []


def test_the_command_prints_them(embaudit):
    listed = embaudit("schema")
    assert (listed.code, listed.out.split()) == (0, list(NAMES))
    for name in NAMES:
        assert embaudit("schema", name).out == schema(name)
        assert exactly(name)
    refused = embaudit("schema", "simson")
    assert (refused.code, refused.out) == (2, "")
    assert (
        "must be that of audit, blocks, compare, evaluate or simpson; got 'simson'; the nearest one is simpson."
        in (refused.err)
    )
