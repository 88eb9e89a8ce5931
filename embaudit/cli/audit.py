"""`embaudit audit`: how far do the cosines of a model move while its predictions stay?"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.app import (
    FailOn,
    FailOnFindings,
    Force,
    Json,
    Model,
    Norm,
    NormSort,
    Objective,
    Page,
    Quiet,
    Seed,
    app,
)
from embaudit.cli.terminal import loaded, make_console, outputs, progress_bars

if TYPE_CHECKING:
    from collections.abc import Mapping

    from embaudit.auditing import Audit
    from embaudit.model import FactorModel
    from embaudit.model.final_norm import FinalNorm
    from embaudit.report.next_steps import Asked

SPELLED = {"right_counts": "counts"}
"""Options of `load` that have another name here."""


def exit_code(result: Audit, fail_on: FailOn) -> int:
    """1 where the check itself failed, or a finding is as severe as asked for."""
    from embaudit.auditing.finding import Severity

    threshold = {FailOn.ISSUE: Severity.ISSUE, FailOn.TIP: Severity.TIP, FailOn.NEVER: None}[fail_on]
    if not result.predictions_hold:
        return 1
    return int(threshold is not None and result.worst is not None and result.worst >= threshold)


def _asked(path: Path, kind: str, options: Mapping[str, str], told: Mapping[str, object], *, normalised: bool) -> Asked:
    """Note how the model was read, and spell what this command was told as it takes it."""
    from embaudit.report.next_steps import Asked

    given = {SPELLED.get(name, name): str(value) for name, value in {**options, **told}.items() if value is not None}
    words = [part for name, value in given.items() for part in (f"--{name.replace('_', '-')}", value)]
    return Asked(str(path), kind, options, (*words, *(["--normalised"] if normalised else [])))


def titled(model: FactorModel, items: Path | None, identifier: str | None, title: str | None) -> FactorModel:
    """Name the items of a model after a table."""
    import numpy as np

    from embaudit.errors import InputError
    from embaudit.io import read_titles, titles_for

    if items is None and (identifier is not None or title is not None):
        raise InputError("--id and --title must be given with --items, the table whose columns they name.")
    if items is None:
        return model
    rows = np.arange(model.n_right) if model.right_ids is None else model.right_ids
    return model.replace(right_names=titles_for(rows, *read_titles(items, id=identifier, title=title))[0])


def norm_before(model: FactorModel, path: Path, name: str | None, kind: str | None, *, quiet: bool) -> FinalNorm | None:
    """Find the final norm before a head, and say on the side which tensor was taken for it."""
    from embaudit.io import final_norm_of, fits

    if model.link != "softmax" and name is None and kind is None:
        return None
    found = final_norm_of(path, name=name, kind=kind)  # type: ignore[arg-type]
    if found is None or (name is None and not fits(found.norm, model)):
        return None
    if not quiet:
        sys.stderr.write(f"{found}; --norm none reads the head without it.\n")
    return found.norm


@app.command(short_help="How far do cosines move while predictions stay?")
def audit(
    path: Model,
    *,
    kind: Annotated[str, typer.Option(help="What the file holds: auto, factors, head or vectors.")] = "auto",
    objective: Objective = None,
    weight: Annotated[
        str | None, typer.Option("--weight", "--tensor", help="Name of the item or label vectors.")
    ] = None,
    bias: Annotated[str | None, typer.Option(help="Name of the item or label bias.")] = None,
    left: Annotated[str | None, typer.Option(help="Name of the user or input vectors.")] = None,
    labels: Annotated[Path | None, typer.Option(help="File that names the items or labels.")] = None,
    counts: Annotated[Path | None, typer.Option(help="File of the interactions behind each item.")] = None,
    left_counts: Annotated[Path | None, typer.Option(help="The same for the users.")] = None,
    transpose: Annotated[str | None, typer.Option(help="Sides stored a column an entity: left, right, both.")] = None,
    link: Annotated[str | None, typer.Option(help="identity, softmax, cosine or ranking.")] = None,
    soft_cap: Annotated[float | None, typer.Option(help="The head caps its logits at this value.")] = None,
    normalised: Annotated[bool, typer.Option("--normalised", help="The head brings label rows to length 1.")] = False,
    norm: Norm = None,
    norm_kind: NormSort = None,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Only these models: canonical, diagonal, linear, orthogonal, translation, affine."),
    ] = None,
    max_condition: Annotated[float, typer.Option(help="Largest over smallest stretch of the random maps.")] = 2.0,
    pairs: Annotated[int, typer.Option(help="Pairs to sample where there are too many to visit.")] = 100_000,
    top: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    gauges: Annotated[int, typer.Option(help="Random draws from each group.")] = 8,
    role: Annotated[
        str | None, typer.Option(help="Which cosines the answer is about: item, user, user-item; item by default.")
    ] = None,
    show: Annotated[list[str] | None, typer.Option(help="Show the neighbours of this id or title.")] = None,
    items: Annotated[Path | None, typer.Option(help="Table with titles of the items.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its column of ids.")] = None,  # noqa: A002
    title: Annotated[str | None, typer.Option(help="Its column of titles.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Print every table, finding and the verdict.")] = False,
    seed: Seed = 0,
    out: Page = None,
    json: Json = None,
    proof: Annotated[Path | None, typer.Option(help="Write what `embaudit verify` checks the claims with.")] = None,
    fail_on: FailOnFindings = FailOn.NEVER,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Audit a model: can its cosines be read as likeness, why, and what to type next."""
    from embaudit import auditing
    from embaudit.io import distinct_outputs, written_whole
    from embaudit.report.terminal import print_audit, print_screen

    given = {"weight": weight, "bias": bias, "left": left, "labels": labels, "transpose": transpose, "link": link,
             "right_counts": counts, "left_counts": left_counts}  # fmt: skip
    options = {name: str(value) for name, value in given.items() if value is not None}
    beside = [left, bias] if path.suffix == ".npy" else []
    distinct_outputs([path, labels, counts, left_counts, items, *beside], [json, out, proof])
    kept = written_whole(proof, force=force) if proof else nullcontext()
    with outputs(json, out, force=force) as write, kept as file:
        with progress_bars(quiet=quiet):
            model = titled(loaded(path, kind, options), items, id, title)
            result = auditing.audit(
                model,
                role=role,
                groups=group,
                n_gauges=gauges,
                n_pairs=pairs,
                n_neighbours=top,
                max_condition=max_condition,
                show=show or (),
                objective=objective,
                soft_cap=soft_cap,
                normalised=normalised,
                final_norm=norm_before(model, path, norm or ("none" if normalised else None), norm_kind, quiet=quiet),
                rng=seed,
                source=str(path),
            )
            if file:
                result.proof().write(file)
        write(result, f"Audit of {path}")
    # Files first: a reader that closes the pipe must not cost the results.
    if full:
        print_audit(result, make_console(quiet=quiet))
    else:
        told = {"objective": objective, "soft_cap": soft_cap, "items": items, "id": id, "title": title, "role": role,
                "norm": norm, "norm_kind": norm_kind}  # fmt: skip
        print_screen(result, _asked(path, kind, options, told, normalised=normalised), make_console(quiet=quiet))
    raise typer.Exit(exit_code(result, fail_on))
