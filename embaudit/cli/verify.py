"""`embaudit verify`: check a proof that `embaudit audit --proof` wrote, claim by claim."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Model, Quiet, app
from embaudit.cli.reading import Given, reads_a_model
from embaudit.cli.terminal import make_console


@app.command(short_help="Check the claims of an audit with its proof.")
@reads_a_model
def verify(
    proof: Annotated[Path, typer.Argument(help="What `embaudit audit --proof` wrote.", show_default=False)],
    path: Model,
    *,
    reading: Given,
    quiet: Quiet = False,
) -> None:
    """Check that every claim an audit calls shown or proven stands for this model; exit 1 where one does not."""
    from embaudit.foundation.words import counted
    from embaudit.io.proofs.proof import verify as check

    found = check(proof, reading.read(path).model)
    wrong = [(name, problem) for name, problem in found if problem]
    console = make_console(quiet=quiet)
    for name, problem in wrong:
        console.print(f"FAILS  {name}: {problem}", markup=False, soft_wrap=True)
    if not wrong:
        console.print(f"All {counted(len(found), 'check')} stand: the model is the one audited, and so are its claims.")
    raise typer.Exit(int(bool(wrong)))
