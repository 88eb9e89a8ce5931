"""What holds of every record of a room, and how each is declared: what is compared and shown, and what is left out."""

from __future__ import annotations

import pkgutil
import re
from dataclasses import fields, is_dataclass
from importlib import import_module

ARRAYS = re.compile(
    r"\b(Floats|Matrix|Vector|Indices|Flags|NDArray|Integers|Singles)\b"
)


def records_of(room):
    """List the dataclasses that a room defines."""
    package = import_module(f"embaudit.{room}")
    names = [
        package.__name__,
        *(
            found.name
            for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        ),
    ]
    found = {
        one
        for module in map(import_module, names)
        for one in vars(module).values()
        if isinstance(one, type)
        and is_dataclass(one)
        and one.__module__ == module.__name__
    }
    return sorted(found, key=lambda one: one.__name__)


def open_records(room):
    """Name the records that can be changed, and those with arrays whose entries an `==` would compare."""
    records = [(one, one.__dataclass_params__) for one in records_of(room)]
    assert records, room
    return {
        one.__name__
        for one, made in records
        if not made.frozen
        or (made.eq and any(ARRAYS.search(str(field.type)) for field in fields(one)))
    }


def declared(room):
    """Tell of each record what is compared and shown, and of its fields what is not, or stands there by default."""
    lines = []
    for one in records_of(room):
        made, told = one.__dataclass_params__, []
        for field in fields(one):
            left_out = [
                f"not {name}"
                for name in ("repr", "compare", "init")
                if not getattr(field, name)
            ]
            # Sizes of samples may change at any time.
            is_told = isinstance(
                field.default, bool | str | tuple | None
            ) or field.default in range(3)
            told += [
                " ".join(
                    [
                        f"{field.name}={field.default!r}" if is_told else field.name,
                        *left_out,
                    ]
                )
            ]
            told = told if is_told or left_out else told[:-1]
        flags = " ".join(
            name for name in ("frozen", "eq", "order", "repr") if getattr(made, name)
        )
        lines.append(f"{one.__name__} ({flags}) {', '.join(told)}".strip() + "\n")
    return "".join(lines)
