"""The application and the options its commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.commands import App, Commands
from embaudit.cli.settings import CURRENT, Settings

app = App(
    name="embaudit",
    cls=Commands,
    help="Audit embedding similarity: how far can cosines move while every prediction stays the same?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich one takes as long to import as everything else here
)


Text = str | None
Texts = list[str] | None
File = Path | None
Count = int | None
Number = float | None
Rng = Annotated[int, typer.Option("--rng", help="Seed of every random draw.", min=0)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Threads that share the work; one a core by default."),
]
Model = Annotated[
    Path,
    typer.Argument(
        help="A model file or directory; see `embaudit formats`.", show_default=False
    ),
]
More = Annotated[
    list[Path] | None,
    typer.Argument(help="More tables, whose rows follow.", show_default=False),
]
Partial = Annotated[
    bool,
    typer.Option("--partial", help="Go on where less than half of the rows match."),
]


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    *,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Audit embedding similarity: how far can cosines move while every prediction stays the same?"""
    if show_version:
        from embaudit._version import __version__

        typer.echo(f"embaudit {__version__}")
        raise typer.Exit
    # Settings are those of audits, so a damaged file stops no command but these and
    # what reads the same model.
    command = context.invoked_subcommand
    if command in ("audit", "fix", "gauge", "verify"):
        CURRENT.set(Settings.near(Path.cwd()))
        values = {
            k: x
            for k, x in CURRENT.get().values.items()
            if command == "audit" or k in ("norm", "norm_kind")
        }
        # As defaults of options, they give way to what is typed.
        context.default_map = {command: values}
