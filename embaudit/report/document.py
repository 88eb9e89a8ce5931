"""Documents: paragraphs, tables, figures and neighbour lists, before a renderer writes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from embaudit.core.words import copied, cut, row_called, visible
from embaudit.io.intake import WORDS as FIELDS
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from embaudit.auditing.answer import Answer
    from embaudit.auditing.finding import Finding
    from embaudit.core.checked import Indices
    from embaudit.io.intake import Intake
    from embaudit.model import FactorModel, SideName
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.display import Display
    from embaudit.report.next_steps import Invocation

WIDE = 9
"""Columns of a table that has no room beside a picture."""
ROWS = 30
"""Rows of a table that a page shows."""
LONGEST = 120
"""Characters of a name in a list."""
NAME = 80
"""Characters of a name beside a picture or in the explorer."""


@dataclass(frozen=True)
class Charted:
    """A table and the figures of its numbers; either may be missing."""

    title: str
    grid: Grid | None
    figures: tuple[Display, ...] = ()
    fit: str = "card"
    """Width of the figures: "card", "narrow" or, with a bar to scroll, "wide"."""

    @property
    def is_split(self) -> bool:
        """True if the table has room beside the picture."""
        return len(self.figures) == 1 and self.grid is not None and len(self.grid.headings) < WIDE


@dataclass(frozen=True)
class Near:
    """One line of a list of neighbours."""

    name: str
    cosine: str
    stays: bool
    """True for a neighbour that the other list shows, too."""
    level: str = ""
    """The share of pairs with a lower cosine."""


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
        """Cut both lists; a neighbour that is left in one of them alone is no longer kept."""
        before, after = self.before[:most], self.after[:most]
        return replace(self, before=_shared(before, after), after=_shared(after, before))

    @property
    def first(self) -> Lists:
        """The first list alone, with no neighbour marked."""
        before = tuple(replace(each, stays=True) for each in self.before)
        return replace(self, headings=self.headings[:1], before=before, after=())

    @property
    def grid(self) -> Grid:
        """The lists as one table."""
        levels, title = any(each.level for each in self.before), f"nearest to {self.name}"
        headings = (self.headings[0], "", *["higher than"] * levels, *self.headings[1:], *[""] * bool(self.after))
        rows = [(each.name, each.cosine, *[f"{each.level} of pairs"] * levels) for each in self.before]
        # The second name stands behind a cosine and, where they are shown, behind a level.
        words = (0, 2 + levels)[: len(self.headings)]
        if self.after:
            rows = [(*row, each.name, each.cosine) for row, each in zip(rows, self.after, strict=True)]
        lists = zip(words, (self.before, self.after), strict=False)
        marked = frozenset((at, column) for column, near in lists for at, each in enumerate(near) if not each.stays)
        return Grid(title, self.note, headings, tuple(rows), words=words, marked=marked)


def _shared(some: tuple[Near, ...], other_lines: tuple[Near, ...]) -> tuple[Near, ...]:
    names = {each.name for each in other_lines}
    # Beside no list there is nothing to differ from.
    return tuple(replace(each, stays=each.stays and (not names or each.name in names)) for each in some)


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
        return cls(place, name, title, parts=tuple(Charted("", grid) for grid in grids if grid.rows))

    @property
    def is_empty(self) -> bool:
        """True if nothing stands below the heading."""
        return not (self.paragraphs or self.parts or self.lists or self.findings or self.end)


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
        return tuple(block for section in self.sections for block in section.parts)[: self.n_embedded]

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Tables of all sections."""
        return tuple(block.grid for section in self.sections for block in section.parts if block.grid is not None)

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
) -> Lists:
    """Write two lists of neighbours, the names cut to what can be read, bare numbers called as `row_called` does.

    Examples
    --------
    >>> from embaudit.movements.neighbourhoods import Neighbourhood
    >>> found = Neighbourhood("a", (("b", 0.5),), (("c" * 200, 0.25),), (False,), (False,))
    >>> lists = lists_of(found, ("here", "there"), title="item")
    >>> lists.before, lists.after[0].cosine, len(lists.after[0].name)
    ((Near(name='b', cosine='0.50', stays=False, level=''),), '0.25', 120)
    """
    called = partial(row_called, title)
    before = zip(example.before, example.stay, levels or [""] * len(example.before), strict=True)
    after = zip(example.after, example.stayed, strict=True)
    copies = f"{copied(example.left_out)} left out" if example.left_out else ""
    made = Lists(
        named(called(example.name)),
        headings,
        tuple(Near(named(called(name)), f"{cosine:.2f}", columns, level) for (name, cosine), columns, level in before),
        tuple(Near(named(called(name)), f"{cosine:.2f}", columns) for (name, cosine), columns in after),
        "; ".join(filter(None, (note, copies))),
    )
    # Both lists become equally long, as rows of a table need; who is cut off no longer counts as kept.
    return made.head(len(made.before))


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
    yield from ((str(block), FIELDS.get(block.became, block.became)) for block in intake.parts)
    yield from ((str(block), "left over") for block in intake.left_over)
