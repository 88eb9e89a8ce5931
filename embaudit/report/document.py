"""Documents: paragraphs, tables, figures and neighbour lists, before a renderer writes them, and words explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.answer import Answer
from embaudit.auditing.finding import Finding
from embaudit.auditing.wording import USERS_AND_ITEMS, Nouns
from embaudit.auditing.words import words_for
from embaudit.core.checked import Indices
from embaudit.core.words import copied, cut, in_decimals, row_called, visible
from embaudit.io.intake import WORDS as FIELDS
from embaudit.io.intake import Intake
from embaudit.model import FactorModel, SideName
from embaudit.movements.neighbourhoods import Neighbourhood
from embaudit.report.display import Display
from embaudit.report.next_steps import Invocation

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

WIDE = 100
"""Characters from which all columns have room."""
UNBROKEN = 40
"""A first column of at most so many characters is never broken into lines."""
MOST_COLUMNS = 8
"""Columns of a table that has room beside a picture."""
ROWS = 30
"""Rows of a table that a page shows."""
LONGEST = 120
"""Characters of a name in a list."""
MOST_DECIMALS = 6
"""Largest number of decimals of a cosine."""
NAME = 80
"""Characters of a name beside a picture or in the explorer."""
DEFINED = ("gauge", "κ", "budget", "role", "exponent", "certified", "equivalent model", "label", "duplicate", "shift",
           "whitened", "prediction cosine", "logit cosine", "range")  # fmt: skip
"""Words that not every reader of cosines knows, in an order in which each leans on
those before it.
"""


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

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, title: str, note: str = "", **fields: Any
    ) -> Grid:
        """Show the columns of a data frame, and its index where that has a name.

        Examples
        --------
        >>> import pandas as pd
        >>> Grid.from_frame(pd.DataFrame({"name": ["a", " "], "share": [0.123456, np.nan]}), "shares").rows
        (('a', '0.1235'), ("' '", '–'))
        """
        shown = (
            frame.reset_index(allow_duplicates=True)
            if frame.index.name is not None
            else frame
        )
        # By dtype and not cell by cell: a column of numbers stays one where some are
        # missing.
        words = tuple(
            i for i, kind in enumerate(shown.dtypes) if kind.kind not in "iufb"
        )
        rows = tuple(
            tuple(cell(value) for value in row) for row in shown.itertuples(index=False)
        )
        return cls(
            title,
            note,
            tuple(visible(str(name)) for name in shown.columns),
            rows,
            words=words,
            **fields,
        )

    @property
    def caption(self) -> str:
        """Title and note in one line."""
        return f"{self.title} ({self.note})" if self.note else self.title

    @property
    def has_intervals(self) -> bool:
        """True if numbers have intervals behind them, which may stand on a line of their own."""
        return any(
            " (" in text
            for row in self.rows
            for i, text in enumerate(row)
            if i not in self.words
        )

    def narrow(self) -> Grid:
        """Drop all but the essential columns."""
        columns = [
            i
            for i, name in enumerate(self.headings)
            if not i or not self.essential or name in self.essential
        ]
        return replace(
            self,
            headings=tuple(self.headings[i] for i in columns),
            rows=tuple(tuple(row[i] for i in columns) for row in self.rows),
            words=tuple(columns.index(i) for i in self.words if i in columns),
        )

    def without(self, heading: str) -> Grid:
        """Leave a column of numbers out.

        Examples
        --------
        >>> Grid("t", "", ("name", "x", "y"), (("a", "1", "2"),)).without("x").rows
        (('a', '2'),)
        """
        columns = [name for name in self.headings if name != heading]
        # Every other column counts as essential for a moment, so that only this one is
        # dropped.
        return replace(
            replace(self, essential=tuple(columns)).narrow(), essential=self.essential
        )

    def head(self, most: int) -> Grid:
        """Keep the first rows, and say of how many."""
        if len(self.rows) <= most:
            return self
        note = "; ".join(
            text
            for text in (self.note, f"the first {most} of {len(self.rows):,} rows")
            if text
        )
        return replace(self, note=note, rows=self.rows[:most])

    def shortened(self, most: int) -> Grid:
        """Cut the cells of columns of words.

        Examples
        --------
        >>> Grid("t", "", ("name", "x"), (("abcdef", "123456"),)).shortened(4).rows
        (('abc…', '123456'),)
        """
        rows = (
            tuple(cut(x, most) if i in self.words else x for i, x in enumerate(row))
            for row in self.rows
        )
        return replace(self, rows=tuple(rows))

    def to_rich(self, width: int = WIDE) -> Table:
        """Draw for a terminal of some width; nothing is read as markup."""
        from rich.table import Table
        from rich.text import Text

        shown = self if width >= WIDE else self.narrow()
        drawn = Table(
            title=Text(shown.caption), title_justify="left", title_style="bold"
        )
        for i, name in enumerate(shown.headings):
            # A longer first column is broken, or numbers beside it would have no room.
            unbroken = (
                i == 0
                and max((len(row[0]) for row in shown.rows), default=0) <= UNBROKEN
            )
            justify = "left" if i in shown.words else "right"
            drawn.add_column(
                Text(name),
                justify=justify,  # type: ignore[arg-type]
                no_wrap=unbroken,
                overflow="fold",
            )
        for row in shown.rows:
            drawn.add_row(*map(Text, row))
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
        lines += ["<thead>" + self._html_row(self.headings, "th") + "</thead>\n<tbody>"]
        lines += [self._html_row(row, "td") for row in self.rows]
        return "\n".join([*lines, "</tbody></table>"])

    def _html_row(self, cells: tuple[str, ...], tag: str) -> str:
        def cell(i: int, text: str) -> str:
            # A heading without words is none to who has the page read aloud.
            kind, scope = (tag, ' scope="col"') if tag == "th" and text else ("td", "")
            called = "" if i in self.words else ' class="number"'
            return f"<{kind}{scope}{called}>{_whole(escape(text))}</{kind}>"

        return f"<tr>{''.join(cell(i, text) for i, text in enumerate(cells))}</tr>"

    def __str__(self) -> str:
        lines = (self.headings, *self.rows)
        widths = [
            max(len(line[i]) for line in lines) for i in range(len(self.headings))
        ]
        sides = ["<" if i in self.words else ">" for i in range(len(widths))]
        aligned = [
            "  ".join(
                f"{text:{side}{width}}"
                for text, side, width in zip(line, sides, widths, strict=True)
            )
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
    return (
        f"{value:.4g}"
        if isinstance(value, float | np.floating)
        else visible(str(value))
    )


def _whole(text: str) -> str:
    r"""Keep a number with its sign, an option, and bars with what is between them, on one line.

    Examples
    --------
    >>> _whole("84 % (76 %)"), _whole("mean |Δcos|")
    ('84\xa0% (76\xa0%)', 'mean <span class="whole">|Δcos|</span>')
    """
    return re.sub(
        r"\|\S+\||(?<!\S)--[\w-]+",
        r'<span class="whole">\g<0></span>',
        text.replace(" %", "\xa0%"),
    )


@dataclass(frozen=True)
class Charted:
    """A table and the figures of its numbers; either may be missing."""

    title: str
    grid: Grid | None
    figures: tuple[Display, ...] = ()
    fit: str = "card"
    """Width of the figures: "card" or "narrow"."""

    @property
    def is_split(self) -> bool:
        """True if the table has room beside the picture."""
        return (
            len(self.figures) == 1
            and self.grid is not None
            and len(self.grid.headings) <= MOST_COLUMNS
        )


@dataclass(frozen=True)
class Near:
    """One line of a list of neighbours."""

    name: str
    cosine: str
    stays: bool
    """True for a neighbour that the whole other list holds, too."""
    level: str = ""
    """The share of pairs with a lower cosine."""

    @property
    def marked(self) -> str:
        """The name, with a star where the other list lacks it."""
        return f"{self.name}{' *' * (not self.stays)}"


@dataclass(frozen=True)
class Lists:
    """The neighbours of one row in two models, side by side, or in the first alone."""

    name: str
    headings: tuple[str, ...]
    """The models."""
    before: tuple[Near, ...]
    after: tuple[Near, ...]
    """Empty where the second list would say the same as the first."""
    note: str = ""
    """A remark on both lists, such as copies that are not listed."""

    def head(self, most: int) -> Lists:
        """Cut both lists; whether a neighbour stays is told by the whole ones."""
        return replace(self, before=self.before[:most], after=self.after[:most])

    @property
    def first(self) -> Lists:
        """The first list alone, with no neighbour marked."""
        before = tuple(replace(each, stays=True) for each in self.before)
        return replace(self, headings=self.headings[:1], before=before, after=())

    @property
    def grid(self) -> Grid:
        """The lists as one table."""
        levels, title = (
            any(each.level for each in self.before),
            f"nearest to {self.name}",
        )
        headings = (
            self.headings[0],
            "",
            *["higher than"] * levels,
            *self.headings[1:],
            *[""] * bool(self.after),
        )
        rows = [
            (each.marked, each.cosine, *[f"{each.level} of pairs"] * levels)
            for each in self.before
        ]
        # The second name stands behind a cosine and, where they are shown, behind a
        # level.
        words = (0, 2 + levels)[: len(self.headings)]
        if self.after:
            rows = [
                (*row, each.marked, each.cosine)
                for row, each in zip(rows, self.after, strict=True)
            ]
        marks = "* one list only" * (
            not all(each.stays for each in (*self.before, *self.after))
        )
        return Grid(
            title,
            "; ".join(filter(None, (self.note, marks))),
            headings,
            tuple(rows),
            words=words,
        )


@dataclass(frozen=True)
class Section:
    """A part of a document under its own heading; an empty one is left out."""

    id: str
    name: str
    """In the list of sections."""
    title: str
    paragraphs: tuple[str, ...] = ()
    parts: tuple[Charted, ...] = ()
    lists: tuple[Lists, ...] = ()
    findings: tuple[Finding, ...] = ()
    end: tuple[str, ...] = ()
    """Paragraphs below everything else."""

    @classmethod
    def of(cls, place: str, name: str, title: str, *grids: Grid) -> Section:
        """Set tables below each other, without those that have no rows."""
        return cls(
            place,
            name,
            title,
            parts=tuple(Charted("", grid) for grid in grids if grid.rows),
        )

    @property
    def is_empty(self) -> bool:
        """True if nothing stands below the heading."""
        return not (
            self.paragraphs or self.parts or self.lists or self.findings or self.end
        )


@dataclass(frozen=True)
class Origin:
    """Origin of a result, as far as it does not know that itself.

    Examples
    --------
    >>> Origin(seed=3).seed, Origin().intakes
    (3, ())
    """

    intakes: tuple[tuple[str, Intake | None], ...] = ()
    """Names of the inputs, each with the report of its reading."""
    remarks: tuple[str, ...] = ()
    """Sentences on tables that were joined."""
    seed: int | None = None
    """Seed of every random draw."""
    invocation: Invocation | None = None
    """How an audited model was read, so that commands can be told."""
    gate: str = ""
    """Judgement of a gate; empty where none was asked for."""


@dataclass(frozen=True)
class Glance:
    """The first table of an audit, its columns in groups, and the meaning of its words."""

    grid: Grid
    groups: tuple[tuple[str, int], ...]
    """Titles above the columns behind the first, and the number of columns of each."""
    key: tuple[str, ...]
    """A sentence for each word of the table."""


@dataclass(frozen=True)
class Document:
    """Everything shown of a result, in order: pages, notebooks, terminals and comments write the same one."""

    question: str
    """The title."""
    conclusion: tuple[str, ...]
    """Paragraphs of the conclusion."""
    next: str = ""
    """Advice on what to do."""
    top: tuple[Display, ...] = ()
    """Figures beside the conclusion."""
    sections: tuple[Section, ...] = ()
    n_embedded: int = 1
    """Tables and figures, from the first one, that a notebook shows below the top."""
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """How it was made, besides its origin."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Words and their meanings."""
    subject: str = ""
    """The sizes of the model."""
    answer: Answer | None = None
    """Answer of an audit."""
    steps: tuple[tuple[str, str], ...] = ()
    """Purposes and commands to type next."""
    glance: Glance | None = None
    n_asked: int = 0
    """Neighbour lists, from the first one, of rows that were asked for."""
    words: tuple[tuple[str, str], ...] = ()
    """Words that are explained at the top, and their meanings."""

    @property
    def shown_sections(self) -> tuple[Section, ...]:
        """Sections that are not empty."""
        return tuple(section for section in self.sections if not section.is_empty)

    @property
    def embedded(self) -> tuple[Charted, ...]:
        """Tables and figures that a notebook shows."""
        return tuple(block for section in self.sections for block in section.parts)[
            : self.n_embedded
        ]

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Tables of all sections."""
        return tuple(
            block.grid
            for section in self.sections
            for block in section.parts
            if block.grid is not None
        )

    @property
    def lists(self) -> tuple[Lists, ...]:
        """Neighbour lists of all sections."""
        return tuple(each for section in self.sections for each in section.lists)

    @property
    def ends(self) -> tuple[str, ...]:
        """Last paragraphs of all sections."""
        return tuple(text for section in self.sections for text in section.end)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of all sections."""
        return tuple(each for section in self.sections for each in section.findings)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Conclusion and advice."""
        return (*self.conclusion, *filter(None, (self.next,)))


def lists_of(
    example: Neighbourhood,
    headings: tuple[str, str],
    *,
    title: str,
    note: str = "",
    levels: Sequence[str] | None = None,
    decimals: int = 2,
) -> Lists:
    """Write two lists of neighbours, the names cut to what can be read, bare numbers called as `row_called` does.

    Cosines have `decimals` decimals, and more if all cosines of the first list would
    print alike although they differ.

    Examples
    --------
    >>> from embaudit.movements.neighbourhoods import Neighbourhood
    >>> found = Neighbourhood("a", (("b", 0.5),), (("c" * 200, 0.25),), (False,), (False,))
    >>> lists = lists_of(found, ("here", "there"), title="item")
    >>> lists.before, lists.after[0].cosine, len(lists.after[0].name)
    ((Near(name='b', cosine='0.50', stays=False, level=''),), '0.25', 120)
    """
    called = partial(row_called, title)
    before = zip(
        example.before, example.stay, levels or [""] * len(example.before), strict=True
    )
    after = zip(example.after, example.stayed, strict=True)
    decimals = _decimals([cosine for _, cosine in example.before], decimals)
    copies = f"{copied(example.left_out)} left out" if example.left_out else ""
    made = Lists(
        named(called(example.name)),
        headings,
        tuple(
            Near(named(called(name)), in_decimals(cosine, decimals), columns, level)
            for (name, cosine), columns, level in before
        ),
        tuple(
            Near(named(called(name)), in_decimals(cosine, decimals), columns)
            for (name, cosine), columns in after
        ),
        "; ".join(filter(None, (note, copies))),
    )
    # Both lists become equally long, as rows of a table need; who is cut off no longer
    # counts as kept.
    return made.head(len(made.before))


def _decimals(cosines: Sequence[float], fewest: int) -> int:
    """Return the fewest decimals, at most 6, with which cosines do not all print alike.

    Examples
    --------
    >>> _decimals([0.9996, 0.9992], 2)  # Three decimals print 1.000 and 0.999.
    3
    >>> _decimals([0.9996, 0.9996], 2), _decimals([0.83, 0.31], 2)
    (2, 2)
    """
    for decimals in range(fewest, MOST_DECIMALS + 1):
        if len({in_decimals(cosine, decimals) for cosine in cosines}) > 1:
            return decimals
    return fewest


def named(name: str) -> str:
    """Write a name so that it does no harm and fills no page."""
    return cut(visible(name), LONGEST)


def names_of(model: FactorModel, role: SideName, rows: Indices) -> list[str]:
    """Name rows: what is a bare number is called by what it is, and what is very long is cut.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> names_of(FactorModel.from_vectors([[1.0], [2.0]], ids=["7", "x" * 99]), "right", np.array([0, 1]))[0]
    'item 7'
    >>> names_of(FactorModel.from_softmax([[1.0], [2.0]], labels=["3", "a"]), "right", np.array([0, 1]))
    ["'3'", 'a']
    >>> names_of(FactorModel.from_softmax([[1.0], [2.0]]), "right", np.array([0, 1]))
    ['label 0', 'label 1']
    """
    title, labels = model.row_title(role), model.names(role)
    return [cut(row_called(title, name), NAME) for name in map(str, labels[rows])]


def read_parts(intake: Intake) -> Iterator[tuple[str, str]]:
    """Yield what was read, and what each part became."""
    yield from (
        (str(block), FIELDS.get(block.became, block.became)) for block in intake.parts
    )
    yield from ((str(block), "left over") for block in intake.left_over)


def definitions(model: FactorModel, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Define the words that occur in some texts, under their names or others that they go by.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> for word, meaning in definitions(FactorModel.from_vectors([[1.0]]), ["12 % certified", "No gauge does it."]):
    ...     print(f"{word}: {meaning}")
    gauge: a change of the factors of both sides at once that leaves every score as it is.
    certified: a neighbour is certified when no gauge within the budget can push it out of its list.
    """
    # Names of options and commands are no words that need a meaning.
    met = re.sub("`[^`]*`", " ", " ".join(texts))
    words = words_for(Nouns.of(model))
    for word in DEFINED:
        names = "|".join(map(re.escape, (word, *words[word].also)))
        if re.search(rf"(?<!\w)(?:{names})s?(?!\w)", met, re.IGNORECASE):
            first = words[word].meaning.split(". ")[0].removesuffix(".")
            yield word, f"{first[0].lower()}{first[1:]}."


def glossary(page: str, nouns: Nouns = USERS_AND_ITEMS) -> tuple[tuple[str, str], ...]:
    """Return the words that the page of a command defines, with their meanings.

    Examples
    --------
    >>> [word for word, _ in glossary("blocks")][:2]
    ['block', 'local cosine']
    """
    return tuple(
        (word.name, f"{word.meaning} {word.example}".strip())
        for word in words_for(nouns).values()
        if page in word.pages
    )
