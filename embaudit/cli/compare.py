"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Force, Full, Json, Model, Page, Quiet, Reading, Seed, app
from embaudit.cli.terminal import loaded, make_console, outputs, progress_bars, reading_options


@app.command(short_help="What a gauge explains between two trained models.")
def compare(
    before: Model,
    after: Annotated[Path, typer.Argument(help="Another model of the same entities.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    kind: Annotated[str, typer.Option(help="What the files hold: auto, factors, head or vectors.")] = "auto",
    reading: Reading = None,
    seed: Seed = 0,
    full: Full = False,
    json: Json = None,
    out: Page = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Compare two trained models: how far a gauge explains why their cosines differ."""
    from embaudit.comparison import compare as run
    from embaudit.io import distinct_outputs
    from embaudit.report.terminal import print_result

    distinct_outputs([before, after], [json, out])
    with outputs(json, out, force=force) as write:
        one, other = (loaded(path, kind, reading_options(reading)) for path in (before, after))
        with progress_bars(quiet=quiet):
            found = run(one, other, n_neighbours=top, rng=seed)
        write(found, f"{before.name} and {after.name}")
    print_result(found, make_console(quiet=quiet), full=full)
