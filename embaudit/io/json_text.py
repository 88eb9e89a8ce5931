"""JSON that somebody else wrote: parsed, or a ValueError whatever is wrong with it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FREE_KEYS = 500_000
"""Keys that JSON of any size may hold."""
BYTES_PER_KEY = 100
"""Bytes of the text for each further key."""


def parsed(text: str | bytes, *, infinite: bool = False, **hooks: Any) -> Any:
    """Parse JSON, with hooks as `json.loads` has them.

    Parameters
    ----------
    text : str or bytes
        The whole text.
    infinite : bool
        Accept NaN, Infinity and numbers beyond float64. Configurations of networks hold
        them; the caller has to check the numbers that it uses.

    Raises
    ------
    ValueError
        If it is no JSON, is nested too deeply, or holds a number that is not finite.

    Examples
    --------
    >>> parsed('{"weight": 1}')
    {'weight': 1}
    >>> parsed("[NaN]", infinite=True)
    [nan]
    >>> parsed('{"value": 1e999}')
    Traceback (most recent call last):
        ...
    ValueError: the number 1e999, which is not finite
    >>> parsed("[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: nested too deeply
    """
    if not infinite:
        hooks = {"parse_constant": _finite, "parse_float": _finite, **hooks}
    try:
        return json.loads(text, **hooks)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def require_few_keys(text: bytes) -> None:
    """Refuse JSON with so many keys that it would take many times its size in memory.

    A key takes some hundred bytes, so a vector has to stand behind each. Colons are
    counted, which takes no memory and is exact unless keys or texts hold some.

    Raises
    ------
    ValueError
        If there are more than 500,000 keys, and more than one per 100 bytes.

    Examples
    --------
    >>> require_few_keys(b'{"a": [1.0, 2.0]}')
    >>> require_few_keys(b'"a":[],' * 10**6)
    Traceback (most recent call last):
        ...
    ValueError: 1,000,000 keys, of which at most 570,000 are read in a text of this size
    """
    most = FREE_KEYS + len(text) // BYTES_PER_KEY
    n_keys = text.count(b":")
    if n_keys > most:
        raise ValueError(
            f"{n_keys:,} keys, of which at most {most:,} are read in a text of this "
            "size"
        )


def parsed_file(path: Path) -> Any:
    """Parse the configuration of a network that may lie next to another file.

    Return None if there is no such file, it is a pipe or device, or it is damaged.
    Numbers need not be finite: configurations hold some that are not.

    Examples
    --------
    >>> parsed_file(Path("no-such-file.json")) is None
    True
    """
    try:
        return parsed(path.read_bytes(), infinite=True) if path.is_file() else None
    except (OSError, ValueError):
        return None


def parsed_once(text: str | bytes) -> Any:
    """Parse JSON as `parsed` does, but refuse a key that stands twice in one map.

    Examples
    --------
    >>> parsed_once('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: the key 'a' twice
    """
    return parsed(text, object_pairs_hook=_once)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text}, which is not finite")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for key, value in pairs:
        if key in entries:
            raise ValueError(f"the key {key!r} twice")
        entries[key] = value
    return entries
