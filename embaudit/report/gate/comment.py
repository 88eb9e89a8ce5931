"""What a chat reads of any result: what was found and the numbers that matter most, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit._version import __version__
from embaudit.report.gate.forges import plain_text
from embaudit.report.shown import ROWS, shown
from embaudit.report.views import view_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.foundation.results import Result
    from embaudit.report.grid import Grid
    from embaudit.report.view import Origin


def comment(result: Result, title: str = "", origin: Origin | None = None) -> str:
    r"""Write what a result says, its first table and its notes for a comment on a change.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> print("\n".join(comment(block_cosines([1, 1], [1, 2]), "a.npy & b.npy").splitlines()[:3]))
    ### embaudit: a.npy \& b.npy
    <BLANKLINE>
    global cosine 0.9487 = 0.9487 (norm profiles) × 1.0000 (weighted mean of 2 blocks by coordinates, 2 entries)
    """
    return "\n".join(_lines(result, title, origin)) + "\n"


def _lines(result: Result, title: str, origin: Origin | None) -> Iterator[str]:
    view = view_of(result)
    yield f"### embaudit: {plain_text(title or view.question)}"
    yield ""
    for text in view.said:
        yield from (plain_text(text), "")
    if view.next:
        yield from (f"**{plain_text(view.next)}**", "")
    for grid in shown(result).grids[:1]:
        yield from (*_table(grid.head(ROWS)), "")
    for note in (*(() if origin is None else origin.said), *view.notes):
        yield from (plain_text(note), "")
    seed = "" if origin is None or origin.seed is None else f", seed {origin.seed}"
    yield f"embaudit {plain_text(__version__)}{seed}"


def _table(grid: Grid) -> Iterator[str]:
    yield plain_text(grid.caption)
    yield ""
    yield _row(grid.headings)
    yield f"|{'|'.join('---' if i in grid.words else '--:' for i in range(len(grid.headings)))}|"
    yield from map(_row, grid.rows)


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(map(plain_text, cells))} |"
