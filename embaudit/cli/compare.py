"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Force, Json, Model, Page, Quiet, Reading, Seed, app
from embaudit.cli.terminal import make_console, progress_bars, promised, reading_options, rows_table, write_json


@app.command(short_help="What a gauge explains between two trained models.")
def compare(
    before: Model,
    after: Annotated[Path, typer.Argument(help="Another model of the same entities.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    kind: Annotated[str, typer.Option(help="What the files hold: auto, factors, head or vectors.")] = "auto",
    reading: Reading = None,
    seed: Seed = 0,
    json: Json = None,
    out: Page = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Compare two trained models: how far a gauge explains why their cosines differ."""
    from embaudit.comparison import compare as run
    from embaudit.io import distinct_outputs, load
    from embaudit.report.page import page

    distinct_outputs([before, after], [json, out])
    with ExitStack() as stack:
        json_file, html = (promised(stack, target, force=force) for target in (json, out))
        one, other = (load(path, kind=kind, **reading_options(reading)) for path in (before, after))
        with progress_bars(quiet=quiet):
            found = run(one, other, n_neighbours=top, rng=seed)
        write_json(json_file, found.to_dict())
        if html is not None:
            html.write(page(f"{before.name} and {after.name}", found._repr_html_()))
    console = make_console(quiet=quiet)
    console.print(rows_table(found.summary_rows(), "what changed"))
    for role in found.changes:
        moved = found.moved_rows(role)
        if moved:
            console.print(rows_table(moved, f"{found.title(role)}s that moved most"))
    console.print(found.explain(), markup=False)
