"""The records that `--json` writes, and the JSON Schema (2020-12) of an audit.

While `schema_version` stays, fields are added, and none is renamed, retyped or left
out. So a program that reads the records of today reads those of later versions, if it
ignores fields that it does not know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from importlib.resources import files
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from embaudit._version import __version__
from embaudit.auditing.options import AuditOptions, types_of_options
from embaudit.core.plain import SCHEMA_VERSION

if TYPE_CHECKING:
    from embaudit.core.results import Result

JSON_NAMES = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
}
"""Names of Python's types in a JSON Schema."""


def record(result: Result) -> dict[str, Any]:
    """Return what `--json` writes of a result: its plain values, and who wrote them.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> written = record(block_cosines([1, 1], [1, 2]))
    >>> written["schema_version"], written["n_blocks"]
    (1, 2)
    """
    return {
        "embaudit_version": __version__,
        "schema_version": SCHEMA_VERSION,
        **result.to_dict(),
    }


def schema() -> str:
    """Return the JSON Schema of what `embaudit audit --json` writes, as text.

    The file next to this module describes everything but the options of the audit,
    which describe themselves.

    Examples
    --------
    >>> json.loads(schema())["title"]
    'embaudit audit'
    """
    whole = _stored("audit.schema.json")
    whole["$defs"]["options"] = schema_of_options()
    return f"{json.dumps(whole, indent=1, ensure_ascii=False)}\n"


def _stored(name: str) -> dict[str, Any]:
    """Read a schema next to this module."""
    file = files("embaudit.report") / name
    stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return stored


def adapter_schema() -> str:
    """Return the JSON Schema of what `embaudit audit --json` writes for an adapter.

    Its findings have the fields that those of an audit of a model have.

    Examples
    --------
    >>> json.loads(adapter_schema())["title"]
    'embaudit audit of an adapter'
    """
    whole = _stored("adapter.schema.json")
    of_models = _stored("audit.schema.json")["$defs"]
    for name in ("finding", "scope"):
        whole["$defs"][name] = of_models[name]
    return f"{json.dumps(whole, indent=1, ensure_ascii=False)}\n"


def threshold_schema() -> str:
    """Return the JSON Schema of what `embaudit threshold --out` writes, as text.

    Examples
    --------
    >>> json.loads(threshold_schema())["title"]
    'embaudit threshold'
    """
    file = files("embaudit.report") / "threshold.schema.json"
    return file.read_text(encoding="utf-8")


def schema_of_options() -> dict[str, Any]:
    """Return the JSON Schema of the options of an audit, derived from `AuditOptions`.

    An option can be null in the JSON exactly if the JSON holds null by default.

    Examples
    --------
    >>> options = schema_of_options()["properties"]
    >>> options["n_pairs"]
    {'type': 'integer', 'description': 'Number of pairs to draw (default: 100,000).'}
    >>> options["role"]["enum"]
    ['left', 'right', 'cross', None]
    """
    types = types_of_options()
    defaults = AuditOptions().to_dict()
    properties = {}
    for option in fields(AuditOptions):
        properties[option.name] = {
            **type_in_json(
                types[option.name], is_nullable=defaults[option.name] is None
            ),
            "description": option.metadata["description"],
        }
    return {
        "description": "Options that the numbers of an audit depend on, with the seed.",
        "type": "object",
        "properties": properties,
        "required": list(properties),
    }


def type_in_json(hint: Any, *, is_nullable: bool) -> dict[str, Any]:
    """Return the JSON Schema of values of a type.

    Of a union, the JSON holds values of the first type, to which the others are
    converted: `Role | str` is written as the role, and `str | GaugeGroup` as a text.

    Examples
    --------
    >>> type_in_json(Sequence[str], is_nullable=False)
    {'type': 'array', 'items': {'type': 'string'}}
    >>> type_in_json(float | None, is_nullable=True)
    {'type': ['number', 'null']}
    """
    if get_origin(hint) in (Union, UnionType):
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        values = list(get_args(hint))
        return {"enum": [*values, None] if is_nullable else values}
    schema: dict[str, Any] = {}
    if get_origin(hint) is Sequence:
        (item,) = get_args(hint)
        name = "array"
        schema["items"] = type_in_json(item, is_nullable=False)
    else:
        name = JSON_NAMES[hint]
    return {"type": [name, "null"] if is_nullable else name, **schema}
