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
    from embaudit.auditing.recompute import recorded
    from embaudit.auditing.recompute import verify as compared
    from embaudit.io import source_of
    from embaudit.io.watched import unchanged

    inputs = [audit, path, *(more or ()), titles.items, baseline]
    with unchanged([*inputs, *reading.files]):
        record = recorded(audit)
        with progress_bars(quiet=quiet):
            # The column of the parts stands in the record, its table does not.
            options = record.get("options")
            column = options.get("by") if isinstance(options, dict) else None
            column = column if isinstance(column, str) else None
            model = read_for_audit(
                path,
                reading.repeating(record),
                titles,
                more,
                other_column=column,
                quiet=quiet,
            )
            by = None
            if column is not None and titles.items is not None:
                by = titles.parts(model.model, column)
            verification = compared(
                record,
                model,
                baseline=baseline,
                by=by,
                source=source_of([path, *more] if more else path),
            )
    make_console(quiet=quiet).print(
        verification.explain(), markup=False, soft_wrap=True
    )
    raise typer.Exit(int(not verification.ok))
