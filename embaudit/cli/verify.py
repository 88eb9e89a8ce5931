"""`embaudit verify`: check a proof that `embaudit audit --proof` wrote, claim by claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Model, Quiet, Reading, app
from embaudit.cli.terminal import make_console, reading_options


@app.command(short_help="Check the claims of an audit with its proof.")
def verify(
    proof: Annotated[Path, typer.Argument(help="What `embaudit audit --proof` wrote.", show_default=False)],
    path: Model,
    *,
    kind: Annotated[str, typer.Option(help="What the file holds: auto, factors, head or vectors.")] = "auto",
    reading: Reading = None,
    quiet: Quiet = False,
) -> None:
    """Check that every claim an audit calls shown or proven stands for this model; exit 1 where one does not."""
    from embaudit.auditing.proof.proof import verify as check
    from embaudit.foundation.words import counted
    from embaudit.io import load

    found = check(proof, load(path, kind=kind, **reading_options(reading)))
    wrong = [(name, problem) for name, problem in found if problem]
    console = make_console(quiet=quiet)
    for name, problem in wrong:
        console.print(f"FAILS  {name}: {problem}", markup=False, soft_wrap=True)
    if not wrong:
        console.print(f"All {counted(len(found), 'check')} stand: the model is the one audited, and so are its claims.")
    raise typer.Exit(int(bool(wrong)))
