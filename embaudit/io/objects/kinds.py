"""Kinds of objects in memory: by which library they are known, and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from embaudit.io.arrays import Arrays
from embaudit.io.contents import Contents
from embaudit.io.options import Request
from embaudit.io.tables.columns import TableFile

Read: TypeAlias = Callable[[Any, Request], Arrays | TableFile | Contents]
"""Reads an object: returns named arrays, a table, or the fields of a model."""


@dataclass(frozen=True)
class LiveKind:
    """One kind of objects in memory."""

    read: Read
    """Reads such an object."""
    packages: tuple[str, ...] = ()
    """First parts of the names of the modules of its class."""
    classes: tuple[str, ...] = ()
    """Names of classes, any by default."""
    options: tuple[str, ...] = ()
    """The options of `load` it understands, besides those that every kind takes."""
    name: str = ""
    """Name in the report of a read."""
    noun: str = ""
    """Noun for such objects in errors."""
