"""How long something takes, as people write and read it."""

from __future__ import annotations

import math
import re
from typing import Any

from embaudit.errors import must_be
from embaudit.foundation.checked import is_number

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
LONGEST = 30 * 24 * 3600.0
"""Thirty days."""
_WRITTEN = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?(s|min|h)", re.ASCII)


def duration(seconds: float) -> str:
    """Write a time in one unit, or hours with minutes.

    Examples
    --------
    >>> duration(0.21), duration(34.6), duration(119.4), duration(250), duration(8000)
    ('0.2 s', '35 s', '119 s', '4 min', '2 h 13 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def as_duration(value: Any, name: str) -> float:
    """Read a time such as `60s`, `5min` or `1.5h`, or a number of seconds.

    Raises
    ------
    InputError
        If it is none, not above 0, or longer than thirty days.

    Examples
    --------
    >>> as_duration("60s", "time"), as_duration("1.5h", "time"), as_duration(7, "time")
    (60.0, 5400.0, 7.0)
    >>> as_duration("5 parsecs", "time")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: time must be a time above 0 and up to 30 days; got '5 parsecs'; write for example 60s,
    5min or 1.5h.
    """
    seconds = _seconds(value)
    if not 0 < seconds <= LONGEST:  # NaN, too
        raise must_be(name, "a time above 0 and up to 30 days", repr(value), "write for example 60s, 5min or 1.5h")
    return seconds


def _seconds(value: Any) -> float:
    if isinstance(value, str):
        found = _WRITTEN.fullmatch(value.strip())
        return float(found[1]) * UNITS[found[2]] if found else math.nan
    return float(value) if is_number(value) else math.nan


def pace(done: float, seconds: float) -> str:
    """Write how many steps are done in a second, a minute or an hour; nothing before the first.

    Examples
    --------
    >>> pace(30, 10), pace(3, 10), pace(1, 600), pace(0, 5)
    ('3.0 a second', '18 a minute', '6.0 an hour', '')
    """
    if done <= 0 or seconds <= 0:
        return ""
    rate = done / seconds
    unit, each = next((one for one in (("a second", 1), ("a minute", 60)) if rate * one[1] >= 1), ("an hour", 3600))
    return f"{rate * each:,.{1 if rate * each < 9.95 else 0}f} {unit}"


def outlook(done: float, total: float | None, seconds: float) -> str:
    """Write how far work has come, how fast, and how long it will take yet if it goes on like that.

    Examples
    --------
    >>> outlook(0, 22, 4), outlook(5, 22, 10), outlook(22, 22, 44), outlook(5, None, 10)
    ('0 of 22', '5 of 22, 30 a minute, about 34 s left', '22 of 22, 30 a minute', '5, 30 a minute')
    """
    count = f"{done:,.0f}" if total is None else f"{done:,.0f} of {total:,.0f}"
    left = 0.0 if total is None or done <= 0 else (total - done) * seconds / done
    ahead = f"about {duration(left)} left" if left > 0 else ""
    return ", ".join(part for part in (count, pace(done, seconds), ahead) if part)
