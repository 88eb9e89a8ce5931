"""Lines of Python in a text, and below each of them what comes of it, kept for people to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from snapshots import ANEW, sections, write_sections

from embaudit.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


def error_of(function: Any, *arguments: Any, **options: Any) -> str:
    """Return what is made, as text, or why it is not; what another library says is its own."""
    try:
        return str(function(*arguments, **options))
    except InputError as error:
        cause = error.__cause__
        other = cause is not None and not isinstance(cause, InputError | OSError)
        return f"{type(error).__name__}: {error}".replace(
            " ".join(str(cause).split()) if other else "\n", "..."
        )
    except ValueError as error:
        return type(error).__name__


def shown(value: Any) -> str:
    """Write numbers briefly, the first of many."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(each)}" for name, each in value.items())
    if isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.ndim
    ):
        more = (
            f" … {len(value)}"
            if len(value) > 8 and isinstance(value, np.ndarray)
            else ""
        )
        return f"({' '.join(map(shown, value[:8] if more else value))}{more})"
    return (
        f"{round(float(value), 9) + 0.0:.4g}"
        if isinstance(value, float | np.floating)
        else str(value)
    )


def assert_expressions(
    path: Path, names: dict[str, Any], described: Callable[[Any], str] = shown
) -> None:
    """Evaluate each line with these names, and compare what comes of it with what is kept."""
    kept, said = sections(path), {}
    for line in kept:
        text = error_of(lambda line=line: described(eval(line, names)))
        said[line] = text.replace(f"{Path.cwd()}/", "") + "\n"
    if ANEW:
        write_sections(path, said)
    else:
        assert {x: text for x, text in said.items() if text != kept[x]} == {
            x: kept[x] for x in said if said[x] != kept[x]
        }
