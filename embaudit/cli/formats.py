"""`embaudit formats`: what can be read and written here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import More, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, model_paths
from embaudit.cli.terminal import make_console


@app.command()
@with_groups
def formats(
    path: Annotated[
        Path | None,
        typer.Argument(help="A file to inspect by its header; no vectors are read."),
    ] = None,
    more: More = None,
    *,
    reading: Given,
) -> None:
    """List the formats that are read and written; of one file, say how it is read."""
    from embaudit.io import inspect, list_formats

    if path is not None:
        files = model_paths(path, more)
        intake = inspect(files, kind=reading.kind, **reading.options)
        make_console(quiet=False).print(intake.explain(), markup=False, soft_wrap=True)
        return
    # A question about one file need not wait for pandas and rich.
    import pandas as pd

    from embaudit.report.tables import Table

    frame = pd.DataFrame(
        {
            "format": kind.name,
            "files": " ".join(kind.suffixes) or "an address",
            "reads": "yes",
            "writes": "yes" if kind.is_written else None,
            "from": kind.origin,
            "holds": kind.content,
            "needs": kind.extra or None,
        }
        for kind in list_formats()
    )
    make_console(quiet=False).print(Table("formats", frame).to_rich())
