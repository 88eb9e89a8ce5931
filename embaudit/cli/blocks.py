"""`embaudit blocks`: local cosines against the global one."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Force, Json, Page, Quiet, app
from embaudit.cli.terminal import frame_table, make_console, progress_bars, promised, write_json
from embaudit.foundation.words import counted

if TYPE_CHECKING:
    from rich.console import Console

    from embaudit.blocks import BlockCosines

SHOWN = ["cosine", "weight", "contribution", "gap_share"]


@app.command(short_help="Take the cosine of two sets of tensors apart.")
def blocks(
    x: Annotated[
        Path,
        typer.Argument(help="Tensors by name: a checkpoint (folder, index, file), .npz or .npy.", show_default=False),
    ],
    y: Annotated[Path, typer.Argument(help="The same names and shapes.", show_default=False)],
    *,
    partition: Annotated[
        str | None,
        typer.Option(help="tensors, rows, columns, coordinates, heads:N, chunks:N or a pattern like 'layers.3.*'."),
    ] = None,
    skip_missing: Annotated[bool, typer.Option("--skip-missing", help="Leave out names only one side has.")] = False,
    threshold: Annotated[
        float | None, typer.Option(help="Say what 'every local cosine reaches this' guarantees globally.")
    ] = None,
    json: Json = None,
    out: Page = None,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Compare two sets of tensors: the cosine of every block, and how they make up the global one."""
    from embaudit.blocks import block_cosines, require_cosine
    from embaudit.io import distinct_outputs
    from embaudit.report.page import page, picture

    distinct_outputs([x, y], [json, out])
    if threshold is not None:
        require_cosine("the threshold", threshold)
    with ExitStack() as stack:
        json_file, html = (promised(stack, target, force=force) for target in (json, out))
        with progress_bars(quiet=quiet):
            found = block_cosines(x, y, partition=partition, missing="skip" if skip_missing else "error")
        write_json(json_file, found.to_dict())
        if html is not None:
            html.write(page(f"{x.name} and {y.name}", found._repr_html_(), picture(found.plot)))
    _print(found, threshold, make_console(quiet=quiet))


def _print(found: BlockCosines, threshold: float | None, console: Console) -> None:
    console.print(
        f"global cosine {found.global_cosine:.4f} = {found.norm_cosine:.4f} (norm profiles) × {found.mean_cosine:.4f} "
        f"(weighted mean of {counted(len(found.cosines), 'block')})"
    )
    low, high = found.bounds
    console.print(f"with these norms the local cosines allow {low:.4f} to {high:.4f}")
    explained = found.explain()
    if len(explained):
        console.print(frame_table(explained[SHOWN], "blocks that explain 90 % of the gap to 1"))
    for note in found.notes:
        console.print(note, markup=False)
    if threshold is not None:
        said = found.local_threshold(threshold)
        outcome = "holds" if said.holds else f"fails in {counted(said.n_below, 'block')}"
        console.print(
            f"every local cosine ≥ {threshold:g} {outcome}; it guarantees a global cosine of {said.guaranteed:.4f} "
            f"with these norms, {said.guaranteed_without_norms:.4f} without"
        )
