"""`embaudit schema`: what the JSON that commands write is made of."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from embaudit.cli.app import app


@app.command()
def schema(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The command that writes: audit, blocks, compare, ...",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command writes with --json; without a name, list the commands.

    While schema_version stays, fields are added, and none is renamed, retyped or left out.
    """
    from embaudit.report.schemas import NAMES
    from embaudit.report.schemas import schema as published

    sys.stdout.write("\n".join(NAMES) + "\n" if name is None else published(name))
