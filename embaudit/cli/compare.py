"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Model, Seed, app
from embaudit.cli.groups import grouped
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers


@app.command()
@grouped
def compare(
    before: Model,
    after: Annotated[Path, typer.Argument(help="Another model of the same entities.", show_default=False)],
    *,
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    reading: Given,
    titles: Titles,
    seed: Seed = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Compare two trained models: how far a gauge explains why their cosines differ."""
    from embaudit.comparison import compare as run
    from embaudit.io import Reading
    from embaudit.report.terminal import print_result
    from embaudit.report.view import Origin

    with output.promised([before, after, *reading.files(before)]) as write:
        found = [reading.read(path) for path in (before, after)]
        one, other = (Reading(titles.on(x.model, quiet=output.quiet), x.intake) for x in found)
        with workers.at_work(quiet=output.quiet):
            result = run(one, other, n_neighbours=top, by_row=titles.by_row, partial=titles.partial, rng=seed)
        origin = Origin(((before.name, one.intake), (after.name, other.intake)), seed=seed)
        write(result, f"{before.name} and {after.name}", origin)
    print_result(result, output.console, full=output.full)
