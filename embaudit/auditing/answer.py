"""The answer: whether cosines can be read as similarity, in a word, and why in a sentence.

It is looked up in one table over findings, in texts.toml: the first row whose findings were all drawn answers. So it
can say no more than they do, and findings that weaken it are part of its sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from embaudit.auditing.texts import ADVICE, ANSWERS
from embaudit.model import Role

if TYPE_CHECKING:
    from embaudit.auditing.finding import Finding


class Readability(StrEnum):
    """Use of the cosines, in a word."""

    YES = "YES"
    """The predictions fix them."""
    CONVENTION = "AS A CONVENTION"
    """The predictions leave them open; the regulariser, or the author of the file, picked one version."""
    NO = "NO"
    """Models with the same predictions have other cosines, and nothing known about training excludes them."""
    UNSAID = "CANNOT BE SAID"
    """The other vectors, some inputs, or how the model was trained would decide it."""


@dataclass(frozen=True)
class Answer:
    """Answer to the question if cosines can be read as similarity."""

    word: Readability
    """The answer."""
    because: str
    """The reason, in a sentence without its capital."""
    findings: tuple[str, ...]
    """Codes of the findings it is drawn from."""
    cosines: str
    """The kind of cosines it speaks of."""
    advice: str
    """The advice that follows; empty where nothing can be trusted."""

    @property
    def question(self) -> str:
        """The question that is answered."""
        return f"Can these {self.cosines} be read as similarity?"

    def __str__(self) -> str:
        return f"{self.word}: {self.because}."


def answer(
    findings: Iterable[Finding],
    role: Role,
    *,
    cosines: str,
    kind: str = "any",
    names: Mapping[str, str] | None = None,
) -> Answer:
    """Look the answer up for one kind of pairs.

    Parameters
    ----------
    findings : iterable of Finding
        All conclusions of an audit.
    role : {"left", "right", "cross"}
        The kind of pairs.
    cosines : str
        What people call their cosines.
    kind : str
        The kind of model, as `advice` in texts.toml tells them apart.
    names : mapping of str to str
        What people call its sides and what it predicts.

    Examples
    --------
    >>> from embaudit.auditing.finding import Finding, Kind, Scope, Severity
    >>> scope = Scope("every model of rank 2 with the same predictions", whole=True)
    >>> cosines = "item-item cosines"
    >>> pinned = Finding("pinned", Severity.NOTE, Kind.PROVEN, scope, cosines, "The predictions pin them.")
    >>> print(answer([pinned], "right", cosines=cosines))
    YES: item-item cosines are the same in every model of rank 2 with the same predictions.
    """
    by_code = {
        finding.code: finding for finding in findings if finding.role in (None, role)
    }
    row = next(
        row for row in ANSWERS if all(_was_drawn(need, by_code) for need in row.needs)
    )
    fields = {**(names or {}), **by_code}
    advice = ADVICE[row.advice]
    return Answer(
        Readability(row.word),
        row.because.format_map(fields),
        tuple(need.split()[0] for need in row.needs),
        cosines,
        advice.get(kind, advice["any"]).format_map(fields),
    )


def _was_drawn(need: str, by_code: Mapping[str, Finding]) -> bool:
    """Check that a finding was drawn, and with the severity asked for, if one is."""
    code, _, severity = need.partition(" ")
    return code in by_code and severity in ("", by_code[code].severity.title)
