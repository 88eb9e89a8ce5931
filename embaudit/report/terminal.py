"""Results in the terminal, written with rich.

These are the first screen of an audit, one screen of any result, and everything. The
first screen has 80 columns, and its readers know cosines but need not know gauges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from shlex import join, split
from textwrap import shorten, wrap

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from embaudit.auditing.audit import Audit
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.findings import nearly_equal_notes
from embaudit.auditing.findings.index_metric import WITHOUT_LISTS
from embaudit.auditing.glance import Glance
from embaudit.auditing.wording import is_head
from embaudit.core.answer_word import AnswerWord
from embaudit.core.results import Result
from embaudit.model import FactorModel
from embaudit.report.audit_document import (
    INDEX_METRIC,
    QUERIES,
    audit_document,
    index_conflict,
    is_unmoved,
    on_queries,
    remark_on_lists,
)
from embaudit.report.document import Document, Lists, Near
from embaudit.report.next_steps import OWN_FORMAT, Invocation
from embaudit.report.tables import Table

WIDTH = 80
"""Columns of a screen."""
HEIGHT = 28
"""Lines of one screen of a result other than an audit."""
FINDINGS = 3
"""Findings on the first screen, unless a gate names more."""
INDENT = 2
"""Blanks before a measure in the table."""
NEIGHBOURS = 5
"""Neighbours of a row on the first screen."""
COLUMN = WIDTH // 2 - 2
"""Characters of one version of a neighbour list."""
COSINE = 5
"""Characters of a cosine with two decimals and its sign."""
FILE = 40
"""Most characters of a file name in the first line, if the line is too long."""
NAME = 36
"""Characters of a name in the first column of a table on one screen."""
ROWS = 3
"""Rows of that table that are shown, however much there is to say."""
NOTES = 2
"""Notes of a result that one screen has room for."""
OPEN = (AnswerWord.UNKNOWN, AnswerWord.CHECK_FIRST)
"""Answers after which two commands stand, because either may be what decides."""
COLOURS = {Severity.ISSUE: "red", Severity.TIP: "yellow"}
COMMAND = re.compile(r"`[^`]+`")
"""A command in a sentence, or a name of code."""
NO_BREAK = "\N{NO-BREAK SPACE}"
EVERYTHING = "Everything: --full"
"""Last line of a screen that does not show everything."""


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
    """Write the first screen of an audit.

    Its parts always stand in the same order, and a part is left out if it is empty.

    Parameters
    ----------
    audit : Audit
        The audit.
    invocation : Invocation
        How the model was read, so that commands can be suggested.
    named : sequence of Finding
        Findings that a gate names, which are all shown.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.next_steps import Invocation
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    >>> screen = first_screen(audit(model), Invocation("model.npz"))
    >>> print(screen.partition(" the same in")[0])
    model.npz: two tables, 2 users × 3 items, 1 dimension
    <BLANKLINE>
    Are these item-item cosines fixed by what the model predicts?
    YES: item-item cosines are
    """
    view = audit_document(audit, invocation, drawn=False)
    parts = [
        _wrapped(index_conflict(audit)),
        _input_lines(audit, invocation, view),
        _answer_lines(audit),
        _step_lines(audit, view),
        _finding_lines(audit, named),
        _query_lines(audit, named),
        _neighbour_lines(audit, view),
        _table_lines(view.glance),
        _wrapped(view.scale),
        *(_wrapped(note) for note in _on_nearly_equal(audit)),
        [*_wrapped(_on_index(audit)), EVERYTHING],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _on_index(audit: Audit) -> str:
    """Confirm the measure of the index, or ask for it; empty if there is a conflict."""
    notes = {finding.code: finding for finding in audit.notes}
    for code in WITHOUT_LISTS:
        if code in notes:
            return notes[code].text
    served = audit.evidence.served
    if "served" not in notes or served is None or audit.options.served is None:
        return ""
    return served.directions[0].sentence


def _on_nearly_equal(audit: Audit) -> list[str]:
    """Say which neighbours stay if scores change a little, for options that ask it."""
    return [note.text for note in audit.notes if note.code in nearly_equal_notes.NOTES]


def _input_lines(audit: Audit, invocation: Invocation, view: Document) -> list[str]:
    """Write what was read: the file, its kind, its size and its peculiarities."""
    read = f"{_kind_of(audit.model)}, {view.subject}"
    # A long path is cut at its beginning, because its end tells models apart.
    title, room = invocation.title, max(FILE, WIDTH - len(f": {read}"))
    if len(title) > room:
        title = f"…{title[1 - room :]}"
    lines = _wrapped(f"{title}: {read}")
    intake = audit.intake
    if intake is not None:
        n_parts = len(intake.parts) + len(intake.left_over)
        if n_parts > 1 and intake.format != OWN_FORMAT:
            lines += _wrapped(intake.line())
    if audit.options.quick:
        lines += _wrapped(f"Quick audit: {audit.options.effort}.")
    if audit.sample_sentence is not None:
        lines += _wrapped(audit.sample_sentence)
    declared_by = audit.evidence.declared_by
    # Several sources are separated by a semicolon. The answer says if they contradict
    # each other.
    if ";" in declared_by and audit.model.overruled is None:
        lines += _wrapped(f"Objective: {audit.model.objective}, {declared_by}.")
    return lines


def _kind_of(model: FactorModel) -> str:
    """Name the kind of a model in a word or two.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> _kind_of(FactorModel.from_vectors([[1.0]]))
    'vectors'
    """
    if is_head(model):
        return "softmax head"
    return "vectors" if model.left is None else "two tables"


def _answer_lines(audit: Audit) -> list[str]:
    """Write the question, the answer with its reason, and the limits of its meaning."""
    lines = [*_wrapped(audit.answer.question), *_wrapped(str(audit.answer))]
    for remark in audit.answer.remarks:
        lines += _wrapped(remark)
    # The caller asked with `--hull` which labels can lead, and no finding says it.
    if audit.head is not None and audit.head.argmax is not None:
        noun = audit.head.model.title("right")
        lines += _wrapped(audit.head.argmax.explain(noun))
    return lines


def _step_lines(audit: Audit, view: Document) -> list[str]:
    """Write what to do: one command, or two where either may decide the answer."""
    n_steps = 2 if audit.answer.word in OPEN else 1
    if not view.steps:
        return _wrapped(audit.answer.advice)
    lines = []
    for purpose, command in view.steps[:n_steps]:
        lines += _wrapped(_sentence_of_step(purpose, command))
        if command:
            lines += _broken(command)
    return lines


def _sentence_of_step(purpose: str, command: str) -> str:
    """Write the purpose of a step as a sentence, below which its command stands.

    Examples
    --------
    >>> _sentence_of_step("to serve items, index these rows by distance", "")
    'To serve items, index these rows by distance.'
    >>> _sentence_of_step("to compare items by scores", "embaudit fix m.npz")
    'To compare items by scores:'
    """
    end = ":" if command else "."
    return f"{purpose[0].upper()}{purpose[1:]}{end}"


def _finding_lines(audit: Audit, named: Sequence[Finding]) -> list[str]:
    """Write a line for each of the first findings, those of a gate before the others.

    A finding whose title the answer quotes says nothing new.
    """
    answer = str(audit.answer).lower()
    news = [
        finding
        for finding in audit.findings
        if finding not in named
        and finding.title.lower() not in answer
        # The first lines of the screen say this.
        and finding.code != INDEX_METRIC
        # Lines of their own say these.
        and finding.code not in QUERIES
    ]
    findings = [*named, *news]
    n_shown = max(FINDINGS, len(named))
    lines = []
    for finding in findings[:n_shown]:
        # A title that is too long goes on below, because its end can be what matters.
        text = f"{finding.code} {finding.severity.title}: {finding.title}"
        lines += _wrapped(text, indent="  ")
    if len(findings) > n_shown:
        lines.append(f"{len(findings) - n_shown} more: --full")
    return lines


def _query_lines(audit: Audit, named: Sequence[Finding]) -> list[str]:
    """Write what the lists of the queries show, unless a gate named it already."""
    titles = {finding.title for finding in named}
    lines = []
    for text in on_queries(audit):
        if not any(text.endswith(title) for title in titles if title):
            lines += _wrapped(text, indent="  ")
    return lines


def _neighbour_lines(audit: Audit, view: Document) -> list[str]:
    """List the neighbours of the rows that were asked for, or of one row."""
    lists: list[Lists] = []
    if view.glance is not None:
        lists = [one.head(NEIGHBOURS) for one in view.lists[: max(1, view.n_asked)]]
    # Where cosines are fixed they stand alone; those of predictions are on the page.
    if audit.answer.word is AnswerWord.YES:
        lists = [one.first for one in lists]
    lines = []
    for one in lists:
        lines += [*_lines_of_lists(one), ""]
    lines = lines[:-1]
    if any(one.is_marked for one in lists):
        lines.append("* This neighbour is not in the other list at all.")
    # A remark on two versions needs both of them.
    if lists and (is_unmoved(audit) or lists[0].after):
        lines += _wrapped(remark_on_lists(audit))
    for text in view.ends:
        lines += _wrapped(text)
    return lines


def _lines_of_lists(lists: Lists) -> list[str]:
    """Lay two versions of a list side by side, or write one version."""
    note = f" ({lists.note})" if lists.note else ""
    lines = [_short(f"Nearest to {lists.name}{note}:")]
    if not lists.after:
        return [*lines, *(_cell(near) for near in lists.before)]
    headings = [_wrapped(heading, COLUMN) for heading in lists.headings]
    for left, right in zip_longest(*headings, fillvalue=""):
        lines.append(_side_by_side(left, right))
    for before, after in zip(lists.before, lists.after, strict=True):
        lines.append(_side_by_side(_cell(before), _cell(after)))
    return lines


def _side_by_side(left: str, right: str) -> str:
    return f"{_filled(left, COLUMN)}    {right}".rstrip()


def _cell(near: Near) -> str:
    """Write a neighbour, its cosine, and a star if the other list lacks it.

    A long name is cut, but the cosine keeps its decimals.
    """
    cosine = f"{near.cosine:>{COSINE}}"
    mark = "" if near.stays else "*"
    room = COLUMN - len(cosine) - len(" ") - len(" *")
    return f"{_filled(_narrow(near.name, room), room)} {cosine} {mark}".rstrip()


def _table_lines(glance: Glance | None) -> list[str]:
    """Write the table: each question stands above its measures."""
    if glance is None:
        return []
    if not glance.rows:
        return _wrapped(" ".join(glance.key))
    measures = [measure for _, measure, _ in glance.rows]
    first = INDENT + max(len(measure) for measure in measures)
    widths = [len(pairs) for pairs in glance.pairs]
    lines = [_table_row("", first, glance.pairs, widths)]
    question = ""
    for row_question, measure, figures in glance.rows:
        if row_question != question:
            question = row_question
            lines += _wrapped(question)
        lines.append(_table_row(" " * INDENT + measure, first, figures, widths))
    return [*lines, *_wrapped(" ".join(glance.key))]


def _table_row(
    measure: str, first: int, cells: Sequence[str], widths: Sequence[int]
) -> str:
    """Align the cells of one row to the right of their columns."""
    aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)]
    return "   ".join([f"{measure:{first}}", *aligned]).rstrip()


def _short(line: str) -> str:
    """Cut a line between words."""
    return shorten(line, WIDTH, placeholder=" …", break_on_hyphens=False)


def _wrapped(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Break a text into lines between words.

    Names such as item-item and commands in backticks stay on one line, because a broken
    command cannot be copied. All lines but the first begin with the indent.

    Examples
    --------
    >>> _wrapped("Compare seeds: `embaudit compare A B`.", 30)
    ['Compare seeds:', '`embaudit compare A B`.']
    """
    unbroken = COMMAND.sub(lambda found: found[0].replace(" ", NO_BREAK), text)
    lines = wrap(
        unbroken,
        width,
        break_on_hyphens=False,
        break_long_words=NO_BREAK not in unbroken,
        subsequent_indent=indent,
    )
    return [line.replace(NO_BREAK, " ") for line in lines]


def _prose(text: str, console: Console, style: str = "") -> Text:
    """Break a text into lines as wide as the terminal."""
    return Text("\n".join(_wrapped(text, console.width)), style=style)


def _narrow(text: str, room: int) -> str:
    """Cut a text to `room` cells of a terminal.

    A letter of Chinese or Japanese takes two cells.

    Examples
    --------
    >>> _narrow("七人の侍", 8), _narrow("七人の侍", 6), _narrow("Seven Samurai", 6)
    ('七人の侍', '七人 …', 'Seven…')
    """
    return text if cell_len(text) <= room else f"{set_cell_size(text, room - 1)}…"


def _filled(text: str, room: int) -> str:
    """Put blanks behind a text up to so many cells."""
    return text + " " * (room - cell_len(text))


def _broken(command: str) -> list[str]:
    r"""Break a long command before files and options, as a shell allows it.

    A file that is wider than a screen stands on a line of its own and is not cut.

    Examples
    --------
    >>> for line in _broken(f"embaudit fix /data/{'x' * 60}.npz --as prediction"):
    ...     print(line.replace("x" * 60, "xxx"))
      embaudit fix \
        /data/xxx.npz \
        --as prediction
    """
    words = split(command)
    options = [i for i, word in enumerate(words) if word.startswith("--")]
    # The command and its name come first, then files up to the first option.
    files = range(2, min([*options, len(words)]))
    starts = [0, *files, *options, len(words)]
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
    """Write a result in 80 columns and 28 lines, or a few more for a long conclusion.

    Parameters
    ----------
    paragraphs : iterable of str
        The conclusion and notes.
    tables : sequence of Table
        The first table is shown.

    Examples
    --------
    >>> import pandas as pd
    >>> items = [f"item {i}" for i in range(30)]
    >>> frame = pd.DataFrame({"item": items, "length": range(30)})
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
    lines = [line for text in paragraphs for line in _wrapped(text)]
    if not tables:
        return "\n".join(lines)
    # Names are cut, and the essential columns alone are kept where all have no room.
    shown = tables[0].shortened(NAME)
    if max(map(len, str(shown).splitlines()[1:])) > WIDTH:
        shown = shown.narrow()
    # Five lines go to the caption, the headings, two blank lines and the hint at
    # `--full`.
    if not shown.is_whole:
        shown = shown.head(max(ROWS, HEIGHT - len(lines) - 5))
    lines += ["", *wrap(shown.caption, WIDTH), *str(shown).splitlines()[1:]]
    if len(tables) > 1 or shown.frame.shape != tables[0].frame.shape:
        lines += ["", EVERYTHING]
    return "\n".join(lines)


def print_result(result: Result, console: Console, *, full: bool = True) -> None:
    """Print a result: one screen, or all of it with the conclusion at the end."""
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


def print_audit(
    audit: Audit, console: Console, invocation: Invocation | None = None
) -> None:
    """Print the answer, all measurements and findings, what to do, and the verdict."""
    console.print(Text(repr(audit.model)))
    if audit.intake is not None:
        console.print(_prose(audit.intake.explain(), console))
    if audit.options.quick:
        console.print(Text(f"Quick audit: {audit.options.effort}."))
    if audit.sample_sentence is not None:
        console.print(Text(audit.sample_sentence))
    answer = f"{audit.answer.question} {audit.answer}"
    console.print(_prose(answer, console, style="bold"))
    for remark in audit.answer.remarks:
        console.print(_prose(remark, console))
    if index_conflict(audit):
        console.print(_prose(index_conflict(audit), console, style="bold"))
    # A failed check goes before all that it puts in doubt; a verdict stands last, where
    # a terminal stops.
    if not audit.predictions_hold:
        print_verdict(audit, console, title="check failed")
    view = audit_document(audit, invocation, drawn=False)
    for line in _table_lines(view.glance) + _wrapped(view.scale):
        console.print(Text(line))
    # The answer above and the verdict below say what the conclusion would.
    print_document(replace(view, conclusion=(), next=""), console)
    print_steps(view, console)
    if audit.predictions_hold:
        print_verdict(audit, console, title="verdict")


def print_steps(view: Document, console: Console) -> None:
    """Print what to do next, each step with its command below."""
    for purpose, command in view.steps:
        console.print(Text(_sentence_of_step(purpose, command)))
        # A command must not be broken where it is wider than the terminal.
        if command:
            console.print(Text("\n".join(_broken(command))), soft_wrap=True)


def print_document(made: Document, console: Console) -> None:
    """Print words and sections with all their parts, then the conclusion and notes."""
    for word, meaning in made.words:
        console.print(Text(f"{word}: {meaning}", style="dim"))
    for section in made.shown_sections:
        for text in section.paragraphs:
            console.print(_prose(text, console))
        print_tables(
            (block.table for block in section.parts if block.table is not None), console
        )
        print_tables((lists.table for lists in section.lists), console)
        for each in section.findings:
            head = f"{each.code} {each.severity.title}: {each.title}."
            finding = _prose(f"{head} {each.remedy}", console)
            finding.stylize(COLOURS[each.severity], 0, len(head))
            console.print(finding)
        for text in section.end:
            console.print(_prose(text, console))
    for line in (*made.paragraphs, *made.notes):
        console.print(_prose(line, console))


def print_tables(tables: Iterable[Table], console: Console) -> None:
    """Print tables, with fewer columns where the terminal is narrow."""
    for table in tables:
        console.print(table.to_rich(console.width))


def print_verdict(audit: Audit, console: Console, *, title: str) -> None:
    """Print the verdict in a box, in the colour of the gravest finding."""
    style = COLOURS[audit.worst] if audit.worst else "green"
    console.print(Panel(Text(audit.verdict), title=title, border_style=style))
