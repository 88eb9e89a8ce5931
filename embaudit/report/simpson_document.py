"""The document of a comparison of groups: Simpson's paradox."""

from __future__ import annotations

from math import isnan

import numpy as np

from embaudit.core.words import counted
from embaudit.report.document import Document, Section, glossary, named
from embaudit.report.figures import SimpsonDisplay
from embaudit.report.tables import Table, with_index_column
from embaudit.simpson import SimpsonReport

COLUMNS = ("n", "r", "slope", "mean_x", "mean_y", "votes", "opposes")
"""Columns of the table of groups, the most important first."""
N_ESSENTIAL_COLUMNS = 3
"""Number of these columns that a narrow screen shows."""


def simpson_document(report: SimpsonReport) -> Document:
    """Build the document of a Simpson report.

    Examples
    --------
    >>> from embaudit.simpson import simpson
    >>> table = {"x": [1, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4], "g": list("aaabbb")}
    >>> report = simpson(table, "x", "y", "g", min_size=3)
    >>> document = simpson_document(report)
    >>> [section.id for section in document.shown_sections]
    ['groups']
    >>> document.top[0].frame()["slope"].tolist()
    [-1.0, -1.0]
    """
    title = f"{report.kind.capitalize()} by {named(report.name)}"
    has_lines = bool(report.to_frame()["slope"].notna().any())
    lines = SimpsonDisplay(report, draws_rows=False)
    if isnan(report.p_value):
        p_value = "not tested"
    else:
        permutations = counted(report.n_permutations, "permutation")
        p_value = f"{report.p_value:.3g} ({permutations})"
    return Document(
        f"Does {named(report.y)} go with {named(report.x)} in groups as it does in "
        f"all {report.row_noun}s?",
        (report.explain(),),
        top=(lines,) if has_lines else (),
        sections=(Section.from_tables("groups", "Groups", title, group_table(report)),),
        notes=report.notes,
        facts=(
            (f"{report.row_noun}s", f"{report.n_rows:,}"),
            ("skipped, because x, y or the group is missing", f"{report.n_missing:,}"),
            ("p-value of the change", p_value),
            ("level of significance", f"{report.alpha:g}"),
        ),
        glossary=glossary("simpson"),
    )


def group_table(report: SimpsonReport) -> Table:
    """Tabulate the groups of a report, the largest group first."""
    frame = report.to_frame()
    # The index is the name of the groups, which can be "n" as well. `sort_values` would
    # not know which of the two to sort by.
    largest_first = np.argsort(-frame["n"].to_numpy(), kind="stable")
    return Table(
        f"groups of {named(report.name)}",
        with_index_column(frame.iloc[largest_first][list(COLUMNS)]),
        counted(len(frame), "group"),
        essential=COLUMNS[:N_ESSENTIAL_COLUMNS],
    )
