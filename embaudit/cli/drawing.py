"""The options by which an audit draws a heatmap into a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embaudit.cli.groups import Group

if TYPE_CHECKING:
    from embaudit.auditing import Audit


@dataclass(frozen=True)
class Heatmap(Group):
    """A picture of the cosines of all pairs of rows."""

    heatmap: Annotated[
        Path | None,
        typer.Option("--heatmap", help="Draw cosines of all pairs of rows, stored and predicted: .png, .svg or .pdf."),
    ] = None
    heatmap_groups: Annotated[
        str | None,
        typer.Option("--heatmap-groups", help="By which --heatmap orders rows: FILE:COLUMN, as movies.csv:genres."),
    ] = None

    @property
    def ordering(self) -> Path | None:
        """The file by which rows are ordered.

        Examples
        --------
        >>> Heatmap(heatmap_groups="movies.csv:genres").ordering.name, Heatmap().ordering
        ('movies.csv', None)
        """
        from embaudit.io.tables.rows import split_column

        return None if self.heatmap_groups is None else split_column(self.heatmap_groups)[0]

    def require_picture(self) -> None:
        """Refuse a file that is no picture, and an order of rows without one."""
        from embaudit.errors import InputError
        from embaudit.report.drawn_file import picture_format

        if self.heatmap is not None:
            picture_format(self.heatmap)
        elif self.heatmap_groups is not None:
            raise InputError("--heatmap-groups must stand beside --heatmap, whose rows it orders; name a picture.")

    def drawn(self, audit: Audit, show: Sequence[str]) -> bytes:
        """Draw an audit: the rows to show if they are two or more, as the cosine of a row with itself says nothing."""
        from embaudit.report.drawn_file import drawn_file, picture_format
        from embaudit.report.heatmap import heatmap_of_audit

        drawn = heatmap_of_audit(audit, groups=self.heatmap_groups, show=show if len(show) > 1 else ())
        return drawn_file(drawn, picture_format(self.heatmap or ""))
