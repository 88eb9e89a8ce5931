"""Everything that an audit says, from texts.toml: findings, notes, answers, advice, thresholds and words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from embaudit.auditing.finding import Severity
from embaudit.core.checked import is_number
from embaudit.core.words import nearest_to
from embaudit.errors import must_be
from embaudit.model.trainings import TRAINING_WORDS

PAGE = "docs/checks.md"
"""The page of all codes and words, in the source of embaudit; each has a heading of its own."""
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


@dataclass(frozen=True)
class Entry:
    """A code of a finding, or a word that reports use, and all that its reader may ask about it."""

    name: str
    """Stable code, EMB and three digits, or the spelling in reports."""
    meaning: str
    """Meaning of the finding, the observation and its rows, or of the word."""
    severities: tuple[Severity, ...] = ()
    """Severity of the finding, or the two that it can have; none of a word."""
    title: str = ""
    """The case of a finding in a few words."""
    why: str = ""
    """Reason why a finding matters to a reader of cosines."""
    remedy: str = ""
    """Advice to the reader of a finding."""
    computed: str = ""
    """Method by which a finding is made, and the threshold from which on it is reported."""
    reference: str = ""
    """Reference to a text with more."""
    example: str = ""
    """An example of a word, on a model that one can picture."""
    also: tuple[str, ...] = ()
    """Other names that it is looked up by, without their numbers."""
    pages: tuple[str, ...] = ("audit",)
    """Commands whose pages define the word."""
    grows: bool = True
    """True if a finding is graver where the number behind it, without its sign, is larger."""
    says: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Templates of what a report says of a finding."""

    @classmethod
    def of(cls, name: str, row: Mapping[str, Any]) -> Entry:
        """Make an entry of its table in texts.toml."""
        severities = tuple(
            Severity[title.upper()] for title in row.get("severities", ())
        )
        lists = {key: tuple(row[key]) for key in ("also", "pages") if key in row}
        return cls(name, **{**row, **lists, "severities": severities})

    @property
    def address(self) -> str:
        """Place in the documentation, with the anchor that forges and Sphinx give its heading."""
        heading = re.sub(r"[^\w -]", "", self.name.lower())
        return f"{PAGE}#{heading.replace(' ', '-')}"

    @property
    def severity(self) -> str:
        """Severities of the finding, in words."""
        return " or ".join(severity.title for severity in self.severities)

    @property
    def heading(self) -> str:
        """The line above the sections."""
        if self.severities:
            return f"{self.name} ({self.severity}): {self.title}"
        return f"{self.name} (also {'; '.join(self.also)})" if self.also else self.name

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """Headings, each with its text."""
        texts = (
            ("What it means", self.meaning),
            ("For example", self.example),
            ("Why it matters", self.why),
            ("What to do", self.remedy),
            ("How it is computed", self.computed),
            *(
                ("Threshold", str(threshold))
                for threshold in THRESHOLDS.values()
                if threshold.code == self.name
            ),
            ("Reference", self.reference),
        )
        return tuple((heading, text) for heading, text in texts if text)


CODES = {name: Entry.of(name, row) for name, row in _TEXTS["codes"].items()}
"""Codes that an audit can report, in their order."""
SAYS: dict[str, Mapping[str, str]] = {
    name: code.says for name, code in CODES.items()
} | _TEXTS["notes"]
"""Templates of every finding and note, by code."""
ARGUMENTS: Mapping[str, str] = _TEXTS["arguments"]
"""Templates of why equivalent models may have other cosines, or may not, and of the sets of models this speaks of."""
WORDS = {name: Entry.of(name, row) for name, row in _TEXTS["words"].items()}
"""Words of reports that have to be explained."""
ANSWERS: tuple[AnswerRow, ...] = tuple(
    AnswerRow(**row | {"needs": tuple(row["needs"])}) for row in _TEXTS["answers"]
)
"""The table of answers; the first row whose findings were all drawn answers."""
ADVICE: dict[str, dict[str, str]] = _TEXTS["advice"]
"""Advice by its key and the kind of model."""
VERDICT: tuple[str, ...] = tuple(_TEXTS["verdict"]["order"])
"""Codes whose texts make the verdict, in their order."""
THRESHOLDS: Mapping[str, Threshold] = MappingProxyType(
    {name: Threshold(name, **row) for name, row in _TEXTS["thresholds"].items()}
)
"""Thresholds by their names."""
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


def entry(name: str) -> Entry:
    """Find what a code or a word means; capitals do not count, nor does the plural.

    Raises
    ------
    InputError
        If there is no such code or word; the sentence names the nearest one.

    Examples
    --------
    >>> entry("emb201").name, entry("kappa").name, entry("Gauges").name
    ('EMB201', 'κ', 'gauge')
    >>> entry("guage")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports use; got 'guage'; did you mean
    gauge? `embaudit explain` lists them all.
    >>> entry("CANNOT")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: what to explain must be a code or a word that reports use; got 'CANNOT'; did you mean
    CANNOT BE SAID? `embaudit explain` lists them all.
    """
    every = (*CODES.values(), *WORDS.values())
    entries = dict.fromkeys(TRAINING_WORDS, WORDS["objective"])
    entries |= {
        called.lower(): item for item in every for called in (item.name, *item.also)
    }
    wanted = " ".join(re.sub(r"-?\b\d[\d.]*(?!\w)", " ", name.lower()).split()) or name
    match = entries.get(wanted, entries.get(wanted.removesuffix("s")))
    if match is not None:
        return match
    near = [each for each in entries if each.startswith(wanted)] or get_close_matches(
        wanted, entries, cutoff=0.75
    )
    hint = f"did you mean {entries[near[0]].name}? " if near else ""
    raise must_be(
        "what to explain",
        "a code or a word that reports use",
        repr(name),
        f"{hint}`embaudit explain` lists them all",
    )
