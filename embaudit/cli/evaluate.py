"""`embaudit evaluate`: which similarity finds what belongs together, where that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from typer import Option

from embaudit.cli.app import Count, File, Model, More, Rng, Text, Texts, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import Output, Workers, shown_name
from embaudit.core.words import listed

if TYPE_CHECKING:
    from embaudit.evaluation import Truth
    from embaudit.io import Joined


@app.command()
@with_groups
def evaluate(
    path: Model,
    more: More = None,
    *,
    items: Annotated[
        File, Option(help="Table with what is known of the items; see --truth.")
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
            help="Judge by what users consumed together last: a table of users, items "
            "and times, instead of --truth."
        ),
    ] = None,
    time: Annotated[
        Text, Option(help="Column of the times in the table of --interactions.")
    ] = None,
    separator: Annotated[
        Text,
        Option(
            help="Text between several labels of one item; '' if each text is one label.",
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
    """Compare similarities by labels or interactions that are known.

    A similarity is good if neighbours share a label, or were consumed together.
    """
    from embaudit.errors import InputError, must_be, without_secrets
    from embaudit.evaluation import evaluate_similarities, last_together
    from embaudit.io import join_texts
    from embaudit.io.tables.columns import open_table
    from embaudit.io.tables.titles import ID_NAMES, TITLE_NAMES
    from embaudit.report.document import Origin

    if bool(truth) == bool(interactions) or (truth and not items):
        got = "both" if interactions else "neither"
        raise must_be(
            "what to judge by", "--items with --truth, or --interactions", got
        )
    unused = (
        "--time"
        if truth and time
        else "--separator"
        if interactions and separator is not None
        else None
    )
    if unused is not None:
        raise InputError(
            f"{unused} must be left out beside {'--truth' if truth else '--interactions'}."
        )
    with output.promised(
        [
            path,
            *(more or ()),
            items,
            interactions,
            *reading.files,
        ]
    ) as write:
        source = reading.read(path, more)
        # A table of labels holds titles only if a column of them is named.
        model = (
            source.model
            if truth and titles.title is None
            else titles.on(source.model, quiet=output.quiet)
        )
        with workers.at_work(quiet=output.quiet):
            labels: Truth | list[list[str]]
            if items and truth:
                header = open_table(
                    items, customary=ID_NAMES | TITLE_NAMES, named=(titles.id, *truth)
                )
                # A misspelt column is refused before any is joined.
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
                assert interactions is not None
                labels = last_together(interactions, model.right_side, time=time)
                shown = without_secrets(str(interactions))
                judged = f"judged by {labels.source} in {shown}; leave these out of training."
            result = evaluate_similarities(
                model, labels, n_neighbours=n_neighbours, rng=rng
            )
        name = shown_name(path)
        files = listed([name, *(without_secrets(str(one)) for one in more or ())], 1)
        known = ", ".join(truth or [without_secrets(str(interactions))])
        title = f"which similarity serves {known} best in {files}"
        write(result, title, Origin(((name, source.intake),), (judged,), rng))
    output.console.print(judged, markup=False)
    output.show(result)


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
        own = separator_in(texts) if separator is None else separator
        if own and any(own in text for text in texts if text):
            separators.append(repr(own))
        labels = labels or [[] for _ in texts]
        for row, text in zip(labels, texts, strict=True):
            row.extend(labels_in(text, own))
    split = (
        f", split at {' and '.join(dict.fromkeys(separators))}" if separators else ""
    )
    return labels, split, matched
