"""The options by which an audit gates a release: what stops it, and what forges are told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import FailOnFindings
from embaudit.cli.fail_on import FailOn
from embaudit.cli.groups import Group
from embaudit.cli.settings import CURRENT

if TYPE_CHECKING:
    from embaudit.auditing import Audit
    from embaudit.report.gate.gate import Gate, Outcome


@dataclass(frozen=True)
class Gating(Group):
    """Options of the gate: findings that stop a release, and files for forges."""

    fail_on: FailOnFindings = FailOn.NEVER
    severity: Annotated[
        list[str] | None, typer.Option("--severity", help="How grave a code is here: CODE=issue or CODE=tip.")
    ] = None
    thresholds: Annotated[
        list[str] | None, typer.Option("--thresholds", help="From which number on something is reported: NAME=NUMBER.")
    ] = None
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="JSON of an earlier audit; only what is new or worse counts.")
    ] = None
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Write the findings as SARIF, for forges.")] = None
    junit: Annotated[Path | None, typer.Option("--junit", help="Write them as JUnit, a test case a code.")] = None

    def writes(self, json: Path | None) -> bool:
        """Return True if `--json` writes the baseline, which is not there yet."""
        if self.baseline is None or json is None or self.baseline.exists():
            return False
        return self.baseline.resolve() == json.resolve()

    def gate(self, ignore: Sequence[str], json: Path | None, *, quiet: bool) -> Gate:
        """Put the gate together, and read the baseline; codes that are typed go before settings, which are said."""
        from embaudit.auditing.finding import Severity
        from embaudit.report.gate.baseline import Baseline
        from embaudit.report.gate.gate import Gate

        settings = CURRENT.get()
        if settings.path is not None and not quiet:
            sys.stderr.write(f"{settings}\n")
        level = None if self.fail_on is FailOn.NEVER else Severity[self.fail_on.name]
        written = str(json) if self.writes(json) else ""
        before = None if self.baseline is None or written else Baseline.load(self.baseline)
        codes, severities = ignore or settings.ignore, self.severity or ()
        return Gate.of(level, ignore=codes, severities=severities, baseline=before, written=written)


def numbers_in(pairs: Sequence[str] | None, option: str, example: str) -> dict[str, float]:
    """Read `NAME=NUMBER` pairs of an option; what the names mean is for others to check.

    Examples
    --------
    >>> numbers_in(["hubs=0.2"], "thresholds", "hubs=0.2")
    {'hubs': 0.2}
    """
    from embaudit.errors import must_be

    numbers = {}
    for pair in pairs or ():
        name, _, value = pair.partition("=")
        try:
            numbers[name] = float(value)
        except ValueError as error:
            raise must_be(f"--{option}", "NAME=NUMBER", repr(pair), f"write for example {example}") from error
    return numbers


def forge(name: str) -> Callable[[Audit, str, object, Outcome], str]:
    """Return what writes an audit and its outcome as a forge reads them."""

    def told(audit: Audit, _title: str, _origin: object, outcome: Outcome) -> str:
        from embaudit.report.gate import forges

        text: str = getattr(forges, name)(audit, outcome)
        return text

    return told
