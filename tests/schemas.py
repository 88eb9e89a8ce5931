"""Compare the record of an audit with its JSON Schema, allowing no other field.

The schema itself allows unknown fields, so that readers of today's records can read
later ones. The tests are stricter: a field without an entry in the schema is an error.
"""

from __future__ import annotations

import json
from functools import cache

from jsonschema import Draft202012Validator

from embaudit.report.schemas import schema


def closed(part):
    """Return a schema that also rejects fields it does not name, at every depth."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = {name: closed(one) for name, one in part.items()}
    # A record may itself have a field called "properties", so look at "type" as well.
    is_object_schema = isinstance(part.get("properties"), dict) and "type" in part
    if is_object_schema:
        inner["additionalProperties"] = False
    return inner


@cache
def closed_validator():
    """Return the validator of the closed schema."""
    whole = json.loads(schema())
    Draft202012Validator.check_schema(whole)
    return Draft202012Validator(closed(whole))


def misfits(record):
    """List the places where the record of an audit differs from the closed schema."""
    return sorted(
        f"{error.json_path}: {error.message[:200]}"
        for error in closed_validator().iter_errors(record)
    )
