"""Comments for chats on any result: the conclusion and the numbers that matter most, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.report.document import ROWS
from embaudit.report.documents import document
from embaudit.report.gate.forges import filled

if TYPE_CHECKING:
    from embaudit.core.results import Result
    from embaudit.report.document import Origin


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
    view, notes = document(result), () if origin is None else origin.remarks
    grids = [grid.head(ROWS) for grid in view.grids[:1]]
    values = {"view": view, "title": title, "origin": origin, "grids": grids, "notes": (*notes, *view.notes)}
    return filled("comment.md.j2", **values)
