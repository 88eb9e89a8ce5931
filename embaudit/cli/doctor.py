"""`embaudit doctor`: whether results of this machine can be trusted."""

from __future__ import annotations

import typer

from embaudit.cli.app import app
from embaudit.cli.terminal import make_console


@app.command()
def doctor() -> None:
    """Show versions and check that this machine computes what embaudit promises."""
    from embaudit.cli.diagnosis import promises, versions

    console = make_console(quiet=False)
    for name, value in versions().items():
        console.print(f"{name:14} {value}", markup=False)
    checks = promises()
    for name, (holds, detail) in checks.items():
        console.print(f"{'ok    ' if holds else 'FAILED'} {name}: {detail}", markup=False)
    raise typer.Exit(0 if all(holds for holds, _ in checks.values()) else 1)
