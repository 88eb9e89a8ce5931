"""What holds of every record of a room: nobody changes it, and none compares arrays by their truth."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import fields, is_dataclass
from importlib import import_module

ARRAYS = re.compile(r"\b(Floats|Matrix|Vector|Indices|Flags|NDArray|Integers|Singles)\b")


def records_of(room):
    """List the dataclasses that a room defines."""
    package = import_module(f"embaudit.{room}")
    names = [
        package.__name__,
        *(found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")),
    ]
    found = {
        one
        for module in map(import_module, names)
        for one in vars(module).values()
        if isinstance(one, type) and is_dataclass(one) and one.__module__ == module.__name__
    }
    return sorted(found, key=lambda one: one.__name__)


def open_records(room):
    """Name the records that can be changed, and those with arrays whose entries an `==` would compare."""
    records = [(one, one.__dataclass_params__) for one in records_of(room)]
    assert records, room
    return {
        one.__name__
        for one, made in records
        if not made.frozen or (made.eq and any(ARRAYS.search(str(field.type)) for field in fields(one)))
    }
