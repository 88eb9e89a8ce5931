"""An audit in the terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text

from embaudit.auditing.checks import Severity
from embaudit.foundation.words import visible
from embaudit.report.summary import grids, movement_grids, neighbour_lists, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from embaudit.auditing import Audit
    from embaudit.cli.demonstration import Demonstration
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.summary import Grid

EXAMPLES = 5
WIDE = 100
"""Characters from which all columns have room."""
COLOURS = {Severity.ISSUE: "red", Severity.TIP: "yellow"}


def _table(grid: Grid) -> RichTable:
    drawn = RichTable(title=f"{grid.title} ({grid.note})", title_justify="left", title_style="bold")
    for number, name in enumerate(grid.headings):
        drawn.add_column(name, justify="right" if number else "left", no_wrap=not number, overflow="fold")
    for row in grid.rows:
        drawn.add_row(*row)
    return drawn


def _neighbour_table(example: Neighbourhood, shown_in: str) -> RichTable:
    drawn = RichTable(title=Text(f"nearest to {visible(example.name)}"), title_justify="left", title_style="bold")
    for name in ("in the model at hand", "", f"in an equivalent model: {shown_in}", ""):
        drawn.add_column(name, justify="left" if name else "right")
    sides = ((example.before, example.stay), (example.after, example.stayed))
    columns = (
        [(Text(visible(name), style="" if kept else "bold magenta"), f"{c:.2f}") for (name, c), kept in listed]
        for listed in (zip(*side, strict=True) for side in sides)
    )
    for one, other in zip(*columns, strict=True):
        drawn.add_row(*one, *other)
    return drawn


def print_audit(audit: Audit, console: Console) -> None:
    """Print a failed check first, then the tables, neighbours side by side, findings and the verdict."""
    console.print(Text(repr(audit.model)))
    if not audit.predictions_hold:
        _print_verdict(audit, console, title="check failed")
    _print_grids(grids(audit), console)
    for sentence in sentences(audit):
        console.print(sentence, markup=False)
    shown_in, examples = neighbour_lists(audit)
    for example in examples[:EXAMPLES]:
        console.print(_neighbour_table(example, shown_in))
    for finding in audit.findings:
        style = COLOURS[finding.severity]
        head = Text(f"{finding.code} {finding.severity.title}: {finding.title}. ", style=style)
        console.print(head + Text(finding.remedy, style="default"))
    if audit.predictions_hold:
        _print_verdict(audit, console, title="verdict")


def _print_grids(found: Iterable[Grid], console: Console) -> None:
    for grid in found:
        console.print(_table(grid if console.width >= WIDE else grid.narrow()))


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
        _print_grids(movement_grids(audit), console)
        _print_verdict(audit, console, title="verdict")
    console.print(
        f"Eq. 2 keeps {shown.effective_rank} of the {shown.rank} dimensions asked for: so many singular values exceed "
        "its penalty."
    )
