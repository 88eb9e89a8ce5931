"""The document of an audit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.answer import Readability
from embaudit.auditing.equivalents import WORST
from embaudit.auditing.evidence import LISTED
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.identification import cases
from embaudit.auditing.findings.predictions import ALIKE
from embaudit.auditing.limits import LENGTH, SHIFT, holds_shifts
from embaudit.auditing.wording import in_titles, seen_of, worded_for
from embaudit.core.words import counted, in_typical_rows, percent, row_called
from embaudit.linalg.transformed_rows import with_shift
from embaudit.model import Pairs
from embaudit.movements.neighbourhoods import find_rows, neighbourhoods
from embaudit.report.audit_tables import (
    MOVED,
    convention_grid,
    families,
    glance_of,
    head_grids,
    head_sentences,
    limit_grids,
    movement_grids,
    shown_side,
)
from embaudit.report.definitions import definitions, glossary
from embaudit.report.document import Charted, Document, Lists, Section, lists_of
from embaudit.report.figures import ROUNDING, CertifiedCurveDisplay, MovementDisplay, PredictionDisplay
from embaudit.report.grid import Grid
from embaudit.report.heatmap import heatmap_of_page
from embaudit.report.next_steps import Invocation, next_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from embaudit.auditing import Audit
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.display import Display

PAIRS = 20_000
"""Pairs that are drawn; all where there are no more."""
CONVENTIONS = ("with the average row subtracted", "norm folded in, average row subtracted")
"""Conventions of heads."""
EQUIVALENT = "in one equivalent model: "
"""Beginning of the heading over the lists of another model."""
UNMOVED = "No equivalent model with other cosines was found; that is no proof."
"""Remark where the answer is open, and no model that was tried moves a cosine."""


def audit_document(audit: Audit, invocation: Invocation | None = None, *, drawn: bool = True) -> Document:
    """Build the document of an audit, with figures where they are drawn; commands repeat how the model was read.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> made = audit_document(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> made.subject, [section.id for section in made.shown_sections]
    ('2 users × 3 items, 1 dimension', ['movement', 'neighbours'])
    """
    invocation = Invocation(audit.source) if invocation is None and audit.source else invocation
    # Figures of models that moved predictions must not look like results.
    glance = glance_of(audit) if audit.predictions_hold else None
    training = Grid("kinds of training", "", ("if it was trained with --objective", "the cosines are"), _cases(audit),
                    words=(0, 1))  # fmt: skip
    sections = (
        Section.of("training", "Training", "What each kind of training leaves of the cosines", training),
        Section("findings", "Findings", "Findings, and what to do", findings=audit.findings),
        _movement(audit, drawn=drawn),
        _limits(audit, drawn=drawn),
        _neighbours(audit),
        _conventions(audit),
    )
    paragraphs = tuple(_said(audit))
    # Words are explained where a reader meets them, which a heading or a finding is as well.
    met = [*paragraphs, str(audit.answer), "budget", *(() if glance is None else glance.key)]
    met += [f"{each.title} {each.text} {each.remedy}" for each in audit.findings]
    for section in sections:
        grids = (block.grid for block in section.parts if block.grid is not None)
        met += [*section.paragraphs, *section.end, *(" ".join((grid.caption, *grid.headings)) for grid in grids)]
    model = audit.model
    sides = " × ".join(counted(len(model.side(side)), model.title(side)) for side in model.sides)
    n_aside = 0 if model.right_aside is None else int(model.right_aside.sum())
    aside = f" ({counted(n_aside, 'special row')} set aside)" if n_aside else ""
    return Document(
        audit.answer.question,
        paragraphs,
        next=audit.answer.advice,
        sections=sections,
        # The table of trainings, where it has rows, comes before the first one of movements.
        n_embedded=1 + len(training.rows[:1]),
        facts=tuple(_facts(audit)),
        glossary=tuple((word, in_titles(model, meaning)) for word, meaning in glossary("audit")),
        subject=f"{sides}{aside}, {counted(model.rank, 'dimension')}",
        answer=audit.answer,
        steps=() if invocation is None else tuple(next_steps(audit, invocation)),
        glance=glance,
        n_asked=len(compared_neighbours(audit)[0]) if audit.options.show else 0,
        words=tuple(definitions(model, met)),
    )


def _cases(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Tabulate what each kind of training leaves of the cosines, where none is declared and that decides."""
    if audit.model.objective is not None or all(each.code != "EMB102" for each in audit.findings):
        return ()
    return tuple((" or ".join(names), then) for names, then in cases(audit.model))


def _said(audit: Audit) -> Iterator[str]:
    """Yield the notes of the verdict, and of the other side what is good; findings have cards of their own."""
    yield from (each.text for each in audit.reasons if each.severity is Severity.NOTE)
    for each in audit.conclusions:
        near = each.code in ("cosines_agree", "cosines_near") and (each.value or 0.0) < ALIKE
        if near and each.role != audit.evidence.role:
            yield each.text


def _movement(audit: Audit, *, drawn: bool) -> Section:
    """Lay out how far cosines move in equivalent models, a table and a figure for each kind of pairs."""
    evidence, parts = audit.evidence, []
    for index, grid in enumerate(movement_grids(audit)):
        figures: tuple[Display, ...] = ()
        if drawn:
            title = Pairs(evidence.movement[0][index].role).titled(evidence.model)
            moved = {name: [record for _, record, _ in some] for name, some in families(audit, index).items()}
            made = MovementDisplay.of_families(moved, title)
            figures = (made,) if len(made.means) else ()
        parts.append(Charted(grid.title, grid.without(worded_for(evidence.model, MOVED)) if drawn else grid, figures))
    position = () if evidence.position is None else (evidence.position.explain(),)
    title = "How far cosines move in equivalent models"
    parts += _pictures(audit) if drawn else []
    return Section("movement", "Movement", title, paragraphs=(*position, *_on_movement(audit)), parts=tuple(parts))


def _pictures(audit: Audit) -> Iterator[Charted]:
    """Draw cosines beside those of predictions, and the cosines of every pair of a few rows."""
    if audit.evidence.predicted is not None and audit.predictions_hold:
        pairs = PredictionDisplay.of_audit(audit, n_pairs=PAIRS)
        if len(pairs.pairs):
            yield Charted(f"Cosines beside {pairs.word}s", None, (pairs,), "narrow")
    heat = heatmap_of_page(audit)
    if heat is not None:
        yield Charted("Cosines of every pair", None, (heat,), "wide")


def _on_movement(audit: Audit) -> Iterator[str]:
    """Explain the bound of κ, and the pairs that models found by a search are measured over."""
    equivalents, budget = audit.evidence.equivalents, audit.options.max_condition
    yield (
        "κ is the largest over the smallest stretch of an axis. Named models stretch as far as they must; random ones "
        f"and searches keep to the budget, κ = {budget:g} (--max-condition)."
    )
    if any(each.kind == WORST for each in equivalents):
        yield (
            "Models that were searched for are measured here over the pairs and lists of all others. On the few that "
            "they were searched for they do more: the next section tells of those."
        )


def _limits(audit: Audit, *, drawn: bool) -> Section:
    """Lay out exact ranges, certified lists and attacks, a table and a curve for each kind of pairs."""
    limits, model, parts = audit.evidence.limits, audit.evidence.model, []
    roles = dict.fromkeys(summary.role for summary in limits.ranges)
    curves = {each.role for each in limits.certificates if holds_shifts(model, each.role, each.group)}
    for role, grid in zip(roles, limit_grids(audit), strict=True):
        figures: tuple[Display, ...] = ()
        if drawn and role in curves:
            figures = (CertifiedCurveDisplay.of_audit(audit, role=role),)
        parts.append(Charted(f"{Pairs(role).titled(model)} cosines", grid, figures))
    attacks = (each.text for each in audit.conclusions if each.code in ("reached", "bound", "not_searched"))
    title = "How far they could move, and what is certain to stay"
    return Section("limits", "Limits", title, paragraphs=(*_on_limits(audit), *attacks), parts=tuple(parts))


def _on_limits(audit: Audit) -> Iterator[str]:
    """Explain how to read the ranges and the curve."""
    limits = audit.evidence.limits
    if limits.ranges:
        yield (
            "A range holds all values that a cosine takes while axes stretch up to κ, and its width says how free the "
            "cosine is. Rescaling stretches each stored column on its own; linear gauges stretch along any direction."
        )
    if any(each.tied_share for each in limits.certificates):
        yield (
            "Entries that tie with the first row left out, or that a shift alone may displace, are never certain, so "
            "curves start below 1. Duplicates stay near each other whatever is stretched, so figures with and without "
            "them differ both ways."
        )
    if limits.certificates and limits.attacks:
        yield "Whether more stays than is proven, and less than the worst gauge found leaves, is not known."
    if any(each.max_shift for each in limits.ranges):
        yield (
            f"“With a shift” allows for one of up to {in_typical_rows(LENGTH)} besides; lists are certified against "
            f"shifts of up to {in_typical_rows(SHIFT)}. What holds for stretches alone bounds no model that may be "
            "shifted."
        )


def compared_neighbours(audit: Audit) -> tuple[tuple[Neighbourhood, ...], str]:
    """Choose the rows whose neighbours are shown, and what they are compared with: first what `fix` writes.

    Of a head these are conventions, else the equivalent model that changes most.
    """
    evidence, head = audit.evidence, audit.head
    if evidence.predicted is not None and evidence.predicted.examples:
        return evidence.predicted.examples, f"by {seen_of(evidence.model)}"
    if head is not None and _has_conventions(audit):
        folded = evidence.norm is not None and bool(evidence.norm.examples)
        if audit.options.show:
            return _in_convention(audit, audit.options.show), CONVENTIONS[folded]
        if evidence.norm is not None and folded:
            return evidence.norm.examples, CONVENTIONS[1]
        return head.neighbours.examples, CONVENTIONS[0]
    side = shown_side(audit)
    names = (each.called(side) for each in evidence.equivalents if each.name == evidence.examples_gauge)
    return tuple(each for each in evidence.examples if each.before), f"{EQUIVALENT}{next(names, '')}"


def _in_convention(audit: Audit, names: Sequence[str]) -> tuple[Neighbourhood, ...]:
    """List the neighbours of labels as stored and without the average row, the final norm folded in."""
    model, side, norm = audit.model, audit.model.right_side, audit.evidence.norm
    folded = norm.forms[-1].seen(model.right) if norm is not None and norm.examples else None
    rows = np.array([row for row in find_rows(model, "right", names).tolist() if side.norms[row] > 0], dtype=np.intp)
    after = with_shift(model.right, -np.asarray(side.outline.mean, dtype=np.float64)) if folded is None else folded
    return neighbourhoods(model, after, role="right", rows=rows, n=min(LISTED, len(side.directed) - 1))


def _has_conventions(audit: Audit) -> bool:
    """Return True if a head has two conventions with other neighbours: centred or not, norm folded in or not."""
    head, norm = audit.head, audit.evidence.norm
    if head is None or not head.origin_is_free:
        return False
    return origin_matters(head) or (norm is not None and bool(norm.examples))


def _neighbours(audit: Audit) -> Section:
    """Lay neighbours side by side, and those without the bias beside those that count it in."""
    evidence, role = audit.evidence, shown_side(audit)
    side, title, (examples, against) = audit.model.side(role), audit.model.title(role), compared_neighbours(audit)
    called = audit.model.row_title(role)
    usual = next((each.levels for each in evidence.traits if each.role == role), None)
    # An equivalent model that moves no cosine has the same lists, but for rounding.
    moved = max((movement.max_abs for _, movement in evidence.visits(role)), default=0.0)
    may_stand = audit.answer.word in (Readability.YES, Readability.UNSAID)
    is_still = may_stand and against.startswith(EQUIVALENT) and moved < ROUNDING
    lists: list[Lists] = []
    # Lists of a model that moved predictions are not lists of an equivalent one.
    for each in examples if audit.predictions_hold else ():
        levels = None if usual is None else list(map(percent, usual.below([cosine for _, cosine in each.before])))
        made = lists_of(each, ("by cosine", against), title=called, levels=levels)
        lists.append(made.first if is_still else made)
    biased = (each for each in evidence.beside_bias if each.before)
    lists += [lists_of(each, ("without the bias", "with it among the factors"), title=called) for each in biased]
    if audit.options.show:
        texts = [f"Of the {title}s that were asked for."]
    elif _has_conventions(audit):
        texts = [f"Of the {title}s whose neighbours change most, so these are no sample; figures over all stand above."]
    else:
        few = f"Of a few {title}s drawn at random from the twentieth with the longest vectors"
        texts = [f"{few}, which have much behind them as a rule."]
    shown = max((len(each.before) for each in examples), default=0)
    n_counted = max((record.top_n or 0 for _, record in evidence.visits(role)), default=0)
    if n_counted > shown:
        texts.append(f"Each list shows the first {shown} of the {n_counted} nearest that figures count.")
    texts += [UNMOVED] * (is_still and audit.answer.word is Readability.UNSAID)
    if side.names is None and side.ids is None and role == "right":
        texts.append(f"These {title}s go by their number: `--labels FILE` names them, a name a line.")
    paragraphs = (" ".join(texts),) if lists else ()
    title = "Neighbours, side by side"
    alone = [row_called(called, each.name) for each in evidence.examples if not each.before]
    undirected = (f"{name} has no direction, so it has no neighbours." for name in alone)
    return Section("neighbours", "Neighbours", title, paragraphs, lists=tuple(lists), end=tuple(undirected))


def _conventions(audit: Audit) -> Section:
    norm = () if audit.evidence.norm is None else (convention_grid(audit.evidence.norm),)
    grids = (*norm, *(() if audit.head is None else head_grids(audit.head)))
    made = Section.of("conventions", "Conventions", "Conventions and shifts of this head", *grids)
    return made if audit.head is None else replace(made, paragraphs=tuple(head_sentences(audit.head)))


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    evidence = audit.evidence
    yield "model", str(audit.model).removeprefix("FactorModel")[1:-1]
    yield "input", audit.source or "in memory"
    yield "fingerprint", audit.fingerprint
    yield "equivalent models visited", f"{evidence.n_visited:,}"
    yield from [("quick audit", str(audit.options.effort))] if audit.options.quick else ()
    yield "budget", f"κ ≤ {audit.options.max_condition:g}"
    yield "seed", str(evidence.seed)
