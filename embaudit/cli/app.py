"""The application and the options its commands share."""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from embaudit.cli.commands import LazyGroup
from embaudit.cli.settings import SETTINGS, Settings

app = typer.Typer(
    name="embaudit",
    cls=LazyGroup,
    help=(
        "Audit embedding similarity: how far can cosines move while every prediction "
        "stays the same?"
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@cache
def command_group() -> Any:
    """Return all commands, made once: a program may call many of them."""
    return get_command(app)


class FailOn(StrEnum):
    """From which severity on a finding makes the command exit 1."""

    ISSUE = "issue"
    TIP = "tip"
    NEVER = "never"


Text = str | None
Texts = list[str] | None
File = Path | None
Count = int | None
Number = float | None
Rng = Annotated[
    int,
    typer.Option(
        "--rng", help="Seed of all random draws.", min=0, rich_help_panel="Effort"
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="Print nothing but errors.", rich_help_panel="Output"),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Overwrite outputs that exist.", rich_help_panel="Output"
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of threads (default: one per core).",
        rich_help_panel="Effort",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        help="A model file or directory; see `embaudit formats`.", show_default=False
    ),
]
More = Annotated[
    list[Path] | None,
    typer.Argument(help="More tables, whose rows are appended.", show_default=False),
]
SameNumbers = Annotated[
    bool,
    typer.Option(
        "--same-numbers",
        help="Rows or ids have one number for one entity in both models, and new ones "
        "have new numbers, so the models may differ in rows.",
        rich_help_panel="Your file",
    ),
]

Partial = Annotated[
    bool,
    typer.Option(
        "--partial",
        help="Continue if less than half of the rows match the table of --items.",
        rich_help_panel="Your file",
        hidden=True,
    ),
]


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    *,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Read the settings, or print the version."""
    if show_version:
        from embaudit._version import __version__

        typer.echo(f"embaudit {__version__}")
        raise typer.Exit
    # Settings are options of audits, so a damaged file stops only audits and commands
    # that read the same model.
    name = context.invoked_subcommand
    if name in ("audit", "fix", "gauge", "verify"):
        settings = Settings.near(Path.cwd())
        group: Any = context.command
        defaults = settings.defaults(
            context, group.get_command(context, "audit").params
        )
        if name != "audit":
            read_by = {one.name for one in group.get_command(context, name).params}
            defaults = {
                option: value
                for option, value in defaults.items()
                if option in read_by and option in ("norm", "norm_kind")
            }
        # Options that are typed override defaults.
        context.default_map = {name: defaults}
        context.meta[SETTINGS] = settings
