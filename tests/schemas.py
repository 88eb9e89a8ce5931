"""Whether what `--json` writes is what the published schemas say, and nothing besides."""

from __future__ import annotations

import json
from functools import cache

from jsonschema import Draft202012Validator

from embaudit.report.schemas import schema


def closed(part):
    """Forbid, at every depth, fields that a schema does not name."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    inner = {name: closed(one) for name, one in part.items()}
    # A field may be called so, too.
    names_fields = isinstance(part.get("properties"), dict) and "type" in part
    return {**inner, "additionalProperties": False} if names_fields else inner


@cache
def exactly(name):
    """The schema of a command, closed."""
    published = json.loads(schema(name))
    Draft202012Validator.check_schema(published)
    return Draft202012Validator(closed(published))


def misfits(name, record):
    """Say where a record is not what its schema says, or holds what it does not name."""
    return sorted(
        f"{error.json_path}: {error.message[:200]}"
        for error in exactly(name).iter_errors(record)
    )
