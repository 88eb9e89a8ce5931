"""The options by which an audit draws a heatmap into a file."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embaudit.auditing import Audit

Heatmap = Annotated[
    Path | None,
    typer.Option("--heatmap", help="Draw cosines of all pairs of rows, at hand and predicted: .png, .svg or .pdf."),
]
Groups = Annotated[
    str | None,
    typer.Option("--heatmap-groups", help="By which --heatmap orders rows: FILE:COLUMN, as movies.csv:genres."),
]


def ordering_file(groups: str | None) -> Path | None:
    """Return the file that `--heatmap-groups` names, without its column.

    Examples
    --------
    >>> ordering_file("movies.csv:genres").name, ordering_file(None)
    ('movies.csv', None)
    """
    from embaudit.io.tables.ids import split_column

    return None if groups is None else split_column(groups)[0]


@contextmanager
def drawing(
    path: Path | None, groups: str | None, show: Sequence[str] | None, *, force: bool
) -> Iterator[Callable[[Audit], None]]:
    """Open the picture before the work starts; yields what draws an audit into it, where one was asked for.

    Rows to show are those of the heatmap where they are two or more: the cosine of a row with itself says nothing.
    """
    from embaudit.errors import InputError
    from embaudit.io import written_whole
    from embaudit.report.drawn_file import drawn_file, picture_format

    if path is None:
        if groups is not None:
            raise InputError("--heatmap-groups must stand beside --heatmap, whose rows it orders; name a picture.")
        yield lambda _: None
        return
    kind = picture_format(path)
    with written_whole(path, force=force) as file:

        def draw(audit: Audit) -> None:
            from embaudit.report.heatmaps import heatmap_of_audit

            rows = show if show is not None and len(show) > 1 else ()
            file.write(drawn_file(heatmap_of_audit(audit, groups=groups, show=rows), kind))

        yield draw
