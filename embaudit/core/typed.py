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
    in_json: str = "",
) -> dict[str, Any]:
    """Return the metadata of a field that is an option of a command.

    `in_json` is a sentence on the value in the JSON of a result, if it can differ from
    the value that was typed.

    Examples
    --------
    >>> from dataclasses import dataclass, field, fields
    >>> @dataclass
    ... class Size:
    ...     width: int = field(default=3, metadata=typed(int, "Columns.", "Size"))
    >>> fields(Size)[0].metadata["typed"].help
    'Columns.'
    """
    option = Typed(type, help, panel, is_rare)
    return described(help, in_json=in_json) | {"typed": option}


def described(
    help: str,  # noqa: A002
    *,
    in_json: str = "",
) -> dict[str, Any]:
    """Return the metadata of a field that is no option of a command.

    Examples
    --------
    >>> described("Columns.", in_json="0 stands for all.")["description"]
    'Columns. 0 stands for all.'
    """
    return {"description": f"{help} {in_json}".rstrip()}
