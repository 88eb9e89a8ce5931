"""`embaudit simpson`: a grouping that can turn an association around."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import FailOn, Rng, app
from embaudit.cli.groups import with_groups
from embaudit.cli.terminal import Output, progress_bars, shown_name


@app.command()
@with_groups
def simpson(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV or Parquet, one row per case.", show_default=False
        ),
    ],
    *,
    x: Annotated[str, typer.Option(help="Column of the first quantity.")],
    y: Annotated[str, typer.Option(help="Column of the second quantity.")],
    groups: Annotated[
        list[str],
        typer.Option(
            help="Column that groups the rows. Repeat it to group by "
            "combinations of columns.",
            show_default=False,
        ),
    ],
    counts: Annotated[
        str | None,
        typer.Option(help="Column with the number of cases that each row stands for."),
    ] = None,
    min_size: Annotated[
        int, typer.Option(help="Smallest size of a group that counts.")
    ] = 5,
    n_permutations: Annotated[
        int,
        typer.Option(help="Number of permutations for the p-value; 0 for no p-value."),
    ] = 999,
    rng: Rng = 0,
    output: Output,
    fail_on: Annotated[
        FailOn,
        typer.Option(help="Exit with 1 if a finding has at least this severity."),
    ] = FailOn.NEVER,
) -> None:
    """Compare an association over all rows and within groups (Simpson's paradox)."""
    from embaudit.errors import must_be
    from embaudit.report.document import Origin
    from embaudit.simpson import simpson as compare_groups

    if fail_on is FailOn.ISSUE and not n_permutations:
        raise must_be(
            "--n-permutations",
            "1 or more with --fail-on issue, which needs a p-value",
            "0",
        )
    with output.promised([table]) as write:
        with progress_bars(quiet=output.quiet):
            report = compare_groups(
                table,
                x=x,
                y=y,
                groups=groups,
                counts=counts,
                min_size=min_size,
                n_permutations=n_permutations,
                rng=rng,
            )
        name = shown_name(table)
        write(report, f"{y} on {x} in {name}", Origin(((name, None),), seed=rng))
    output.show(report)
    if fail_on is FailOn.NEVER:
        return
    # A change that chance can explain is a tip, and any other one an issue.
    stops = report.is_finding
    if fail_on is FailOn.ISSUE:
        stops = stops and report.is_significant
    verdict = f"stops, {report.kind}" if stops else "passes"
    output.console.print(f"gate: {verdict}", markup=False, highlight=False)
    raise typer.Exit(int(stops))
