"""`embaudit formats`: what can be read and written here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import More, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given
from embaudit.cli.terminal import make_console


@app.command()
@with_groups
def formats(
    path: Annotated[
        Path | None, typer.Argument(help="A file to look at; no vectors are read.")
    ] = None,
    more: More = None,
    *,
    reading: Given,
) -> None:
    """List the model files embaudit reads and writes; of one file, say what it would be read as."""
    from embaudit.io import formats as known
    from embaudit.io import look

    if path is not None:
        intake = look(
            [path, *more] if more else path, **{"kind": reading.kind} | reading.options
        )
        make_console(quiet=False).print(intake.explain(), markup=False, soft_wrap=True)
        return
    # Who asks about a file need not wait until what draws tables is loaded.
    from embaudit.report.document import Grid

    headings = ("format", "files", "reads", "writes", "from", "holds", "needs")
    rows = [
        (kind.name, " ".join(kind.suffixes), *("yes" * able for able in (kind.reads, kind.writes)), kind.what,
         kind.holds, kind.needs) for kind in known()
    ]  # fmt: skip
    make_console(quiet=False).print(
        Grid("formats", "", headings, tuple(rows), words=tuple(range(7))).to_rich()
    )
