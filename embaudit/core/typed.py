"""How a field of a dataclass of options is typed in a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Typed:
    """The option of the command line for a field, as an annotation of the field.

    The dataclass itself stays free of the library that parses commands. A settings
    file takes the same values.
    """

    type: Any
    """Type of the option as Typer reads it, such as `int` or `list[str]`."""
    help: str
    """Line of the help."""
    panel: str
    """Section of the help."""
    is_rare: bool = False
    """True if only `embaudit COMMAND --help-all` lists the option."""
