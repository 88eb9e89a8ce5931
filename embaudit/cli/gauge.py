"""`embaudit gauge`: write an equivalent model, to see for yourself what other tools make of it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from embaudit.cli.app import Force, Model, Quiet, Seed, app
from embaudit.cli.terminal import make_console


class Kind(StrEnum):
    """Families of equivalent models that can be drawn."""

    DIAGONAL = "diagonal"
    LINEAR = "linear"
    ORTHOGONAL = "orthogonal"
    TRANSLATION = "translation"


@app.command()
def gauge(
    path: Model,
    *,
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    group: Annotated[Kind, typer.Option(help="Which random change to apply.")] = Kind.DIAGONAL,
    exponent: Annotated[
        float | None, typer.Option(help="Go to the canonical model P = U s^e, Q = V s^(1-e) instead of a random one.")
    ] = None,
    max_condition: Annotated[float, typer.Option(help="Largest over smallest stretch.")] = 2.0,
    kind: Annotated[str, typer.Option(help="What the file holds: auto, factors, head or vectors.")] = "auto",
    seed: Seed = 0,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Write another model that makes the same predictions with other cosines."""
    from embaudit.drift import drift
    from embaudit.equivalents import one_equivalent
    from embaudit.io import load, require_output, save

    require_output(out, force=force)
    model = load(path, kind=kind)
    chosen = one_equivalent(model, kind=str(group), exponent=exponent, max_condition=max_condition, rng=seed)
    after = chosen.of(model)
    save(after, out, force=force)
    console = make_console(quiet=quiet)
    console.print(f"{chosen.name}, condition number {chosen.condition_number:.4g}: {after!r} → {out}", markup=False)
    if model.left is not None:
        moved = drift(model, after, condition_number=chosen.condition_number, rng=seed)
        console.print(f"largest change of a prediction {moved.max_abs:.1g} (rounding explains {moved.tolerance:.1g})")
        raise typer.Exit(0 if moved.ok else 1)
