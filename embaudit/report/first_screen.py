"""The first screen of an audit: an answer, why, what to know besides, and what to type next.

Whoever reads it knows cosines and need not know gauges. It is plain text of 80 columns and 25 lines at most.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, pairwise, repeat
from shlex import join, split
from string import ascii_lowercase
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from embaudit.auditing.alone import is_alone
from embaudit.auditing.answer import Word
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.writing import seen_of
from embaudit.auditing.limits import LENGTH, SHIFT, holds_shifts, shifted_sides
from embaudit.foundation.words import copied, counted, cut, in_typical_rows, percent, row_called
from embaudit.model import Equivalence, Pairs
from embaudit.report.grid import Grid
from embaudit.report.next_steps import next_steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.finding import Finding
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.model import Role, SideName
    from embaudit.movements.moved import Movement
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.next_steps import Asked

WIDTH, HEIGHT = 80, 25
FINDINGS = 3
"""Findings that have a line."""
NEIGHBOURS = 5
"""Lines of neighbours, where there is room for so many."""
FEWEST = 4
"""Lines of neighbours that go before tips behind the first finding."""
LEAST = 2
"""Lines of neighbours that go before issues behind the first finding."""
OWN = "embaudit"
"""The format of our own files, which say themselves what is what; so does a file of one array."""
KAPPA = 1.5
"""Budget of what could move."""
RANGE, SURE = "width of range", "sure to stay"
"""What stands over the columns of what is proven."""
SEEN, PROVEN = "most seen in equal models", f"proven while axes stretch up to κ = {KAPPA}"
"""What stands over the columns of the table."""
SHIFTED = f"proven: κ ≤ {KAPPA}, shift ≤ {LENGTH:g} row (lists {str(SHIFT).lstrip('0')})"
"""The same where rows may be shifted besides, in typical rows."""
ROUNDING = 1e-6
"""Largest figure up to which rounding may be all that moved."""
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
    YES: item-item cosines are the same in every model of rank 1 with the same
    """
    answer, table, below = _answer(audit, asked.path), _tabulated(audit), [*_commands(audit, asked)]
    room = HEIGHT - len(answer) - len(table) - len(below)
    found = _findings(audit)
    tips, issues = (room - len(_neighbours(audit, fewest)) for fewest in (FEWEST, LEAST))
    grave = sum(one.severity is Severity.ISSUE for one in found)
    known = _lines(found)[: max(1, min(FINDINGS, max(tips, min(issues, grave))))]
    lists = (_neighbours(audit, most) for most in range(NEIGHBOURS, 0, -1))
    near = next((some for some in lists if len(some) <= room - len(known)), [])
    left = room - len(known) - len(near)
    # Commands are set in, so that the line before them is the first to go.
    between, apart = [""] * (left > 0), [""] * (left > 1 and bool(known))
    return "\n".join([*answer, *apart, *known, *table, *near, *between, *below])


def _answer(audit: Audit, path: str) -> list[str]:
    model = audit.model
    sides = " × ".join(counted(len(model.side(side)), model.title(side)) for side in model.sides)
    n_aside = 0 if model.right_aside is None else int(model.right_aside.sum())
    aside = f" ({n_aside:,} set aside)" if n_aside else ""
    title = shorten(f"{path}: {sides}{aside}, {counted(model.rank, 'dimension')}", WIDTH, placeholder=" …")
    intake = audit.intake
    told = intake is not None and intake.format != OWN and len(intake.parts) + len(intake.left_over) > 1
    read = [shorten(intake.line(), WIDTH, placeholder=" …")] if intake is not None and told else []
    sizes = wrap(f"Quick audit: {audit.effort}.", WIDTH) if audit.quick else []
    return [title, *read, *sizes, audit.answer.question, *wrap(str(audit.answer), WIDTH)]


def _findings(audit: Audit) -> Sequence[Finding]:
    """List the gravest findings first; those that say again what the answer says only among themselves."""
    answered = {*audit.answer.findings} | ({"EMB102"} if "one_side" in audit.answer.findings else set())
    new = [one for one in audit.findings if one.code not in answered]
    return new or audit.findings


def _lines(found: Sequence[Finding]) -> list[str]:
    lines = (f"{one.code} {one.severity.title}: {one.title}" for one in found)
    return [shorten(line, WIDTH, placeholder=" …") for line in lines]


def _tabulated(audit: Audit) -> list[str]:
    if not audit.predictions_hold:
        return []
    grid = movement_grid(audit.evidence)
    return ["", *_table(grid, proven_title(audit.evidence)), *wrap(" ".join(key(audit, grid)), WIDTH)]


def movement_grid(evidence: Evidence) -> Grid:
    """Tabulate for each kind of pairs what equal models were seen to do, and what is proven of those within a budget.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> line = FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])
    >>> movement_grid(audit(line).evidence).rows
    (('item-item', '0.00', '0 %'), ('user-user', '0.00', '–'), ('user-item', '0.00', '–'))
    """
    near, letters = _nearest(evidence), sources(evidence)
    several = len(letters) > 1
    columns = {
        "cosines": [Pairs(role).titled(evidence.model) for role in evidence.roles],
        "mean move": [_seen(_number, _moved(evidence, role), letters if several else {}) for role in evidence.roles],
        f"{near} lost": [_seen(percent, _lost(evidence, role), letters if several else {}) for role in evidence.roles],
        RANGE: [_number(_width(evidence, role)) for role in evidence.roles],
        f"{near} {SURE}": [_rough(_certified(evidence, role)) for role in evidence.roles],
    }
    shown = {heading: cells for heading, cells in columns.items() if set(cells) != {"–"}}
    return Grid("equal models", "", tuple(shown), tuple(zip(*shown.values(), strict=True)))


def proven_title(evidence: Evidence) -> str:
    """Write what stands over the columns of what is proven: the budgets of the set."""
    return SHIFTED if evidence.model.free_shifts else PROVEN


def is_proven(heading: str) -> bool:
    """Tell the columns of what is proven from those of what was seen."""
    return heading == RANGE or heading.endswith(SURE)


def _rough(share: float) -> str:
    """Write a share without decimals, which are overlooked beside whole ones."""
    return "<1 %" if 0 < share < 0.01 else percent(share)


def _nearest(evidence: Evidence) -> str:
    """Name the lists by their length, where all have one."""
    lengths = {record.top_n for _, record in evidence.visits() if record.top_n}
    return f"{lengths.pop()} nearest" if len(lengths) == 1 else "nearest"


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


class _Most(NamedTuple):
    """The largest figure that was seen, and the equal model that it was seen in; no name where nothing moved."""

    value: float
    called: str = ""


NOTHING = _Most(float("nan"))


def _seen(written: Callable[[float], str], most: _Most, letters: Mapping[str, str]) -> str:
    return f"{written(most.value)} {letters.get(most.called, '')}".rstrip()


def sources(evidence: Evidence) -> dict[str, str]:
    """Give a letter to each model that the largest figures were seen in.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.6, 0.8], [0.0, 2.0]])
    >>> list(sources(audit(model, groups=["canonical"]).evidence).values())
    ['a', 'b']
    """
    most = [found(evidence, role) for role in evidence.roles for found in (_moved, _lost)]
    return dict(zip(dict.fromkeys(one.called for one in most if one.called), ascii_lowercase, strict=False))


def named(evidence: Evidence, made: EquivalentModel) -> str:
    """Name an equal model as tables do, and say how far it goes; some are no gauge of the model."""
    if np.isnan(made.condition_number):
        return made.title
    shift = f", {in_typical_rows(made.shift_in(evidence.model))}" if made.shift else ""
    return f"{made.title} (κ = {made.condition_number:.3g}{shift})"


def _largest(evidence: Evidence, role: Role, figure: Callable[[Movement], float]) -> _Most:
    """Find the equal model with the largest figure; one that rounding alone made names no model."""
    found = [(figure(record), made) for made, record in evidence.visits(role) if not np.isnan(figure(record))]
    if not found:
        return NOTHING
    value, made = max(found, key=lambda one: one[0])
    return _Most(value, named(evidence, made) if value > ROUNDING else "")


def _moved(evidence: Evidence, role: Role) -> _Most:
    return _largest(evidence, role, lambda record: record.mean_abs)


def _width(evidence: Evidence, role: Role) -> float:
    """Return the width that half of the exact ranges exceed."""
    group = "affine" if shifted_sides(evidence.model, role) else "linear"
    for found in evidence.limits.ranges if holds_shifts(evidence.model, role, group) else ():
        if (found.role, found.group, found.max_condition) == (role, group, KAPPA):
            return found.width_quantiles[0.5]
    return np.nan


def _certified(evidence: Evidence, role: Role) -> float:
    for found in evidence.limits.certificates:
        if found.role == role and holds_shifts(evidence.model, role, found.group):
            return found.entries[KAPPA]
    return np.nan


def _lost(evidence: Evidence, role: Role) -> _Most:
    """Find the largest share of neighbours that an equal model at hand replaces, a prediction cosine among them.

    Lists hold one row of each group of copies.
    """
    counterpart = None if evidence.predicted is None else evidence.predicted.of(role)
    most = _largest(evidence, role, _gone)
    if counterpart is None or evidence.model.predicts is Equivalence.COSINES or np.isnan(_gone(counterpart)):
        return most
    return most if most.value >= _gone(counterpart) else _Most(_gone(counterpart), f"by {seen_of(evidence.model)}")


def _gone(record: Movement) -> float:
    return 1 - record.top_n_overlap if record.top_n else float("nan")


def _table(grid: Grid, proven: str) -> list[str]:
    """Align a table under two lines: what was done, and what became of it."""
    first = next((i for i, name in enumerate(grid.headings) if is_proven(name)), len(grid.headings))
    bounds = [0, 1, first, len(grid.headings)]
    blocks = [
        block
        for title, (one, other) in zip(("", SEEN, proven), pairwise(bounds), strict=True)
        if (block := _block(title, [row[one:other] for row in (grid.headings, *grid.rows)]))
    ]
    between = " " * max(1, min(3, (WIDTH - sum(len(block[0]) for block in blocks)) // max(1, len(blocks) - 1)))
    return [between.join(line).rstrip() for line in zip(*blocks, strict=True)]


def _block(title: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """Align some columns under a title, in lines of one length; nothing where there are no columns."""
    if not rows[0]:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    width = max(map(len, (title, *lines)))
    return [f"{line:{width}}" for line in (title, *lines)]


def side_by_side(audit: Audit) -> tuple[Neighbourhood, str] | None:
    """Choose whose neighbours to show, and what they are compared with; None where there are none.

    Where the answer is YES nothing is compared: other lists would say less than these.
    """
    evidence, head = audit.evidence, audit.head
    if evidence.predicted is not None and evidence.predicted.examples:
        return evidence.predicted.examples[0], f"by {seen_of(evidence.model)}"
    if head is not None and _has_conventions(evidence):
        if evidence.norm is not None and evidence.norm.examples:
            return evidence.norm.examples[0], "norm folded in, average row subtracted"
        return head.neighbours.examples[0], "with the average row subtracted"
    if evidence.examples:
        return evidence.examples[0], "in one equal model"
    return None


def _has_conventions(evidence: Evidence) -> bool:
    """Whether a head has two conventions with other neighbours: centred or not, its final norm folded in or not."""
    head = evidence.head
    if head is None or evidence.chosen or not head.origin_is_free:
        return False
    return origin_matters(head) or (evidence.norm is not None and bool(evidence.norm.examples))


def _neighbours(audit: Audit, most: int) -> list[str]:
    """List the neighbours of one row below a line that names it; nothing where there is no room for one of them."""
    found = side_by_side(audit) if audit.predictions_hold else None
    if found is None or most < 1:
        return []
    (example, against), named = found, _names(audit)
    if not example.before:
        line = f"{named(example.name)} has no direction, so it has no neighbours."
        return ["", shorten(line, WIDTH, placeholder=" …")]
    if audit.answer.word is Word.YES:
        copies = f" ({copied(example.left_out)} left out)" if example.left_out else ""
        name = shorten(f"nearest to {named(example.name)}{copies}", WIDTH, placeholder=" …")
        return ["", name, *(_cell(named(one), cosine, " ").rstrip() for one, cosine in example.before[:most])]
    return ["", *_two_lists(example, against, most, named, _no_better(audit))]


def _names(audit: Audit) -> Callable[[str], str]:
    """Call a row whose name is a bare number by what it is."""
    side: SideName = "left" if audit.evidence.about == "left" else "right"
    title = audit.model.title(side)
    return partial(row_called, title)


def _no_better(audit: Audit) -> str:
    """Say what the list of another model is worth; nothing of what is predicted, which speaks for itself."""
    if audit.evidence.predicted is not None and audit.evidence.predicted.examples:
        return ""
    if audit.answer.word is Word.CONVENTION:
        return "Training chose the left list, among those of equal models."
    if _has_conventions(audit.evidence):
        return "The right list follows one convention, no truer than the left."
    return "The list on the right is as valid as the left one, no better."


def _two_lists(
    example: Neighbourhood, against: str, most: int, named: Callable[[str], str], below: str
) -> Iterator[str]:
    """Lay two lists side by side, and mark what only one of them holds."""
    marked = not all((*example.stay[:most], *example.stayed[:most]))
    note = " (* one list only)" * (marked and not below)
    other = shorten(against, COLUMN - len(note), placeholder=" …") + note
    name = shorten(named(example.name), WIDTH - len(f"nearest to , by cosine  {other}"), placeholder=" …")
    yield f"{f'nearest to {name}, by cosine':{COLUMN + 2}}  {other}"
    lists = zip(example.before, example.stay, example.after, example.stayed, strict=True)
    for (one, near), stay, (two, later), stayed in list(lists)[:most]:
        yield f"{_cell(named(one), near, ' *'[not stay])}    {_cell(named(two), later, ' *'[not stayed])}".rstrip()
    if below:
        yield f"{'* one list only. ' * marked}{below}"


def _cell(name: str, cosine: float, mark: str) -> str:
    room = COLUMN - 8
    return f"{cut(name, room):{room}} {cosine:5.2f} {mark}"


def _commands(audit: Audit, asked: Asked) -> Iterator[str]:
    """Write what to type next, each below what it is for; a line too long is broken as a shell allows it."""
    for start, (what, command) in zip(chain(["next, "], repeat("or ")), next_steps(audit, asked), strict=False):
        yield f"{start}{what}:"
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


def _besides(evidence: Evidence) -> Iterator[str]:
    """Say what else the set of what is proven holds, and what it does not."""
    if evidence.fibre.unseen:
        yield "Unseen parts: no bound."


def key(audit: Audit, grid: Grid) -> Iterator[str]:
    """Explain the words of the table, those that it has, a sentence each."""
    yield "Equal models: same products of both sides." if is_alone(audit.model) else "Equal models predict the same."
    if any(map(is_proven, grid.headings)):
        yield "κ: largest / smallest stretch."
        yield from _besides(audit.evidence)
    if RANGE in grid.headings:
        yield "Widths: medians."
    letters = sources(audit.evidence)
    if len(letters) == 1:
        yield f"Seen in: {next(iter(letters))}."
    else:
        yield from (f"{letter}: {called}." for called, letter in letters.items())
    copies = any(traits.twins is not None and traits.twins.share > 0 for traits in audit.evidence.traits)
    if copies and any("nearest" in heading for heading in grid.headings):
        yield "Lists count copies once."
