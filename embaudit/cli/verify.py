"""`embaudit verify`: recompute an audit from its JSON and compare every number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embaudit.cli.app import File, Model, More, Quiet, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles, model_paths, read_for_audit
from embaudit.cli.terminal import make_console, progress_bars

if TYPE_CHECKING:
    from embaudit.io import Reading
    from embaudit.io.tables.parts import Parts


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
    from embaudit.auditing.record import read_record
    from embaudit.auditing.verification import verify as verify_record
    from embaudit.io import source_of
    from embaudit.io.watched import unchanged

    # Options without a file are None, which `unchanged` skips.
    files = [audit, path, *(more or ()), titles.items, baseline, *reading.files]
    with unchanged(files):
        record = read_record(audit)
        with progress_bars(quiet=quiet):
            audited, parts = _read_as_audited(
                record, path, more, reading, titles, quiet=quiet
            )
            verification = verify_record(
                record,
                audited,
                baseline=baseline,
                by=parts,
                source=source_of(model_paths(path, more)),
            )
    make_console(quiet=quiet).print(
        verification.explain(), markup=False, soft_wrap=True
    )
    raise typer.Exit(0 if verification.ok else 1)


def _read_as_audited(
    record: Mapping[str, Any],
    path: Path,
    more: list[Path] | None,
    reading: Given,
    titles: Titles,
    *,
    quiet: bool,
) -> tuple[Reading, Parts | None]:
    """Read a model as for its audit, and the parts of its rows if it compared parts.

    The record names the column of the parts, but not the table that has the column. The
    parts are None if the table is not given. Then `verify` of the library asks for it.
    """
    from embaudit.auditing.record import parts_column

    column = parts_column(record)
    audited = read_for_audit(
        path,
        reading.repeating(record),
        titles,
        more,
        other_column=column,
        quiet=quiet,
    )
    if column is None or titles.items is None:
        return audited, None
    return audited, titles.parts(audited.model, column)
