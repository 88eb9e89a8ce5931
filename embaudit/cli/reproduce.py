"""`embaudit reproduce`: the papers' figures with their numbers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import Force, Quiet, Seed, app
from embaudit.cli.terminal import make_console, progress_bars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.reproduce import NetflixFigure, NielsenFigure, SimpsonFigure


class Name(StrEnum):
    """Which figure."""

    NETFLIX = "netflix"
    NIELSEN = "nielsen"
    SIMPSON = "simpson"
    ALL = "all"


class Size(StrEnum):
    """How much data to simulate for the Netflix figure."""

    SMALL = "small"
    PAPER = "paper"


@app.command(short_help="Draw the papers' figures with their numbers.")
def reproduce(
    name: Annotated[Name, typer.Argument(help="Which figure.", show_default=False)],
    *,
    out: Annotated[Path, typer.Option(help="Folder for PNG, PDF, CSV and JSON.")] = Path("figures"),
    size: Annotated[
        Size, typer.Option(help="Data of the Netflix figure: small, or as large as the paper's.")
    ] = Size.SMALL,
    seeds: Annotated[int, typer.Option(help="Repeat the Netflix numbers for so many seeds.", min=1)] = 5,
    seed: Seed = 0,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Reproduce a figure: its pictures, its numbers and the statement they support."""
    names: Sequence[Name] = [one for one in Name if one is not Name.ALL] if name is Name.ALL else [name]
    _require_folder(out, names, force=force)
    console = make_console(quiet=quiet)
    for one in names:
        with progress_bars(quiet=quiet):
            figure = _figure(one, size, seed, seeds)
        files = figure.save(out, force=force)
        console.rule(str(one))
        console.print(figure.caption, markup=False)
        for file in files:
            console.print(f"→ {file}", markup=False, soft_wrap=True)


def _require_folder(out: Path, names: Sequence[Name], *, force: bool) -> None:
    """Refuse, before the work, a folder that is none or holds the results already."""
    from embaudit.errors import must_be
    from embaudit.io.outputs import writable

    if not out.exists():
        return
    if not out.is_dir():
        raise must_be("the output", "a folder", out, "name another one")
    # Every figure writes its numbers under its name.
    for name in names:
        writable(out / f"{name}.json", force=force)


def _figure(name: Name, size: Size, seed: int, n_seeds: int) -> NetflixFigure | NielsenFigure | SimpsonFigure:
    from embaudit import reproduce as figures

    if name is Name.NETFLIX:
        return figures.netflix(size=str(size), seed=seed, n_seeds=n_seeds)
    return figures.nielsen(seed=seed) if name is Name.NIELSEN else figures.simpson(seed=seed)
