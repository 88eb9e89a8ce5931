"""`embaudit evaluate`: which similarity finds what belongs together, where that is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Force, Full, Json, Model, Page, Quiet, Reading, Seed, app
from embaudit.cli.terminal import loaded, make_console, outputs, progress_bars, reading_options

if TYPE_CHECKING:
    from embaudit.model import FactorModel


@app.command(short_help="Which similarity finds known labels best?")
def evaluate(
    path: Model,
    *,
    items: Annotated[Path, typer.Option(help="Table with what is known of the items.")],
    truth: Annotated[list[str], typer.Option(help="Its column of labels or clusters; more than one add up.")],
    id: Annotated[str | None, typer.Option("--id", help="Its column of ids.")] = None,  # noqa: A002
    separator: Annotated[str, typer.Option(help="Between the labels of one item.")] = "|",
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    kind: Annotated[str, typer.Option(help="What the file holds: auto, factors, head or vectors.")] = "auto",
    reading: Reading = None,
    seed: Seed = 0,
    full: Full = False,
    json: Json = None,
    out: Page = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Score cosines, dot products and prediction cosines by labels: does a neighbour share one?"""
    from embaudit.evaluation import evaluate_similarities
    from embaudit.io import distinct_outputs
    from embaudit.report.terminal import print_result

    distinct_outputs([path, items], [json, out])
    with outputs(json, out, force=force) as write:
        model = loaded(path, kind, reading_options(reading))
        with progress_bars(quiet=quiet):
            labels = _labels(model, items, id, truth, separator)
            found = evaluate_similarities(model, labels, n=top, separator=separator, rng=seed)
        write(found, f"which similarity serves {', '.join(truth)} best in {path.name}")
    console = make_console(quiet=quiet)
    console.print(f"judged by {', '.join(truth)}", markup=False)
    print_result(found, console, full=full)


def _labels(
    model: FactorModel, items: Path, identifier: str | None, columns: list[str], separator: str
) -> list[str | None]:
    """Collect the labels of every right row over the chosen columns."""
    import numpy as np

    from embaudit.io import flags_named, read_titles, texts_for

    rows = np.arange(model.n_right) if model.right_ids is None else model.right_ids
    found = [
        flags_named(texts_for(rows, *read_titles(items, id=identifier, title=column)), column) for column in columns
    ]
    joined = [separator.join(text for text in texts if text) for texts in zip(*found, strict=True)]
    return [text or None for text in joined]
