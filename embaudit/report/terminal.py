"""Results in the terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.text import Text

from embaudit.auditing.answer import Word
from embaudit.auditing.finding import Severity
from embaudit.report.brief import brief
from embaudit.report.definitions import definitions
from embaudit.report.first_screen import first_screen
from embaudit.report.summary import bias_grids, grids, movement_grids, neighbour_grids, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from embaudit.auditing import Audit
    from embaudit.cli.demonstration import Demonstration
    from embaudit.foundation.results import Result
    from embaudit.report.grid import Grid
    from embaudit.report.next_steps import Asked

EXAMPLES = 5
OWN = "embaudit audit MODEL --out report.html"
"""What to type of a model of one's own."""
NOTES = 2
"""Notes of a result that its first screen has room for."""
ANSWERS = {Word.YES: "green", Word.CONVENTION: "yellow", Word.NO: "red", Word.UNSAID: "yellow"}
COLOURS = {Severity.ISSUE: "red", Severity.TIP: "yellow"}


def print_screen(audit: Audit, asked: Asked, console: Console) -> None:
    """Print the first screen, its answer in colour."""
    text = Text(first_screen(audit, asked))
    text.highlight_words([f"{audit.answer.word}:"], f"bold {ANSWERS[audit.answer.word]}")
    console.print(text, soft_wrap=True)


def print_audit(audit: Audit, console: Console) -> None:
    """Print the answer, a failed check, then the tables, neighbours side by side, findings and the verdict."""
    console.print(Text(repr(audit.model)))
    if audit.intake is not None:
        console.print(Text(audit.intake.explain()))
    if audit.quick:
        console.print(Text(f"Quick audit: {audit.effort}."))
    console.print(Text(f"{audit.answer.question} {audit.answer}", style="bold"))
    tables = grids(audit)
    words = [audit.verdict, "budget", *sentences(audit), *(" ".join((one.caption, *one.headings)) for one in tables)]
    for line in definitions(audit.model, words):
        console.print(Text(line, style="dim"))
    if not audit.predictions_hold:
        _print_verdict(audit, console, title="check failed")
    print_grids(tables, console)
    for sentence in sentences(audit):
        console.print(sentence, markup=False)
    print_grids(neighbour_grids(audit)[:EXAMPLES], console)
    print_grids(bias_grids(audit)[:EXAMPLES], console)
    for finding in audit.findings:
        style = COLOURS[finding.severity]
        head = Text(f"{finding.code} {finding.severity.title}: {finding.title}. ", style=style)
        console.print(head + Text(finding.remedy, style="default"))
    if audit.predictions_hold:
        _print_verdict(audit, console, title="verdict")


def print_result(result: Result, console: Console, *, full: bool = True) -> None:
    """Print the tables of a result, then what it says, so that the conclusion stands last; or one screen of it."""
    # With it come results of every kind, which an audit does not need.
    from embaudit.report.documents import document

    made = document(result)
    if not full:
        console.print(Text(brief((*made.paragraphs, *made.notes[:NOTES]), made.grids)), soft_wrap=True)
        return
    print_grids(made.grids, console)
    for line in (*made.paragraphs, *made.notes):
        console.print(line, markup=False)


def print_grids(found: Iterable[Grid], console: Console) -> None:
    """Print tables, with fewer columns where the terminal is narrow."""
    for grid in found:
        console.print(grid.to_rich(console.width))


def _print_verdict(audit: Audit, console: Console, *, title: str) -> None:
    style = COLOURS[audit.worst] if audit.worst else "green"
    console.print(Panel(Text(audit.verdict), title=title, border_style=style))


def print_demonstration(shown: Demonstration, console: Console) -> None:
    """Print what the two objectives of the Netflix paper leave of item-item cosines."""
    console.print(
        f"Simulated {shown.n_interactions:,} interactions of {shown.n_users:,} users with {shown.n_items:,} items."
    )
    for title, audit in (
        ("Eq. 1: squared loss + penalty on the product of the factors", shown.product),
        ("Eq. 2: squared loss + penalty on both factors", shown.factors),
    ):
        console.rule(title)
        console.print(Text(repr(audit.evidence.model)))
        print_grids(movement_grids(audit), console)
        _print_verdict(audit, console, title="verdict")
    console.print(
        f"Eq. 2 keeps {shown.effective_rank} of the {shown.rank} dimensions asked for: so many singular values exceed "
        "its penalty."
    )
    console.print(f"next, for a model of your own:\n  {OWN}", highlight=False, soft_wrap=True)
