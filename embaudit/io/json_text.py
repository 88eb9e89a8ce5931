"""JSON that somebody else wrote: parsed, or a ValueError whatever is wrong with it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def parsed(text: str | bytes, **hooks: Any) -> Any:
    """Parse JSON, with hooks as `json.loads` has them; brackets nested beyond sense are a ValueError, too.

    Examples
    --------
    >>> parsed('{"weight": 1}')
    {'weight': 1}
    >>> parsed("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: nested too deeply
    """
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parsed_file(path: Path) -> Any:
    """Parse a file that may lie beside another; None where there is none, it is a pipe or device, or it is damaged.

    Examples
    --------
    >>> parsed_file(Path("no-such-file.json")) is None
    True
    """
    try:
        return parsed(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError):
        return None


def parsed_once(text: str | bytes) -> Any:
    """Parse JSON as `parsed` does; a key that stands twice in one map is a ValueError, not the last one.

    Examples
    --------
    >>> parsed_once('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: the key 'a' twice
    """
    return parsed(text, object_pairs_hook=_once)


def parsed_finite(text: str | bytes) -> Any:
    """Parse JSON as `parsed_once` does; a number that is not finite is a ValueError.

    Examples
    --------
    >>> parsed_finite('{"value": 1e999}')
    Traceback (most recent call last):
        ...
    ValueError: the number 1e999
    """
    return parsed(
        text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite
    )


def _finite(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"the number {text}")
    return float(text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ValueError(f"the key {key!r} twice")
        entries[key] = value
    return entries
