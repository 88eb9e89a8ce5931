"""`embaudit formats` and `embaudit doctor`: what can be read and written here, and whether results can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import app
from embaudit.cli.groups import grouped
from embaudit.cli.reading import Given
from embaudit.cli.terminal import make_console


@app.command(short_help="List the formats, or say how one file would be read.")
@grouped
def formats(
    path: Annotated[Path | None, typer.Argument(help="A file to look at; no vectors are read.")] = None,
    *,
    reading: Given,
) -> None:
    """List the model files embaudit reads and writes; of one file, say what it would be read as."""
    from embaudit.io import formats as known
    from embaudit.io import look
    from embaudit.report.grid import Grid

    if path is not None:
        intake = look(path, kind=reading.kind, **reading.options)
        make_console(quiet=False).print(intake.explain(), markup=False, soft_wrap=True)
        return
    headings = ("format", "files", "reads", "writes", "from", "holds", "needs")
    rows = [
        (one.name, " ".join(one.suffixes), *("yes" * able for able in (one.reads, one.writes)), one.what, one.holds,
         one.needs) for one in known()
    ]  # fmt: skip
    make_console(quiet=False).print(Grid("formats", "", headings, tuple(rows), words=tuple(range(7))).to_rich())


@app.command(short_help="Show versions and check that results can be trusted.")
def doctor() -> None:
    """Show versions and check that this machine computes what embaudit promises."""
    from embaudit.cli.diagnosis import promises, versions

    console = make_console(quiet=False)
    for name, value in versions().items():
        console.print(f"{name:14} {value}", markup=False)
    checks = promises()
    for name, (kept, detail) in checks.items():
        console.print(f"{'ok    ' if kept else 'FAILED'} {name}: {detail}", markup=False)
    raise typer.Exit(0 if all(kept for kept, _ in checks.values()) else 1)
