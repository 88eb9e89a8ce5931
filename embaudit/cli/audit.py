"""`embaudit audit`: how far do cosines move while the predictions stay?"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from embaudit.auditing.options import AuditOptions
from embaudit.cli.adapters import audit_adapter
from embaudit.cli.app import FailOn, File, Model, More, Rng, Text, Texts, app
from embaudit.cli.groups import parameters_of, with_groups
from embaudit.cli.reading import Given, Titles, model_paths, read_for_audit
from embaudit.cli.settings import SETTINGS, Settings
from embaudit.cli.terminal import Output, Workers, shown_name
from embaudit.errors import InputError, must_be, without_secrets

if TYPE_CHECKING:
    from embaudit.auditing.audit import Audit
    from embaudit.report.gate.gate import Gate, Outcome
    from embaudit.report.next_steps import Invocation


@dataclass(frozen=True)
class Heatmap:
    """A picture of the cosines of all pairs of rows."""

    heatmap: Annotated[
        File,
        Option(
            help="Draw the cosines of all pairs of rows, stored and "
            "predicted, to this .png, .svg or .pdf file.",
            rich_help_panel="Output",
            hidden=True,
        ),
    ] = None
    heatmap_groups: Annotated[
        Text,
        Option(
            help="Order the rows of --heatmap by this column of the table of --items.",
            rich_help_panel="Output",
            hidden=True,
        ),
    ] = None

    def require_valid(self, titles: Titles) -> None:
        """Check the options before a model is read.

        Raises
        ------
        InputError
            If the suffix of `heatmap` is not that of a picture, or if groups are given
            without a picture or without the table that holds them.
        """
        from embaudit.report.display import picture_format

        if self.heatmap is not None:
            picture_format(self.heatmap)
        if self.heatmap_groups is None:
            return
        if self.heatmap is None:
            raise InputError(
                "--heatmap-groups must be given with --heatmap, because it orders the "
                "rows of that picture; add --heatmap FILE."
            )
        if titles.items is None:
            raise InputError(
                "--heatmap-groups must be given with --items, the table whose column "
                "it names."
            )

    def draw(self, audit: Audit, show: Sequence[str], titles: Titles) -> bytes:
        """Draw an audit: the rows to show, if there are two or more of them.

        The cosine of a row with itself says nothing.
        """
        from embaudit.io import join_texts
        from embaudit.report.display import drawn_file, picture_format
        from embaudit.report.pictures import heatmap_of_audit

        groups = None
        if self.heatmap_groups is not None and titles.items is not None:
            role = audit.evidence.role
            side = audit.model.side_name("right" if role == "cross" else role)
            groups = join_texts(
                audit.model.side(side),
                titles.items,
                title=self.heatmap_groups,
                **{**titles.joining, "partial": True},
            ).texts
        rows = show if len(show) > 1 else ()
        picture = heatmap_of_audit(audit, groups=groups, show=rows)
        return drawn_file(picture, picture_format(self.heatmap or ""))


@dataclass(frozen=True)
class Gating:
    """Options of the gate: findings that stop a release, and files for forges."""

    fail_on: Annotated[
        FailOn | None,
        Option(
            help="Exit with 1 if a finding has at least this "
            "severity. `never` disables this, even with "
            "--baseline.",
            rich_help_panel="Gate",
        ),
    ] = None
    baseline: Annotated[
        File,
        Option(
            help="JSON of an earlier audit. Only findings that are new or worse count.",
            rich_help_panel="Gate",
        ),
    ] = None
    ignore_code: Annotated[
        Texts,
        Option(
            help="Do not count findings of this code, such as EMB202. "
            "Repeat it for several codes.",
            rich_help_panel="Gate",
            hidden=True,
        ),
    ] = None
    allow_missing_scores: Annotated[
        bool,
        Option(
            "--allow-missing-scores",
            help="Pass although the predictions cannot be compared "
            "with those of the baseline.",
            rich_help_panel="Gate",
            hidden=True,
        ),
    ] = False
    junit: Annotated[
        File,
        Option(
            help="Write the findings as JUnit XML, one test case per code.",
            rich_help_panel="Gate",
            hidden=True,
        ),
    ] = None

    def gate(self, json: Path | None) -> Gate:
        """Put the gate together, and read the baseline.

        `--json` writes a baseline that is not there yet.
        """
        from embaudit.auditing.finding import Severity
        from embaudit.report.gate.gate import Baseline, Gate

        level = (
            Severity[self.fail_on.name]
            if self.fail_on in (FailOn.ISSUE, FailOn.TIP)
            else None
        )
        written = ""
        # The first run of a pipeline has no baseline: where both options name one file,
        # this run writes it.
        if (
            self.baseline
            and json
            and not self.baseline.exists()
            and self.baseline.resolve() == json.resolve()
        ):
            written = str(json)
        before = (
            None if self.baseline is None or written else Baseline.load(self.baseline)
        )
        never = self.fail_on is FailOn.NEVER
        return Gate.from_options(
            level,
            ignore=self.ignore_code or (),
            baseline=before,
            written=written,
            allow_missing_scores=self.allow_missing_scores,
            never=never,
        )


def _forge(name: str) -> Callable[..., str]:
    """Return what writes an audit and its outcome as a forge reads them."""

    def told(audit: Audit, _title: str, _origin: object, outcome: Outcome) -> str:
        from embaudit.report.gate import forges

        return str(getattr(forges, name)(audit, outcome))

    return told


LEFT_OUT = {
    name
    for group in (Output, Heatmap, Workers, Gating)
    for name in parameters_of(group)
}
"""Parameters that another command need not be told."""
READING = {*parameters_of(Given), *parameters_of(Titles)}
"""Parameters that commands besides `audit` take."""


def _invocation(context: typer.Context, titles: Titles) -> Invocation:
    """Spell the options that were typed as commands take them."""
    from embaudit.io.formats import address_of
    from embaudit.io.tables.titles import label_column
    from embaudit.report.next_steps import Invocation

    # What is wrong with the table of items is said where it is read, so errors are
    # suppressed here.
    has_titles, truth = True, None
    with suppress(InputError):
        has_titles = titles.are_given
        if titles.items is not None:
            truth = label_column(titles.items, id=titles.id, title=titles.title)
    reading: list[str] = []
    items: list[str] = []
    audit_options: list[str] = []
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        # Only what was typed is repeated: a command with every default would be hard to
        # read.
        is_typed = source is not None and source.name == "COMMANDLINE"
        if not is_typed or name in {"path", "more", *LEFT_OUT}:
            continue
        if name in parameters_of(Titles) and not has_titles:
            words = items
        elif name in READING:
            words = reading
        else:
            words = audit_options
        flag, value = max(option.opts, key=len), context.params[name]
        for one in value if isinstance(value, (list, tuple)) else (value,):
            words.append(flag)
            if one is not True:
                words.append(without_secrets(str(one)))
    more = tuple(without_secrets(str(one)) for one in context.params["more"] or ())
    return Invocation(
        without_secrets(address_of(context.params["path"])),
        tuple(reading),
        tuple(audit_options),
        truth,
        more,
        tuple(items),
    )


OF_HEADS = {
    "path",
    "attention",
    "states",
    "inputs",
    "n_neighbours",
    "max_condition",
    "rng",
    *parameters_of(Output),
    *parameters_of(Workers),
}
"""Parameters that apply to the audit of an attention head."""


def _require_options_of_heads(context: typer.Context) -> None:
    """Refuse a typed option that does not apply to an attention head."""
    for option in context.command.params:
        name = str(option.name)
        source = context.get_parameter_source(name)
        is_typed = source is not None and source.name == "COMMANDLINE"
        if is_typed and name not in OF_HEADS and context.params.get(name):
            flag = max(option.opts, key=len)
            if name == "more":
                flag = "a second path"
            raise InputError(f"{flag} must be omitted if --attention is given.")


def _head_named(attention: str) -> tuple[int, int]:
    """Return the numbers of the layer and of the head in `LAYER.HEAD`.

    Examples
    --------
    >>> _head_named("3.11")
    (3, 11)
    """
    layer, _, head = attention.partition(".")
    for number in (layer, head):
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise must_be(
                "--attention", "LAYER.HEAD, two integers from 0", repr(attention)
            )
    return int(layer), int(head)


def _audit_attention(
    path: Path,
    attention: str,
    reading: Given,
    options: AuditOptions,
    rng: int,
    output: Output,
    workers: Workers,
) -> None:
    """Say whether the outputs of an attention head fix the cosines of its rows."""
    from embaudit.networks import audit_attention
    from embaudit.report.document import Origin

    layer, head = _head_named(attention)
    files = [reading.states, reading.inputs]
    with output.promised([path, *files]) as write:
        with workers.at_work(quiet=output.quiet):
            found = audit_attention(
                path,
                layer,
                head,
                states=reading.states,
                inputs=reading.inputs,
                n_neighbours=options.n_neighbours,
                max_condition=options.max_condition,
                rng=rng,
            )
        write(found, f"Head {attention} of {shown_name(path)}", Origin(seed=rng))
    output.show(found)


@app.command()
@with_groups
def audit(
    context: typer.Context,
    path: Model,
    more: More = None,
    *,
    reading: Given,
    titles: Titles,
    options: AuditOptions,
    rng: Rng = 0,
    output: Output,
    picture: Heatmap,
    workers: Workers,
    gating: Gating,
    attention: Annotated[
        Text,
        Option(
            help="Audit an attention head of a network: LAYER.HEAD, both from 0.",
            rich_help_panel="Your file",
            metavar="LAYER.HEAD",
            hidden=True,
        ),
    ] = None,
) -> None:
    """Audit a model: do its predictions fix its cosines, why, and what is next?

    With --queries FILE, vectors of queries: which documents can nobody find?

    For a low-rank adapter (LoRA), as PEFT writes it: what are cosines of its factors
    worth?
    """
    from embaudit.auditing.audit import audit as run
    from embaudit.io import source_of
    from embaudit.io.adapters import is_adapter
    from embaudit.model import require_link_or_comparison
    from embaudit.report.document import Origin
    from embaudit.report.terminal import print_audit, print_screen

    if attention is not None:
        _require_options_of_heads(context)
        _audit_attention(path, attention, reading, options, rng, output, workers)
        return
    if is_adapter(path):
        audit_adapter(context, path, rng, output, workers)
        return
    invocation = _invocation(context, titles)
    settings: Settings = context.meta.get(SETTINGS, Settings())
    # On standard error, next to the results and not among them.
    if settings.path is not None and not output.quiet:
        sys.stderr.write(f"{settings}\n")
    picture.require_valid(titles)
    gate = gating.gate(output.json)
    # A baseline that this run writes is an output, which no input may be.
    baseline = None if gate.written else gating.baseline
    inputs = [
        path,
        *(more or ()),
        titles.items,
        baseline,
        options.queries_name,
        *reading.files,
    ]
    require_link_or_comparison(reading.link, options.compared)
    quiet = output.quiet
    column = None if options.by is None else str(options.by)
    drawn = (
        picture.heatmap,
        lambda audited, *_: picture.draw(audited, options.show, titles),
    )
    junit = (gating.junit, _forge("junit"))
    with output.promised(inputs, drawn, junit, comment=_forge("markdown")) as write:
        with workers.at_work(quiet=quiet):
            model = read_for_audit(
                path,
                reading.undeclared,
                titles,
                more,
                normalised=options.normalised,
                other_column=column or picture.heatmap_groups,
                quiet=quiet,
            )
            if column is not None:
                parts = titles.parts(model.model, column)
                options = replace(options, by=parts)
            result = run(
                model,
                options=options,
                source=source_of(model_paths(path, more)),
                rng=rng,
            )
        # Predictions that moved since the baseline are a finding, so they are compared
        # before findings are judged.
        result = gate.beside(result)
        outcome = gate.judge(result)
        write(
            result,
            f"Audit of {invocation.title}",
            Origin(invocation=invocation, gate=str(outcome) * gate.is_asked),
            outcome,
        )
    # Files first: a reader that closes the pipe must not cost the results.
    if output.full:
        print_audit(result, output.console, invocation)
    else:
        print_screen(
            result, invocation, output.console, [each.finding for each in outcome.news]
        )
    if gate.is_asked:
        output.console.print(
            str(outcome), markup=False, highlight=False, soft_wrap=True
        )
    raise typer.Exit(int(not outcome.passes))
