"""`embaudit gauge`: write an equivalent model, for example to try it in other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from embaudit.cli.app import File, Force, Model, Number, Quiet, Rng, Text, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given
from embaudit.cli.terminal import make_console, progress_bars, removed_if_refused
from embaudit.core.words import change_size
from embaudit.errors import InputError


@app.command()
@with_groups
def gauge(
    path: Model,
    *,
    out: Annotated[Path, Option(help="The model file to write.")],
    group: Annotated[
        Text,
        Option(
            help="Family of the random change: diagonal, linear, "
            "orthogonal, translation or affine.",
            show_default="diagonal",
        ),
    ] = None,
    exponent: Annotated[
        Number,
        Option(
            help="Write the canonical model P = U s^e, Q = V s^(1-e) "
            "with this exponent e instead of a random one."
        ),
    ] = None,
    max_condition: Annotated[
        Number,
        Option(
            help="Largest condition number of the random change: "
            "largest stretch over smallest.",
            show_default="2",
        ),
    ] = None,
    audit: Annotated[
        File,
        Option(
            "--from",
            help="JSON of an audit; write the equivalent model that "
            "--name names there.",
        ),
    ] = None,
    name: Annotated[
        Text, Option(help="Name of a model in the JSON of --from, such as 'linear 1'.")
    ] = None,
    reading: Given,
    rng: Rng = 0,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Write another model that makes the same predictions with other cosines."""
    from embaudit.auditing.equivalents import one_equivalent
    from embaudit.auditing.record import read_record
    from embaudit.auditing.recorded_equivalent import repeat_equivalent
    from embaudit.io import distinct_outputs, require_output, save
    from embaudit.io.watched import unchanged
    from embaudit.model.drift import drift

    # Each way to choose a model has options of its own.
    if exponent is not None and (group is not None or max_condition is not None):
        raise InputError(
            "--exponent must be given without --group and --max-condition, because "
            "the exponent alone determines the gauge."
        )
    if (audit is None) != (name is None):
        raise InputError(
            "--from and --name must be given together, because --name chooses a model "
            "in the audit that --from reads."
        )
    if audit is not None and any(
        option is not None for option in (group, exponent, max_condition)
    ):
        raise InputError(
            "--from must be given without --group, --exponent and --max-condition, "
            "because the audit records the gauge."
        )
    inputs = [path, audit, *reading.files]
    distinct_outputs(inputs, [out])
    require_output(out, force=force)
    with removed_if_refused() as written, unchanged(inputs, outputs=[out]):
        record = None
        if audit is not None:
            record = read_record(audit)
            reading = reading.repeating(record)
        model = reading.read(path).model
        # Asked again now that it is known whether the format must hold two sides.
        require_output(out, sides=1 if model.left is None else 2, force=force)
        if record is not None and name is not None:
            with progress_bars(quiet=quiet):
                model, equal = repeat_equivalent(record, model, name)
        else:
            budget = 2.0 if max_condition is None else max_condition
            equal = one_equivalent(
                model,
                group=group or "diagonal",
                exponent=exponent,
                max_condition=budget,
                rng=rng,
            )
        after = equal.apply(model)
        save(after, out, force=force)
        written.append(out)
    console = make_console(quiet=quiet)
    if equal.basis is not None and equal.rank < model.rank:
        n_spanned = equal.basis.shape[1]
        console.print(
            f"{model.rank:,} columns, of which the rows span {n_spanned:,} dimensions "
            "at most: only these are changed",
            markup=False,
        )
    condition = f"condition number {equal.condition_number:.4g}"
    console.print(f"{equal.name}, {condition}: {after!r} → {out}", markup=False)
    if after.objective != model.objective:
        console.print(
            f"objective {model.objective} dropped: this model is no minimiser of it",
            markup=False,
        )
    # Without the other side there are no predictions to measure.
    if model.left is not None:
        moved = drift(model, after, condition_number=equal.amplification, rng=rng)
        console.print(
            f"largest change of a prediction {change_size(moved.max_abs)} "
            f"(rounding explains {moved.tolerance:.1g})"
        )
        raise typer.Exit(0 if moved.ok else 1)
