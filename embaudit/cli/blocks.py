"""`embaudit blocks`: local cosines against the global one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from embaudit.cli.app import Text, app
from embaudit.cli.groups import with_groups
from embaudit.cli.terminal import Output, Workers, shown_name


@app.command()
@with_groups
def blocks(
    x: Annotated[
        Path,
        Argument(
            help="Tensors by name: a checkpoint (folder, index, file), .npz or .npy.",
            show_default=False,
        ),
    ],
    y: Annotated[
        Path, Argument(help="Tensors of the same names and shapes.", show_default=False)
    ],
    *,
    cut: Annotated[
        Text,
        Option(
            "--blocks",
            help="Blocks to compare: tensors, rows, coordinates, or "
            "patterns such as 'layers.3.*,head*'.",
        ),
    ] = None,
    missing: Annotated[
        Literal["error", "skip"],
        Option(help="What to do with names that only one side has."),
    ] = "error",
    output: Output,
    workers: Workers,
) -> None:
    """Compare two sets of tensors by the cosines of their blocks and of the whole."""
    from embaudit.blocks import block_cosines
    from embaudit.report.document import Origin

    with output.promised([x, y]) as write:
        with workers.at_work(quiet=output.quiet):
            result = block_cosines(x, y, cut, missing=missing)
        names = shown_name(x), shown_name(y)
        origin = Origin(tuple((name, None) for name in names))
        write(result, " and ".join(names), origin)
    output.show(result)
