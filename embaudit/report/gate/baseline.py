"""Baseline: the findings of an earlier audit, by which a gate tells what is new or worse."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.identity import score_change, score_sample
from embaudit.auditing.texts import CODES
from embaudit.errors import must_be
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from embaudit.auditing import Audit

WORSE = 1.1
"""How many times as large a number must be to be worse: models trained anew differ by less all the time."""


@dataclass(frozen=True)
class Baseline:
    """Findings of an earlier audit.

    Examples
    --------
    >>> before = Baseline({("EMB401", "right"): (Severity.TIP, 0.10)})
    >>> len(before.findings)
    1
    """

    findings: Mapping[tuple[str, str], tuple[Severity, float | None]] = field(default_factory=dict)
    """Severity and number of each finding, by its code and its role; an empty role speaks of the whole model."""
    sample: Mapping[str, Any] | None = None
    """A few scores of that model; None of older versions."""

    @classmethod
    def load(cls, path: AnyPath) -> Baseline:
        """Read the JSON that `embaudit audit --json` wrote.

        Raises
        ------
        InputError
            If the file is none such.
        """
        where = existing_file(path)
        try:
            record = parsed(where.read_bytes())
            findings = {_key(finding): (_severity(finding), _number(finding)) for finding in record["findings"]}
            sample = record.get("score_sample")
            score_change(sample, sample)
            return cls(findings, sample)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            remedy = "write it with `embaudit audit MODEL --json FILE`"
            raise must_be("the baseline", "the JSON of an audit", f"{where}, which is none", remedy) from error

    def status(self, finding: Finding) -> str:
        """Return "new", "worse" or "known"; how grave a project calls a code is no news."""
        before = self.findings.get((finding.code, finding.role or ""))
        if before is None:
            return "new"
        once, number = before
        graver = finding.severity > once or (CODES[finding.code].grows and _grew(number, finding.value))
        return "worse" if graver else "known"

    def beside(self, audit: Audit) -> Audit:
        """Return an audit that holds its predictions against those of the baseline, too."""
        if self.sample is None:
            return audit
        change = score_change(self.sample, score_sample(audit.model))
        return replace(audit, evidence=replace(audit.evidence, score_change=change))


def _grew(before: float | None, now: float | None) -> bool:
    return now is not None and (before is None or abs(now) > WORSE * abs(before))


def _key(finding: Mapping[str, Any]) -> tuple[str, str]:
    """Return code and role; before version 3 the role stood behind a colon in the name of a claim."""
    role = finding["role"] if "role" in finding else str(finding["claim"]).partition(":")[2]
    return str(finding["code"]), str(role or "")


def _severity(finding: Mapping[str, Any]) -> Severity:
    return Severity[str(finding["severity"]).upper()]


def _number(finding: Mapping[str, Any]) -> float | None:
    return None if finding["value"] is None else float(finding["value"])
