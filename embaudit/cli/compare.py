"""`embaudit compare`: two trained models, what a gauge explains and what it does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Count, Model, Rng, app
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, shown_name, values_in

if TYPE_CHECKING:
    from embaudit.comparison import Comparison


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
            help="Exit 1 below this share: top=0.6 (recommended lists), kept=0.7 (neighbour lists), predicted=0.7, "
            "scores=0.9, rows=0.97, shared=1; rows count by interactions.",
        ),
    ] = None,
    allow_swapped: Annotated[
        bool,
        typer.Option(
            "--allow-swapped",
            help="With --fail-below, let rows pass that have the vector of another row.",
        ),
    ] = False,
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
            if not any(file in str(error) for file in reading.files(before)):
                raise
            # The file is right for one of them at most, and one command names no
            # second.
            raise InputError(
                "{} One file serves both models here; save each with its own, "
                "`embaudit.save(embaudit.load(PATH, ids=FILE), NEW)`, and compare those.",
                error.sentence,
            ) from error
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
        result.below(
            limits
        )  # a limit of no number is refused before anything is written
        names = shown_name(before), shown_name(after)
        intakes = (names[0], first.intake), (names[1], other.intake)
        write(result, " and ".join(names), Origin(intakes, seed=rng))
    output.show(result)
    stops: list[str] = []
    if limits:
        stops = _reasons_to_stop(result, limits, allow_swapped=allow_swapped)
        text = f"gate: stops, {', '.join(stops)}" if stops else "gate: passes"
        output.console.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(int(bool(stops)))


def _reasons_to_stop(
    result: Comparison, limits: Mapping[str, float], *, allow_swapped: bool
) -> list[str]:
    """Name the limits that are not reached, by side, and rows that have the vector of another row."""
    reasons = []
    for name in result.below(limits):
        for value, side in result.kept_by_side[name]:
            # Not `value < limit`, because a value may be NaN.
            if not value >= limits[name]:
                of_side = f" ({side}s)" if side else ""
                shown = _below(value, limits[name])
                reasons.append(f"{name} {shown}{of_side} is below {limits[name]}")
    if not allow_swapped:
        for side, count in result.swapped.items():
            reasons.append(f"{count:,} {side}s have the vector of another {side}")
    return reasons


def _below(value: float, limit: float) -> str:
    """Write a number with two decimals, or as many as show that it is below a limit."""
    texts = (f"{value:.{digits}f}" for digits in range(2, 18))
    return next((text for text in texts if float(text) < limit), str(value))
