"""Every number and word that a room settles once: bounds and sizes, and defaults of arguments and fields.

People read some of these in the documentation, scripts rely on others, and each of the rest decides which numbers come
out or what they cost. None changes unnoticed.
"""

from __future__ import annotations

import ast
import inspect
import os
import pkgutil
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

KEPT = Path(__file__).with_name("settings")
PLAIN = (bool, int, float, str, Enum, type(None))


def require_settings_of(room: str) -> None:
    """Hold the settings of a room against those kept; `UPDATE_SETTINGS=1` keeps what they are now."""
    path, found = KEPT / f"{room}.txt", settings_of(room)
    if os.environ.get("UPDATE_SETTINGS"):
        path.write_text("".join(f"{line}\n" for line in found), encoding="utf-8")
    kept = path.read_text(encoding="utf-8").splitlines()
    assert found == kept, f"{sorted(set(found) ^ set(kept))}; if that is meant, set UPDATE_SETTINGS=1"


def settings_of(room: str) -> list[str]:
    """List `place = value` of whatever the modules of a room settle when they are imported."""
    package = import_module(f"embaudit.{room}")
    names = [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    found = []
    for name in sorted([package.__name__, *names]):
        module = import_module(name)
        found += _settled(name.removeprefix("embaudit."), module, ast.parse(inspect.getsource(module)))
    return found


def _settled(place: str, owner: object, tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    """Yield what a module or a class settles, in the order of its text."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            made = getattr(owner, node.name)
            if is_dataclass(made):
                flags = made.__dataclass_params__
                yield f"{place}.{node.name}: frozen={flags.frozen}, eq={flags.eq}, repr={flags.repr}"
            yield from _settled(f"{place}.{node.name}", made, node)
        elif isinstance(node, ast.FunctionDef):
            yield from _defaults(f"{place}.{node.name}", inspect.getattr_static(owner, node.name))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            for name in (one.id for one in ast.walk(target) if isinstance(one, ast.Name) and one.id != "__all__"):
                yield from _value(place, owner, name)


def _value(place: str, owner: object, name: str) -> Iterator[str]:
    record = {field.name: field for field in fields(owner)} if is_dataclass(owner) else {}
    value = getattr(owner, name, MISSING)
    if name in record:
        value, field = record[name].default, record[name]
        yield from (f"{place}.{name}: {flag}" for flag in ("kw_only",) if getattr(field, flag))
        yield from (f"{place}.{name}: no {flag}" for flag in ("repr", "compare") if not getattr(field, flag))
    elif isinstance(owner, type) and issubclass(owner, tuple):
        value = getattr(owner, "_field_defaults", {}).get(name, MISSING)
    if _is_plain(value):
        yield f"{place}.{name} = {getattr(value, 'value', value)!r}"
    elif isinstance(value, tuple) and all(is_dataclass(one) and not isinstance(one, type) for one in value):
        for number, one in enumerate(value):
            found = ((field.name, getattr(one, field.name)) for field in fields(one))
            yield from (f"{place}.{name}[{number}].{key} = {part!r}" for key, part in found if _is_plain(part))


def _defaults(place: str, function: object) -> Iterator[str]:
    function = getattr(function, "__func__", function)
    if callable(function):
        for one in inspect.signature(function).parameters.values():
            if one.default is not one.empty and _is_plain(one.default):
                yield f"{place}({one.name} = {one.default!r})"


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, PLAIN)
