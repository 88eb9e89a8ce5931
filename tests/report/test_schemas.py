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
from embaudit.errors import InputError
from embaudit.report.schemas import NAMES, record, schema

PUBLISHED = Path(__file__).parent / "published"
"""The first schemas of each `schema_version`, as they were published: never edited, only replaced by a next version."""


@pytest.fixture(scope="module")
def written():
    """A few records of each command, as they are read back."""
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((40, 4)), draw.standard_normal((30, 4))
    model = ea.FactorModel.from_user_item(users, items, item_bias=draw.standard_normal(30), objective="factors")
    other = model.replace(right=items @ np.diag([1.0, 2.0, 3.0, 4.0]))
    head = ea.FactorModel.from_softmax(items + 1, embeddings=users)
    frame = pd.DataFrame({"x": np.arange(60.0), "y": np.arange(60.0) % 7, "g": list("abc") * 20})
    zero = {"a": np.zeros(2), "b": np.ones(3)}
    audited = (model, head, ea.FactorModel.from_vectors(items))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("embaudit.auditing.limits.ATTACKED_RANK", 0)
        audits = [ea.audit(one, n_gauges=1, n_pairs=50) for one in audited]
    results = {
        "audit": audits,
        "blocks": [ea.block_cosines(users[0], users[1], blocks="coordinates"), ea.block_cosines(zero, zero)],
        "compare": [ea.compare(model, other), ea.compare(head, head)],
        "evaluate": [ea.evaluate_similarities(model, list("abc") * 10, n_neighbours=3)],
        "simpson": [ea.simpson(frame, x="x", y="y", n_permutations=n) for n in (0, 9)],
    }
    return {name: [json.loads(json.dumps(record(one))) for one in found] for name, found in results.items()}


@pytest.mark.parametrize("name", NAMES)
def test_records_have_the_fields_of_their_schema_and_no_others(written, name):
    assert [misfits(name, one) for one in written[name]] == [[]] * len(written[name])


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_is_missing_or_of_another_type_is_noticed(written, name):
    one = written[name][-1]
    for field, value in one.items():
        assert misfits(name, {other: x for other, x in one.items() if other != field}), field
        assert misfits(name, one | {field: {"no": 1}} if not isinstance(value, dict) else one | {field: 3.5}), field


@pytest.mark.parametrize("name", NAMES)
def test_what_read_the_first_schema_reads_what_is_written_now(written, name):
    first = json.loads((PUBLISHED / f"{name}.json").read_text())
    now = json.loads(schema(name))
    assert now["properties"]["schema_version"]["const"] == first["properties"]["schema_version"]["const"], (
        "a next version is published beside this one"
    )
    assert broken(first, now) == []
    assert all(Draft202012Validator(first).is_valid(one) for one in written[name])


def broken(first, now, where="$"):
    """Name the fields of a schema that a later one leaves out, no longer promises, or gives another type."""
    if not isinstance(first, dict) or not isinstance(now, dict):
        return []
    told = [where for key in ("type", "enum", "const", "$ref") if first.get(key) != now.get(key)]
    told += [f"{where}.{name}" for name in first.get("required", ()) if name not in now.get("required", ())]
    for key in ("properties", "$defs"):
        for name, part in first.get(key, {}).items():
            later = now.get(key, {}).get(name)
            told += [f"{where}.{name}"] if later is None else broken(part, later, f"{where}.{name}")
    for key in ("items", "additionalProperties"):
        told += broken(first.get(key), now.get(key), f"{where}[]")
    for one, other in zip(first.get("anyOf", ()), now.get("anyOf", ()), strict=True):
        told += broken(one, other, where)
    return told


def test_what_breaks_readers_is_named():
    first = json.loads((PUBLISHED / "audit.json").read_text())
    now = json.loads(schema("audit"))
    del now["properties"]["verdict"]
    now["properties"]["model"]["required"].remove("rank")
    now["$defs"]["finding"]["properties"]["kind"]["enum"].append("guessed")
    now["$defs"]["movement"]["properties"]["quantiles"]["additionalProperties"] = {"type": "string"}
    now["properties"]["added"] = {"type": "string"}
    assert broken(first, now) == ["$.model.rank", "$.verdict", "$.finding.kind", "$.movement.quantiles[]"]


def test_the_command_prints_them(embaudit):
    listed = embaudit("schema")
    assert (listed.code, listed.out.split()) == (0, list(NAMES))
    for name in NAMES:
        assert embaudit("schema", name).out == schema(name)
        assert exactly(name)
    refused = embaudit("schema", "simson")
    assert (refused.code, refused.out) == (2, "")
    assert "must be that of audit, blocks, compare, evaluate or simpson; got 'simson'; the nearest one is simpson." in (
        refused.err
    )
    with pytest.raises(InputError, match="nearest one is audit"):
        schema("../schemas/audit")
