"""Documents: the paragraphs, tables, figures and neighbour lists of a result.

Pages, notebooks, terminals and comments render the same document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from embaudit.auditing.answer import Answer
from embaudit.auditing.finding import Finding
from embaudit.auditing.glance import Glance
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
from embaudit.report.tables import Table

COSINE, LEVEL = "", "higher than"
"""Names of columns of a list of neighbours: its cosines, and the share of pairs with a
lower cosine.
"""
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


@dataclass(frozen=True)
class Charted:
    """A table and the figures of its numbers; either may be missing."""

    title: str
    table: Table | None
    figures: tuple[Display, ...] = ()
    fit: str = "card"
    """Width of the figures: "card" or "narrow"."""

    @property
    def is_split(self) -> bool:
        """True if the table has room beside the picture."""
        return (
            len(self.figures) == 1
            and self.table is not None
            and len(self.table.headings) <= MOST_COLUMNS
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
    def is_marked(self) -> bool:
        """True if one of the lists has a neighbour that the other list lacks."""
        return not all(near.stays for near in (*self.before, *self.after))

    @property
    def first(self) -> Lists:
        """The first list alone, with no neighbour marked."""
        before = tuple(replace(near, stays=True) for near in self.before)
        return replace(self, headings=self.headings[:1], before=before, after=())

    @property
    def table(self) -> Table:
        """The lists as one table."""
        import pandas as pd

        headings = [self.headings[0], COSINE]
        columns = [
            [near.marked for near in self.before],
            [near.cosine for near in self.before],
        ]
        if any(near.level for near in self.before):
            headings.append(LEVEL)
            columns.append([f"{near.level} of pairs" for near in self.before])
        if self.after:
            headings += [self.headings[1], COSINE]
            columns += [
                [near.marked for near in self.after],
                [near.cosine for near in self.after],
            ]
        notes = [self.note] if self.note else []
        if self.is_marked:
            notes.append("* one list only")
        # Both columns of cosines have the same name.
        frame = pd.DataFrame(list(zip(*columns, strict=True)), columns=headings)
        return Table(
            f"nearest to {self.name}",
            frame,
            "; ".join(notes),
            formats={COSINE: str, LEVEL: str},
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
    def from_tables(cls, place: str, name: str, title: str, *tables: Table) -> Section:
        """Put tables below each other, and skip tables without rows."""
        return cls(
            place,
            name,
            title,
            parts=tuple(Charted("", table) for table in tables if len(table.frame)),
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
class Document:
    """Everything that is shown of a result, in order."""

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
    """The first table of an audit."""
    scale: str = ""
    """A sentence on the usual cosines of an audited side; empty if there is none."""
    n_asked: int = 0
    """Neighbour lists, from the first one, of rows that were asked for."""
    words: tuple[tuple[str, str], ...] = ()
    """Words that are explained at the top, and their meanings."""
    first: str = ""
    """Sentences that come before everything else; empty if there are none."""

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
    def tables(self) -> tuple[Table, ...]:
        """Tables of all sections."""
        return tuple(
            block.table
            for section in self.sections
            for block in section.parts
            if block.table is not None
        )

    @property
    def lists(self) -> tuple[Lists, ...]:
        """Neighbour lists of all sections."""
        return tuple(lists for section in self.sections for lists in section.lists)

    @property
    def ends(self) -> tuple[str, ...]:
        """Last paragraphs of all sections."""
        return tuple(text for section in self.sections for text in section.end)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of all sections."""
        return tuple(
            finding for section in self.sections for finding in section.findings
        )

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
    """Write the neighbour lists of a row in two models, with short names.

    `row_called` names rows whose names are numbers.

    Cosines have `decimals` decimals, and more if all cosines of the first list would
    print alike although they differ.

    Examples
    --------
    >>> from embaudit.movements.neighbourhoods import Neighbourhood
    >>> before, after = (("b", 0.5),), (("c" * 200, 0.25),)
    >>> found = Neighbourhood("a", before, after, (False,), (False,))
    >>> lists = lists_of(found, ("here", "there"), title="item")
    >>> lists.before, lists.after[0].cosine, len(lists.after[0].name)
    ((Near(name='b', cosine='0.50', stays=False, level=''),), '0.25', 120)
    """
    row_name = partial(row_called, title)
    before = zip(
        example.before, example.stay, levels or [""] * len(example.before), strict=True
    )
    after = zip(example.after, example.stayed, strict=True)
    decimals = _decimals([cosine for _, cosine in example.before], decimals)
    copies = f"{copied(example.left_out)} left out" if example.left_out else ""
    lists = Lists(
        named(row_name(example.name)),
        headings,
        tuple(
            Near(named(row_name(name)), in_decimals(cosine, decimals), columns, level)
            for (name, cosine), columns, level in before
        ),
        tuple(
            Near(named(row_name(name)), in_decimals(cosine, decimals), columns)
            for (name, cosine), columns in after
        ),
        "; ".join(filter(None, (note, copies))),
    )
    # Both lists become equally long, as rows of a table need; who is cut off no longer
    # counts as kept.
    return lists.head(len(lists.before))


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
    """Name rows: numbers get the title of the row before them, long names are cut.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> vectors, rows = [[1.0], [2.0]], np.array([0, 1])
    >>> table = FactorModel.from_vectors(vectors, ids=["7", "x" * 99])
    >>> names_of(table, "right", rows)[0]
    'item 7'
    >>> head = FactorModel.from_softmax(vectors, labels=["3", "a"])
    >>> names_of(head, "right", rows)
    ["'3'", 'a']
    >>> names_of(FactorModel.from_softmax(vectors), "right", rows)
    ['label 0', 'label 1']
    """
    title, labels = model.row_title(role), model.names(role)
    return [cut(row_called(title, name), NAME) for name in map(str, labels[rows])]


def read_parts(intake: Intake) -> Iterator[tuple[str, str]]:
    """Yield what was read, and what each part became."""
    yield from (
        (str(block), FIELDS.get(block.became, block.became)) for block in intake.parts
    )
    yield from ((str(block), "not used") for block in intake.left_over)


def definitions(model: FactorModel, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield words with the first sentences of their meanings.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0]])
    >>> list(definitions(model, ["exponent"]))
    [('exponent', 'how an equivalent model shares out the strength of each ...')]
    """
    entries = words_for(Nouns.from_model(model))
    for word in words:
        sentence = entries[word].meaning.split(". ")[0].removesuffix(".")
        yield word, f"{sentence[0].lower()}{sentence[1:]}."


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
