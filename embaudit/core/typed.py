"""How a field of a dataclass of options is typed in a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Typed:
    """The option of the command line for a field.

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


def typed(
    type: Any,  # noqa: A002
    help: str,  # noqa: A002
    panel: str,
    *,
    is_rare: bool = False,
) -> dict[str, Typed]:
    """Return the metadata of a field that is an option of a command.

    Examples
    --------
    >>> from dataclasses import dataclass, field, fields
    >>> @dataclass
    ... class Size:
    ...     width: int = field(default=3, metadata=typed(int, "Columns.", "Size"))
    >>> fields(Size)[0].metadata["typed"].help
    'Columns.'
    """
    return {"typed": Typed(type, help, panel, is_rare)}
