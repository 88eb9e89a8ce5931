"""Records that `--json` writes, and their JSON Schemas (2020-12), generated from the classes of the results.

A schema has the entries that a class declares (`embaudit.core.plain.entries`): types are those of the annotations,
descriptions the docstrings; those of tables list the columns. While `schema_version` stays, fields are added, and none
is renamed, retyped or left out: what reads today's records reads those of later versions. Nothing here forbids fields
that it does not know.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from inspect import cleandoc, getsource
from itertools import pairwise
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from embaudit._version import __version__
from embaudit.core.plain import SCHEMA_VERSION, Finite, entries, plain
from embaudit.core.words import nearest_to
from embaudit.errors import must_be

if TYPE_CHECKING:
    from embaudit.core.results import Result

RESULTS = {
    "audit": ("embaudit.auditing", "Audit"),
    "blocks": ("embaudit.blocks", "BlockCosines"),
    "compare": ("embaudit.comparison", "Comparison"),
    "evaluate": ("embaudit.evaluation", "Evaluation"),
    "simpson": ("embaudit.reversals", "SimpsonReport"),
}
"""Module and class of what each command with `--json` writes."""
NAMES = tuple(RESULTS)
"""The commands that write JSON."""
TYPES: dict[tuple[type, ...], str | list[str]] = {
    (bool, np.bool_): "boolean",
    (int, np.integer): "integer",
    (float, np.floating): ["number", "null"],
    (str,): "string",
}
"""Plain types, a truth value before the integers that it is one of; a number that does not exist is null."""
COLUMN = re.compile(r"^(\w+) : (.+?)(, optional)?\n((?: {4}.+\n?)+)", re.MULTILINE)
"""Name, type and description of a column of a table, or of a key of a dictionary, in a docstring."""
DECLARED = re.compile(r"^(?:class|if) .*?(?=^[^\s)])", re.MULTILINE | re.DOTALL)
"""A class of a module, or what it imports for type checking; nothing is asked of the functions beside them."""
METHODS = {"__len__": (__name__, "int", ""), "__str__": (__name__, "str", "")}
"""Module, annotation and docstring of what has a method of Python's own."""


@dataclass(frozen=True)
class Written:
    """Fields that `record` puts before those of a result."""

    embaudit_version: str
    """The version of embaudit that wrote this."""
    schema_version: Literal[1]
    """Raised when a field is renamed, goes away, or changes its type or meaning; fields are added without."""


def record(result: Result) -> dict[str, Any]:
    """Return what `--json` writes of a result: its plain values, and who wrote them in which form.

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


def schema(name: str) -> str:
    """Return the JSON Schema of what a command writes, as text.

    Raises
    ------
    InputError
        For a command that writes no JSON.

    Examples
    --------
    >>> json.loads(schema("blocks"))["title"]
    'embaudit blocks'
    >>> schema("adit")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a schema must be that of audit, blocks, compare, evaluate or simpson; got 'adit'; the
    nearest one is audit.
    """
    if name not in NAMES:
        names = f"that of {', '.join(NAMES[:-1])} or {NAMES[-1]}"
        raise must_be("a schema", names, repr(name), nearest_to(name, NAMES))
    module, kind = RESULTS[name]
    definitions: dict[str, Any] = {}
    written = getattr(import_module(module), kind)
    head, whole = (_object_schema(each, definitions) for each in (Written, written))
    whole["description"] = f"What `embaudit {name} --json` writes."
    whole["properties"] = head["properties"] | whole["properties"]
    whole["required"] = [*dict.fromkeys([*head["required"], *whole["required"]])]
    first = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"embaudit {name}",
    }
    return (
        _laid_out({**first, **whole, "$defs": dict(sorted(definitions.items()))}) + "\n"
    )


def _laid_out(node: Any, depth: int = 0, key: str = "") -> str:
    """Write JSON with one line for each field of an object."""
    text = json.dumps(node, ensure_ascii=False)
    if key not in ("properties", "$defs") and (
        not isinstance(node, dict) or '"properties"' not in text
    ):
        return text
    lines = (
        f"{' ' * (depth + 1)}{json.dumps(name)}: {_laid_out(x, depth + 1, name)}"
        for name, x in node.items()
    )
    return "{\n" + ",\n".join(lines) + f"\n{' ' * depth}}}"


def _object_schema(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    """Write the schema of the record of a class, and the definitions that it refers to."""
    whole = _empty_object(kind.__doc__ or "")
    for key, path in entries(kind):
        *outer, last = key.split(".")
        place, name = whole, last.rstrip("?")
        for outside in outer:
            if outside not in place["properties"]:
                _add(place, outside, _empty_object(""))
            place = place["properties"][outside]
        declared, text = _attribute(kind, path)
        if last == "*":
            for field, node in _object_schema(declared, definitions)[
                "properties"
            ].items():
                _add(place, field, node)
        else:
            node = {
                **_schema_of(declared, definitions, _table_schema(text)),
                **_described(text),
            }
            _add(place, name, node, always=last == name)
    return whole


def _table_schema(text: str) -> dict[str, Any]:
    """Write the schema of a row of a table whose columns a docstring lists."""
    table = _empty_object("")
    for name, words, optional, described in COLUMN.findall(cleandoc(text)):
        kind = _evaluated(__name__, re.sub(r"\{(.+?)\}", r"Literal[\1]", words))
        _add(
            table,
            name,
            {**_schema_of(kind, {}, {}), **_described(described)},
            always=not optional,
        )
    return table


def _add(
    place: dict[str, Any], name: str, node: dict[str, Any], *, always: bool = True
) -> None:
    """Add a field to the schema of an object, or replace it."""
    place["properties"][name] = node
    if always and name not in place["required"]:
        place["required"].append(name)


def _empty_object(text: str) -> dict[str, Any]:
    return {**_described(text), "type": "object", "properties": {}, "required": []}


def _described(text: str) -> dict[str, str]:
    """Make a description of the first paragraph of a docstring, in which null stands for what JSON does not know."""
    words = " ".join(
        cleandoc(text).split("\n\n")[0].replace("`", "").removeprefix("Return ").split()
    )
    return (
        {"description": words[0].upper() + re.sub(r"\b(None|NaN)\b", "null", words[1:])}
        if words
        else {}
    )


def _schema_of(
    kind: Any, definitions: dict[str, Any], table: dict[str, Any]
) -> dict[str, Any]:
    """Write the schema of what `plain` makes of values of a type; tables and dictionaries of anything have columns."""
    kind = _spelled_out(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is None:
        return table if kind is Any else _class_schema(kind, definitions, table)
    if origin is Annotated:
        return {**_schema_of(args[0], definitions, table), **args[1]}
    if origin is Literal:
        return {"enum": [*args]} if len(args) > 1 else {"const": args[0]}
    if origin is np.ndarray:
        [number] = get_args(args[1])
        return {
            "type": "array",
            "items": _class_schema(get_origin(number) or number, definitions, table),
        }
    nodes = [
        _schema_of(each, definitions, table)
        for each in args
        if each not in (..., NoneType)
    ]
    if origin in (Union, UnionType):
        return _or_null(nodes[0])
    if origin in (dict, Mapping):
        return (
            table
            if args[1] is Any
            else {"type": "object", "additionalProperties": nodes[1]}
        )
    size = (
        {"minItems": len(nodes), "maxItems": len(nodes)}
        if origin is tuple and ... not in args
        else {}
    )
    items = (
        {"items": nodes[0]}
        if all(node == nodes[0] for node in nodes)
        else {"prefixItems": nodes}
    )
    return {"type": "array", **items, **size}


def _spelled_out(kind: Any) -> Any:
    """Put what it stands for in place of an alias with arguments, such as NumPy 2.5 makes of NDArray[float]."""
    origin = get_origin(kind)
    return origin.__value__[get_args(kind)] if hasattr(origin, "__value__") else kind


def _class_schema(
    kind: type, definitions: dict[str, Any], table: dict[str, Any]
) -> dict[str, Any]:
    """Write the schema of a plain type or a table, or refer to the definition of another class."""
    if issubclass(kind, Enum):
        return {"enum": [plain(each) for each in kind]}
    for classes, plain_type in TYPES.items():
        if issubclass(kind, classes):
            return {"type": plain_type}
    if kind.__name__ == "DataFrame":
        return {"type": "array", "items": table}
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
    if name not in definitions:
        definitions[name] = _object_schema(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _or_null(node: dict[str, Any]) -> dict[str, Any]:
    """Allow null besides."""
    if "enum" in node:
        return node | {"enum": [*node["enum"], None]}
    if "type" in node:
        types = node["type"] if isinstance(node["type"], list) else [node["type"]]
        return node | {"type": list(dict.fromkeys([*types, "null"]))}
    return {"anyOf": [node, {"type": "null"}]}


def _attribute(kind: Any, path: str) -> tuple[Any, str]:
    """Return the type and the docstring of what lies at the end of a path of attributes."""
    optional, text = False, ""
    for name in path.split("."):
        args = get_args(kind)
        kind, optional = (
            (args[0], True) if NoneType in args else (_spelled_out(kind), optional)
        )
        module, annotation, described = (
            _members(get_origin(kind) or kind).get(name) or METHODS[name]
        )
        kind, text = _evaluated(module, annotation), described or text
    return (kind | None if optional else kind), text


@cache
def _tree(module: str) -> ast.Module:
    """Parse the classes of a module and its imports for type checking once; the rest would take most of the time."""
    return ast.parse("".join(DECLARED.findall(f"{getsource(sys.modules[module])}\n#")))


@cache
def _members(kind: type) -> dict[str, tuple[str, str, str]]:
    """Return module, annotation and docstring of the attributes of a class, and of its bases, from their sources."""
    members = {}
    for base in reversed(
        [each for each in kind.__mro__ if each.__module__.startswith("embaudit.")]
    ):
        declared = next(
            x
            for x in _tree(base.__module__).body
            if isinstance(x, ast.ClassDef) and x.name == base.__name__
        )
        for node, after in pairwise([*declared.body, ast.Pass()]):
            if isinstance(node, ast.FunctionDef) and node.returns is not None:
                members[node.name] = (
                    base.__module__,
                    ast.unparse(node.returns),
                    ast.get_docstring(node) or "",
                )
            if isinstance(node, ast.AnnAssign):
                # The docstring of a field is a text of its own behind it, which Python does not keep.
                text = (
                    ast.literal_eval(after.value) if isinstance(after, ast.Expr) else ""
                )
                members[ast.unparse(node.target)] = (
                    base.__module__,
                    ast.unparse(node.annotation),
                    text,
                )
    return members


def _evaluated(module: str, annotation: str) -> Any:
    """Evaluate an annotation among the names of its module, those imported for type checking only, too."""
    names = {"Finite": Finite, **vars(sys.modules[module])}
    for block in _tree(module).body:
        for node in block.body if isinstance(block, ast.If) else ():
            if isinstance(node, ast.Import):
                names |= {
                    each.asname or each.name: import_module(each.name)
                    for each in node.names
                }
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                used = [
                    each
                    for each in node.names
                    if re.search(rf"\b{each.name}\b", annotation)
                ]
                names |= {
                    each.name: getattr(import_module(node.module), each.name)
                    for each in used
                }
    return get_type_hints(
        SimpleNamespace(__annotations__={"it": annotation}), names, include_extras=True
    )["it"]
