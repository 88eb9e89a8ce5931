"""Tables of documents: data frames, and how each of their columns is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.core.words import cut, visible

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as RichTable

WIDE = 100
"""Characters of a line from which a terminal has room for all columns."""
UNBROKEN = 40
"""A first column of at most so many characters is never broken into lines."""

INTERVALS_IN_BRACKETS = "95 % intervals in brackets"
"""Note of a table whose figures are written with their intervals."""

Format = str | Callable[[Any], str]
"""How to write a value: a format string such as "{:.2f}", or a function."""


@dataclass(frozen=True, eq=False)
class Table:
    """A data frame with a title, whose values become text only where they are shown.

    Parameters
    ----------
    title : str
    frame : DataFrame
        The first column names the rows. Columns can share a name, and then share a
        format.
    note : str
        Remark on the numbers.
    formats : mapping of str to Format
        How to write the values of a column, by its name; `written` by default. Missing
        values are dashes in every column.
    essential : tuple of str
        Names of the columns to keep where there is no room for all; the first column is
        always kept. Empty to keep all.
    has_intervals : bool
        True if numbers have intervals behind them, which can stand on a line of their
        own.
    longest : int, optional
        Characters of a text, beyond which it is cut.
    is_whole : bool
        True if a screen shows all rows, because they are compared with each other.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": ["a", "b"], "length": [0.5, 12]})
    >>> print(Table("lengths", frame, "two rows", {"length": "{:.1f}"}))
    lengths (two rows)
    item  length
    a        0.5
    b       12.0
    """

    title: str
    frame: pd.DataFrame
    note: str = ""
    formats: Mapping[str, Format] = field(default_factory=dict)
    essential: tuple[str, ...] = ()
    has_intervals: bool = False
    longest: int | None = None
    is_whole: bool = False

    @property
    def caption(self) -> str:
        """Title and note in one line."""
        return f"{self.title} ({self.note})" if self.note else self.title

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns as text; a column can have an empty name."""
        names = map(str, self.frame.columns)
        return tuple(visible(name) if name else "" for name in names)

    @cached_property
    def is_text(self) -> tuple[bool, ...]:
        """For each column, True if it is aligned to the left, as text is.

        A column with a format holds numbers, whatever their type, unless it is the
        first one: its format makes names of the rows.
        """
        dtypes = zip(self.frame.columns, self.frame.dtypes, strict=True)
        result = []
        for position, (name, dtype) in enumerate(dtypes):
            if name in self.formats:
                result.append(position == 0)
            else:
                result.append(dtype.kind not in "iufb")
        return tuple(result)

    @cached_property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The values as text, row by row."""
        columns = [
            [self._text(value, position) for value in self.frame.iloc[:, position]]
            for position in range(self.frame.shape[1])
        ]
        return tuple(zip(*columns, strict=True))

    def _text(self, value: Any, position: int) -> str:
        style = self.formats.get(self.frame.columns[position], written)
        if is_missing(value):
            return "–"
        text = style.format(value) if isinstance(style, str) else style(value)
        if self.longest is not None and self.is_text[position]:
            return cut(text, self.longest)
        return text

    def narrow(self) -> Table:
        """Keep the first column and the essential ones.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"item": ["a"], "x": [1], "y": [2]})
        >>> Table("t", frame, essential=("y",)).narrow().headings
        ('item', 'y')
        """
        if not self.essential:
            return self
        kept = [
            position
            for position, name in enumerate(self.frame.columns)
            if position == 0 or name in self.essential
        ]
        return replace(self, frame=self.frame.iloc[:, kept])

    def without(self, column: str) -> Table:
        """Drop a column.

        Examples
        --------
        >>> import pandas as pd
        >>> Table("t", pd.DataFrame({"item": ["a"], "x": [1]})).without("x").headings
        ('item',)
        """
        return replace(self, frame=self.frame.drop(columns=column))

    def head(self, most: int) -> Table:
        """Keep the first rows, and add to the note how many rows there are."""
        if len(self.frame) <= most:
            return self
        count = f"the first {most} of {len(self.frame):,} rows"
        note = f"{self.note}; {count}" if self.note else count
        return replace(self, note=note, frame=self.frame.head(most))

    def shortened(self, longest: int) -> Table:
        """Cut texts to at most so many characters.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"name": ["abcdef"], "x": [123456]})
        >>> Table("t", frame).shortened(4).rows
        (('abc…', '123,456'),)
        """
        return replace(self, longest=longest)

    def to_rich(self, width: int = WIDE) -> RichTable:
        """Draw for a terminal of some width; rich reads no text as markup."""
        from rich.table import Table as RichTable
        from rich.text import Text

        shown = self if width >= WIDE else self.narrow()
        drawn = RichTable(
            title=Text(shown.caption), title_justify="left", title_style="bold"
        )
        longest_name = max((len(row[0]) for row in shown.rows), default=0)
        for position, heading in enumerate(shown.headings):
            drawn.add_column(
                Text(heading),
                justify="left" if shown.is_text[position] else "right",
                # A longer first column is broken into lines, or the numbers beside it
                # would have no room.
                no_wrap=position == 0 and longest_name <= UNBROKEN,
                overflow="fold",
            )
        for row in shown.rows:
            drawn.add_row(*map(Text, row))
        return drawn

    def __str__(self) -> str:
        lines = [self.caption]
        widths = [
            max(map(len, column))
            for column in zip(self.headings, *self.rows, strict=True)
        ]
        for row in (self.headings, *self.rows):
            cells = [
                text.ljust(width) if is_text else text.rjust(width)
                for text, width, is_text in zip(row, widths, self.is_text, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


def is_missing(value: Any) -> bool:
    """Return True for None and for NaN."""
    return value is None or (isinstance(value, float | np.floating) and np.isnan(value))


def written(value: Any) -> str:
    """Write a value short: four digits of a number, and a text so that it can be seen.

    Examples
    --------
    >>> written(0.123456), written(12000), written(True), written("a"), written(" ")
    ('0.1235', '12,000', 'yes', 'a', "' '")
    """
    # Booleans come first, because they are integers in Python.
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return visible(str(value))


def with_index_column(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose first column is its index, if the index has a name.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"n": [3]}, index=pd.Index(["a"], name="group"))
    >>> list(with_index_column(frame))
    ['group', 'n']
    """
    if frame.index.name is None:
        return frame
    return frame.reset_index(allow_duplicates=True)


def interval_note(texts: Iterable[str]) -> str:
    """Return the note of a table that explains brackets; empty if no text has them.

    The texts are figures as `percent_with_interval` writes them: an interval of one
    point is left out.

    Examples
    --------
    >>> interval_note(["25 %", "40 % (31 % to 49 %)"]), interval_note(["25 %", "–"])
    ('95 % intervals in brackets', '')
    """
    if any(text.endswith(")") for text in texts):
        return INTERVALS_IN_BRACKETS
    return ""
