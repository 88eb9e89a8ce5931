"""Gate: whether an audit lets a release pass, and which findings stop it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.texts import CODES
from embaudit.core.words import counted, nearest_to
from embaudit.errors import must_be
from embaudit.report.gate.baseline import Baseline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from embaudit.auditing import Audit


ALWAYS_STOPPING = ("EMB002", "EMB201", "EMB401")
"""Codes that stop a release beside a baseline whatever `fail_on` says: predictions that moved, rows without direction,
and copies that are new or more."""


def known_code(code: str) -> str:
    """Return a code that audits report.

    Raises
    ------
    InputError
        For any other; the sentence names the nearest one.

    Examples
    --------
    >>> known_code("EMB104")
    'EMB104'
    >>> known_code("EMB1O4")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a code must be one that `embaudit explain` lists; got 'EMB1O4'; the nearest one is
    EMB104.
    """
    if code not in CODES:
        raise must_be("a code", "one that `embaudit explain` lists", repr(code), nearest_to(code.upper(), CODES))
    return code


@dataclass(frozen=True)
class Judged:
    """A finding as the gate sees it."""

    finding: Finding
    """The finding."""
    severity: Severity
    """How grave it is here."""
    status: str
    """ignored, or against a baseline new, worse or known; new without one."""
    rows: str = ""
    """The rows or pairs it is about; empty for the whole model."""
    reason: str = ""
    """The rule by which it stops the release; empty if it stops none."""

    @property
    def stops(self) -> bool:
        """True if it stops the release."""
        return bool(self.reason)

    def __str__(self) -> str:
        status = "" if self.status == "new" else f", {self.status}"
        reason = self.reason and f": {self.reason}"
        return f"{self.finding.code}{self.rows and f' {self.rows}'} ({self.severity.title}{status}{reason})"


@dataclass(frozen=True)
class Outcome:
    """Judgement of a gate on an audit."""

    predictions_hold: bool
    """If not, the audit itself failed, and nothing passes."""
    judged: tuple[Judged, ...]
    """Every finding, in the order of the audit."""
    is_asked: bool = True
    """True if options ask for more than an audit."""
    is_compared: bool = False
    """True if there is a baseline."""
    written: str = ""
    """The baseline that this audit writes, which stops nothing; empty where it writes none."""

    @property
    def stopped_by(self) -> tuple[Judged, ...]:
        """The findings that stop the release."""
        return tuple(each for each in self.judged if each.stops)

    @property
    def passes(self) -> bool:
        """True if the release may go."""
        return self.predictions_hold and not self.stopped_by

    def __str__(self) -> str:
        if not self.predictions_hold:
            return "gate: stops, since the audit itself failed: predictions did not stay the same"
        if self.written:
            findings = counted(len(self.judged), "finding")
            return f"gate: passes; {self.written} is the baseline from now on, with {findings}"
        passing = [each for each in self.judged if not each.stops]
        named = {
            "new or worse": [each for each in passing if each.status in ("new", "worse") and self.is_compared],
            "not counted": [each for each in passing if each.status in ("ignored", "known")],
        }
        start = f"gate: stops at {', '.join(map(str, self.stopped_by))}" if self.stopped_by else "gate: passes"
        return "; ".join([start, *(f"{name}: {', '.join(map(str, some))}" for name, some in named.items() if some)])


@dataclass(frozen=True)
class Gate:
    """From which severity on findings stop a release, and which of them do not count.

    Examples
    --------
    >>> gate = Gate.of(Severity.ISSUE, ignore=["EMB104"], severities=["EMB201=issue"])
    >>> gate.severities["EMB201"].title, gate.is_asked
    ('issue', True)
    """

    fail_on: Severity | None = None
    """None where no finding does."""
    ignore: frozenset[str] = frozenset()
    """Codes that do not count."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """How grave a code is here, where that is not what the audit says."""
    baseline: Baseline | None = None
    """Findings of an earlier audit, which stop nothing."""
    written: str = ""
    """The file of a baseline that the audit writes: what it finds is known from then on."""

    @classmethod
    def of(
        cls,
        fail_on: Severity | None,
        *,
        ignore: Iterable[str] = (),
        severities: Iterable[str] = (),
        baseline: Baseline | None = None,
        written: str = "",
    ) -> Gate:
        """Check codes and `CODE=SEVERITY` pairs.

        Raises
        ------
        InputError
            For a code or a severity that is none.
        """
        own = {}
        for pair in severities:
            code, _, name = pair.partition("=")
            if name.upper() not in Severity.__members__:
                raise must_be("a severity", "CODE=issue or CODE=tip", repr(pair), "leave codes out with --ignore")
            own[known_code(code)] = Severity[name.upper()]
        return cls(fail_on, frozenset(map(known_code, ignore)), own, baseline, written)

    @property
    def is_asked(self) -> bool:
        """True if options ask for more than an audit."""
        return (
            self.fail_on is not None or self.baseline is not None or any((self.ignore, self.severities, self.written))
        )

    def judge(self, audit: Audit) -> Outcome:
        """Judge of every finding whether it stops the release."""
        judged = tuple(self._judged(finding, *audit.model.roles) for finding in audit.findings)
        return Outcome(audit.predictions_hold, judged, self.is_asked, self.baseline is not None, self.written)

    def _judged(self, finding: Finding, left: str, right: str) -> Judged:
        """Judge one finding of a model whose rows are called so on either side."""
        severity = self.severities.get(finding.code, finding.severity)
        status = "new" if self.baseline is None else self.baseline.status(finding)
        status = "ignored" if finding.code in self.ignore else status
        reason = ""
        if status in ("new", "worse") and not self.written:
            if self.baseline is not None and finding.code in ALWAYS_STOPPING:
                reason = "always stops beside a baseline"
            if self.fail_on is not None and severity >= self.fail_on:
                reason = f"--fail-on {self.fail_on.title}"
        rows = {"left": f"{left}s", "right": f"{right}s", "cross": f"{left}-{right} pairs"}
        return Judged(finding, severity, status, rows.get(finding.role or "", ""), reason)
