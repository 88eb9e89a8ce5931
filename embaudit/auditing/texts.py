"""Everything that an audit says, from texts.toml: findings, notes, answers, advice, thresholds and words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Severity
from embaudit.core.checked import is_number
from embaudit.core.words import nearest_to
from embaudit.errors import must_be

_TEXTS: dict[str, Any] = tomllib.loads(
    files("embaudit.auditing").joinpath("texts.toml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class Threshold:
    """Number from which a measured finding is reported, or graver; proven findings depend on none."""

    name: str
    """Name in settings."""
    code: str
    """The finding that it decides on."""
    default: float
    """Value where none is set."""
    least: float
    """The smallest at which the finding is still true; the largest is 1."""
    words: str
    """The quantity compared with it."""

    def __str__(self) -> str:
        return f"{self.name}, {self.default:g} unless set: {self.words}."

    def checked(self, value: object) -> float:
        """Refuse what is outside its range."""
        if not (is_number(value) and self.least <= value <= 1):  # type: ignore[operator]
            raise must_be(
                f"the threshold {self.name}",
                f"a number from {self.least:g} to 1",
                value,
            )
        return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True)
class AnswerRow:
    """Row of the table of answers."""

    needs: tuple[str, ...]
    """Codes of the findings that must have been drawn, with a severity where only one counts."""
    word: str
    """The answer."""
    because: str
    """The reason, with findings in braces."""
    advice: str
    """Key of the advice that follows."""


THRESHOLDS: Mapping[str, Threshold] = MappingProxyType(
    {name: Threshold(name, **row) for name, row in _TEXTS["thresholds"].items()}
)
"""Thresholds by their names."""


def _entry_of(name: str, row: Mapping[str, Any]) -> Entry:
    """Make an entry of its table in texts.toml."""
    severities = tuple(Severity[title.upper()] for title in row.get("severities", ()))
    lists = {key: tuple(row[key]) for key in ("also", "pages") if key in row}
    thresholds = tuple(
        str(threshold) for threshold in THRESHOLDS.values() if threshold.code == name
    )
    fields = {key: text for key, text in row.items() if key != "says"}
    return Entry(
        name, **{**fields, **lists, "severities": severities, "thresholds": thresholds}
    )


CODES = {name: _entry_of(name, row) for name, row in _TEXTS["codes"].items()}
"""Codes whose texts are in texts.toml; those of modules of findings stand there."""
SAYS: dict[str, Mapping[str, str]] = {
    name: row["says"] for name, row in _TEXTS["codes"].items()
} | _TEXTS["notes"]
"""Templates of every finding and note in texts.toml, by code."""
ARGUMENTS: Mapping[str, str] = _TEXTS["arguments"]
"""Templates of why equivalent models may have other cosines, or may not, and of the sets of models this speaks of."""
WORDS = {name: _entry_of(name, row) for name, row in _TEXTS["words"].items()}
"""Words of reports that have to be explained."""
ANSWERS: tuple[AnswerRow, ...] = tuple(
    AnswerRow(**row | {"needs": tuple(row["needs"])}) for row in _TEXTS["answers"]
)
"""The table of answers; the first row whose findings were all drawn answers."""
ADVICE: dict[str, dict[str, str]] = _TEXTS["advice"]
"""Advice by its key and the kind of model."""
VERDICT: tuple[str, ...] = tuple(_TEXTS["verdict"]["order"])
"""Codes whose texts make the verdict, in their order."""
DEFAULTS: Mapping[str, float] = MappingProxyType(
    {name: threshold.default for name, threshold in THRESHOLDS.items()}
)
"""Thresholds where none is set."""


def thresholds_of(own: Mapping[str, float]) -> Mapping[str, float]:
    """Return all thresholds, some of them one's own.

    Raises
    ------
    InputError
        For a name that is none, with the nearest one, and for a number outside its range.

    Examples
    --------
    >>> thresholds_of({"hubs": 0.3})["hubs"], thresholds_of({})["hubs"]
    (0.3, 0.1)
    >>> thresholds_of({"hub": 0.3})
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a threshold must be one of copies, many-copies, common-direction, hubs; got 'hub'; the
    nearest one is hubs.
    """
    if not isinstance(own, Mapping):
        raise must_be(
            "thresholds",
            'a mapping of names to numbers, such as {"hubs": 0.2}',
            repr(own),
        )
    for name in own:
        if name not in THRESHOLDS:
            raise must_be(
                "a threshold",
                f"one of {', '.join(THRESHOLDS)}",
                repr(name),
                nearest_to(name, THRESHOLDS),
            )
    return {
        **DEFAULTS,
        **{name: THRESHOLDS[name].checked(value) for name, value in own.items()},
    }
