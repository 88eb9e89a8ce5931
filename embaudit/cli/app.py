"""The application and the options its commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.fail_on import FailOn

app = typer.Typer(
    name="embaudit",
    help="Audit embedding similarity: how far can cosines move while every prediction stays the same?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich one takes as long to import as everything else here
)


SCHEDULER = re.compile(r"([^\s:/\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
"""Host and port."""


def _scheduler(address: str | None) -> str | None:
    """Refuse what is no address before anything is read: a Dask client would tell of it again and again."""
    if address is not None and not SCHEDULER.fullmatch(address):
        from embaudit.errors import must_be

        raise must_be("--dask", "HOST:PORT of a Dask scheduler", repr(address))
    return address


Seed = Annotated[int, typer.Option(help="Seed of every random draw.", min=0)]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Threads that share the work; one a core by default.")]
Dask = Annotated[
    str | None, typer.Option(callback=_scheduler, help="Let the workers of a Dask scheduler at HOST:PORT do the work.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write every number to this JSON file.")]
Full = Annotated[bool, typer.Option("--full", help="Print everything, not one screen of it.")]
Page = Annotated[Path | None, typer.Option("--out", help="Write a report to this HTML file.")]
Comment = Annotated[Path | None, typer.Option("--markdown", help="Write what is found for a comment.")]
Model = Annotated[Path, typer.Argument(help="A model file or directory; see `embaudit formats`.", show_default=False)]
FailOnFindings = Annotated[FailOn, typer.Option("--fail-on", help="Exit 1 on findings of this severity.")]
Items = Annotated[Path | None, typer.Option(help="Table with titles of the items.")]
Id = Annotated[str | None, typer.Option("--id", help="Its column of ids, or without it that of a table of vectors.")]
Title = Annotated[str | None, typer.Option(help="Its column of titles.")]
ByRow = Annotated[bool, typer.Option("--by-row", help="Join by the order of the rows, not by ids.")]
Partial = Annotated[bool, typer.Option("--partial", help="Go on where less than half of the rows match.")]
Objective = Annotated[
    str | None,
    typer.Option(help="How the model was trained: product, factors, none, softmax, softmax-decay, logistic, ..."),
]

Norm = Annotated[
    str | None, typer.Option("--norm", help="Tensor that holds the gains of the final norm before the head, or none.")
]
NormSort = Annotated[str | None, typer.Option("--norm-kind", help="What that norm is: rms or layer.")]


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    *,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Audit embedding similarity: how far can cosines move while every prediction stays the same?"""
    if show_version:
        from embaudit._version import __version__

        typer.echo(f"embaudit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand == "audit":
        from embaudit.cli.settings import CURRENT, Settings

        CURRENT.set(Settings.near(Path.cwd()))
        context.default_map = {"audit": dict(CURRENT.get().values)}
