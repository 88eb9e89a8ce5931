"""`embaudit evaluate`: which similarity serves best, by labels or interactions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from embaudit.cli.app import Count, File, Model, More, Rng, Text, Texts, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, shown_name
from embaudit.core.words import listed

if TYPE_CHECKING:
    from embaudit.evaluation import HeldOut
    from embaudit.io import Joined


@app.command()
@with_groups
def evaluate(
    path: Model,
    more: More = None,
    *,
    items: Annotated[
        File,
        Option(
            help="Table with columns of labels or clusters of the items; see --truth."
        ),
    ] = None,
    truth: Annotated[
        Texts,
        Option(
            help="Column of labels or clusters in the table of --items. Repeat it to "
            "judge by several columns together."
        ),
    ] = None,
    interactions: Annotated[
        File,
        Option(
            help="Judge by interactions that were held out from training, instead of "
            "by --truth: a table of users and items."
        ),
    ] = None,
    last: Annotated[
        int | None,
        Option(
            help="Judge by the last interactions of each user only, at least 2.",
            show_default="all",
        ),
    ] = None,
    user: Annotated[
        Text, Option(help="Column of the users in the table of --interactions.")
    ] = None,
    item: Annotated[
        Text, Option(help="Column of the items in the table of --interactions.")
    ] = None,
    time: Annotated[
        Text,
        Option(help="Column of the times in the table of --interactions, for --last."),
    ] = None,
    training: Annotated[
        File,
        Option(
            help="Interactions of the training, which say how popular each item is "
            "(default: the counts in the model)."
        ),
    ] = None,
    separator: Annotated[
        Text,
        Option(
            help="Text between several labels of one item; '' if each text is one "
            "label.",
            show_default="detected",
        ),
    ] = None,
    n_neighbours: Annotated[
        Count,
        Option(
            help="Number of neighbours (default: 10, or a third of "
            "the rows of a small model)."
        ),
    ] = None,
    reading: Given,
    titles: Titles,
    rng: Rng = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Say which similarity serves best, by labels or by held-out interactions.

    A similarity is good if the nearest items share a label, or if the items nearest to
    one held-out item of a user are the other held-out items of this user.
    """
    from embaudit.errors import without_secrets
    from embaudit.evaluation import evaluate_similarities, held_out_interactions
    from embaudit.io import join_texts
    from embaudit.io.tables.columns import open_table
    from embaudit.io.tables.titles import ID_NAMES, TITLE_NAMES
    from embaudit.report.document import Origin

    _require_relations(truth, items, interactions)
    if truth:
        _require_unused("--truth", last=last, user=user, item=item, time=time)
    else:
        _require_unused("--interactions", separator=separator)
    with output.promised(
        [
            path,
            *(more or ()),
            items,
            interactions,
            training,
            *reading.files,
        ]
    ) as write:
        source = reading.read(path, more)
        model = source.model
        # A table of labels names the items only if a column of titles is named.
        if not truth or titles.title is not None:
            model = titles.on(model, quiet=output.quiet)
        with workers.at_work(quiet=output.quiet):
            labels: list[list[str]] | None = None
            held_out: HeldOut | None = None
            if items and truth:
                header = open_table(
                    items, customary=ID_NAMES | TITLE_NAMES, named=(titles.id, *truth)
                )
                # A misspelt column is refused before any column is joined.
                for name in truth:
                    header.position(name, "--truth")
                labels, split, matched = _labels(
                    truth,
                    separator,
                    lambda column: join_texts(
                        model.right_side, items, title=column, **titles.joining
                    ),
                )
                judged = f"judged by {', '.join(truth)}{split}: {matched}"
            else:
                held_out = held_out_interactions(
                    interactions, model, last=last, user=user, item=item, time=time
                )
                shown = without_secrets(str(interactions))
                judged = (
                    f"judged by {held_out.source} in {shown}; leave these out of "
                    "training."
                )
            result = evaluate_similarities(
                model,
                labels,
                interactions=held_out,
                training=training,
                n_neighbours=n_neighbours,
                rng=rng,
            )
        name = shown_name(path)
        files = listed([name, *(without_secrets(str(file)) for file in more or ())], 1)
        known = ", ".join(truth or [without_secrets(str(interactions))])
        title = f"which similarity serves {known} best in {files}"
        write(result, title, Origin(((name, source.intake),), (judged,), rng))
    output.console.print(judged, markup=False)
    output.show(result)


def _require_relations(
    truth: list[str] | None, items: Path | None, interactions: Path | None
) -> None:
    """Raise InputError unless there are either labels or interactions to judge by."""
    from embaudit.errors import must_be

    if truth and interactions:
        got = "both"
    elif truth and not items:
        got = "--truth without --items"
    elif items and not interactions and not truth:
        got = "--items without --truth"
    elif not truth and not interactions:
        got = "neither"
    else:
        return
    needed = "--items with --truth, or --interactions"
    raise must_be("the relations to judge by", needed, got)


def _require_unused(judge: str, **options: object) -> None:
    """Raise InputError if an option is given that does not belong to `judge`."""
    from embaudit.errors import InputError

    for name, value in options.items():
        if value is not None:
            raise InputError(f"--{name} must be omitted if {judge} is given.")


def _labels(
    columns: list[str], separator: str | None, join: Callable[[str], Joined]
) -> tuple[list[list[str]], str, str]:
    """Collect the labels of every item over the chosen columns.

    Returns
    -------
    list of list of str, str and str
        The labels of each row, a clause that says where texts were split, and how many
        rows matched.
    """
    from embaudit.evaluation import labels_in, separator_in
    from embaudit.io import flags_named

    labels: list[list[str]] = []
    separators: list[str] = []
    matched = ""
    for column in columns:
        joined = join(column)
        matched = matched or joined.explain()
        texts = flags_named(list(joined.texts), column)
        column_separator = separator
        if column_separator is None:
            column_separator = separator_in(texts)
        if column_separator and any(column_separator in text for text in texts if text):
            separators.append(repr(column_separator))
        labels = labels or [[] for _ in texts]
        for row_labels, text in zip(labels, texts, strict=True):
            row_labels.extend(labels_in(text, column_separator))
    split = ""
    if separators:
        split = f", split at {' and '.join(dict.fromkeys(separators))}"
    return labels, split, matched
