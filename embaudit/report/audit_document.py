"""The document of an audit: its sections, with their tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any, NamedTuple

import numpy as np

from embaudit.auditing.answer import AnswerWord
from embaudit.auditing.audit import Audit
from embaudit.auditing.equivalents import WORST
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings.movement_notes import of_drawn, unseen_too
from embaudit.auditing.findings.undeclared_training import cases
from embaudit.auditing.heads import HeadReport
from embaudit.auditing.limits import (
    LENGTH,
    SHIFT,
    Certificate,
    holds_shifts,
    shifted_sides,
)
from embaudit.auditing.wording import (
    Nouns,
    is_alone,
    is_head,
    prediction_phrase,
)
from embaudit.canonical.equivalents import CANONICAL, EquivalentModel
from embaudit.core.ties import first_best
from embaudit.core.tolerances import FLOAT32_TIE, PRINTED_COSINE, TIE
from embaudit.core.words import (
    at_least,
    change_size,
    counted,
    down,
    drawn_of,
    in_typical_rows,
    percent,
    row_called,
    row_quoted,
    two_decimals,
    up,
)
from embaudit.heads.conventions import NormEvidence
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import list_length
from embaudit.model import Equivalence, FactorModel, Pairs, Role
from embaudit.model.drift import Drift
from embaudit.movements.movement import Movement
from embaudit.movements.neighbourhoods import Neighbourhood, find_rows, neighbourhoods
from embaudit.ranges.cosine_range import RangeSummary
from embaudit.report.display import Display
from embaudit.report.document import (
    Charted,
    Document,
    Glance,
    Lists,
    Section,
    definitions,
    glossary,
    lists_of,
)
from embaudit.report.figures import (
    CertifiedCurveDisplay,
    MovementDisplay,
    PredictionDisplay,
    predicted_word,
    shown_side,
)
from embaudit.report.next_steps import Invocation, next_steps
from embaudit.report.tables import Format, Table

Visit = tuple[EquivalentModel, Movement, Drift]
WIDTHS = {"linear": "linear", "diagonal": "rescaling", "affine": "with a shift"}
"""Groups whose ranges are shown, and what a table calls them."""
KAPPA = 1.5
"""Budget of what could move."""
SEEN, PROVEN = (
    "most in equivalent models",
    f"proven while axes stretch up to κ = {KAPPA}",
)
"""Titles over the columns of the first table."""
SHIFTED = f"proven: κ ≤ {KAPPA} and limited shifts"
"""The same where rows may be shifted besides."""
PAIRS = 20_000
"""Pairs that are drawn; all where there are no more."""
CONVENTIONS = (
    "with the average row subtracted",
    "norm folded in, average row subtracted",
)
"""Conventions of heads."""
EQUIVALENT = "in one equivalent model: "
"""Beginning of the heading over the lists of another model."""
STANDS = "mean move"
"""Heading of the column that stands in every table."""
UNMOVED = "No equivalent model with other cosines was found; that is no proof."
"""Remark where the answer is open, and no model that was tried moves a cosine."""


def predictions_moved(model: FactorModel) -> str:
    """Return the heading of the column with the largest change of a prediction."""
    return f"{Nouns.of(model).predictions} moved"


def families(audit: Audit, index: int) -> dict[str, list[Visit]]:
    """Group the equivalent models as tables do, each with the movement of the role at a position and its drift."""
    evidence = audit.evidence
    groups: dict[str, list[Visit]] = {}
    for equivalent, records, drift in zip(
        evidence.equivalents, evidence.movement, evidence.drift, strict=True
    ):
        record = records[index]
        family = (
            equivalent.title_for(record.role)
            if equivalent.kind == CANONICAL
            else equivalent.title
        )
        groups.setdefault(family, []).append((equivalent, record, drift))
    return groups


def movement_tables(audit: Audit) -> Iterator[Table]:
    """Yield one table per role: a row for each canonical model and for each family of random ones.

    Families are averaged, except for κ, the largest |Δcos| and the largest change of a prediction.
    """
    import pandas as pd

    evidence, model = audit.evidence, audit.evidence.model
    is_shifted = any(equal.shift_in(model) for equal in evidence.equivalents)
    for index, first in enumerate(evidence.movement[0]):
        records = [
            _family_record(title, visits, model)
            for title, visits in families(audit, index).items()
        ]
        frame = pd.DataFrame(records)
        if not is_shifted:
            frame = frame.drop(columns="shift")
        kept = f"top-{first.top_n} kept"
        if first.top_n:
            frame = frame.rename(columns={"kept": kept})
        else:
            frame = frame.drop(columns="kept")
        yield Table(
            f"{Pairs(first.role).titled(model)} cosines",
            frame,
            _movement_note(evidence, first),
            formats={
                "κ": "{:.3g}",
                "shift": in_typical_rows,
                "mean |Δcos|": "{:.3f}",
                "largest": "{:.2f}",
                "sign flips": percent,
                "rank corr.": "{:.3f}",
                kept: percent,
                predictions_moved(model): change_size,
            },
            essential=("mean |Δcos|", kept),
        )


def _movement_note(evidence: Evidence, movement: Movement) -> str:
    """Say which pairs and lists a movement is measured over."""
    pairs = drawn_of(movement.n_pairs, movement.n_all_pairs, "pair")
    note = pairs + of_drawn(evidence, movement.role, " of")
    if movement.top_n:
        note += f"; lists of {counted(movement.n_lists, 'row')}"
        if movement.tied_lists:
            note += f", {percent(movement.tied_lists)} of them end in a tie"
    if movement.n_zero:
        note += f"; {counted(movement.n_zero, 'row')} without direction left out"
    return note


def _family_record(
    title: str, visits: list[Visit], stored: FactorModel
) -> dict[str, Any]:
    """Return the figures of a family of equivalent models: means over the family, the largest κ and change.

    κ is NaN for models that no gauge makes, and the shift is NaN without one.
    """
    models, movements, drifts = zip(*visits, strict=True)
    # κ, shift and changes are those of the furthest model, which a mean would hide.
    shift = max(model.shift_in(stored) for model in models)
    return {
        "equivalent models": title if len(visits) == 1 else f"{len(visits)} {title}",
        "κ": max(model.condition_number for model in models),
        "shift": shift or np.nan,
        "mean |Δcos|": float(np.mean([record.mean_abs for record in movements])),
        "largest": max(record.max_abs for record in movements),
        "sign flips": float(np.mean([record.sign_flips for record in movements])),
        "rank corr.": float(np.mean([record.spearman for record in movements])),
        "kept": float(np.mean([record.top_n_overlap for record in movements])),
        predictions_moved(stored): max(record.max_abs for record in drifts),
    }


def limit_tables(audit: Audit) -> Iterator[Table]:
    """Yield one table per role: how wide the exact ranges are, and what share of the neighbour lists is certain."""
    import pandas as pd

    limits, model = audit.evidence.limits, audit.evidence.model
    for role in dict.fromkeys(summary.role for summary in limits.ranges):
        summaries = [summary for summary in limits.ranges if summary.role == role]
        certificate = next(
            (
                lists
                for lists in limits.certificates
                if lists.role == role and holds_shifts(model, role, lists.group)
            ),
            None,
        )
        groups = [
            name
            for name in WIDTHS
            if any(summary.group == name for summary in summaries)
        ]
        # Ranges and lists may be known at different κ: each κ has a row, with missing
        # values for what was not computed there.
        kappas = {summary.max_condition or np.inf for summary in summaries}
        if certificate is not None:
            kappas |= set(certificate.entries)
        headings = ["any gauge"]
        for name in groups:
            headings += [f"width, {WIDTHS[name]}", "sign fixed"]
        if certificate is not None:
            headings.append(f"top-{certificate.top_n} certified")
        rows = []
        for kappa in sorted(kappas):
            ranges = {
                summary.group: summary
                for summary in summaries
                if summary.max_condition == kappa
            }
            row = [kappa]
            for name in groups:
                if name in ranges:
                    row.append(ranges[name].width_quantiles[0.5])
                    row.append(ranges[name].sign_definite_share)
                else:
                    row += [np.nan, np.nan]
            if certificate is not None:
                row.append(certificate.entries.get(kappa, np.nan))
            rows.append(row)
        # A narrow terminal keeps the ranges of the largest group and the lists.
        widest = "affine" if shifted_sides(model, role) else "linear"
        formats: dict[str, Format] = {
            "any gauge": "within κ = {:g}",
            "sign fixed": percent,
        }
        formats |= {f"width, {WIDTHS[name]}": _rounded_down for name in groups}
        if certificate is not None:
            formats[headings[-1]] = at_least
        yield Table(
            f"{Pairs(role).titled(model)} cosines: how far they could move",
            pd.DataFrame(rows, columns=headings),
            _limits_note(audit, summaries[0], certificate),
            formats=formats,
            essential=(f"width, {WIDTHS[widest]}", headings[-1]),
        )


def _rounded_down(width: float) -> str:
    return f"{down(width):.2f}"


def _limits_note(
    audit: Audit, ranges: RangeSummary, certificate: Certificate | None
) -> str:
    """Say which pairs and lists a table of limits is about, and which of them are uncertain from the start."""
    evidence = audit.evidence
    note = drawn_of(ranges.n_pairs, ranges.n_all_pairs, "pair")
    note += of_drawn(evidence, ranges.role, " of")
    if certificate is not None:
        lists = f"lists of {counted(certificate.n_rows, 'row')}"
        tied = percent(certificate.tied_share)
        if certificate.max_shift:
            note += (
                f", widths with shifts up to {in_typical_rows(LENGTH)}. "
                f"{lists.capitalize()}: shifts up to "
                f"{in_typical_rows(certificate.max_shift)}, which alone leave {tied} "
                "of entries uncertain"
            )
        else:
            note += f", {lists}, {tied} of entries tied"
    if evidence.equivalence.unseen:
        note += f".{unseen_too(evidence).removesuffix('.')}"
    return note


def head_tables(head: HeadReport) -> Iterator[Table]:
    """Yield what only a softmax head has: the effect of its mean row, and the shortest shifts of pairs of labels."""
    import pandas as pd

    change, moved = head.neighbours, head.centred.movement
    title = head.model.title("right")
    note = f"{head.offset:.2g} of a typical row long"
    if head.is_drawn:
        note += f"; cosines of {counted(head.n_panel, title)} drawn"
    first = "without its mean row"
    if not head.origin_is_free:
        first += " (not equal)"
    row = {
        f"equivalent {'head' if is_head(head.model) else 'model'}": first,
        f"top-1 changed (of {change.n_rows:,} {title}s)": change.top1_changed,
        f"top-{change.top_n} changed": change.top_n_changed,
        "mean |Δcos|": moved.mean_abs,
        "largest": moved.max_abs,
        "probabilities moved": head.centred.change,
    }
    _, top_1, top_n, *_ = row
    yield Table(
        "mean row removed",
        pd.DataFrame([row]),
        note,
        formats={
            top_1: percent,
            top_n: percent,
            "mean |Δcos|": "{:.3f}",
            "largest": "{:.2f}",
            "probabilities moved": change_size,
        },
    )
    if head.shifts:
        levels = {f"{100 * level:g} %": level for level in head.shifts[0].quantiles}
        rows = [
            {
                "cosine": shift.target,
                **{name: shift.quantiles[level] for name, level in levels.items()},
                "within one length": shift.within_one,
            }
            for shift in head.shifts
        ]
        formats: dict[str, Format] = {"cosine": "{:+g}", "within one length": percent}
        formats |= dict.fromkeys(levels, _rounded_up)
        yield Table(
            f"shortest shift of all {title}s that brings a pair there",
            pd.DataFrame(rows),
            f"{counted(head.shifts[0].n_pairs, 'pair')}, in typical row lengths",
            formats=formats,
        )


def _rounded_up(length: float) -> str:
    return f"{up(length):.2f}"


def convention_table(norm: NormEvidence) -> Table:
    """Lay every two conventions beside each other.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.model.final_norm import FinalNorm
    >>> from embaudit.heads.conventions import norm_evidence
    >>> draw = np.random.default_rng(0)
    >>> head = FactorModel.from_softmax(draw.standard_normal((9, 2)))
    >>> found = norm_evidence(head, FinalNorm("rms", [1.0, 5.0]), labels=np.arange(9), n_neighbours=2, rng=draw)
    >>> [row[:2] for row in convention_table(found).rows]
    [('as stored', 'folded'), ('as stored', 'folded and centred'), ('folded', 'folded and centred')]
    """
    import pandas as pd

    note = counted(len(norm.queries), "label")
    if norm.n_copies:
        note += f" without a duplicate, {norm.n_copies:,} left out"
    moved = change_size(max(drift.max_abs for drift in norm.drift))
    note += f"; predictions moved by {moved} at most"
    changed = f"top-{norm.folded.top_n} changed"
    rows = [
        {
            "one": pair.first,
            "the other": pair.second,
            "top-1 changed": pair.nearest.share,
            changed: pair.top_n_changed,
            "mean |Δcos|": pair.mean_abs,
        }
        for pair in norm.apart
    ]
    return Table(
        f"conventions in use: one head behind its {norm.norm.title} (κ = {norm.norm.condition_number:.3g})",
        pd.DataFrame(rows),
        note,
        formats={
            "top-1 changed": percent,
            changed: percent,
            "mean |Δcos|": "{:.3f}",
        },
    )


def head_sentences(head: HeadReport) -> list[str]:
    """Describe which labels can lead, given `hull`, and a shift's effect on a pair."""
    sentences = []
    if head.argmax is not None:
        sentences.append(head.argmax.explain(head.model.title("right")))
    equivalent = f"equivalent {'head' if is_head(head.model) else 'model'}"
    for made in head.constructions:
        first, other = (
            row_quoted(head.model.row_title("right"), str(name)) for name in made.names
        )
        sentences.append(
            f"{first} and {other} have cosine {made.before:.2f}; in an {equivalent}, shifted by "
            f"{in_typical_rows(made.shift)}, they have {made.after:+.6f} (probabilities moved by {change_size(made.change)})."
        )
    return sentences


class _Most(NamedTuple):
    """The largest figure that was seen, and the equivalent model that it was seen in; no name where nothing moved."""

    value: float
    model: str = ""


def glance_of(audit: Audit) -> Glance:
    """Tabulate for each kind of pairs what equivalent models were seen to do, and what is proven within a budget.

    Titles stand above the columns, and the key explains the words of the table, those
    that it has.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> glance = glance_of(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> glance.grid.rows
    (('item-item', '0.00', '0 %'), ('user-user', '0.00', '–'), ('user-item', '0.00', '–'))
    """
    import pandas as pd

    evidence, model = audit.evidence, audit.evidence.model
    moved = [
        _largest(evidence, role, lambda record: record.mean_abs)
        for role in evidence.roles
    ]
    lost = [_lost(evidence, role) for role in evidence.roles]
    # That no model was found which moves anything is a figure only where it is proven
    # that there is none.
    freedom = [evidence.equivalence.freedom[role].moves for role in evidence.roles]
    unfound = [
        moves is not False and not most.model
        for moves, most in zip(freedom, moved, strict=True)
    ]
    # Each model that a figure was seen in has a letter, where there are several.
    names = list(
        dict.fromkeys(
            most.model
            for row in zip(moved, lost, strict=True)
            for most in row
            if most.model
        )
    )
    letters = dict(zip(names, ascii_lowercase, strict=False)) if len(names) > 1 else {}
    # Lists of a small side are shorter; the heading names a length only where all have
    # it, else the key does.
    lengths = {
        f"{model.title(each.role)}s": each.top_n
        for _, each in evidence.visits()
        if each.top_n
    }
    differ = len({*lengths.values()}) > 1
    near = "nearest" if differ or not lengths else f"{min(lengths.values())} nearest"

    def lettered(figures: list[_Most], write: Callable[[float], str]) -> list[str]:
        cells = [
            f"{write(most.value)} {letters.get(most.model, '')}".rstrip()
            for most in figures
        ]
        return [
            "–" if is_open else cell
            for cell, is_open in zip(cells, unfound, strict=True)
        ]

    visited = {
        STANDS: lettered(moved, _number),
        f"{near} lost": lettered(lost, percent),
    }
    proven = {
        "width of range": [_number(_width(evidence, role)) for role in evidence.roles],
        f"{near} sure to stay": [_certified(evidence, role) for role in evidence.roles],
    }
    # A column of dashes would take the room of one that says something.
    shown = {
        key: cells
        for key, cells in (visited | proven).items()
        if key == STANDS or set(cells) != {"–"}
    }
    bounds = [heading for heading in proven if heading in shown]
    columns = {
        "cosines": [Pairs(role).titled(model) for role in evidence.roles],
        **shown,
    }
    groups = (
        (SEEN, len(shown) - len(bounds)),
        (SHIFTED if model.free_shifts else PROVEN, len(bounds)),
    )
    key = [
        f"Equivalent: same {'products with another table' if is_alone(audit.model) else 'predictions'}."
    ]
    if bounds:
        key += [
            "κ: largest / smallest stretch.",
            *["Unseen parts: no bound."] * bool(evidence.equivalence.unseen),
        ]
        key += [f"Shifts: ≤ {LENGTH:g} typical row (lists {SHIFT:g})."] * bool(
            model.free_shifts
        )
    key += ["Widths: medians."] * ("width of range" in shown)
    key += [
        f"Nearest: {', '.join(f'{n} {rows}' for rows, n in lengths.items())}."
    ] * differ
    key += [
        f"{letters[name]}: {name}." if letters else f"Seen in: {name}."
        for name in names
    ]
    copies = any(
        traits.twins is not None and traits.twins.share > 0
        for traits in evidence.traits
    )
    key += ["Duplicates count once."] * (
        copies and any("nearest" in heading for heading in shown)
    )
    return Glance(
        Table("equivalent models", pd.DataFrame(columns)),
        tuple(each for each in groups if each[1]),
        (*key, *scale(audit)),
    )


def _number(value: float) -> str:
    return "–" if np.isnan(value) else two_decimals(value)


def _largest(
    evidence: Evidence, role: Role, figure: Callable[[Movement], float]
) -> _Most:
    """Find the equivalent model with the largest figure, and how far it goes; one that rounding made is not named."""
    figures = [
        (figure(record), made)
        for made, record in evidence.visits(role)
        if not np.isnan(figure(record))
    ]
    if not figures:
        return _Most(np.nan)
    value, made = first_best(figures, lambda each: each[0], TIE)
    if value <= FLOAT32_TIE:
        return _Most(value)
    shift = f", {in_typical_rows(made.shift_in(evidence.model))}" if made.shift else ""
    # No gauge makes some models, which have no κ.
    far = (
        ""
        if np.isnan(made.condition_number)
        else f" (κ = {made.condition_number:.3g}{shift})"
    )
    return _Most(value, f"{made.title}{far}")


def _lost(evidence: Evidence, role: Role) -> _Most:
    """Find the largest share of neighbours that an equivalent model at hand replaces, a prediction cosine among them.

    Lists hold one row of each group of copies.
    """
    counterpart = None if evidence.predicted is None else evidence.predicted.of(role)
    most = _largest(evidence, role, _gone)
    if (
        counterpart is None
        or evidence.model.predicts is Equivalence.COSINES
        or np.isnan(_gone(counterpart))
    ):
        return most
    # Without any figure (NaN) the comparison is false, and the prediction cosine is
    # told.
    return (
        most
        if most.value >= _gone(counterpart)
        else _Most(_gone(counterpart), f"by {prediction_phrase(evidence.model)}")
    )


def _gone(record: Movement) -> float:
    return 1 - record.top_n_overlap if record.top_n else float("nan")


def _width(evidence: Evidence, role: Role) -> float:
    """Return the width that half of the exact ranges exceed."""
    group = "affine" if shifted_sides(evidence.model, role) else "linear"
    # Ranges of stretches alone bound nothing where rows may be shifted, so none is told
    # there.
    for summary in (
        evidence.limits.ranges if holds_shifts(evidence.model, role, group) else ()
    ):
        if (summary.role, summary.group, summary.max_condition) == (role, group, KAPPA):
            return down(summary.width_quantiles[0.5])
    return np.nan


def _certified(evidence: Evidence, role: Role) -> str:
    """Write the share of list entries that no gauge of the budget drives out."""
    for certificate in evidence.limits.certificates:
        if certificate.role == role and holds_shifts(
            evidence.model, role, certificate.group
        ):
            return at_least(certificate.entries[KAPPA])
    return "–"


def scale(audit: Audit) -> Iterator[str]:
    """Yield sentences on the usual cosines and the effective rank of the shown side."""
    side = shown_side(audit)
    for each in audit.evidence.traits if audit.evidence.role != "cross" else ():
        if each.role == side and each.levels is not None and each.levels.n_pairs > 1:
            yield each.levels.scale
            if each.dimensions is not None:
                rank = f"{each.dimensions.effective_rank:.3g}"
                yield f"Effective rank: {rank} of {each.dimensions.width}."


def audit_document(
    audit: Audit, invocation: Invocation | None = None, *, drawn: bool = True
) -> Document:
    """Build the document of an audit, with figures where they are drawn; commands repeat how the model was read.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> made = audit_document(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> made.subject, [section.id for section in made.shown_sections]
    ('2 users × 3 items, 1 dimension', ['movement', 'neighbours'])
    """
    import pandas as pd

    invocation = (
        Invocation(audit.source) if invocation is None and audit.source else invocation
    )
    # Figures of models that moved predictions must not look like results.
    glance = glance_of(audit) if audit.predictions_hold else None
    training = Table(
        "kinds of training",
        pd.DataFrame(
            _cases(audit), columns=["if the objective was", "the cosines are"]
        ),
    )
    sections = (
        Section.of(
            "training",
            "Training",
            "What each kind of training leaves of the cosines",
            training,
        ),
        Section(
            "findings", "Findings", "Findings, and what to do", findings=audit.findings
        ),
        _movement(audit, drawn=drawn),
        _limits(audit, drawn=drawn),
        _neighbours(audit),
        _conventions(audit),
    )
    paragraphs = tuple(_said(audit))
    model = audit.model
    sides = " × ".join(
        counted(len(model.side(side)), model.title(side)) for side in model.sides
    )
    n_aside = 0 if model.right_aside is None else int(model.right_aside.sum())
    aside = f" ({counted(n_aside, 'special row')} set aside)" if n_aside else ""
    return Document(
        audit.answer.question,
        paragraphs,
        next=audit.answer.advice,
        sections=sections,
        # The table of trainings, where it has rows, comes before the first one of
        # movements.
        n_embedded=2 if len(training.frame) else 1,
        facts=tuple(_facts(audit)),
        glossary=glossary("audit", Nouns.of(model)),
        subject=f"{sides}{aside}, {counted(model.rank, 'dimension')}",
        answer=audit.answer,
        steps=() if invocation is None else tuple(next_steps(audit, invocation)),
        glance=glance,
        n_asked=len(compared_neighbours(audit)[0]) if audit.options.show else 0,
        words=tuple(definitions(model, _words(audit))),
    )


def _words(audit: Audit) -> Iterator[str]:
    """Yield the words of an audit that not every reader of cosines knows.

    Each word comes after those that explain it.
    """
    evidence, model = audit.evidence, audit.evidence.model
    yield from ("gauge", "κ", "budget", "role", "equivalent model")
    if evidence.position is not None:
        yield from ("exponent", "whitened")
    if evidence.limits.certificates:
        yield "certified"
    if evidence.limits.ranges:
        yield "range"
    if model.link.name == "softmax":
        yield "label"
    if any(
        trait.twins is not None and trait.twins.share > 0 for trait in evidence.traits
    ):
        yield "duplicate"
    if model.free_shifts:
        yield "shift"
    if evidence.predicted is not None:
        yield predicted_word(model, shown_side(audit))


def _cases(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Tabulate what each kind of training leaves of the cosines, where none is declared and that decides."""
    if audit.model.objective is not None or all(
        each.code != "EMB102" for each in audit.findings
    ):
        return ()
    return tuple((" or ".join(names), then) for names, then in cases(audit.model))


def _said(audit: Audit) -> Iterator[str]:
    """Yield the notes of the verdict, and of the other side what is good; findings have cards of their own."""
    if audit.sample_sentence is not None:
        yield audit.sample_sentence
    yield from (each.text for each in audit.reasons if each.severity is Severity.NOTE)
    for each in audit.conclusions:
        near = (
            each.code in ("cosines_agree", "cosines_near")
            and (each.value or 0.0) < PRINTED_COSINE
        )
        if near and each.role != audit.evidence.role:
            yield each.text


def _movement(audit: Audit, *, drawn: bool) -> Section:
    """Lay out how far cosines move in equivalent models, a table and a figure for each kind of pairs."""
    evidence, parts = audit.evidence, []
    for index, table in enumerate(movement_tables(audit)):
        figures: tuple[Display, ...] = ()
        if drawn:
            title = Pairs(evidence.movement[0][index].role).titled(evidence.model)
            moved = {
                name: [record for _, record, _ in some]
                for name, some in families(audit, index).items()
            }
            made = MovementDisplay.of_families(moved, title)
            figures = (made,) if made.names else ()
        parts.append(
            Charted(
                table.title,
                table.without(predictions_moved(evidence.model)) if drawn else table,
                figures,
            )
        )
    position = () if evidence.position is None else (evidence.position.explain(),)
    title = "How far cosines move in equivalent models"
    parts += _pictures(audit) if drawn else []
    return Section(
        "movement",
        "Movement",
        title,
        paragraphs=(*position, *_on_movement(audit)),
        parts=tuple(parts),
    )


def _pictures(audit: Audit) -> Iterator[Charted]:
    """Draw cosines beside those of predictions."""
    if audit.evidence.predicted is not None and audit.predictions_hold:
        pairs = PredictionDisplay.of_audit(audit, n_pairs=PAIRS)
        if len(pairs.columns["cosine"]):
            yield Charted(f"Cosines beside {pairs.word}s", None, (pairs,), "narrow")


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
    curves = {
        each.role
        for each in limits.certificates
        if holds_shifts(model, each.role, each.group)
    }
    for role, table in zip(roles, limit_tables(audit), strict=True):
        figures: tuple[Display, ...] = ()
        if drawn and role in curves:
            figures = (CertifiedCurveDisplay.of_audit(audit, role=role),)
        parts.append(Charted(f"{Pairs(role).titled(model)} cosines", table, figures))
    attacks = (
        each.text
        for each in audit.conclusions
        if each.code in ("reached", "bound", "not_searched")
    )
    title = "How far they could move, and what is certain to stay"
    return Section(
        "limits",
        "Limits",
        title,
        paragraphs=(*_on_limits(audit), *attacks),
        parts=tuple(parts),
    )


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
        yield "The truth lies between what is proven to stay and what the worst gauge found leaves; where is not known."
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
        return evidence.predicted.examples, f"by {prediction_phrase(evidence.model)}"
    if head is not None and _has_conventions(audit):
        folded = evidence.norm is not None and bool(evidence.norm.examples)
        if audit.options.show:
            return _in_convention(audit, audit.options.show), CONVENTIONS[folded]
        if evidence.norm is not None and folded:
            return evidence.norm.examples, CONVENTIONS[1]
        return head.neighbours.examples, CONVENTIONS[0]
    side = shown_side(audit)
    names = (
        each.title_for(side)
        for each in evidence.equivalents
        if each.name == evidence.examples_gauge
    )
    return tuple(
        each for each in evidence.examples if each.before
    ), f"{EQUIVALENT}{next(names, '')}"


def _in_convention(audit: Audit, names: Sequence[str]) -> tuple[Neighbourhood, ...]:
    """List the neighbours of labels as stored and without the average row, the final norm folded in."""
    model, side, norm = audit.model, audit.model.right_side, audit.evidence.norm
    folded = (
        norm.forms[-1].view(model.right) if norm is not None and norm.examples else None
    )
    rows = np.array(
        [
            row
            for row in find_rows(model, "right", names).tolist()
            if side.norms[row] > 0
        ],
        dtype=np.intp,
    )
    after = (
        shifted_rows(model.right, -np.asarray(side.moments.mean, dtype=np.float64))
        if folded is None
        else folded
    )
    n_listed = list_length(audit.options.n_neighbours, len(side.directed))
    return neighbourhoods(model, after, role="right", rows=rows, n=n_listed)


def _has_conventions(audit: Audit) -> bool:
    """Return True if a head has two conventions with other neighbours: centred or not, norm folded in or not."""
    head, norm = audit.head, audit.evidence.norm
    if head is None or not head.origin_is_free:
        return False
    return head.origin_matters or (norm is not None and bool(norm.examples))


def _neighbours(audit: Audit) -> Section:
    """Lay neighbours side by side, and those without the bias beside those that count it in."""
    evidence, role = audit.evidence, shown_side(audit)
    # Lists hold rows of one side, which an answer on pairs of both does not speak of.
    if evidence.role == "cross" and not audit.options.show:
        return Section("neighbours", "Neighbours", "")
    side, title, (examples, against) = (
        audit.model.side(role),
        audit.model.title(role),
        compared_neighbours(audit),
    )
    called = audit.model.row_title(role)
    usual = next((each.levels for each in evidence.traits if each.role == role), None)
    # An equivalent model that moves no cosine has the same lists, but for rounding.
    moved = max(
        (movement.max_abs for _, movement in evidence.visits(role)), default=0.0
    )
    may_stand = audit.answer.word not in (AnswerWord.NO, AnswerWord.BY_CONVENTION)
    is_still = may_stand and against.startswith(EQUIVALENT) and moved < FLOAT32_TIE
    lists: list[Lists] = []
    # Lists of a model that moved predictions are not lists of an equivalent one.
    for each in examples if audit.predictions_hold else ():
        levels = (
            None
            if usual is None
            else list(map(percent, usual.below([cosine for _, cosine in each.before])))
        )
        made = lists_of(
            each,
            ("by cosine", against),
            title=called,
            levels=levels,
            decimals=2 if usual is None else usual.decimals,
        )
        lists.append(made.first if is_still else made)
    biased = (each for each in evidence.beside_bias if each.before)
    lists += [
        lists_of(each, ("without the bias", "with it among the factors"), title=called)
        for each in biased
    ]
    if audit.options.show:
        texts = [f"Of the {title}s that were asked for."]
    elif _has_conventions(audit):
        texts = [
            f"Of the {title}s whose neighbours change most, so these are no sample; figures over all stand above."
        ]
    else:
        # Of a small side the twentieth holds no more rows than are shown.
        is_drawn = len(side) // 20 > len(examples)
        few = (
            f"a few {title}s drawn at random from the twentieth"
            if is_drawn
            else f"the {counted(len(examples), title)}"
        )
        text = (
            f"Of {few} with the longest vectors, which have much behind them as a rule."
        )
        # Lengths of 1 tell nothing about a row.
        if side.is_unit or evidence.model.link.unit_sides:
            text = f"Of {counted(len(examples), title)} drawn at random."
        texts = [text]
    shown = max((len(each.before) for each in examples), default=0)
    n_counted = max(
        (record.top_n or 0 for _, record in evidence.visits(role)), default=0
    )
    if n_counted > shown:
        texts.append(
            f"Of {n_counted} nearest the first {shown} are listed, and marked where the other {n_counted} lack them."
        )
    texts += [UNMOVED] * (is_still and "undecided" in audit.answer.findings)
    if side.names is None and side.ids is None and role == "right":
        texts.append(
            f"These {title}s go by their number: `--labels FILE` names them, a name a line."
        )
    paragraphs = (" ".join(texts),) if lists else ()
    title = "Neighbours, side by side"
    alone = [
        row_called(called, each.name) for each in evidence.examples if not each.before
    ]
    undirected = (
        f"{name} has no direction, so it has no neighbours." for name in alone
    )
    return Section(
        "neighbours",
        "Neighbours",
        title,
        paragraphs,
        lists=tuple(lists),
        end=tuple(undirected),
    )


def _conventions(audit: Audit) -> Section:
    norm = (
        () if audit.evidence.norm is None else (convention_table(audit.evidence.norm),)
    )
    tables = (*norm, *(() if audit.head is None else head_tables(audit.head)))
    made = Section.of(
        "conventions", "Conventions", "Conventions and shifts of this head", *tables
    )
    return (
        made
        if audit.head is None
        else replace(made, paragraphs=tuple(head_sentences(audit.head)))
    )


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    evidence = audit.evidence
    yield "model", str(audit.model).removeprefix("FactorModel")[1:-1]
    yield "input", audit.source or "in memory"
    yield "fingerprint", audit.fingerprint
    yield "equivalent models visited", f"{evidence.n_visited:,}"
    yield from (
        [("quick audit", str(audit.options.effort))] if audit.options.quick else ()
    )
    yield "budget", f"κ ≤ {audit.options.max_condition:g}"
    yield "seed", str(evidence.seed)
