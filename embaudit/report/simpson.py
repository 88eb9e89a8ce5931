"""The document of a Simpson report: all rows against groups, grouping by grouping."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.words import counted, cut
from embaudit.report.definitions import glossary
from embaudit.report.document import Charted, Document, Section, named
from embaudit.report.figures import SimpsonDisplay
from embaudit.report.grid import Grid
from embaudit.reversals import ReversalKind

if TYPE_CHECKING:
    from embaudit.reversals import Grouping, SimpsonReport

SHOWN = 3
"""Groupings that are shown group by group."""
MENU = 24
"""Characters of a name in the list of sections."""
LISTED = 5
"""Findings and notes that are spelled out."""
SIMPSON = ("kind", "n_groups", "r_pooled", "r_within", "effect", "p_adjusted", "share_reversed", "significant")
COLUMNS = ("n", "r", "slope", "mean_x", "mean_y", "votes", "opposes")


def simpson_document(report: SimpsonReport) -> Document:
    """Build the document of a Simpson report.

    Examples
    --------
    >>> import pandas as pd
    >>> from embaudit.reversals import simpson
    >>> table = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4], "g": list("aaabbb")})
    >>> made = simpson_document(simpson(table, x="x", y="y", min_size=3, n_permutations=9))
    >>> [section.id for section in made.shown_sections], made.top[0].frame()["slope"].tolist()
    (['groupings', 'grouping-1'], [-1.0, -1.0])
    """
    # Without a finding, groupings that decide something are shown.
    groupings = (
        report.findings or tuple(each for each in report.groupings if each.kind is not ReversalKind.UNDECIDED)
    )[:SHOWN]
    drawn = [_drawn(report, each) for each in groupings]
    x, y = report.titles or (report.x, report.y)
    beyond = f"{sum(grouping.is_significant for grouping in report.findings)} of them significant"
    table = Grid.from_frame(
        report.to_frame()[list(SIMPSON)],
        f"{report.y} on {report.x}, {counted(report.pooled.n, 'row')}",
        f"{counted(len(report.findings), 'finding')}, {beyond}",
        essential=SIMPSON[:6],
    )
    return Document(
        f"Does {named(y)} go with {named(x)} in groups as it does in all rows?",
        tuple(report.explain(limit=LISTED).splitlines()),
        top=drawn[0] if drawn else (),
        sections=(
            Section.of("groupings", "Groupings", "What each grouping does to the correlation", table),
            # The picture of the first grouping stands at the top already.
            *(_grouping(each, at, drawn[at - 1] if at > 1 else ()) for at, each in enumerate(groupings, start=1)),
        ),
        notes=tuple(report.listed_notes(limit=LISTED)),
        facts=(
            ("rows", f"{report.pooled.n:,}"),
            ("left out, for want of x or y", f"{report.n_missing:,}"),
            ("level of significance", f"{report.alpha:g}"),
        ),
        glossary=glossary("simpson"),
    )


def _drawn(report: SimpsonReport, grouping: Grouping) -> tuple[SimpsonDisplay, ...]:
    """Take the lines of a grouping without single rows; nothing where no group has a line."""
    if np.isnan(grouping.moments.slope).all():
        return ()
    return (replace(SimpsonDisplay.of(report, grouping=grouping), points=None),)


def _grouping(grouping: Grouping, at: int, drawn: tuple[SimpsonDisplay, ...]) -> Section:
    """Lay out the groups of a grouping, the largest first."""
    # The groups may be called "n" themselves, which sort_values takes for two columns.
    frame = grouping.to_frame()
    frame = frame.iloc[np.argsort(-frame["n"].to_numpy(), kind="stable")]
    table = Grid.from_frame(
        frame[list(COLUMNS)],
        f"groups of {named(grouping.name)}",
        counted(len(grouping), "group"),
        essential=COLUMNS[:3],
    )
    title = f"{grouping.kind.capitalize()} by {named(grouping.name)}"
    return Section(
        f"grouping-{at}",
        cut(named(grouping.name), MENU),
        title,
        parts=(Charted("", table, drawn),),
    )
