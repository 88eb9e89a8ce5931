"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import (
    ByRow,
    Comment,
    Dask,
    Force,
    Full,
    Id,
    Items,
    Jobs,
    Json,
    Model,
    Page,
    Partial,
    Quiet,
    Seed,
    Title,
    app,
)
from embaudit.cli.reading import Given, reads_a_model, titled
from embaudit.cli.terminal import make_console, outputs, working


@app.command(short_help="What a gauge explains between two trained models.")
@reads_a_model
def compare(
    before: Model,
    after: Annotated[Path, typer.Argument(help="Another model of the same entities.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    reading: Given,
    items: Items = None,
    id: Id = None,  # noqa: A002
    title: Title = None,
    by_row: ByRow = False,
    partial: Partial = False,
    seed: Seed = 0,
    full: Full = False,
    json: Json = None,
    out: Page = None,
    markdown: Comment = None,
    jobs: Jobs = None,
    dask: Dask = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Compare two trained models: how far a gauge explains why their cosines differ."""
    from embaudit.comparison import compare as run
    from embaudit.io import Reading, distinct_outputs
    from embaudit.report.terminal import print_result
    from embaudit.report.view import Origin

    distinct_outputs([before, after, *reading.files(before)], [json, out, markdown])
    with outputs(json, out, markdown, force=force) as write:
        found = [reading.read(path) for path in (before, after)]
        one, other = (
            Reading(titled(x.model, items, id, title, by_row=by_row, partial=partial, quiet=quiet), x.intake)
            for x in found
        )
        with working(jobs, dask, quiet=quiet):
            result = run(one, other, n_neighbours=top, by_row=by_row, partial=partial, rng=seed)
        origin = Origin(((before.name, one.intake), (after.name, other.intake)), seed=seed)
        write(result, f"{before.name} and {after.name}", origin)
    print_result(result, make_console(quiet=quiet), full=full)
