"""`embaudit threshold`: what is a high score, and where to set the cut-off?"""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from embaudit.cli.app import File, Model, Number, Rng, SameNumbers, Text, app
from embaudit.cli.groups import with_groups
from embaudit.cli.reading import Given, Titles
from embaudit.cli.terminal import SUFFIXES, Output, Promise, Workers, shown_name
from embaudit.errors import must_be

if TYPE_CHECKING:
    from embaudit.model import FactorModel
    from embaudit.serving import Threshold

By = StrEnum("By", [("ERROR", "error"), ("SHARE", "share")])
"""What stays the same in another model."""
Scoring = StrEnum(
    "Scoring",
    [
        ("BALANCED_ACCURACY", "balanced_accuracy"),
        ("F1", "f1"),
        ("ACCURACY", "accuracy"),
    ],
)
"""Measures by which labelled pairs choose a threshold."""


@app.command()
@with_groups
def threshold(
    path: Model,
    *,
    role: Annotated[
        Text,
        Option(
            help="Pairs that are served: cross (user-item), right (item-item) or left "
            "(user-user). The default is cross for a model of two sides, and right for "
            "one table."
        ),
    ] = None,
    score: Annotated[
        Number, Option(help="Say whether this score is high, such as 0.8.")
    ] = None,
    level: Annotated[
        float,
        Option(
            help="Share of unrelated pairs that may reach the cut if no labels choose "
            "it."
        ),
    ] = 0.01,
    groups: Annotated[
        Text,
        Option(
            help="Column of --items with groups of related items, whose pairs do not "
            "count as unrelated."
        ),
    ] = None,
    left_items: Annotated[
        File,
        Option(
            "--left-items",
            help="Table with the groups of the left rows, for pairs of both sides.",
        ),
    ] = None,
    pairs: Annotated[
        File,
        Option(
            help="Labelled pairs that choose and judge the cut: a table with the "
            "columns a (queries), b and label (1 related, 0 unrelated)."
        ),
    ] = None,
    scoring: Annotated[
        Scoring | None,
        Option(
            help="With --pairs, the measure by which labelled pairs choose the cut, on "
            "half of the queries (default: balanced_accuracy)."
        ),
    ] = None,
    to: Annotated[
        File,
        Option(
            metavar="OTHER",
            help="Another model of the same rows, to carry the cut to. Options for "
            "reading apply to both models.",
        ),
    ] = None,
    by: Annotated[
        By | None,
        Option(
            help="With --to, the share that stays the same: error (share of the pairs "
            "labelled unrelated that pass; the default with --pairs) or share (of all "
            "unrelated pairs)."
        ),
    ] = None,
    reading: Given,
    titles: Titles,
    same_numbers: SameNumbers = False,
    rng: Rng = 0,
    output: Output,
    workers: Workers,
) -> None:
    """Say what a high cosine is, and where to set the cut-off.

    Without labels, a cosine is high if few pairs of unrelated rows reach it. With
    --pairs, labelled pairs choose a cut, and other labelled pairs judge it.

    --out threshold.json writes the cut for a service (see `embaudit schema threshold`),
    and --out threshold.html a report.
    """
    from embaudit.report.document import Origin
    from embaudit.serving import threshold as find_threshold

    _require_tables(groups, titles.items, left_items)
    if to is not None:
        reading.require_no_left_file("--to")
    settings: Promise = (None, _settings)
    pages = output
    if output.out is not None:
        _require_page_or_settings(output.out)
        if output.out.suffix.lower() == ".json":
            settings = (output.out, _settings)
            pages = replace(output, out=None)
    inputs = [path, pairs, to, titles.items, left_items, *reading.files]
    with pages.promised(inputs, settings) as write:
        source = reading.read(path)
        model = source.model
        # A table of groups names the items only if it has titles.
        if groups is None or titles.title is not None:
            model = titles.on(model, quiet=output.quiet)
        other = None
        if to is not None:
            other = reading.read(to)
        with workers.at_work(quiet=output.quiet):
            found = find_threshold(
                model,
                role=role,
                groups=_groups(model, role, groups, titles, left_items),
                pairs=pairs,
                score=score,
                to=None if other is None else other.model,
                by=None if by is None else by.value,
                level=level,
                scoring=None if scoring is None else scoring.value,
                by_row=titles.by_row or None,
                partial=titles.partial,
                same_numbers=same_numbers,
                rng=rng,
            )
        intakes = [(shown_name(path), source.intake)]
        if to is not None and other is not None:
            intakes.append((shown_name(to), other.intake))
        title = f"where to cut in {shown_name(path)}"
        write(found, title, Origin(tuple(intakes), seed=rng))
    output.show(found)


def _require_tables(
    groups: str | None, items: Path | None, left_items: Path | None
) -> None:
    """Raise InputError unless groups have a table, and a table has groups."""
    if groups is not None and items is None and left_items is None:
        raise must_be(
            "--groups",
            "given with --items, the table with this column",
            f"--groups {groups!r} without --items",
        )
    if groups is None and left_items is not None:
        raise must_be(
            "--left-items",
            "given with --groups, the column of the groups",
            "--left-items without --groups",
        )


def _require_page_or_settings(out: Path) -> None:
    """Raise InputError unless a file is a page or settings by its suffix."""
    from embaudit.io.outputs import COMPRESSED

    if out.suffix.lower() not in ("", ".json", *SUFFIXES["out"], *COMPRESSED):
        raise must_be(
            "--out",
            "a file that ends in .json for a service, or in .html for a report",
            out,
        )


def _groups(
    model: FactorModel,
    role: str | None,
    column: str | None,
    titles: Titles,
    left_items: Path | None,
) -> Any:
    """Read the group of each row: of one side, or of both sides of cross pairs."""
    from embaudit.io import join_texts
    from embaudit.io.tables.titles import open_titles
    from embaudit.model import Pairs

    if column is None:
        return None
    default = "right" if model.left_side is None else "cross"
    pairs = Pairs(model.role(role or default))
    tables = {"left": left_items, "right": titles.items}
    found = []
    for side in pairs.sides:
        table = tables[side]
        if table is None:
            option = "--left-items" if side == "left" else "--items"
            raise must_be(
                option,
                f"given with --groups for {pairs.titled(model)} pairs, because it "
                f"holds the groups of the {model.title(side)}s",
                "--groups alone",
            )
        # `join_texts` would call a missing column the column of titles.
        open_titles(table, titles.id, column).position(column, "groups")
        joined = join_texts(model.side(side), table, title=column, **titles.joining)
        found.append(joined.texts)
    return found[0] if len(found) == 1 else found


def _settings(found: Threshold, *_: object) -> str:
    """Write the file that a service loads."""
    return json.dumps(found.settings(), indent=1, ensure_ascii=False) + "\n"
