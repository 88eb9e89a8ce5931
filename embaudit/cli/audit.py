"""`embaudit audit`: how far do the cosines of a model move while its predictions stay?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from embaudit.cli.app import Model, More, Rng, app
from embaudit.cli.drawing import Heatmap
from embaudit.cli.gating import Gating, forge, numbers_in
from embaudit.cli.groups import grouped
from embaudit.cli.reading import CODE, Given, Titles, read_for_audit
from embaudit.cli.terminal import Output, Workers

if TYPE_CHECKING:
    from rich.console import Console

    from embaudit.auditing import Audit
    from embaudit.cli.terminal import File
    from embaudit.report.gate.gate import Outcome
    from embaudit.report.next_steps import Invocation


LEFT_OUT = {"path", "more", *Output.declared(), *Heatmap.declared(), *Workers.declared(), *Gating.declared()} - {
    "thresholds"
}
"""Parameters that another command need not be told."""
READING = {*Given.declared(), *Titles.declared()}
"""Parameters that commands besides `audit` take."""


def _invocation(context: typer.Context) -> Invocation:
    """Spell the options that were typed as commands take them."""
    from embaudit.report.next_steps import Invocation

    words: dict[bool, list[str]] = {True: [], False: []}
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        if name in LEFT_OUT or getattr(option, "hidden", False) or source is None or source.name != "COMMANDLINE":
            continue
        flag, value = max(option.opts, key=len), context.params[name]
        for each in value if isinstance(value, (list, tuple)) else (value,):
            # Codes of findings go by the option of arrays.
            reads = name in READING and not (name == "ignore" and CODE.fullmatch(each))
            words[reads] += [flag] if each is True else [flag, str(each)]
    words[True][:0] = map(str, context.params["more"] or ())
    return Invocation(str(context.params["path"]), *map(tuple, words.values()))


def _say(result: Audit, outcome: Outcome, invocation: Invocation | None, console: Console) -> None:
    """Print one screen, or everything where nobody asks what to type next; the gate has the last word."""
    from embaudit.report.terminal import print_audit, print_screen

    if invocation is None:
        print_audit(result, console)
    else:
        print_screen(result, invocation, console)
    if outcome.is_asked:
        console.print(str(outcome), markup=False, highlight=False)


@app.command()
@grouped
def audit(
    context: typer.Context,
    path: Model,
    more: More = None,
    *,
    soft_cap: Annotated[float | None, typer.Option(help="The head caps its logits at this value.")] = None,
    normalised: Annotated[bool, typer.Option("--normalised", help="The head brings label rows to length 1.")] = False,
    groups: Annotated[
        list[str] | None,
        typer.Option(help="Only these models: canonical, diagonal, linear, orthogonal, translation, affine."),
    ] = None,
    max_condition: Annotated[float, typer.Option(help="Largest over smallest stretch of the random maps.")] = 2.0,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples: less exact and sooner done.")] = False,
    n_pairs: Annotated[int | None, typer.Option(help="Pairs to draw, at most; 100,000.")] = None,
    n_lists: Annotated[int | None, typer.Option(help="Lists to compare of a side; 400.")] = None,
    n_neighbours: Annotated[int, typer.Option(help="Length of the neighbour lists.")] = 10,
    n_gauges: Annotated[int | None, typer.Option(help="Random draws from each group; 8.")] = None,
    n_starts: Annotated[int | None, typer.Option(help="Starting points of each attack; 3.")] = None,
    n_steps: Annotated[int | None, typer.Option(help="Steps of an attack from each; 20.")] = None,
    role: Annotated[
        str | None, typer.Option(help="Which cosines the answer is about: item, user, user-item; item by default.")
    ] = None,
    show: Annotated[list[str] | None, typer.Option(help="Show the neighbours of this id or title.")] = None,
    rng: Rng = 0,
    reading: Given,
    titles: Titles,
    output: Output,
    picture: Heatmap,
    workers: Workers,
    gating: Gating,
) -> None:
    """Audit a model: can its cosines be read as similarity, why, and what to type next."""
    from embaudit import auditing
    from embaudit.io import source_of
    from embaudit.report.document import Origin

    reading, codes = reading.without_codes()
    effort: dict[str, Any] = {"quick": quick, "n_gauges": n_gauges, "n_pairs": n_pairs, "n_lists": n_lists,
                              "n_starts": n_starts, "n_steps": n_steps, "max_condition": max_condition}  # fmt: skip
    invocation = _invocation(context)
    reading, training = reading.without_training()
    gate = gating.gate(codes, output.json, quiet=output.quiet)
    picture.require_picture()
    baseline = None if gating.writes(output.json) else gating.baseline
    inputs = [path, *(more or ()), titles.items, baseline, picture.ordering, *reading.files(path)]
    drawn: File = (picture.heatmap, lambda audited, *_: picture.drawn(audited, show or ()))
    forges = ((gating.sarif, forge("sarif")), (gating.junit, forge("junit")))
    with output.promised(inputs, drawn, *forges, comment=forge("markdown")) as write:
        with workers.at_work(quiet=output.quiet):
            result = auditing.audit(
                read_for_audit(path, reading.beside(more), titles, normalised=normalised, quiet=output.quiet),
                role=role,
                groups=groups,
                n_neighbours=n_neighbours,
                **effort,
                show=show or (),
                **training,
                soft_cap=soft_cap,
                normalised=normalised,
                thresholds=numbers_in(gating.thresholds, "thresholds", "hubs=0.2"),
                rng=rng,
                source=source_of([path, *more]) if more else str(path),
            )
        result = result if gate.baseline is None else gate.baseline.beside(result)
        outcome = gate.judge(result)
        write(result, f"Audit of {path}", Origin(invocation=invocation), outcome)
    # Files first: a reader that closes the pipe must not cost the results.
    _say(result, outcome, None if output.full else invocation, output.console)
    raise typer.Exit(int(not outcome.passes))
