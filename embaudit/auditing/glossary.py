"""What every code and every word means: the one source of `embaudit explain` and of docs/checks.md, in texts.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, TypeAlias

from embaudit.auditing.finding import Severity
from embaudit.auditing.thresholds import THRESHOLDS
from embaudit.errors import must_be

PAGE = "docs/checks.md"
"""The page of all codes and words, in the source of embaudit; each has a heading of its own."""


class _Listed:
    """What codes and words have in common: a name, and a place on the page of all of them."""

    name: str

    @property
    def address(self) -> str:
        """Where the documentation has it, with the anchor that forges and Sphinx give its heading."""
        return f"{PAGE}#{self.name.lower().replace(' ', '-')}"


@dataclass(frozen=True)
class Code(_Listed):
    """A code of a finding, and all that its reader may ask about it."""

    name: str
    """Stable code, EMB and three digits."""
    severities: tuple[Severity, ...]
    """How grave it is: one, or the two that it can be."""
    title: str
    """What is the case, in a few words."""
    meaning: str
    """What was seen, and of what."""
    why: str
    """Why it matters to somebody who reads cosines."""
    remedy: str
    """What to do."""
    computed: str
    """How it is found, and from which number on it is reported."""
    reference: str
    """Where more is written."""
    also: tuple[str, ...] = ()
    """Other names it is looked up by."""
    grows: bool = True
    """Whether it is graver where the number behind it, without its sign, is larger."""

    @property
    def severity(self) -> str:
        """How grave it is, in words."""
        return " or ".join(severity.title for severity in self.severities)

    @property
    def heading(self) -> str:
        """The line above the sections."""
        return f"{self.name} ({self.severity}): {self.title}"

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """What is told of it, under which headings."""
        return (
            ("What it means", self.meaning),
            ("Why it matters", self.why),
            ("What to do", self.remedy),
            ("How it is computed", self.computed),
            *(("Threshold", str(one)) for one in THRESHOLDS.values() if one.code == self.name),
            ("Reference", self.reference),
        )


@dataclass(frozen=True)
class Word(_Listed):
    """A word that reports use."""

    name: str
    """As reports write it."""
    meaning: str
    """What it stands for."""
    example: str
    """What it is on a model that one can picture."""
    also: tuple[str, ...] = ()
    """Other names it is looked up by."""

    @property
    def heading(self) -> str:
        """The line above the sections."""
        return f"{self.name} (also {', '.join(self.also)})" if self.also else self.name

    @property
    def sections(self) -> tuple[tuple[str, str], ...]:
        """What is told of it, under which headings."""
        return (("What it means", self.meaning), ("For example", self.example))


Entry: TypeAlias = Code | Word


def _code(name: str, row: dict[str, Any]) -> Code:
    severities = tuple(Severity[title.upper()] for title in row["severities"])
    return Code(name, **row | {"severities": severities, "also": tuple(row.get("also", ()))})


_TEXTS = tomllib.loads(files("embaudit.auditing").joinpath("texts.toml").read_text(encoding="utf-8"))
CODES: dict[str, Code] = {name: _code(name, row) for name, row in _TEXTS["codes"].items()}
"""Every code that an audit can report, in their order."""
WORDS: dict[str, Word] = {
    name: Word(name, row["meaning"], row["example"], tuple(row.get("also", ())))
    for name, row in _TEXTS["words"].items()
}
"""Every word that reports use and that has to be explained."""


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
    """
    every: list[Entry] = [*CODES.values(), *WORDS.values()]
    known = {called.lower(): one for one in every for called in (one.name, *one.also)}
    wanted = " ".join(name.lower().split())
    found = known.get(wanted, known.get(wanted.removesuffix("s")))
    if found is not None:
        return found
    near = get_close_matches(wanted, known)
    hint = f"did you mean {known[near[0]].name}? " if near else ""
    raise must_be(
        "what to explain", "a code or a word that reports use", repr(name), f"{hint}`embaudit explain` lists them all"
    )
