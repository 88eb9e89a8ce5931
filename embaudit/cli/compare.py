"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Count, Model, Rng, app
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, values_in


@app.command()
def compare(
    before: Model,
    after: Annotated[
        Path,
        typer.Argument(help="Another model of the same entities.", show_default=False),
    ],
    *,
    n_neighbours: Annotated[
        Count,
        typer.Option(help="Length of the neighbour lists; 10, of few rows a third."),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-below",
            help="Exit 1 below this: kept=0.7 (neighbour lists), predicted=0.7, scores=0.9, rows=0.97, shared=1.",
        ),
    ] = None,
    reading: Given,
    titles: Titles,
    rng: Rng = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Compare two trained models: how far a gauge explains why their cosines differ.

    Options of reading hold for both: one file of --labels or --ids names the rows of either.
    """
    from embaudit.comparison import compare as run
    from embaudit.errors import InputError
    from embaudit.io import Reading
    from embaudit.report.document import Origin

    # A limit that is no number is refused before two models are read.
    limits = values_in(fail_below, "fail-below", "kept=0.7", float)
    with output.promised(
        [before, after, titles.items, *reading.files(before)]
    ) as write:
        try:
            readings = [reading.read(path) for path in (before, after)]
        except InputError as error:
            if not any(file in error.sentence for file in reading.files(before)):
                raise
            # The file is right for one of them at most, and one command names no second.
            remedy = "save each with its own, `embaudit.save(embaudit.load(PATH, ids=FILE), NEW)`"
            text = f"{error.sentence} One file serves both models here; {remedy}, and compare those."
            raise InputError(text) from error
        first, other = (
            Reading(titles.on(x.model, quiet=output.quiet), x.intake) for x in readings
        )
        with workers.at_work(quiet=output.quiet):
            result = run(
                first,
                other,
                n_neighbours=n_neighbours,
                by_row=titles.by_row,
                partial=titles.partial,
                rng=rng,
            )
        failed = result.below(limits)
        origin = Origin(
            ((before.name, first.intake), (after.name, other.intake)), seed=rng
        )
        write(result, f"{before.name} and {after.name}", origin)
    output.show(result)
    if limits:
        values = [
            (name, *pair)
            for name in failed
            for pair in result.kept_by_side[name]
            if not pair[0] >= limits[name]
        ]
        stops = [
            f"{n} {_below(x, limits[n])}{side and f' ({side}s)'} is below {limits[n]}"
            for n, x, side in values
        ]
        text = f"gate: stops, {', '.join(stops)}" if failed else "gate: passes"
        output.console.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(int(bool(failed)))


def _below(value: float, limit: float) -> str:
    """Write a number with two decimals, or as many as show that it is below a limit."""
    texts = (f"{value:.{digits}f}" for digits in range(2, 18))
    return next((text for text in texts if float(text) < limit), str(value))
