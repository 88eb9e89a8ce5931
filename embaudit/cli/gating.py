"""The options by which an audit gates a release: what stops it, and what forges are told."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.fail_on import FailOn
from embaudit.cli.settings import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embaudit.auditing import Audit
    from embaudit.report.gate.gate import Gate, Outcome

OwnSeverity = Annotated[
    list[str] | None, typer.Option("--severity", help="How grave a code is here: CODE=issue or CODE=tip.")
]
Before = Annotated[
    Path | None, typer.Option("--baseline", help="JSON of an earlier audit; only what is new or worse counts.")
]
Reported = Annotated[
    list[str] | None, typer.Option("--threshold", help="From which number on something is reported: NAME=NUMBER.")
]
Sarif = Annotated[Path | None, typer.Option("--sarif", help="Write the findings as SARIF, for forges.")]
Junit = Annotated[Path | None, typer.Option("--junit", help="Write them as JUnit, a test case a code.")]
Markdown = Annotated[Path | None, typer.Option("--markdown", help="Write answer and findings for a comment.")]


def gate_of(
    fail_on: FailOn, ignore: Sequence[str], severity: Sequence[str] | None, baseline: Path | None, *, quiet: bool
) -> Gate:
    """Put the gate together, and read the baseline; codes that are typed go before settings, which are said."""
    from embaudit.auditing.finding import Severity
    from embaudit.report.gate.baseline import Baseline
    from embaudit.report.gate.gate import Gate

    _say_settings(quiet=quiet)
    level = None if fail_on is FailOn.NEVER else Severity[fail_on.name]
    before = None if baseline is None else Baseline.load(baseline)
    return Gate.of(level, ignore=ignore or CURRENT.get().ignore, severities=severity or (), baseline=before)


def thresholds_in(pairs: Sequence[str] | None) -> dict[str, float]:
    """Read `NAME=NUMBER` pairs; what the names mean is the audit's to check.

    Examples
    --------
    >>> thresholds_in(["hubs=0.2"])
    {'hubs': 0.2}
    """
    from embaudit.errors import must_be

    found = {}
    for pair in pairs or ():
        name, _, value = pair.partition("=")
        try:
            found[name] = float(value)
        except ValueError as error:
            raise must_be("a threshold", "NAME=NUMBER", repr(pair), "write for example hubs=0.2") from error
    return found


def _say_settings(*, quiet: bool) -> None:
    """Say on the side which options a file has set."""
    settings = CURRENT.get()
    if settings.path is not None and not quiet:
        sys.stderr.write(f"{settings}\n")


@contextmanager
def told(
    sarif: Path | None, junit: Path | None, markdown: Path | None, *, force: bool
) -> Iterator[Callable[[Audit, Outcome], None]]:
    """Open what forges shall be told in before the work starts; yields what writes an audit and its outcome there."""
    from embaudit.io import written_whole

    with ExitStack() as stack:
        paths = {"sarif": sarif, "junit": junit, "markdown": markdown}
        files = {
            name: stack.enter_context(written_whole(path, force=force, mode="w"))
            for name, path in paths.items()
            if path is not None
        }

        def write(audit: Audit, outcome: Outcome) -> None:
            for name, file in files.items():
                from embaudit.report.gate import forges

                file.write(getattr(forges, name)(audit, outcome))

        yield write
