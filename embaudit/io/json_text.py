"""JSON that somebody else wrote: parsed, or a ValueError whatever is wrong with it."""

from __future__ import annotations

import json
from typing import Any


def parsed(text: str | bytes) -> Any:
    """Parse JSON; brackets nested beyond sense are a ValueError like any other damage.

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
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
