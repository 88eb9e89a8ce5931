"""`embaudit reproduce`: the papers' figures with their numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embaudit.cli.app import Force, Quiet, Seed, app
from embaudit.cli.terminal import make_console, progress_bars
from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    from collections.abc import Callable


class Name(StrEnum):
    """Name of a figure."""

    NETFLIX = "netflix"
    NIELSEN = "nielsen"
    SIMPSON = "simpson"
    ALL = "all"


class Size(StrEnum):
    """How much data to simulate for the Netflix figure."""

    SMALL = "small"
    PAPER = "paper"


@app.command()
def reproduce(
    name: Annotated[Name, typer.Argument(help="Which figure.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option(help="Folder for PNG, PDF, CSV and JSON.")] = Path("figures"),
    size: Annotated[
        Size, typer.Option(help="Data of the Netflix figure: small, or as large as the paper's.")
    ] = Size.SMALL,
    alpha_product: Annotated[float | None, typer.Option(help="netflix: weight of the penalty of Eq. 1.")] = None,
    alpha_factors: Annotated[float | None, typer.Option(help="netflix: weight of the penalty of Eq. 2.")] = None,
    rank: Annotated[int | None, typer.Option(help="netflix: number of latent dimensions.")] = None,
    n_users: Annotated[int | None, typer.Option(help="netflix: how many users.")] = None,
    n_items: Annotated[int | None, typer.Option(help="netflix: how many items.")] = None,
    n_clusters: Annotated[int | None, typer.Option(help="netflix: how many clusters of items to simulate.")] = None,
    n_seeds: Annotated[int, typer.Option(help="Repeat the Netflix numbers for so many seeds.", min=1)] = 5,
    seed: Seed = 0,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Reproduce a figure: its pictures, its numbers and the statement they support."""
    from dataclasses import replace

    from embaudit import reproduce as figures
    from embaudit.io.outputs import writable

    own: dict[str, Any] = {
        "alpha_product": alpha_product, "alpha_factors": alpha_factors, "rank": rank, "n_users": n_users,
        "n_items": n_items, "n_clusters": n_clusters,
    }  # fmt: skip
    own = {field: value for field, value in own.items() if value is not None}
    if own and name not in (Name.NETFLIX, Name.ALL):
        raise InputError(f"{name} has no setting; penalties and sizes go with netflix.")
    setting = replace(figures.netflix_setting.SIZES[size], **own)
    names = [each for each in Name if each is not Name.ALL] if name is Name.ALL else [name]
    # A folder that is none, or holds the results already, is refused before the work.
    if out.exists() and not out.is_dir():
        raise must_be("the output", "a folder", out, "name another one")
    for each in names if out.exists() else ():
        # Every figure writes its numbers under its name.
        writable(out / f"{each}.json", force=force)
    makers: dict[Name, Callable[[], Any]] = {
        Name.NETFLIX: lambda: figures.netflix(size=setting, seed=seed, n_seeds=n_seeds),
        Name.NIELSEN: lambda: figures.nielsen(seed=seed),
        Name.SIMPSON: lambda: figures.simpson(seed=seed),
    }
    console = make_console(quiet=quiet)
    for each in names:
        with progress_bars(quiet=quiet):
            figure = makers[each]()
        files = figure.save(out, force=force)
        console.rule(str(each))
        console.print(figure.caption, markup=False)
        for file in files:
            console.print(f"→ {file}", markup=False, soft_wrap=True)
