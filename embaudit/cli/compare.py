"""`embaudit compare`: may one trained model replace another?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Count, Model, Rng, SameNumbers, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Promise, Workers, shown_name, values_in
from embaudit.errors import must_be

if TYPE_CHECKING:
    from embaudit.io import Reading


@app.command()
@with_groups
def compare(
    before: Model,
    after: Annotated[
        Path,
        typer.Argument(help="Another model of the same entities.", show_default=False),
    ],
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Further runs of the first model: which of its neighbours do all "
            "runs list?",
            show_default=False,
        ),
    ] = None,
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

    Of three or more models, say which neighbours of the first all of them list. --out
    stable.parquet (or .feather, .csv, .tsv) writes the lists of all items then, each
    neighbour with the number of runs that list it.

    Options for reading apply to all models, so a file of --labels or --ids must name
    the rows of each.
    """
    from embaudit.comparison import compare as run
    from embaudit.report.document import Origin

    # A limit that is no number is refused before two models are read.
    limits = values_in(fail_below, "fail-below", "kept=0.7", float)
    if more:
        refused = {
            "--fail-below": bool(limits),
            "--reference": reference is not None,
            "--allow-swapped": allow_swapped,
        }
        for option, is_given in refused.items():
            if is_given:
                raise must_be(
                    option,
                    "left out if three or more models are compared",
                    "it with further models",
                    "compare two models for a decision",
                )
        _compare_runs(
            [before, after, *more],
            n_neighbours,
            reading,
            titles,
            rng,
            output,
            workers,
        )
        return
    paths = [before, after]
    if reference is not None:
        paths.append(reference)
    files = reading.files
    with output.promised([*paths, titles.items, *files]) as write:
        loaded = _read_all(paths, reading, titles, quiet=output.quiet)
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


def _read_all(
    paths: list[Path], reading: Given, titles: Titles, *, quiet: bool
) -> list[Reading]:
    """Read the models, all with the same options."""
    from embaudit.errors import InputError
    from embaudit.io import Reading

    files = reading.files
    try:
        readings = [reading.read(path) for path in paths]
    except InputError as error:
        if not set(files) & set(error.files):
            raise
        # The file is right for one of them at most, and one command names no second.
        number = "both" if len(paths) == 2 else "all"
        raise InputError(
            "{} One file serves {} models here; save each with its own, "
            "`embaudit.save(embaudit.load(PATH, ids=FILE), NEW)`, and compare those.",
            error.sentence,
            number,
        ) from error
    return [Reading(titles.on(x.model, quiet=quiet), x.intake) for x in readings]


def _compare_runs(
    paths: list[Path],
    n_neighbours: int | None,
    reading: Given,
    titles: Titles,
    rng: int,
    output: Output,
    workers: Workers,
) -> None:
    """Say which neighbours of the first of several runs all of them list."""
    from embaudit.core.sizes import N_QUERIES
    from embaudit.io.tables.written import TABLES, write_table
    from embaudit.report.document import Origin
    from embaudit.serving import stable_neighbours

    table: Promise = (None, write_table)
    n_lists: int | None = N_QUERIES
    pages = output
    if output.out is not None and output.out.suffix.lower() in TABLES:
        suffix = output.out.suffix.lower()
        table = (output.out, lambda found, *_: write_table(found.to_frame(), suffix))
        pages = replace(output, out=None)
        # A table is of use only if it has the lists of all rows.
        n_lists = None
    with pages.promised([*paths, titles.items, *reading.files], table) as write:
        loaded = _read_all(paths, reading, titles, quiet=output.quiet)
        with workers.at_work(quiet=output.quiet):
            found = stable_neighbours(
                [source.model for source in loaded],
                n_neighbours=n_neighbours,
                n_lists=n_lists,
                by_row=titles.by_row,
                partial=titles.partial,
                rng=rng,
            )
        names = [shown_name(path) for path in paths]
        intakes = tuple(
            (name, source.intake) for name, source in zip(names, loaded, strict=True)
        )
        write(found, f"{names[0]} and {len(names) - 1} runs", Origin(intakes, seed=rng))
    output.show(found)
