"""Documents: paragraphs, tables, figures and neighbour lists, before a renderer writes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from embaudit.foundation.words import cut, row_called, visible
from embaudit.io.intake import WORDS as FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from embaudit.io.intake import Intake
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.display import Display
    from embaudit.report.grid import Grid
    from embaudit.report.next_steps import Asked

WIDE = 9
"""Columns of a table that has no room beside a picture."""
ROWS = 30
"""Rows of a table that a page shows."""
LONGEST = 120
"""Characters of a name in a list."""


@dataclass(frozen=True)
class Charted:
    """A table and the pictures of its numbers; either may be missing."""

    title: str
    grid: Grid | None
    figures: tuple[Display, ...] = ()

    @property
    def is_split(self) -> bool:
        """Whether the table has room beside the picture."""
        return len(self.figures) == 1 and self.grid is not None and len(self.grid.headings) < WIDE


@dataclass(frozen=True)
class Near:
    """One line of a list of neighbours."""

    name: str
    cosine: str
    kept: bool
    """Whether the other list has it, too."""
    level: str = ""
    """Higher than what share of pairs."""


@dataclass(frozen=True)
class Lists:
    """The neighbours of one row in two models, side by side."""

    name: str
    headings: tuple[str, str]
    """Which models."""
    before: tuple[Near, ...]
    after: tuple[Near, ...]
    kept: int
    note: str = ""
    """What else is to know of them, such as copies that are not listed."""


@dataclass(frozen=True)
class Section:
    """A part of a page under its own heading; what is empty is left out."""

    id: str
    name: str
    """In the list of sections."""
    title: str
    said: tuple[str, ...] = ()
    parts: tuple[Charted, ...] = ()
    lists: tuple[Lists, ...] = ()

    @classmethod
    def of(cls, place: str, name: str, title: str, *grids: Grid) -> Section:
        """Set tables below each other, without those that have no rows."""
        return cls(place, name, title, parts=tuple(Charted("", grid) for grid in grids if grid.rows))

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands below the heading."""
        return not (self.said or self.parts or self.lists)


@dataclass(frozen=True)
class Origin:
    """Where a result came from, as far as it does not know that itself.

    Examples
    --------
    >>> Origin(seed=3).seed, Origin().intakes
    (3, ())
    """

    intakes: tuple[tuple[str, Intake | None], ...] = ()
    """What was read, and what became of it."""
    said: tuple[str, ...] = ()
    """What was joined with it."""
    seed: int | None = None
    """Of every random draw."""
    asked: Asked | None = None
    """How an audited model was read, so that commands can be told."""


@dataclass(frozen=True)
class Document:
    """Everything shown of a result, in order: pages, notebooks, terminals and comments write the same one."""

    question: str
    """The title."""
    said: tuple[str, ...]
    """Paragraphs of the conclusion."""
    next: str = ""
    """Advice."""
    top: tuple[Display, ...] = ()
    """Figures beside the conclusion."""
    sections: tuple[Section, ...] = ()
    n_embedded: int = 1
    """Sections, from the first one, whose tables a notebook shows below the top."""
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """How it was made, besides its origin."""
    glossary: tuple[tuple[str, str], ...] = ()
    """Words and their meanings."""

    @property
    def shown_sections(self) -> tuple[Section, ...]:
        """Sections that are not empty."""
        return tuple(section for section in self.sections if not section.is_empty)

    @property
    def embedded(self) -> tuple[Charted, ...]:
        """Tables and figures that a notebook shows."""
        return tuple(part for section in self.sections[: self.n_embedded] for part in section.parts)

    @property
    def grids(self) -> tuple[Grid, ...]:
        """Tables of all sections."""
        return tuple(part.grid for section in self.sections for part in section.parts if part.grid is not None)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """Conclusion and advice."""
        return (*self.said, *filter(None, (self.next,)))


def lists_of(
    example: Neighbourhood,
    headings: tuple[str, str],
    *,
    title: str,
    note: str = "",
    levels: Sequence[str] | None = None,
) -> Lists:
    """Write two lists of neighbours, the names cut to what can be read; a bare number is called by what it is.

    Examples
    --------
    >>> from embaudit.movements.neighbourhoods import Neighbourhood
    >>> found = Neighbourhood("a", (("b", 0.5),), (("c" * 200, 0.25),), (False,), (False,))
    >>> lists = lists_of(found, ("here", "there"), title="item")
    >>> lists.before, lists.after[0].cosine, len(lists.after[0].name)
    ((Near(name='b', cosine='0.50', kept=False, level=''),), '0.25', 120)
    """
    called = partial(row_called, title)
    before = zip(example.before, example.stay, levels or [""] * len(example.before), strict=True)
    after = zip(example.after, example.stayed, strict=True)
    return Lists(
        named(called(example.name)),
        headings,
        tuple(Near(named(called(name)), f"{cosine:.2f}", kept, level) for (name, cosine), kept, level in before),
        tuple(Near(named(called(name)), f"{cosine:.2f}", kept) for (name, cosine), kept in after),
        example.kept,
        note,
    )


def named(name: str) -> str:
    """Write a name so that it does no harm and fills no page."""
    return cut(visible(name), LONGEST)


def read_parts(intake: Intake) -> Iterator[tuple[str, str]]:
    """Yield what was read, and what each part became."""
    yield from ((str(part), FIELDS.get(part.became, part.became)) for part in intake.parts)
    yield from ((str(part), "left over") for part in intake.left_over)
