"""A result on one screen: what it says first, then as much of its first table as there is room for."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from embaudit.report.first_screen import HEIGHT, WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from embaudit.report.grid import Grid

NAME = 36
"""Characters of a name in the first column."""
LEAST = 3
"""Rows of a table that are shown, however much there is to say."""


def brief(said: Iterable[str], grids: Sequence[Grid]) -> str:
    """Write what was found in 80 columns and 25 lines, or a few more where it takes more words.

    Parameters
    ----------
    said : iterable of str
        Paragraphs, the conclusion among them.
    grids : sequence of Grid
        Tables; the first is shown.

    Examples
    --------
    >>> from embaudit.report.grid import Grid
    >>> grid = Grid("lengths", "", ("item", "length"), tuple((f"item {i}", f"{i}") for i in range(30)))
    >>> print(brief(["Lengths grow."], [grid.head(2), grid]))
    Lengths grow.
    <BLANKLINE>
    lengths (the first 2 of 30 rows)
    item    length
    item 0       0
    item 1       1
    <BLANKLINE>
    Everything: --full
    """
    lines = [line for text in said for line in wrap(text, WIDTH)]
    if not grids:
        return "\n".join(lines)
    room = max(LEAST, HEIGHT - len(lines) - 5)
    table = _narrow(grids[0]).head(room)
    lines += ["", *wrap(table.caption, WIDTH), *str(table).splitlines()[1:]]
    if len(grids) > 1 or len(table.rows) < len(grids[0].rows) or len(table.headings) < len(grids[0].headings):
        lines += ["", "Everything: --full"]
    return "\n".join(lines)


def _narrow(grid: Grid) -> Grid:
    """Shorten names, and keep the essential columns alone where all have no room."""
    found = grid.shortened(NAME)
    return found if max(map(len, str(found).splitlines()[1:])) <= WIDTH else found.narrow()
