"""`embaudit demo`: the Netflix paper's argument in one run, on data simulated by its recipe."""

from __future__ import annotations

from typing import Annotated

import typer

from embaudit.cli.app import Quiet, Seed, app
from embaudit.cli.terminal import make_console, progress_bars


@app.command()
def demo(
    *,
    n_users: Annotated[int, typer.Option(help="Users to simulate.", min=20)] = 20_000,
    n_items: Annotated[int, typer.Option(help="Items to simulate.", min=20)] = 1_000,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Simulate interactions, fit both objectives of the Netflix paper and audit both models."""
    from embaudit.cli.demonstration import demonstrate
    from embaudit.report.terminal import print_demonstration

    with progress_bars(quiet=quiet):
        shown = demonstrate(n_users=n_users, n_items=n_items, seed=seed)
    console = make_console(quiet=quiet)
    console.print(shown.setting)
    print_demonstration(shown, console)
    raise typer.Exit(0 if shown.predictions_hold else 1)
