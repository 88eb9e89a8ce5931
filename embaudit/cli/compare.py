"""`embaudit compare`: may one trained model replace another?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.adapters import compare_adapters
from embaudit.cli.app import Count, File, Model, Rng, SameNumbers, Text, app
from embaudit.cli.copies import compare_with_copies
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import (
    SUFFIXES,
    Output,
    Promise,
    Workers,
    shown_name,
    values_in,
)
from embaudit.core.sizes import N_QUERIES
from embaudit.core.words import counted
from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    from embaudit.io import Reading
    from embaudit.serving import StableNeighbours


@app.command()
@with_groups
def compare(
    context: typer.Context,
    before: Model,
    after: Annotated[
        Path | None,
        typer.Argument(
            help="Another model of the same entities, or a copy with --copy.",
            show_default=False,
        ),
    ] = None,
    more: Annotated[
        list[Path] | None,
        typer.Argument(
            help="More training runs of the first model, to see which of its "
            "neighbours all runs list; or more copies with --copy.",
            show_default=False,
        ),
    ] = None,
    *,
    copy: Annotated[
        bool,
        typer.Option(
            "--copy",
            help="Each file after the first one holds the same vectors in fewer bits "
            "or dimensions. Say which lists of nearest rows it keeps.",
            rich_help_panel="Copies",
        ),
    ] = False,
    formats: Annotated[
        Text,
        typer.Option(
            "--formats",
            metavar="NAMES",
            help="Make copies of the first file and say which lists they keep: "
            "float16, bfloat16, int8, int8-columns, binary, first:128, pca:128, with "
            "commas between them.",
            rich_help_panel="Copies",
        ),
    ] = None,
    queries: Annotated[
        File,
        typer.Option(
            "--queries",
            help="Vectors that search the copies as they are.",
            rich_help_panel="Copies",
        ),
    ] = None,
    n_lists: Annotated[
        Count,
        typer.Option(
            "--n-lists",
            help="Largest number of rows, and of queries, whose lists are compared "
            f"with those of copies (default: {N_QUERIES:,}).",
            rich_help_panel="Copies",
        ),
    ] = None,
    n_neighbours: Annotated[
        Count,
        typer.Option(
            help="Number of neighbours (default: 10, or a third of "
            "the rows of a small model)."
        ),
    ] = None,
    role: Annotated[
        Text,
        typer.Option(
            help="Side to report: right (item) or left (user). The default is both "
            "sides of two models, and right of several runs and of copies."
        ),
    ] = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-below",
            help="Exit with 1 if a share is below its limit: top=0.6 "
            "(recommended lists), kept=0.7 (neighbour lists), "
            "predicted=0.7, scores=0.9, rows=0.97 or shared=1. "
            "Repeat it for several shares. Rows are weighted by "
            "their interactions.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            help="Another training run of the first model, with "
            "another seed. Its shares, minus an allowance, are "
            "the limits of the shares that --fail-below does not "
            "set.",
        ),
    ] = None,
    allow_swapped: Annotated[
        bool,
        typer.Option(
            "--allow-swapped",
            help="With --fail-below or --reference, accept rows that "
            "have the vector of another row.",
        ),
    ] = False,
    paired: Annotated[
        bool,
        typer.Option(
            "--paired",
            help="The models are an old and a new encoder of the same items: can a map "
            "bring the old vectors into the new space?",
        ),
    ] = False,
    same_base: Annotated[
        bool,
        typer.Option(
            "--same-base",
            help="Two adapters (LoRA) change one base model, although their "
            "configurations name it differently.",
        ),
    ] = False,
    left_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--left-file",
            help="File with the vectors of the left side of a model, if the model's "
            "file holds one side only. Repeat it for each model, in their order.",
            rich_help_panel="Your file",
        ),
    ] = None,
    reading: Given,
    titles: Titles,
    same_numbers: SameNumbers = False,
    rng: Rng = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Compare two trained models: may the second one replace the first?

    With --copy or --formats, compare vectors with copies in fewer bits or dimensions:
    may you store int8?

    Three or more models are compared as training runs: which neighbours of the first
    run do all runs list? For them, --out can also name a table (.parquet, .feather,
    .csv or .tsv). It holds the neighbours of all rows, each with the number of runs
    that list it.

    With --paired, the models are two encoders: can a map bring the old vectors into the
    space of the new encoder, or must all items be embedded again?

    Two low-rank adapters (LoRA) are compared by their updates: are they alike?

    Options for reading apply to all models, so a file of --labels or --ids must name
    the rows of each. Only --left-file is repeated, with one file for each model.
    """
    from embaudit.io.adapters import is_adapter

    if is_adapter(before) or (after is not None and is_adapter(after)):
        if after is None:
            raise must_be(
                "the input", "two adapters", "one adapter", "name a second adapter"
            )
        compare_adapters(context, before, after, output, workers, same_base=same_base)
        return
    _require_omitted({"--same-base": same_base}, "unless adapters (LoRA) are compared")
    # A limit that is no number is refused before two models are read.
    limits = values_in(fail_below, "fail-below", "kept=0.7", float)
    judging_options = {
        "--fail-below": bool(limits),
        "--reference": reference is not None,
        "--allow-swapped": allow_swapped,
    }
    more = more or []
    if copy or formats is not None:
        _require_omitted(
            judging_options
            | {
                "--paired": paired,
                "--same-numbers": same_numbers,
                "a second file": after is not None and not copy,
            },
            "if --copy or --formats is given",
        )
        copies = [] if after is None else [after, *more]
        # Options for reading apply to the original only.
        (reading,) = _reading_of_each([before], reading, left_file)
        compare_with_copies(
            before,
            copies,
            formats,
            queries,
            role=role,
            n_neighbours=n_neighbours,
            n_lists=n_lists,
            reading=reading,
            titles=titles,
            rng=rng,
            output=output,
            workers=workers,
        )
        return
    _require_omitted(
        {"--queries": queries is not None, "--n-lists": n_lists is not None},
        "unless --copy or --formats is given",
    )
    if after is None:
        raise must_be(
            "the input",
            "two or more models",
            "one model",
            "name a second model, or make copies of this one with --formats",
        )
    if paired:
        _require_omitted(
            {"a third model": bool(more), "--role": role is not None} | judging_options,
            "if --paired is given",
        )
        _compare_encoders(
            before,
            after,
            n_neighbours,
            _reading_of_each([before, after], reading, left_file),
            titles,
            same_numbers,
            rng,
            output,
            workers,
        )
        return
    if more:
        paths = [before, after, *more]
        _require_omitted(
            judging_options | {"--same-numbers": same_numbers},
            "if three or more models are compared",
        )
        readings = _reading_of_each(paths, reading, left_file)
        _compare_runs(paths, n_neighbours, role, readings, titles, rng, output, workers)
        return
    paths = [before, after]
    if reference is not None:
        paths.append(reference)
    has_failed = _compare_two(
        paths,
        roles=None if role is None else [role],
        n_neighbours=n_neighbours,
        fail_below=limits,
        allow_swapped=allow_swapped,
        readings=_reading_of_each(paths, reading, left_file),
        titles=titles,
        same_numbers=same_numbers,
        rng=rng,
        output=output,
        workers=workers,
    )
    raise typer.Exit(int(has_failed))


def _require_omitted(is_given: Mapping[str, bool], condition: str) -> None:
    """Raise InputError if an option is given that another option rules out."""
    for option, given in is_given.items():
        if given:
            raise InputError(f"{option} must be omitted {condition}.")


def _reading_of_each(
    paths: list[Path], reading: Given, left_files: list[Path] | None
) -> list[Given]:
    """Return how each model is read: with the same options, and its own left side.

    Raises
    ------
    InputError
        If left sides are given, and not one for each model. One file for all would
        give retrained models the same users, so that their scores mean nothing.
    """
    if not left_files:
        return [reading] * len(paths)
    if len(left_files) != len(paths):
        got = f"{counted(len(left_files), 'file')} for {counted(len(paths), 'model')}"
        remedy = "leave out the others"
        if len(left_files) < len(paths):
            remedy = "give a file again for models that share it"
        raise must_be(
            "--left-file", "given once for each model, in their order", got, remedy
        )
    return [replace(reading, left_file=file) for file in left_files]


def _compare_two(
    paths: list[Path],
    *,
    roles: list[str] | None,
    n_neighbours: int | None,
    fail_below: dict[str, float],
    allow_swapped: bool,
    readings: list[Given],
    titles: Titles,
    same_numbers: bool,
    rng: int,
    output: Output,
    workers: Workers,
) -> bool:
    """Compare two models, and return True if a share is below its limit.

    A third path is that of the reference.
    """
    from embaudit.comparison import compare as run
    from embaudit.io.tables.written import TABLES
    from embaudit.report.document import Origin
    from embaudit.serving import with_mixable_lists

    if output.out is not None and output.out.suffix.lower() in TABLES:
        raise must_be(
            "--out",
            "a file that ends in .html if two models are compared",
            output.out,
            "name three or more training runs to write a table of their neighbours",
        )
    with output.promised(_inputs(paths, readings, titles)) as write:
        loaded = _read_all(paths, readings, titles, quiet=output.quiet)
        with workers.at_work(quiet=output.quiet):
            result = run(
                loaded[0],
                loaded[1],
                roles=roles,
                n_neighbours=n_neighbours,
                by_row=titles.by_row,
                partial=titles.partial,
                same_numbers=same_numbers,
                fail_below=fail_below,
                reference=loaded[2] if len(loaded) > 2 else None,
                allow_swapped=allow_swapped,
                rng=rng,
            )
            result = with_mixable_lists(
                result,
                loaded[0].model,
                loaded[1].model,
                by_row=titles.by_row,
                partial=titles.partial,
                same_numbers=same_numbers,
                n_neighbours=n_neighbours,
                rng=rng,
            )
        names = [shown_name(path) for path in paths]
        intakes = tuple(
            (name, source.intake) for name, source in zip(names, loaded, strict=True)
        )
        write(result, " and ".join(names[:2]), Origin(intakes, seed=rng))
    output.show(result)
    failures = result.failures()
    if result.limits:
        text = "gate: passes"
        if failures:
            text = f"gate: stops, {', '.join(failures)}"
        output.console.print(text, markup=False, highlight=False, soft_wrap=True)
    return bool(failures)


def _inputs(
    paths: list[Path], readings: list[Given], titles: Titles
) -> list[Path | str | None]:
    """Return all files that are read, which no output may overwrite."""
    inputs: list[Path | str | None] = [*paths, titles.items]
    for reading in readings:
        inputs.extend(reading.files)
    return inputs


def _read_all(
    paths: list[Path], readings: list[Given], titles: Titles, *, quiet: bool
) -> list[Reading]:
    """Read each model with its options."""
    from embaudit.io import Reading

    loaded = []
    try:
        for path, reading in zip(paths, readings, strict=True):
            loaded.append(reading.read(path))
    except InputError as error:
        # The left sides are files of one model each.
        shared = replace(readings[0], left_file=None).files
        if not set(shared) & set(error.files):
            raise
        # A file of ids or labels fits one model, and the command takes no file per
        # model.
        number = "both" if len(paths) == 2 else "all"
        raise InputError(
            "{} The same file is used for {} models here; save each model with a file "
            "of its own, `embaudit.save(embaudit.load(PATH, ids=FILE), NEW)`, and "
            "compare the saved models.",
            error.sentence,
            number,
        ) from error
    return [Reading(titles.on(x.model, quiet=quiet), x.intake) for x in loaded]


def _compare_encoders(
    old: Path,
    new: Path,
    n_neighbours: int | None,
    readings: list[Given],
    titles: Titles,
    same_numbers: bool,
    rng: int,
    output: Output,
    workers: Workers,
) -> None:
    """Say whether a map can bring old vectors into the space of a new encoder."""
    from embaudit.report.document import Origin
    from embaudit.serving import space_map

    paths = [old, new]
    with output.promised(_inputs(paths, readings, titles)) as write:
        loaded = _read_all(paths, readings, titles, quiet=output.quiet)
        with workers.at_work(quiet=output.quiet):
            found = space_map(
                loaded[0].model,
                loaded[1].model,
                n_neighbours=n_neighbours,
                # Without ids, --paired declares that row i is the same item in both.
                by_row=titles.by_row or None,
                partial=titles.partial,
                same_numbers=same_numbers,
                rng=rng,
            )
        names = [shown_name(path) for path in paths]
        intakes = tuple(
            (name, source.intake) for name, source in zip(names, loaded, strict=True)
        )
        write(found, " and ".join(names), Origin(intakes, seed=rng))
    output.show(found)


def _compare_runs(
    paths: list[Path],
    n_neighbours: int | None,
    role: str | None,
    readings: list[Given],
    titles: Titles,
    rng: int,
    output: Output,
    workers: Workers,
) -> None:
    """Say which neighbours of the first of several runs all of them list."""
    from embaudit.io.tables.written import TABLES
    from embaudit.report.document import Origin
    from embaudit.serving import stable_neighbours

    table: Promise = (None, _table_of)
    n_lists: int | None = N_QUERIES
    pages = output
    if output.out is not None:
        _require_page_or_table(output.out)
        if output.out.suffix.lower() in TABLES:
            table = (output.out, partial(_table_of, output.out))
            pages = replace(output, out=None)
            # A table is of use only if it holds the lists of all rows.
            n_lists = None
    with pages.promised(_inputs(paths, readings, titles), table) as write:
        loaded = _read_all(paths, readings, titles, quiet=output.quiet)
        with workers.at_work(quiet=output.quiet):
            found = stable_neighbours(
                [source.model for source in loaded],
                role=role or "right",
                n_neighbours=n_neighbours,
                n_lists=n_lists,
                by_row=titles.by_row,
                partial=titles.partial,
                rng=rng,
            )
        names = [shown_name(path) for path in paths]
        intakes = tuple(
            (name, source.intake) for name, source in zip(names, loaded, strict=True)
        )
        title = f"{names[0]} and {counted(len(names) - 1, 'other run')}"
        write(found, title, Origin(intakes, seed=rng))
    output.show(found)
    if n_lists is not None:
        output.console.print(
            "The neighbours of all rows, with their runs: --out stable.parquet",
            markup=False,
            soft_wrap=True,
        )


def _require_page_or_table(out: Path) -> None:
    """Raise InputError unless a file is a page or a table by its suffix."""
    from embaudit.io.outputs import COMPRESSED
    from embaudit.io.tables.written import TABLES

    if out.suffix.lower() not in ("", *SUFFIXES["out"], *COMPRESSED, *TABLES):
        raise must_be(
            "--out",
            "a file that ends in .html for a report, or in .parquet, .feather, .csv "
            "or .tsv for a table",
            out,
        )


def _table_of(path: Path, found: StableNeighbours, *_: object) -> str | bytes:
    """Return the content of a table of neighbours."""
    from embaudit.io.tables.written import write_table

    return write_table(found.to_frame(), path.suffix.lower())
