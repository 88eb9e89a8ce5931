"""`embaudit verify`: recompute an audit from its JSON and compare every number."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import File, Model, More, Quiet, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles, read_for_audit
from embaudit.cli.terminal import make_console, progress_bars


@app.command()
@with_groups
def verify(
    audit: Annotated[
        Path,
        typer.Argument(
            help="JSON that `embaudit audit --json` wrote.", show_default=False
        ),
    ],
    path: Model,
    more: More = None,
    *,
    reading: Given,
    titles: Titles,
    baseline: Annotated[
        File,
        typer.Option(help="JSON of the baseline of that audit."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Recompute an audit from its JSON, and exit with 1 if a number or text differs.

    The JSON holds the seed and the options of the audit, but not how the model was
    read: repeat the options of "Your file", and --link. The JSON also holds --compared
    and --objective of the audit. They can be left out, and other values are refused.
    """
    # Imports of NumPy take a while, so `--help` does without them.
    from embaudit.auditing import recompute
    from embaudit.io import source_of
    from embaudit.io.watched import unchanged

    # Paths that were not given are None, and `unchanged` skips them.
    inputs = [audit, path, *(more or ()), titles.items, baseline, *reading.files]
    with unchanged(inputs):
        record = recompute.read_record(audit)
        with progress_bars(quiet=quiet):
            # The record names the column of the parts, but not the table that has it.
            column = recompute.parts_column(record)
            source = read_for_audit(
                path,
                reading.repeating(record),
                titles,
                more,
                other_column=column,
                quiet=quiet,
            )
            # Without the table, `recompute.verify` asks for it.
            parts = None
            if column is not None and titles.items is not None:
                parts = titles.parts(source.model, column)
            verification = recompute.verify(
                record,
                source,
                baseline=baseline,
                by=parts,
                source=source_of([path, *more] if more else path),
            )
    make_console(quiet=quiet).print(
        verification.explain(), markup=False, soft_wrap=True
    )
    raise typer.Exit(0 if verification.ok else 1)
