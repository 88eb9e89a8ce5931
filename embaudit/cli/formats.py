"""`embaudit formats` and `embaudit doctor`: what can be read and written here, and whether results can be trusted."""

from __future__ import annotations

import typer

from embaudit.cli.app import app
from embaudit.cli.terminal import make_console


@app.command(short_help="List the model files that can be read and written.")
def formats() -> None:
    """List the model files embaudit reads and writes."""
    from embaudit.io import formats as known
    from embaudit.report.grid import Grid

    headings = ("format", "files", "reads", "writes", "from", "holds")
    rows = [
        (one.name, " ".join(one.suffixes), *("yes" * able for able in (one.reads, one.writes)), one.what, one.holds)
        for one in known()
    ]
    make_console(quiet=False).print(Grid("formats", "", headings, tuple(rows), words=tuple(range(6))).to_rich())


@app.command(short_help="Show versions and check that results can be trusted.")
def doctor() -> None:
    """Show versions and check that this machine computes what embaudit promises."""
    from embaudit.cli.diagnosis import diagnose

    diagnosis = diagnose()
    console = make_console(quiet=False)
    for name, value in diagnosis.versions.items():
        console.print(f"{name:14} {value}", markup=False)
    for check in diagnosis.checks:
        console.print(f"{'ok    ' if check.ok else 'FAILED'} {check.name}: {check.detail}", markup=False)
    raise typer.Exit(0 if diagnosis.ok else 1)
