"""The first screen of an audit: an answer, why, what to know besides, and what to type next.

Whoever reads it knows cosines and need not know gauges. It is plain text of 80 columns and 25 lines at most.
"""

from __future__ import annotations

from itertools import pairwise
from shlex import join, split
from textwrap import shorten, wrap
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.alone import is_alone
from embaudit.auditing.answer import Word
from embaudit.auditing.claims.predicted import seen_of
from embaudit.foundation.words import counted, percent, visible
from embaudit.model import Equivalence, Pairs
from embaudit.report.grid import Grid
from embaudit.report.next_steps import next_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.model import Role
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.next_steps import Asked

WIDTH, HEIGHT = 80, 25
FINDINGS = 3
"""Findings that have a line."""
NEIGHBOURS = 5
"""Lines of neighbours, where there is room for so many."""
OWN = "embaudit"
"""The format of our own files, which say themselves what is what; so does a file of one array."""
KAPPA = 1.5
"""Budget of what could move."""
CERTIFIED = f"neighbours certified to stay (κ = {KAPPA})"
COLUMN = WIDTH // 2 - 2
"""Characters of one list of neighbours."""


def first_screen(audit: Audit, asked: Asked) -> str:
    """Write the first screen of an audit.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.next_steps import Asked
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    >>> print(first_screen(audit(model), Asked("model.npz")).splitlines()[2])
    YES: every model with the same predictions has the same item-item cosines.
    """
    answer, table, below = _answer(audit, asked.path), _tabulated(audit), ["", *_commands(audit, asked)]
    room = HEIGHT - len(answer) - len(table) - len(below)
    known = _findings(audit)[: max(1, min(FINDINGS, room - len(_neighbours(audit, NEIGHBOURS))))]
    near = _neighbours(audit, min(room - len(known) - 2, NEIGHBOURS))
    apart = [""] if known and room > len(known) + len(near) else []
    return "\n".join([*answer, *apart, *known, *table, *near, *below])


def _answer(audit: Audit, path: str) -> list[str]:
    model = audit.model
    sides = " × ".join(counted(len(model.side(side)), model.title(side)) for side in model.sides)
    title = shorten(f"{path}: {sides}, rank {model.rank}", WIDTH, placeholder=" …")
    intake = audit.intake
    told = intake is not None and intake.format != OWN and len(intake.parts) + len(intake.left_over) > 1
    read = [shorten(intake.line(), WIDTH, placeholder=" …")] if intake is not None and told else []
    return [title, *read, audit.answer.question, *wrap(str(audit.answer), WIDTH)]


def _findings(audit: Audit) -> list[str]:
    """Give every finding a line, the gravest first."""
    return [shorten(f"{one.code} {one.severity.title}: {one.title}", WIDTH, placeholder=" …") for one in audit.findings]


def _tabulated(audit: Audit) -> list[str]:
    if not audit.predictions_hold:
        return []
    grid = movement_grid(audit.evidence)
    return ["", *_table(grid), *_key(audit, grid)]


def movement_grid(evidence: Evidence) -> Grid:
    """Tabulate for each kind of pairs what equal models were seen to do, and what none within a budget can pass.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> line = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    >>> movement_grid(audit(line).evidence).rows
    (('item-item', '0.00', '0 %'), ('user-user', '0.00', '–'), ('user-item', '0.00', '–'))
    """
    columns = {
        "cosines": [Pairs(role).titled(evidence.model) for role in evidence.roles],
        "mean move in equal models": [_number(_moved(evidence, role)) for role in evidence.roles],
        f"could move within κ = {KAPPA}": [_number(_width(evidence, role)) for role in evidence.roles],
        CERTIFIED: [percent(_certified(evidence, role)) for role in evidence.roles],
        "neighbours seen lost at worst": [percent(_lost(evidence, role)) for role in evidence.roles],
    }
    shown = {heading: cells for heading, cells in columns.items() if set(cells) != {"–"}}
    return Grid("equal models", "", tuple(shown), tuple(zip(*shown.values(), strict=True)))


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _moved(evidence: Evidence, role: Role) -> float:
    return max((record.mean_abs for _, record in evidence.visits(role)), default=np.nan)


def _width(evidence: Evidence, role: Role) -> float:
    """Return the width that half of the exact ranges exceed."""
    for found in evidence.limits.ranges:
        if (found.role, found.group, found.max_condition) == (role, "linear", KAPPA):
            return found.width_quantiles[0.5]
    return np.nan


def _certified(evidence: Evidence, role: Role) -> float:
    for found in evidence.limits.certificates:
        if (found.role, found.group) == (role, "linear"):
            return (found.entries_without_twins or found.entries)[KAPPA]
    return np.nan


def _lost(evidence: Evidence, role: Role) -> float:
    """Return the largest share of neighbours that an equal model at hand replaces, a prediction cosine among them.

    Lists hold one row of each group of twins.
    """
    records = [record for _, record in evidence.visits(role)]
    counterpart = None if evidence.predicted is None else evidence.predicted.of(role)
    if counterpart is not None and evidence.model.predicts is not Equivalence.COSINES:
        records.append(counterpart)
    lost = [1 - record.overlap_without_twins for record in records if record.top_n]
    for attack in evidence.limits.attacks:
        lost += [attack.lost_without_twins] if (attack.role, attack.objective) == (role, "neighbours") else []
    return max((share for share in lost if not np.isnan(share)), default=np.nan)


def _table(grid: Grid) -> list[str]:
    """Align a table under headings of two lines, as narrow as can be."""
    rows = [*zip(*map(_two_lines, grid.headings), strict=True), *grid.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(grid.headings))]
    between = " " * max(1, min(3, (WIDTH - sum(widths)) // max(1, len(widths) - 1)))
    aligned = (between.join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in aligned]


def _two_lines(heading: str) -> list[str]:
    lines = next(
        lines for width in range(len(heading)) if len(lines := wrap(heading, width + 1, break_long_words=False)) <= 2
    )
    return [""] * (2 - len(lines)) + lines


def side_by_side(audit: Audit) -> tuple[Neighbourhood, str] | None:
    """Choose whose neighbours to show, and what they are compared with; None where there are none.

    Where the answer is YES nothing is compared: other lists would say less than these.
    """
    evidence, head = audit.evidence, audit.head
    if evidence.predicted is not None and evidence.predicted.examples:
        return evidence.predicted.examples[0], f"by {seen_of(evidence.model)}"
    if head is not None and head.origin_is_free and head.neighbours.examples and not evidence.chosen:
        return head.neighbours.examples[0], "with the mean row removed"
    if evidence.examples:
        return evidence.examples[0], f"in an equal model ({evidence.shown_in})"
    return None


def _neighbours(audit: Audit, most: int) -> list[str]:
    """List the neighbours of one row below a line that names it; nothing where there is no room for one of them."""
    found = side_by_side(audit) if audit.predictions_hold else None
    if found is None or most < 1:
        return []
    example, against = found
    if not example.before:
        line = f"{visible(example.name)} has no direction, so it has no neighbours."
        return ["", shorten(line, WIDTH, placeholder=" …")]
    if audit.answer.word is Word.YES:
        copies = f" ({counted(example.left_out, 'twin')} left out)" if example.left_out else ""
        name = shorten(f"nearest to {visible(example.name)}{copies}", WIDTH, placeholder=" …")
        return ["", name, *(_cell(*one, " ").rstrip() for one in example.before[:most])]
    return ["", *_two_lists(example, against, most)]


def _two_lists(example: Neighbourhood, against: str, most: int) -> Iterator[str]:
    note = "" if all(example.stayed[:most]) else " (* new)"
    other = shorten(against, COLUMN - len(note), placeholder=" …") + note
    name = shorten(visible(example.name), WIDTH - len(f"nearest to , by cosine  {other}"), placeholder=" …")
    yield f"{f'nearest to {name}, by cosine':{COLUMN + 2}}  {other}"
    lists = zip(example.before, example.after, example.stayed, strict=True)
    for one, two, stayed in list(lists)[:most]:
        yield f"{_cell(*one, ' ')}    {_cell(*two, ' *'[not stayed])}".rstrip()


def _cell(name: str, cosine: float, mark: str) -> str:
    room = COLUMN - 8
    text = visible(name)
    text = text if len(text) <= room else f"{text[: room - 1]}…"
    return f"{text:{room}} {cosine:5.2f} {mark}"


def _commands(audit: Audit, asked: Asked) -> Iterator[str]:
    """Write what to type next; a line that would be too long is broken as a shell allows it."""
    steps = list(next_steps(audit, asked))
    yield f"next: {'; '.join(what for what, _ in steps)}"
    for _, command in steps:
        yield from _broken(command)


def _broken(command: str) -> list[str]:
    """Break a long command before options, as a shell allows it."""
    words = split(command)
    starts = [0, *(i for i, word in enumerate(words) if word.startswith("--")), len(words)]
    lines = [""]
    for part in (join(words[one:other]) for one, other in pairwise(starts)):
        fits = len(f"  {lines[-1]} {part} \\") <= WIDTH
        lines = [*lines[:-1], f"{lines[-1]} {part}".strip()] if fits or not lines[-1] else [*lines, f"  {part}"]
    return [f"  {line} \\" for line in lines[:-1]] + [f"  {lines[-1]}"]


def _key(audit: Audit, grid: Grid) -> list[str]:
    """Explain the words of the table, those that it has."""
    same = "score" if is_alone(audit.model) else "predict"
    copies = any(traits.twins is not None and traits.twins.share > 0 for traits in audit.evidence.traits)
    text = f"Equal models {same} the same."
    if any("κ" in heading for heading in grid.headings):
        text += " κ: how unevenly axes stretch." if copies else " κ: largest over smallest stretch of the axes."
    if copies and any("neighbours" in heading for heading in grid.headings):
        text += " Twins count once."
    return wrap(text, WIDTH)
