"""`embaudit reproduce`: the papers' figures with their numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from embaudit.cli.app import Count, Force, Number, Quiet, Rng, app
from embaudit.cli.groups import with_groups
from embaudit.cli.terminal import make_console, progress_bars
from embaudit.errors import InputError, must_be

Name = StrEnum(
    "Name",
    [
        ("NETFLIX", "netflix"),
        ("NIELSEN", "nielsen"),
        ("SIMPSON", "simpson"),
        ("ALL", "all"),
    ],
)
"""Name of a figure."""
Size = StrEnum("Size", [("SMALL", "small"), ("PAPER", "paper")])
"""How much data to simulate for the Netflix figure."""


@dataclass(frozen=True)
class Setting:
    """Settings of the Netflix figure that differ from the settings of its size."""

    alpha_product: Annotated[
        Number, Option(help="For netflix: weight of the penalty of Eq. 1.")
    ] = None
    alpha_factors: Annotated[
        Number, Option(help="For netflix: weight of the penalty of Eq. 2.")
    ] = None
    rank: Annotated[Count, Option(help="For netflix: number of latent dimensions.")] = (
        None
    )
    n_users: Annotated[Count, Option(help="For netflix: number of users.")] = None
    n_items: Annotated[Count, Option(help="For netflix: number of items.")] = None
    n_clusters: Annotated[
        Count, Option(help="For netflix: number of clusters of items to simulate.")
    ] = None


@app.command()
@with_groups
def reproduce(
    name: Annotated[Name, Argument(help="Figure to reproduce.", show_default=False)],
    *,
    out: Annotated[Path, Option(help="Folder for PNG, PDF, CSV and JSON.")] = Path(
        "figures"
    ),
    size: Annotated[
        Size,
        Option(
            help="For netflix: size of the simulated data: small, or as in the paper."
        ),
    ] = Size.SMALL,
    own: Setting,
    n_seeds: Annotated[
        int,
        Option(
            help="For netflix: number of seeds for which the numbers are repeated.",
            min=1,
        ),
    ] = 5,
    rng: Rng = 0,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Reproduce a figure: its pictures, its numbers and the statement they support."""
    from embaudit import reproduce as figures
    from embaudit.io.outputs import output_target

    changed = {field: value for field, value in vars(own).items() if value is not None}
    if changed and name not in (Name.NETFLIX, Name.ALL):
        raise InputError(
            f"penalties and sizes must be omitted for {name}; they are settings of "
            "netflix."
        )
    setting = replace(figures.netflix_setting.SIZES[size], **changed)
    names = [each for each in Name if name in (each, Name.ALL) and each is not Name.ALL]
    # A folder that is none, or holds the results already, is refused before the work.
    if out.exists() and not out.is_dir():
        raise must_be("the output", "a folder", out, "name a folder")
    for each in names if out.exists() else ():
        # Every figure writes its numbers under its name.
        output_target(out / f"{each}.json", force=force)
    console = make_console(quiet=quiet)
    for each in names:
        options: dict[str, Any] = (
            {"size": setting, "n_seeds": n_seeds} if each is Name.NETFLIX else {}
        )
        with progress_bars(quiet=quiet):
            figure = getattr(figures, each)(seed=rng, **options)
        files = figure.save(out, force=force)
        console.rule(str(each))
        console.print(figure.caption, markup=False)
        for file in files:
            console.print(f"→ {file}", markup=False, soft_wrap=True)
