"""What the page of a Simpson report shows: all rows against groups, grouping by grouping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.foundation.words import counted, cut, visible
from embaudit.report.dots import DotChart, Valued, dot_chart
from embaudit.report.grid import Grid
from embaudit.report.shown import ROWS, shown
from embaudit.report.slopes import slope_chart
from embaudit.report.view import LONGEST, Charted, ResultView, Section, named
from embaudit.reversals import Kind

if TYPE_CHECKING:
    from embaudit.reversals import Grouping, SimpsonReport

DRAWN = 12
"""Groupings, and groups of one, that are drawn by name."""
SHOWN = 3
"""Groupings that are shown group by group."""
MENU = 24
"""Characters of a name in the list of sections."""
COLUMNS = ("n", "r", "slope", "mean_x", "mean_y", "votes", "opposes")
GLOSSARY = (
    ("r", "Correlation, from −1 to 1."),
    ("slope", "Least-squares change of y for one unit of x."),
    ("pooled", "Over all rows, whatever their group."),
    ("within", "Within groups, all groups taken together."),
    ("reversal", "The signs of pooled and within oppose, in at least the stated share of rows."),
    ("partial reversal", "The signs oppose, and so does the sign in half of the rows or more."),
    ("vanishing", "Pooled there is an association, within groups next to none."),
    ("masked", "Within groups there is an association, pooled next to none."),
    ("no reversal", "None of these: groups and all rows tell much the same, however much r differs beyond chance."),
    ("effect", "r pooled less r within."),
    ("vote", "A group has a vote if it is large enough and has a correlation."),
    ("opposes", "The group has a vote, and its sign is the opposite of the pooled one."),
    ("significant", "A random grouping would hardly change the correlation as much, whatever the sign."),
    ("p_adjusted", "How often a random grouping would change the correlation as much, all groupings considered."),
)


def simpson_view(found: SimpsonReport) -> ResultView:
    """Collect what the page of a Simpson report shows.

    Examples
    --------
    >>> import pandas as pd
    >>> from embaudit.reversals import simpson
    >>> table = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4], "g": list("aaabbb")})
    >>> view = simpson_view(simpson(table, x="x", y="y", min_size=3, n_permutations=9))
    >>> [section.id for section in view.shown_sections], [group.opposed for group in view.top[0].groups]
    (['groupings', 'grouping-1'], [True, True])
    """
    chosen = (found.findings or tuple(one for one in found.groupings if one.kind is not Kind.UNDECIDED))[:SHOWN]
    first = slope_chart(found, chosen[0]) if chosen else None
    content, overview = shown(found), _overview(found)
    table = content.grids[0].head(ROWS).shortened(LONGEST)
    x, y = found.titles or (found.x, found.y)
    return ResultView(
        question=f"Does {named(y)} go with {named(x)} in groups as it does in all rows?",
        said=tuple(part for part in content.parts if isinstance(part, str)),
        top=(first,) if first else (),
        sections=(
            Section("groupings", "Groupings", "What each grouping does to the correlation",
                    parts=(Charted("", table, (overview,) if overview else ()),)),
            *(_grouping(found, one, at) for at, one in enumerate(chosen, start=1)),
        ),
        notes=content.notes,
        facts=(
            ("rows", f"{found.pooled.n:,}"),
            ("left out, for want of x or y", f"{found.n_missing:,}"),
            ("level of significance", f"{found.alpha:g}"),
        ),
        glossary=GLOSSARY,
    )  # fmt: skip


def _overview(found: SimpsonReport) -> DotChart | None:
    """Place r within groups, and where a line leads from: r over all rows."""
    rows = [Valued(one.name, one.within.r, marked=one.is_finding, other=one.pooled.r) for one in found.groupings]
    key = (("other", "r over all rows"), ("dot", "r within groups"), ("marked", "it changes the answer"))
    few = f"the first {DRAWN} of {len(rows):,} groupings" if len(rows) > DRAWN else "groupings"
    return dot_chart(f"correlation: {few}", "r", rows[:DRAWN], key=key)


def _grouping(found: SimpsonReport, grouping: Grouping, at: int) -> Section:
    slopes, groups = slope_chart(found, grouping), _groups(grouping)
    frame = grouping.to_frame().sort_values("n", ascending=False, kind="stable")
    table = Grid.from_frame(
        frame[list(COLUMNS)],
        f"groups of {named(grouping.name)}",
        counted(len(grouping), "group"),
        essential=COLUMNS[:3],
    )
    charts = tuple(chart for chart in (slopes, groups) if chart is not None)
    title = f"{grouping.kind.capitalize()} by {named(grouping.name)}"
    return Section(
        f"grouping-{at}",
        cut(named(grouping.name), MENU),
        title,
        parts=(Charted("", table.head(ROWS).shortened(LONGEST), charts),),
    )


def _groups(grouping: Grouping) -> DotChart | None:
    """Place r of each of the largest groups against r over all rows."""
    frame = grouping.to_frame().sort_values("n", ascending=False, kind="stable").head(DRAWN)
    rows = [
        Valued(f"{visible(str(name))} ({row['n']:,})", row["r"], marked=bool(row["opposes"]))
        for name, row in zip(frame.index, frame.to_dict("records"), strict=True)
    ]
    key = (("dot", "r of a group (rows)"), ("marked", "opposite sign"))
    level = f"r over all rows {grouping.pooled.r:+.3f}", grouping.pooled.r
    few = f"the {DRAWN} largest of {len(grouping):,} groups" if len(grouping) > DRAWN else "groups"
    return dot_chart(f"correlation: {few}", "r", rows, key=key, level=level)
