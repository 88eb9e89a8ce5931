"""`embaudit verify`: recompute an audit from its JSON and compare every number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import File, Model, More, Quiet, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles, model_paths, read_for_audit
from embaudit.cli.terminal import make_console, progress_bars

if TYPE_CHECKING:
    from embaudit.auditing.recompute import Verification


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
    from embaudit.io.watched import unchanged

    # Options without a file are None, which `unchanged` skips.
    files = [audit, path, *(more or ()), titles.items, baseline, *reading.files]
    with unchanged(files):
        verification = _recompute(
            audit, path, more, reading, titles, baseline=baseline, quiet=quiet
        )
    make_console(quiet=quiet).print(
        verification.explain(), markup=False, soft_wrap=True
    )
    raise typer.Exit(0 if verification.ok else 1)


def _recompute(
    audit_file: Path,
    path: Path,
    more: list[Path] | None,
    reading: Given,
    titles: Titles,
    *,
    baseline: Path | None,
    quiet: bool,
) -> Verification:
    """Read the model as for the audit, and compare every number with the record."""
    from embaudit.auditing import recompute
    from embaudit.io import source_of

    record = recompute.read_record(audit_file)
    parts_column = recompute.parts_column(record)
    with progress_bars(quiet=quiet):
        source = read_for_audit(
            path,
            reading.repeating(record),
            titles,
            more,
            other_column=parts_column,
            quiet=quiet,
        )
        parts = None
        # The record names the column of the parts, but not the table that has it. An
        # audit by parts without the table is refused by `recompute.verify`.
        if parts_column is not None and titles.items is not None:
            parts = titles.parts(source.model, parts_column)
        return recompute.verify(
            record,
            source,
            baseline=baseline,
            by=parts,
            source=source_of(model_paths(path, more)),
        )
