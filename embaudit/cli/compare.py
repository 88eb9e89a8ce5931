"""`embaudit compare`: may one trained model replace another?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Count, Model, Rng, SameNumbers, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, shown_name, values_in


@app.command()
@with_groups
def compare(
    before: Model,
    after: Annotated[
        Path,
        typer.Argument(help="Another model of the same entities.", show_default=False),
    ],
    *,
    n_neighbours: Annotated[
        Count,
        typer.Option(
            help="Number of neighbours (default: 10, or a third of "
            "the rows of a small model)."
        ),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-below",
            help="Exit with 1 if a share is below its limit: top=0.6 "
            "(recommended lists), kept=0.7 (neighbour lists), "
            "predicted=0.7, scores=0.9, rows=0.97 or shared=1. "
            "Repeat it for several shares. Rows are weighted by "
            "their interactions.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            help="Another training run of the first model, with "
            "another seed. Its shares, minus an allowance, are "
            "the limits of the shares that --fail-below does not "
            "set.",
        ),
    ] = None,
    allow_swapped: Annotated[
        bool,
        typer.Option(
            "--allow-swapped",
            help="With --fail-below or --reference, accept rows that "
            "have the vector of another row.",
        ),
    ] = False,
    reading: Given,
    titles: Titles,
    same_numbers: SameNumbers = False,
    rng: Rng = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Compare two trained models: may the second one replace the first?

    Options for reading apply to both models, so a file of --labels or --ids must name
    the rows of both.
    """
    from embaudit.comparison import compare as run
    from embaudit.errors import InputError
    from embaudit.io import Reading
    from embaudit.report.document import Origin

    # A limit that is no number is refused before two models are read.
    limits = values_in(fail_below, "fail-below", "kept=0.7", float)
    paths = [before, after]
    if reference is not None:
        paths.append(reference)
    files = reading.files
    with output.promised([*paths, titles.items, *files]) as write:
        try:
            readings = [reading.read(path) for path in paths]
        except InputError as error:
            if not set(files) & set(error.files):
                raise
            # The file is right for one of them at most, and one command names no
            # second.
            raise InputError(
                "{} One file serves both models here; save each with its own, "
                "`embaudit.save(embaudit.load(PATH, ids=FILE), NEW)`, and compare those.",
                error.sentence,
            ) from error
        loaded = [
            Reading(titles.on(x.model, quiet=output.quiet), x.intake) for x in readings
        ]
        with workers.at_work(quiet=output.quiet):
            result = run(
                loaded[0],
                loaded[1],
                n_neighbours=n_neighbours,
                by_row=titles.by_row,
                partial=titles.partial,
                same_numbers=same_numbers,
                fail_below=limits,
                reference=loaded[2] if reference is not None else None,
                allow_swapped=allow_swapped,
                rng=rng,
            )
        names = [shown_name(path) for path in paths]
        intakes = tuple(
            (name, source.intake) for name, source in zip(names, loaded, strict=True)
        )
        write(result, " and ".join(names[:2]), Origin(intakes, seed=rng))
    output.show(result)
    failures = result.failures()
    if result.limits:
        text = "gate: passes"
        if failures:
            text = f"gate: stops, {', '.join(failures)}"
        output.console.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(int(bool(failures)))
