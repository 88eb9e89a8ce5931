"""`embaudit evaluate`: which similarity finds what belongs together, where that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import (
    ByRow,
    Comment,
    Dask,
    Force,
    Full,
    Id,
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

if TYPE_CHECKING:
    from collections.abc import Callable

    from embaudit.io import Joined


@app.command(short_help="Which similarity finds known labels best?")
@reads_a_model
def evaluate(
    path: Model,
    *,
    items: Annotated[Path, typer.Option(help="Table with what is known of the items.")],
    truth: Annotated[list[str], typer.Option(help="Its column of labels or clusters; more than one add up.")],
    id: Id = None,  # noqa: A002
    title: Title = None,
    by_row: ByRow = False,
    partial: Partial = False,
    separator: Annotated[str, typer.Option(help="Between the labels of one item.")] = "|",
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    reading: Given,
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
    """Score cosines, dot products and prediction cosines by labels: does a neighbour share one?"""
    from embaudit.evaluation import evaluate_similarities
    from embaudit.io import distinct_outputs, join_texts
    from embaudit.report.terminal import print_result
    from embaudit.report.view import Origin

    distinct_outputs([path, items, *reading.files(path)], [json, out, markdown])
    with outputs(json, out, markdown, force=force) as write:
        given = reading.read(path)
        model = given.model
        if title is not None:
            model = titled(model, items, id, title, by_row=by_row, partial=partial, quiet=quiet)
        with working(jobs, dask, quiet=quiet):
            labels, matched = _labels(
                truth,
                separator,
                lambda column: join_texts(model.right_side, items, title=column, id=id, by_row=by_row, partial=partial),
            )
            found = evaluate_similarities(model, labels, n=top, separator=separator, rng=seed)
        judged = f"judged by {', '.join(truth)}: {matched}"
        title = f"which similarity serves {', '.join(truth)} best in {path.name}"
        write(found, title, Origin(((path.name, given.intake),), (judged,), seed))
    console = make_console(quiet=quiet)
    console.print(judged, markup=False)
    print_result(found, console, full=full)


def _labels(columns: list[str], separator: str, join: Callable[[str], Joined]) -> tuple[list[str | None], str]:
    """Collect the labels of every item over the chosen columns, and how many rows matched."""
    from embaudit.io import flags_named

    found = [join(column) for column in columns]
    texts = (flags_named(list(x.texts), column) for x, column in zip(found, columns, strict=True))
    joined = [separator.join(text for text in row if text) for row in zip(*texts, strict=True)]
    return [text or None for text in joined], found[0].explain()
