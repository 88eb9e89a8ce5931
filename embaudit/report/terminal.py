"""Results in the terminal: the first screen of an audit, one screen of any result, and everything, with rich.

Readers of a first screen know cosines and need not know gauges. It has 80 columns, and 28
lines at most next to the sentences below the answer, which stand on every screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise, product, repeat
from shlex import join, split
from textwrap import shorten, wrap

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from embaudit.auditing.answer import AnswerWord
from embaudit.auditing.audit import Audit
from embaudit.auditing.finding import Finding, Severity
from embaudit.core.results import Result
from embaudit.report.audit_document import CONVENTIONS, UNMOVED, audit_document
from embaudit.report.document import Document, Glance, Lists, Near
from embaudit.report.next_steps import OWN_FORMAT, TRAINED, Invocation
from embaudit.report.tables import Table

WIDTH, HEIGHT = 80, 28
FINDINGS = 3
"""Findings that have a line."""
NEIGHBOURS = 5
"""Lines of neighbours, where there is room for so many."""
FEWEST = 3
"""Lines of neighbours that go before tips behind the first finding, and before commands
behind the first.
"""
LEAST = 2
"""Lines of neighbours that go before issues behind the first finding, and before a
command that judges by labels.
"""
EVALUATE = "embaudit evaluate "
"""Beginning of the command that judges similarities by labels."""
COLUMN = WIDTH // 2 - 2
"""Characters of one list of neighbours."""
NAME = 36
"""Characters of a name in the first column of a table on one screen."""
ROWS = 3
"""Rows of that table that are shown, however much there is to say."""
NOTES = 2
"""Notes of a result that one screen has room for."""
OPEN = (AnswerWord.UNKNOWN, AnswerWord.CHECK_FIRST)
"""Answers after which the reader has to find something out."""
CONTRADICTED = {"EMB104", "EMB306"}
"""Findings by which the declared training did not choose these rows."""
COLOURS = {Severity.ISSUE: "red", Severity.TIP: "yellow"}


def print_screen(
    audit: Audit,
    invocation: Invocation,
    console: Console,
    named: Sequence[Finding] = (),
) -> None:
    """Print the first screen, the word of its answer in bold.

    The word has no colour, because no answer is good or bad.
    """
    text = Text(first_screen(audit, invocation, named))
    text.highlight_words([f"{audit.answer.word}:"], "bold")
    console.print(text, soft_wrap=True)


def first_screen(
    audit: Audit, invocation: Invocation, named: Sequence[Finding] = ()
) -> str:
    """Write the first screen of an audit, the head of its document, with every finding that a gate names.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.next_steps import Invocation
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    >>> print(first_screen(audit(model), Invocation("model.npz")).splitlines()[2])
    YES: item-item cosines are the same in every model of rank 1 with the same

    No list is called chosen by a training that the rows contradict.

    >>> rows = [[5.0, 1.0], [1.0, 5.0], [-4.0, 0.0], [-1.0, -5.0], [-1.0, -1.0]]
    >>> for mean in (0.0, 0.1):
    ...     head = FactorModel.from_softmax([[x + mean, y] for x, y in rows], objective="softmax-decay")
    ...     screen = first_screen(audit(head), Invocation("head.npz"))
    ...     print("Training may have chosen the left list" in screen, "mean row contradicts the training" in screen)
    True False
    False True
    """
    made, answer, intake = (
        audit_document(audit, invocation, drawn=False),
        audit.answer,
        audit.intake,
    )
    # A long path is cut at its beginning: its end, and what the model is, are what
    # tells models apart.
    room = max(NAME // 2, WIDTH - len(f": {made.subject}"))
    title = invocation.title
    head = [
        f"{title if len(title) <= room else f'…{title[1 - room :]}'}: {made.subject}"
    ]
    if (
        intake is not None
        and intake.format != OWN_FORMAT
        and len(intake.parts) + len(intake.left_over) > 1
    ):
        head.append(intake.line())
    sizes = (
        wrap(f"Quick audit: {audit.options.effort}.", WIDTH)
        if audit.options.quick
        else []
    )
    if audit.sample_sentence is not None:
        sizes += wrap(audit.sample_sentence, WIDTH)
    declared = audit.evidence.declared_by
    sizes += (
        wrap(f"Objective: {audit.model.objective}, {declared}.", WIDTH)
        if ";" in declared
        else []
    )
    # Head, answer and table always stand; commands, findings and neighbours share the
    # lines that are left.
    remarks = [line for text in answer.remarks for line in wrap(text, WIDTH)]
    top = [*map(_short, head), *sizes, answer.question, *wrap(str(answer), WIDTH)]
    top += remarks
    if audit.head is not None and audit.head.argmax is not None:
        # The caller asked for it with `--hull`, so it stands although it is no finding.
        noun = audit.head.model.title("right")
        top += wrap(audit.head.argmax.explain(noun), WIDTH)
    table = (
        []
        if made.glance is None
        else ["", *_table(made.glance), *wrap(" ".join(made.glance.key), WIDTH)]
    )
    # Findings do not say again what the answer says, where there are others.
    answered = {*answer.findings} | (
        {"EMB102"} if "one_side" in answer.findings else set()
    )
    news = [
        each
        for each in made.findings
        if each.code not in answered and each not in named
    ]
    news = [*named, *news] or [*made.findings]
    # Long commands make room for a finding and for neighbours, of every row that was
    # asked for.
    rows = max(1, made.n_asked)
    n_named = max(1, len(named))
    least = n_named + len(_neighbours(audit, made, 1 if made.n_asked else FEWEST, rows))
    # What would decide stays with the first command: training that is not known, or the
    # second of two ways to tell it. Each command behind them stands where it leaves
    # room for one finding and for the shortest lists.
    n_kept, commands = (
        1 + (answer.word in OPEN or TRAINED in made.steps[1:2]),
        [*_commands(made.steps)],
    )
    below = [*chain(*commands[:n_kept])]
    room = HEIGHT + len(remarks) - len(top) - len(table)
    for (_, command), lines in zip(made.steps[n_kept:], commands[n_kept:], strict=True):
        # Labels at hand judge better than a third neighbour, or the list of a second
        # row, does.
        fewest = (
            n_named + len(_neighbours(audit, made, LEAST))
            if command.startswith(EVALUATE)
            else least
        )
        below += lines if room - len(below) - len(lines) >= fewest else []
    room -= len(below)
    # A second finding shortens the lists: a tip to three neighbours at least, an issue
    # to two.
    tips, issues = (
        room - len(_neighbours(audit, made, most, rows)) for most in (FEWEST, LEAST)
    )
    grave = sum(each.severity is Severity.ISSUE for each in news)
    n_findings = max(n_named, min(FINDINGS, max(tips, min(issues, grave))))
    findings = [
        _short(f"{each.code} {each.severity.title}: {each.title}")
        for each in news[:n_findings]
    ]
    # Findings without a line are counted where none says how to read all of them.
    if len(news) > n_findings and commands[-1][-1] not in below:
        note = f"; {len(news) - n_findings} more: --full"
        findings[-1] = _short(findings[-1], WIDTH - len(note)) + note
    # Rows that were asked for come before long lists.
    lengths = product(range(rows, 0, -1), range(NEIGHBOURS, 0, -1))
    lists = (_neighbours(audit, made, most, count) for count, most in lengths)
    near = next((some for some in lists if len(some) <= room - len(findings)), [])
    left = room - len(findings) - len(near)
    # Commands are set in, so that the line before them is the first to go.
    between, apart = [""] * (left > 0), [""] * (left > 1 and bool(findings))
    return "\n".join([*top, *apart, *findings, *table, *near, *between, *below])


def _short(line: str, width: int = WIDTH) -> str:
    return shorten(line, width, placeholder=" …")


def _table(glance: Glance) -> list[str]:
    """Align a table under two lines: what was done, and what became of it."""
    lines, start, blocks = (glance.grid.headings, *glance.grid.rows), 0, []
    for title, width in (("", 1), *glance.groups):
        cells = [line[start : start + width] for line in lines]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        aligned = [
            "  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True))
            for row in cells
        ]
        # A title and the columns below it are one block, as wide as the longest of
        # their lines.
        broad = max(map(len, (title, *aligned)))
        blocks.append([f"{line:{broad}}" for line in (title, *aligned)])
        start += width
    # Three blanks between blocks, fewer where the line would be too long.
    between = " " * max(
        1,
        min(
            3,
            (WIDTH - sum(len(block[0]) for block in blocks)) // max(1, len(blocks) - 1),
        ),
    )
    return [between.join(line).rstrip() for line in zip(*blocks, strict=True)]


def _neighbours(audit: Audit, made: Document, most: int, rows: int = 1) -> list[str]:
    """List the neighbours of some rows, each below a line that names it."""
    if made.glance is None or most < 1:
        return []
    if not made.lists:
        return ["", *map(_short, made.ends)] if made.ends else []
    # Where cosines are fixed they stand alone; those of predictions are on the page.
    lists = [
        each.first if audit.answer.word is AnswerWord.YES else each
        for each in made.lists[:rows]
    ]
    return [
        line
        for each in lists
        for line in ("", *_two_lists(each.head(most), _worth(audit, each)))
    ]


def _worth(audit: Audit, lists: Lists) -> str:
    """Judge the list of another model; a list by predictions speaks for itself."""
    if not lists.after:
        return UNMOVED if "undecided" in audit.answer.findings else ""
    against = lists.headings[1]
    if against.startswith("by "):
        return ""
    if audit.answer.word is AnswerWord.BY_CONVENTION and not CONTRADICTED & {
        *audit.answer.findings
    }:
        chose = "may have chosen" if audit.evidence.penalty is None else "chose"
        return f"Training {chose} the left list, among those of equivalent models."
    if against in CONVENTIONS:
        return "Neither list is right: both describe the same predictions."
    return "The list on the right is as valid as the left one, no better."


def _two_lists(lists: Lists, below: str) -> Iterator[str]:
    """Lay two lists side by side, and mark the names that only one of them holds; or one list alone."""
    if not lists.after:
        yield _short(
            f"nearest to {lists.name}{f' ({lists.note})' if lists.note else ''}"
        )
        yield from (_cell(each, "").rstrip() for each in lists.before)
        yield from [below] * bool(below)
        return
    marked = not all(each.stays for each in (*lists.before, *lists.after))
    # Where a line follows the lists it explains the star, else the heading does.
    note = " (* one list only)" * (marked and not below)
    other = _short(lists.headings[1], COLUMN - len(note)) + note
    room = WIDTH - len(f"nearest to , by cosine  {other}")
    name = _narrow(_short(lists.name, room), room)
    yield f"{_filled(f'nearest to {name}, by cosine', COLUMN + 2)}  {other}"
    for each, two in zip(lists.before, lists.after, strict=True):
        yield f"{_cell(each, ' *'[not each.stays])}    {_cell(two, ' *'[not two.stays])}".rstrip()
    if below:
        yield f"{'* one list only. ' * marked}{below}"


def _cell(each: Near, mark: str) -> str:
    # The number keeps its decimals; the name gives way to more than two of them.
    cosine = f"{each.cosine:>5}"
    room = COLUMN - 3 - len(cosine)
    return f"{_filled(_narrow(each.name, room), room)} {cosine} {mark}"


def _narrow(text: str, room: int) -> str:
    """Cut a text to so many cells of a terminal, two of which a letter of Chinese or Japanese takes.

    Examples
    --------
    >>> _narrow("七人の侍", 8), _narrow("七人の侍", 6), _narrow("Seven Samurai", 6)
    ('七人の侍', '七人 …', 'Seven…')
    """
    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1)}…"


def _filled(text: str, room: int) -> str:
    """Put blanks behind a text up to so many cells."""
    return text + " " * (room - cell_len(text))


def _commands(steps: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Write each command to type next below what it is for; a line too long is broken as a shell allows it."""
    for start, (what, command) in zip(
        chain(["next, "], repeat("or ")), steps, strict=False
    ):
        yield [
            *wrap(f"{start}{what}{':' * bool(command)}", WIDTH),
            *(_broken(command) if command else ()),
        ]


def _broken(command: str) -> list[str]:
    """Break a long command before options, as a shell allows it."""
    words = split(command)
    starts = [
        0,
        *(i for i, word in enumerate(words) if word.startswith("--")),
        len(words),
    ]
    first, *rest = (join(words[start:end]) for start, end in pairwise(starts))
    lines = [first]
    for option in rest:
        # Counted with the two blanks before a line and the backslash behind it.
        fits = len(f"  {lines[-1]} {option} \\") <= WIDTH
        lines = (
            [*lines[:-1], f"{lines[-1]} {option}"] if fits else [*lines, f"  {option}"]
        )
    return [f"  {line} \\" for line in lines[:-1]] + [f"  {lines[-1]}"]


def brief(paragraphs: Iterable[str], tables: Sequence[Table]) -> str:
    """Write what was found in 80 columns and 28 lines, or a few more where it takes more words.

    Parameters
    ----------
    paragraphs : iterable of str
        The conclusion and notes.
    tables : sequence of Table
        The first table is shown.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"item": [f"item {i}" for i in range(30)], "length": range(30)})
    >>> table = Table("lengths", frame)
    >>> print(brief(["Lengths grow."], [table.head(2), table]))
    Lengths grow.
    <BLANKLINE>
    lengths (the first 2 of 30 rows)
    item    length
    item 0       0
    item 1       1
    <BLANKLINE>
    Everything: --full
    """
    lines = [line for text in paragraphs for line in wrap(text, WIDTH)]
    if not tables:
        return "\n".join(lines)
    # Names are cut, and the essential columns alone are kept where all have no room.
    shown = tables[0].shortened(NAME)
    if max(map(len, str(shown).splitlines()[1:])) > WIDTH:
        shown = shown.narrow()
    # Five lines go to the caption, the headings, two blank lines and the hint at
    # `--full`.
    shown = shown.head(max(ROWS, HEIGHT - len(lines) - 5))
    lines += ["", *wrap(shown.caption, WIDTH), *str(shown).splitlines()[1:]]
    if len(tables) > 1 or shown.frame.shape != tables[0].frame.shape:
        lines += ["", "Everything: --full"]
    return "\n".join(lines)


def print_result(result: Result, console: Console, *, full: bool = True) -> None:
    """Print the tables of a result, then what it says, so that the conclusion stands last; or one screen of it."""
    # With it come results of every kind, which an audit does not need.
    from embaudit.report.documents import document

    made = document(result)
    if full:
        print_document(made, console)
    else:
        console.print(
            Text(brief((*made.paragraphs, *made.notes[:NOTES]), made.tables)),
            soft_wrap=True,
        )


def print_audit(audit: Audit, console: Console) -> None:
    """Print the answer, everything that was measured and found, and the verdict."""
    console.print(Text(repr(audit.model)))
    if audit.intake is not None:
        console.print(Text(audit.intake.explain()))
    if audit.options.quick:
        console.print(Text(f"Quick audit: {audit.options.effort}."))
    if audit.sample_sentence is not None:
        console.print(Text(audit.sample_sentence))
    console.print(Text(f"{audit.answer.question} {audit.answer}", style="bold"))
    for remark in audit.answer.remarks:
        console.print(Text(remark))
    # A failed check goes before all that it puts in doubt; a verdict stands last, where
    # a terminal stops.
    if not audit.predictions_hold:
        print_verdict(audit, console, title="check failed")
    # The answer above and the verdict below say what the conclusion would.
    print_document(
        replace(audit_document(audit, drawn=False), conclusion=(), next=""), console
    )
    if audit.predictions_hold:
        print_verdict(audit, console, title="verdict")


def print_document(made: Document, console: Console) -> None:
    """Print words, sections with their tables, lists and findings, then the conclusion and notes."""
    for word, meaning in made.words:
        console.print(Text(f"{word}: {meaning}", style="dim"))
    for section in made.shown_sections:
        for text in section.paragraphs:
            console.print(text, markup=False)
        print_tables(
            (block.table for block in section.parts if block.table is not None), console
        )
        print_tables((lists.table for lists in section.lists), console)
        for each in section.findings:
            head = Text(
                f"{each.code} {each.severity.title}: {each.title}. ",
                style=COLOURS[each.severity],
            )
            console.print(head + Text(each.remedy, style="default"))
        for text in section.end:
            console.print(text, markup=False)
    for line in (*made.paragraphs, *made.notes):
        console.print(line, markup=False)


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Print tables, with fewer columns where the terminal is narrow."""
    for table in tables:
        console.print(table.to_rich(console.width))


def print_verdict(audit: Audit, console: Console, *, title: str) -> None:
    """Print the verdict in a box, in the colour of the gravest finding."""
    style = COLOURS[audit.worst] if audit.worst else "green"
    console.print(Panel(Text(audit.verdict), title=title, border_style=style))
