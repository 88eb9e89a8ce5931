"""`embaudit simpson`: groupings that turn an association around."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import FailOn, FailOnFindings, Force, Json, Page, Quiet, Seed, app
from embaudit.cli.terminal import frame_table, make_console, progress_bars, promised, write_json

LISTED = 5
SHOWN = ["kind", "n_groups", "r_pooled", "r_within", "effect", "p_adjusted"]


@app.command(short_help="Find groupings that turn an association around.")
def simpson(
    table: Annotated[Path, typer.Argument(help="CSV, TSV or Parquet, one row a case.", show_default=False)],
    *,
    x: Annotated[str, typer.Option(help="Column of the first quantity.")],
    y: Annotated[str, typer.Option(help="Column of the second.")],
    group: Annotated[list[str] | None, typer.Option(help="Column to group by; every column by default.")] = None,
    counts: Annotated[str | None, typer.Option(help="Column that says how many cases a row stands for.")] = None,
    min_size: Annotated[int, typer.Option(help="Smaller groups have no vote.")] = 5,
    permutations: Annotated[int, typer.Option(help="Permutations behind the p-values; 0 for none.")] = 999,
    seed: Seed = 0,
    json: Json = None,
    out: Page = None,
    fail_on: FailOnFindings = FailOn.NEVER,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Find groupings of a table that reverse, remove or uncover an association (Simpson's paradox)."""
    from embaudit.io import distinct_outputs
    from embaudit.report.page import page, picture
    from embaudit.reversals import simpson as find

    distinct_outputs([table], [json, out])
    with ExitStack() as stack:
        json_file, html = (promised(stack, target, force=force) for target in (json, out))
        with progress_bars(quiet=quiet):
            found = find(
                str(table),
                x=x,
                y=y,
                groups=group,
                counts=counts,
                min_size=min_size,
                n_permutations=permutations,
                rng=seed,
            )
        write_json(json_file, found.to_dict())
        if html is not None:
            drawn = picture(lambda axes: found.plot(ax=axes)) if found.groupings else ""
            html.write(page(f"{y} on {x} in {table.name}", found._repr_html_(), drawn))
    console = make_console(quiet=quiet)
    console.print(frame_table(found.to_frame()[SHOWN], f"{y} on {x}, {found.pooled.n:,} rows"))
    for line in (*found.explain(limit=LISTED).splitlines(), *found.listed_notes(limit=LISTED)):
        console.print(line, markup=False)
    beyond_chance = any(grouping.is_significant for grouping in found.findings)
    raise typer.Exit(
        {FailOn.NEVER: 0, FailOn.ISSUE: int(beyond_chance), FailOn.TIP: int(bool(found.findings))}[fail_on]
    )
