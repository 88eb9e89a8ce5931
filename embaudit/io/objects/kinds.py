"""A kind of objects in memory: the library that defines their class, and the reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from embaudit.io.arrays import Arrays
from embaudit.io.contents import Contents
from embaudit.io.options import Request
from embaudit.io.tables.columns import TableFile

ObjectReader: TypeAlias = Callable[[Any, Request], Arrays | TableFile | Contents]
"""Reads an object: returns named arrays, a table, or the fields of a model."""


@dataclass(frozen=True)
class LiveKind:
    """One kind of objects in memory."""

    read: ObjectReader
    """Reads such an object."""
    packages: tuple[str, ...] = ()
    """Top-level packages that define its class, such as "sklearn"."""
    classes: tuple[str, ...] = ()
    """Names of its class, or of a class that it inherits from; any by default."""
    options: tuple[str, ...] = ()
    """Options of `load` that the reader uses, besides the options of all kinds."""
    name: str = ""
    """Name in the report of a read."""
    noun: str = ""
    """Noun for such objects in errors."""
