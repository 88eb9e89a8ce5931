"""Grid: the one table, drawn for terminals, for pages and as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.words import cut, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

WIDE = 100
"""Characters from which all columns have room."""
UNBROKEN = 40
"""A first column of at most so many characters is never broken into lines."""


@dataclass(frozen=True)
class Grid:
    """A table ready to be drawn: every cell is text already.

    Examples
    --------
    >>> print(Grid("lengths", "two rows", ("item", "length"), (("a", "0.5"), ("b", "12"))))
    lengths (two rows)
    item  length
    a        0.5
    b         12
    """

    title: str
    note: str
    """Remark on the numbers."""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    essential: tuple[str, ...] = ()
    """Headings to keep where there is no room for all; the first is always kept."""
    words: tuple[int, ...] = (0,)
    """Columns of words; the others are numbers."""
    marked: frozenset[tuple[int, int]] = frozenset()
    """Cells, by row and column, that differ from what they are compared with."""

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, title: str, note: str = "", **fields: Any) -> Grid:
        """Show the columns of a data frame, and its index where that has a name.

        Examples
        --------
        >>> import pandas as pd
        >>> Grid.from_frame(pd.DataFrame({"name": ["a", " "], "share": [0.123456, np.nan]}), "shares").rows
        (('a', '0.1235'), ("' '", '–'))
        """
        shown = frame.reset_index(allow_duplicates=True) if frame.index.name is not None else frame
        # By dtype and not cell by cell: a column of numbers stays one where some are missing.
        words = tuple(i for i, kind in enumerate(shown.dtypes) if kind.kind not in "iufb")
        rows = tuple(tuple(cell(value) for value in row) for row in shown.itertuples(index=False))
        return cls(title, note, tuple(visible(str(name)) for name in shown.columns), rows, words=words, **fields)

    @property
    def caption(self) -> str:
        """Title and note in one line."""
        return f"{self.title} ({self.note})" if self.note else self.title

    @property
    def has_intervals(self) -> bool:
        """True if numbers have intervals behind them, which may stand on a line of their own."""
        return any(" (" in text for row in self.rows for i, text in enumerate(row) if i not in self.words)

    def narrow(self) -> Grid:
        """Drop all but the essential columns."""
        columns = [i for i, name in enumerate(self.headings) if not i or not self.essential or name in self.essential]
        return replace(
            self,
            headings=tuple(self.headings[i] for i in columns),
            rows=tuple(tuple(row[i] for i in columns) for row in self.rows),
            words=tuple(columns.index(i) for i in self.words if i in columns),
            marked=frozenset((row, columns.index(i)) for row, i in self.marked if i in columns),
        )

    def without(self, heading: str) -> Grid:
        """Leave a column of numbers out.

        Examples
        --------
        >>> Grid("t", "", ("name", "x", "y"), (("a", "1", "2"),)).without("x").rows
        (('a', '2'),)
        """
        columns = [name for name in self.headings if name != heading]
        # Every other column counts as essential for a moment, so that only this one is dropped.
        return replace(replace(self, essential=tuple(columns)).narrow(), essential=self.essential)

    def head(self, most: int) -> Grid:
        """Keep the first rows, and say of how many."""
        if len(self.rows) <= most:
            return self
        note = "; ".join(text for text in (self.note, f"the first {most} of {len(self.rows):,} rows") if text)
        return replace(self, note=note, rows=self.rows[:most])

    def shortened(self, most: int) -> Grid:
        """Cut the cells of columns of words.

        Examples
        --------
        >>> Grid("t", "", ("name", "x"), (("abcdef", "123456"),)).shortened(4).rows
        (('abc…', '123456'),)
        """
        rows = (tuple(cut(x, most) if i in self.words else x for i, x in enumerate(row)) for row in self.rows)
        return replace(self, rows=tuple(rows))

    def to_rich(self, width: int = WIDE) -> Table:
        """Draw for a terminal of some width; nothing is read as markup."""
        from rich.table import Table
        from rich.text import Text

        shown = self if width >= WIDE else self.narrow()
        drawn = Table(title=Text(shown.caption), title_justify="left", title_style="bold")
        for i, name in enumerate(shown.headings):
            # A longer first column is broken, or numbers beside it would have no room.
            unbroken = i == 0 and max((len(row[0]) for row in shown.rows), default=0) <= UNBROKEN
            justify = "left" if i in shown.words else "right"
            drawn.add_column(Text(name), justify=justify, no_wrap=unbroken, overflow="fold")  # type: ignore[arg-type]
        for at, row in enumerate(shown.rows):
            styles = ["bold magenta" if (at, i) in shown.marked else "" for i in range(len(row))]
            drawn.add_row(*(Text(text, style=style) for text, style in zip(row, styles, strict=True)))
        return drawn

    def to_html(self) -> str:
        """Write an HTML table, everything escaped.

        Examples
        --------
        >>> Grid("t", "", ("a",), (("<b>",),)).to_html().splitlines()[-2]
        '<tr><td>&lt;b&gt;</td></tr>'
        """
        note = f" <small>({escape(self.note)})</small>" if self.note else ""
        lines = [f"<table>\n<caption>{escape(self.title)}{note}</caption>"]
        lines += ["<thead>" + self._html_row(self.headings, "th", -1) + "</thead>\n<tbody>"]
        lines += [self._html_row(row, "td", at) for at, row in enumerate(self.rows)]
        return "\n".join([*lines, "</tbody></table>"])

    def _html_row(self, cells: tuple[str, ...], tag: str, at: int) -> str:
        def cell(i: int, text: str) -> str:
            # A heading without words is none to who has the page read aloud.
            kind, scope = (tag, ' scope="col"') if tag == "th" and text else ("td", "")
            classes = ["number"] * (i not in self.words) + ["changed"] * ((at, i) in self.marked)
            called = f' class="{" ".join(classes)}"' if classes else ""
            return f"<{kind}{scope}{called}>{_whole(escape(text))}</{kind}>"

        return f"<tr>{''.join(cell(i, text) for i, text in enumerate(cells))}</tr>"

    def __str__(self) -> str:
        lines = (self.headings, *self.rows)
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.headings))]
        sides = ["<" if i in self.words else ">" for i in range(len(widths))]
        aligned = [
            "  ".join(f"{text:{side}{width}}" for text, side, width in zip(line, sides, widths, strict=True))
            for line in lines
        ]
        return "\n".join([self.caption, *(line.rstrip() for line in aligned)])


def cell(value: Any) -> str:
    """Write a value short: four digits, and a dash where there is no number.

    Examples
    --------
    >>> cell(0.123456), cell(None), cell(12000), cell(True), cell("a")
    ('0.1235', '–', '12,000', 'yes', 'a')
    """
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "–"
    # Asked before whole numbers, which truth values are in Python.
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float | np.floating) else visible(str(value))


def _whole(text: str) -> str:
    r"""Keep a number with its sign, an option, and bars with what is between them, on one line.

    Examples
    --------
    >>> _whole("84 % (76 %)"), _whole("mean |Δcos|")
    ('84\xa0% (76\xa0%)', 'mean <span class="whole">|Δcos|</span>')
    """
    return re.sub(r"\|\S+\||(?<!\S)--[\w-]+", r'<span class="whole">\g<0></span>', text.replace(" %", "\xa0%"))
