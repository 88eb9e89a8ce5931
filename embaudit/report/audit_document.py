"""The document of an audit: its sections, with their tables and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from embaudit.auditing.audit import Audit
from embaudit.auditing.equivalents import ISOMETRY, REARRANGED, WORST
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings import nearly_equal_notes
from embaudit.auditing.findings.index_metric import WITHOUT_LISTS
from embaudit.auditing.findings.movement_notes import of_drawn, unseen_too
from embaudit.auditing.findings.undeclared_training import cases
from embaudit.auditing.glance import glance_of, same_of
from embaudit.auditing.heads import HeadReport
from embaudit.auditing.limits import (
    LENGTH,
    SHIFT,
    Certificate,
    holds_shifts,
    shifted_sides,
)
from embaudit.auditing.traits import Traits
from embaudit.auditing.wording import (
    Nouns,
    is_head,
    prediction_phrase,
)
from embaudit.canonical.equivalents import CANONICAL, EquivalentModel
from embaudit.core.answer_word import AnswerWord
from embaudit.core.tolerances import FLOAT32_TIE, PRINTED_COSINE
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
    up,
)
from embaudit.heads.conventions import NormEvidence
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import list_length
from embaudit.model import FactorModel, Pairs, Side
from embaudit.model.drift import Drift
from embaudit.movements.levels import Levels
from embaudit.movements.movement import Movement
from embaudit.movements.neighbourhoods import Neighbourhood, find_rows, neighbourhoods
from embaudit.ranges.cosine_range import RangeSummary
from embaudit.report.display import Display
from embaudit.report.document import (
    LONGEST,
    Charted,
    Document,
    Lists,
    Section,
    definitions,
    glossary,
    lists_of,
    names_of,
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
from embaudit.serving.index_metric import MEASURE_WORDS
from embaudit.serving.nearly_equal import NearlyEqual

Visit = tuple[EquivalentModel, Movement, Drift]
WIDTHS = {
    "linear": "linear",
    "diagonal": "rescaling",
    "affine": f"origin moves by at most {in_typical_rows(LENGTH)}",
}
"""Groups whose ranges are shown, and their names in a table."""
PAIRS = 20_000
"""Pairs that are drawn; all where there are no more."""
CONVENTIONS = (
    "with the mean row subtracted",
    "norm folded in, mean row subtracted",
)
"""Conventions of heads."""
INDEX_METRIC = "EMB501"
"""Finding that the index lists other rows than the model."""
QUERIES = ("EMB502", "EMB503", "EMB504")
"""Findings about the lists of queries, which have lines of their own."""
CONTRADICTED = {"EMB104", "EMB306"}
"""Findings by which the declared training did not choose these rows."""
MADE_BY = {
    "diagonal": "axes rescaled at random",
    "linear": "directions stretched at random",
    "orthogonal": "rotated at random",
    "translation": "one vector added to all rows",
    "affine": "one vector added, directions stretched at random",
    REARRANGED: "directions of the rows changed, lengths kept",
    ISOMETRY: "another point as the origin",
}
"""Ways to another model with the same predictions, by their kind, in plain words."""
UNMOVED = (
    "No model with the same {predictions} and other cosines was found, which proves "
    "nothing."
)
"""Remark where the answer is open, and no model that was tried moves a cosine."""


def index_conflict(audit: Audit) -> str:
    """Say first that the index lists other rows than the model; empty if it does not.

    What is served comes before everything else.
    """
    served = audit.evidence.served
    if served is None or not audit.predictions_hold:
        return ""
    if all(finding.code != INDEX_METRIC for finding in audit.findings):
        return served.contradiction
    headline = served.directions[0].headline
    texts = [
        headline,
        served.contradiction,
        served.on_default,
        f"More: `embaudit explain {INDEX_METRIC}`.",
    ]
    return " ".join(filter(None, texts))


def on_queries(audit: Audit) -> tuple[str, ...]:
    """Summarise the lists of the queries; empty without queries.

    There is a line for each finding. Without a finding about rows in no list, the note
    on them has a line, because the caller asked for it with `--queries`.
    """
    if audit.evidence.reach is None or not audit.predictions_hold:
        return ()
    lines = [
        f"{finding.code} {finding.severity.title}: {finding.title}"
        for finding in audit.findings
        if finding.code in QUERIES
    ]
    lines += [note.text for note in audit.notes if note.code == "queries"]
    return tuple(lines)


def predictions_moved(model: FactorModel) -> str:
    """Return the heading of the column with the largest change of a prediction."""
    return f"{Nouns.from_model(model).predictions} moved"


def families(audit: Audit, index: int) -> dict[str, list[Visit]]:
    """Group the equivalent models by the rows of the table of a role.

    Each model comes with the movement of the role at position `index` and with its
    drift.
    """
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
    """Yield one table per role of how far cosines move in equivalent models.

    Each canonical model and each family of random models has a row. Families are
    averaged, except for κ, the largest |Δcos| and the largest change of a prediction.
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
        note += f"; {counted(movement.n_zero, 'row')} without a cosine left out"
    return note


def _family_record(
    title: str, visits: list[Visit], stored: FactorModel
) -> dict[str, Any]:
    """Return the figures of a family of equivalent models.

    The figures are means over the family, except for κ, the shift and the changes. κ is
    NaN for models that no gauge makes, and the shift is NaN without one.
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
    """Yield one table per role: widths of exact ranges and shares of certain lists."""
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
        headings = ["guaranteed if"]
        for name in groups:
            headings += [f"width, {WIDTHS[name]}", "sign fixed"]
        if certificate is not None:
            headings.append(
                f"{certificate.top_n} nearest that no such change can remove"
            )
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
            "guaranteed if": "axes stretch by at most {:g}",
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
    """Say which pairs and lists a table of limits is about.

    The note also says which entries of lists are uncertain from the start.
    """
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
    """Yield tables of the mean row of a softmax head and of shifts of label pairs."""
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
        f"top-1 kept (of {change.n_rows:,} {title}s)": 1 - change.top1_changed,
        f"top-{change.top_n} kept": 1 - change.top_n_changed,
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
    >>> norm = FinalNorm("rms", [1.0, 5.0])
    >>> found = norm_evidence(
    ...     head, norm, labels=np.arange(9), n_neighbours=2, rng=draw
    ... )
    >>> for row in convention_table(found).rows:
    ...     print(row[:2])
    ('as stored', 'folded')
    ('as stored', 'folded and centred')
    ('folded', 'folded and centred')
    """
    import pandas as pd

    note = counted(len(norm.queries), "label")
    if norm.n_copies:
        note += f" without a duplicate, {norm.n_copies:,} left out"
    moved = change_size(max(drift.max_abs for drift in norm.drift))
    note += f"; predictions moved by {moved} at most"
    kept = f"top-{norm.folded.top_n} kept"
    rows = [
        {
            "one": pair.first,
            "the other": pair.second,
            "top-1 kept": 1 - pair.nearest.share,
            kept: 1 - pair.top_n_changed,
            "mean |Δcos|": pair.mean_abs,
        }
        for pair in norm.apart
    ]
    condition = f"κ = {norm.norm.condition_number:.3g}"
    return Table(
        f"conventions in use: one head behind its {norm.norm.title} ({condition})",
        pd.DataFrame(rows),
        note,
        formats={
            "top-1 kept": percent,
            kept: percent,
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
            f"{first} and {other} have cosine {made.before:.2f}; in an {equivalent}, "
            f"shifted by {in_typical_rows(made.shift)}, they have {made.after:+.6f} "
            f"(probabilities moved by {change_size(made.change)})."
        )
    return sentences


def scale_of(audit: Audit) -> str:
    """Say in a sentence which cosines are usual on the side that is shown.

    The sentence is empty if the answer is about pairs of both sides.
    """
    for traits in _shown_traits(audit):
        if traits.levels is not None:
            return traits.levels.scale
    return ""


def _effective_rank(audit: Audit) -> Iterator[str]:
    """Say how many dimensions the directions of the shown side use."""
    for traits in _shown_traits(audit):
        if traits.dimensions is not None:
            rank = f"{traits.dimensions.effective_rank:.3g}"
            title = audit.model.title(traits.role)
            width = traits.dimensions.width
            yield f"Effective rank of the {title} rows: {rank} of {width}."


def _shown_traits(audit: Audit) -> list[Traits]:
    """Return the traits of the rows whose cosines the answer is about."""
    if audit.evidence.role == "cross":
        return []
    side = shown_side(audit)
    return [traits for traits in audit.evidence.traits if traits.role == side]


def audit_document(
    audit: Audit, invocation: Invocation | None = None, *, drawn: bool = True
) -> Document:
    """Build the document of an audit, with figures if `drawn` is True.

    Its commands repeat how the model was read.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> users, items = [[1.0], [2.0]], [[1.0], [-3.0], [2.0]]
    >>> made = audit_document(audit(FactorModel.from_user_item(users, items)))
    >>> made.subject, [section.id for section in made.shown_sections]
    ('2 users × 3 items, 1 dimension', ['served', 'movement', 'neighbours'])
    """
    import pandas as pd

    invocation = (
        Invocation(audit.source) if invocation is None and audit.source else invocation
    )
    # Figures of models that moved predictions must not look like results.
    glance = glance_of(audit.evidence) if audit.predictions_hold else None
    training = Table(
        "kinds of training",
        pd.DataFrame(
            _cases(audit), columns=["if the objective was", "the cosines are"]
        ),
    )
    served = _served(audit)
    queries = _queries(audit)
    sections = (
        Section.from_tables(
            "training",
            "Training",
            "What each kind of training leaves of the cosines",
            training,
        ),
        Section(
            "findings", "Findings", "Findings, and what to do", findings=audit.findings
        ),
        served,
        queries,
        _movement(audit, drawn=drawn),
        _limits(audit, drawn=drawn),
        _nearly_equal(audit),
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
        # The tables of trainings, of an index and of queries come before the first one
        # of movements.
        n_embedded=(
            1 + bool(len(training.frame)) + len(served.parts) + len(queries.parts)
        ),
        facts=tuple(_facts(audit)),
        glossary=glossary("audit", Nouns.from_model(model)),
        subject=f"{sides}{aside}, {counted(model.rank, 'dimension')}",
        answer=audit.answer,
        steps=_steps(audit, invocation),
        glance=glance,
        scale="" if glance is None else scale_of(audit),
        n_asked=len(compared_neighbours(audit).examples) if audit.options.show else 0,
        notes=tuple(_effective_rank(audit)),
        words=tuple(definitions(model, _words(audit))),
        first=index_conflict(audit),
    )


def _steps(audit: Audit, invocation: Invocation | None) -> tuple[tuple[str, str], ...]:
    """Return what to do next.

    Until it is known which of two declared trainings is right, the advice says all.
    """
    if invocation is None or audit.model.overruled is not None:
        return ()
    return tuple(next_steps(audit, invocation))


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
    if is_head(model):
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
    """Tabulate what each kind of training leaves of the cosines.

    The table is empty if a training is declared or would not decide the answer.
    """
    if audit.model.objective is not None or all(
        each.code != "EMB102" for each in audit.findings
    ):
        return ()
    return tuple((" or ".join(names), then) for names, then in cases(audit.model))


def _said(audit: Audit) -> Iterator[str]:
    """Yield the notes of the verdict, and good news of the other side.

    Findings are left out because they have cards of their own.
    """
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
    """Lay out how far cosines move, a table and a figure for each kind of pairs."""
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
    """Draw stored cosines against prediction cosines."""
    if audit.evidence.predicted is not None and audit.predictions_hold:
        pairs = PredictionDisplay.of_audit(audit, n_pairs=PAIRS)
        if len(pairs.columns["cosine"]):
            yield Charted(f"Cosines beside {pairs.word}s", None, (pairs,), "narrow")


def _on_movement(audit: Audit) -> Iterator[str]:
    """Explain the bound of κ, and which pairs measure a model found by a search."""
    equivalents, budget = audit.evidence.equivalents, audit.options.max_condition
    yield (
        "κ is the largest over the smallest stretch of an axis. Named models stretch "
        "as far as they must; random ones and searches keep to the budget, "
        f"κ = {budget:g} (--max-condition)."
    )
    if any(each.kind == WORST for each in equivalents):
        yield (
            "Every model is measured here over the same pairs and lists, also a model "
            "that a search found (worst found). The search used fewer pairs and lists, "
            "which usually move more: the next section shows them."
        )


def _limits(audit: Audit, *, drawn: bool) -> Section:
    """Lay out exact ranges, certified lists and attacks for each kind of pairs."""
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
            "A range holds all values that a cosine takes while axes stretch up to κ, "
            "and its width says how free the cosine is. Rescaling stretches each "
            "stored column on its own; linear gauges stretch along any direction."
        )
    if any(each.tied_share for each in limits.certificates):
        yield (
            "Entries that tie with the first row left out, or that a shift alone may "
            "displace, are never certain, so curves start below 1. Duplicates stay "
            "near each other whatever is stretched, so figures with and without them "
            "differ both ways."
        )
    if limits.certificates and limits.attacks:
        yield (
            "The worst of all gauges is not known. At least the neighbours that are "
            "proven to stay do stay, and at most as many as stay under the worst gauge "
            "found."
        )
    if any(each.max_shift for each in limits.ranges):
        yield (
            "The origin moves if one vector is added to all rows. Lists are certified "
            f"against vectors of up to {in_typical_rows(SHIFT)}. What holds for "
            "stretches alone bounds no model whose origin may move."
        )


def _nearly_equal(audit: Audit) -> Section:
    """Lay out which neighbours stay if scores are a little different."""
    near = audit.evidence.nearly_equal_shown
    parts: tuple[Charted, ...] = ()
    if near is not None:
        table = nearly_equal_table(near)
        parts = (Charted("The rows shown below, with their ranges", table),)
    return Section(
        "nearly-equal",
        "Nearly equal scores",
        "Which neighbours stay if scores are a little different",
        paragraphs=tuple(
            each.text
            for each in audit.conclusions
            if each.code in nearly_equal_notes.NOTES
        ),
        parts=parts,
    )


def nearly_equal_table(near: NearlyEqual) -> Table:
    """Tabulate the neighbours of the rows shown, and whether each of them stays.

    Examples
    --------
    >>> from embaudit.serving import nearly_equal
    >>> items = [[1, 0], [1, 0.1], [0, 1], [0, 2.5]]
    >>> model = FactorModel.from_user_item(np.eye(2), items)
    >>> near = nearly_equal(model, tolerance=0.2, rows=[0], n_neighbours=1)
    >>> print(nearly_equal_table(near))
    neighbours by prediction cosine
    item    neighbour  cosine  lowest  highest  certain
    item 0  item 1      0.995   0.876    1.000  yes
    """
    frame = near.to_frame().drop(columns="place")
    rows, places = np.nonzero(near.indices >= 0)
    frame["row"] = names_of(near.model, near.role, near.rows[rows])
    frame["neighbour"] = names_of(near.model, near.role, near.indices[rows, places])
    title = near.model.title(near.role)
    frame = frame.rename(columns={"row": title, "standard_error": "standard error"})
    for name in ("certain", "stable"):
        if name in frame.columns:
            frame[name] = np.where(frame[name], "yes", "no")
    numbers = ("cosine", "lowest", "highest", "standard error")
    return Table(
        "neighbours by prediction cosine",
        frame,
        formats=dict.fromkeys(numbers, "{:.3f}"),
        essential=("neighbour", "cosine", "certain", "stable"),
        longest=LONGEST,
    )


class Second(Enum):
    """The kind of the second version of a neighbour list."""

    PREDICTIONS = auto()
    """The list if rows are compared by their predictions."""
    CONVENTION = auto()
    """The list in another convention of the same head."""
    EQUIVALENT = auto()
    """The list in another model with the same predictions."""


@dataclass(frozen=True)
class ComparedLists:
    """The neighbour lists that are shown, in two versions."""

    examples: tuple[Neighbourhood, ...]
    """The neighbours of each row that is shown, in both versions."""
    second: Second
    """The kind of the second version."""
    heading: str
    """The heading over the second version."""


def compared_neighbours(audit: Audit) -> ComparedLists:
    """Choose the rows whose neighbours are shown, and the second version of the lists.

    The first choice are neighbours by predictions, which `fix` writes. For a head
    without inputs the second choice is another convention, and for every other model it
    is the equivalent model that changes the lists most.
    """
    evidence, head, model = audit.evidence, audit.head, audit.evidence.model
    if evidence.predicted is not None and evidence.predicted.examples:
        heading = f"by {prediction_phrase(model)}"
        return ComparedLists(evidence.predicted.examples, Second.PREDICTIONS, heading)
    if head is not None and _has_conventions(audit):
        examples, heading = head.neighbours.examples, CONVENTIONS[0]
        if evidence.norm is not None and evidence.norm.examples:
            examples, heading = evidence.norm.examples, CONVENTIONS[1]
        if audit.options.show:
            examples = _in_convention(audit, audit.options.show)
        return ComparedLists(examples, Second.CONVENTION, heading)
    noun = "head" if is_head(model) else "model"
    heading = f"in another {noun} with the same {same_of(model)}"
    for equivalent in evidence.equivalents:
        if equivalent.name == evidence.examples_gauge:
            title = equivalent.title_for(shown_side(audit))
            heading += f" ({MADE_BY.get(equivalent.kind, title)})"
    examples = tuple(example for example in evidence.examples if example.before)
    return ComparedLists(examples, Second.EQUIVALENT, heading)


def is_unmoved(audit: Audit) -> bool:
    """Return True if the second version of the lists moves no cosine but for rounding.

    The lists are the same then, so that one version is shown.
    """
    if compared_neighbours(audit).second is not Second.EQUIVALENT:
        return False
    movements = [record for _, record in audit.evidence.visits(shown_side(audit))]
    return all(record.max_abs < FLOAT32_TIE for record in movements)


def remark_on_lists(audit: Audit) -> str:
    """Say which of the two versions of a neighbour list is the better one, if any.

    The sentence is empty next to lists by predictions, which speak for themselves.

    Examples
    --------
    A training that the rows contradict has chosen no list.

    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> rows = [[5.0, 1.0], [1.0, 5.0], [-4.0, 0.0], [-1.0, -5.0], [-1.0, -1.0]]
    >>> for mean in (0.0, 0.1):
    ...     head = FactorModel.from_softmax(
    ...         [[x + mean, y] for x, y in rows], objective="softmax-decay"
    ...     )
    ...     print(remark_on_lists(audit(head)))
    Both lists have the same probabilities; training may have chosen the left one.
    Both versions have the same probabilities, which favour neither list.
    """
    same = same_of(audit.evidence.model)
    if is_unmoved(audit):
        is_open = "undecided" in audit.answer.findings
        return UNMOVED.format(predictions=same) if is_open else ""
    if compared_neighbours(audit).second is Second.PREDICTIONS:
        return ""
    is_contradicted = bool(CONTRADICTED.intersection(audit.answer.findings))
    if audit.answer.word is AnswerWord.BY_CONVENTION and not is_contradicted:
        chose = "may have chosen" if audit.evidence.penalty is None else "chose"
        return f"Both lists have the same {same}; training {chose} the left one."
    return f"Both versions have the same {same}, which favour neither list."


def _in_convention(audit: Audit, names: Sequence[str]) -> tuple[Neighbourhood, ...]:
    """List the neighbours of labels as stored and in another convention.

    In the other convention, the mean row is subtracted and the final norm is folded in.
    """
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
    """Return True if a head has two conventions with different neighbours.

    Conventions differ in centring, or in folding in the final norm.
    """
    head, norm = audit.head, audit.evidence.norm
    if head is None or not head.origin_is_free:
        return False
    return head.origin_matters or (norm is not None and bool(norm.examples))


def _choice_of_rows(audit: Audit, side: Side, title: str, n_shown: int) -> str:
    """Say which rows have a list, and how they were chosen."""
    if audit.options.show:
        return f"The lists are those of the {title}s that were asked for."
    if _has_conventions(audit):
        return (
            f"The lists are those of the {title}s whose neighbours change most. They "
            "are no sample; the figures above are about all rows or about a sample."
        )
    # Lengths of 1 tell nothing about a row.
    if side.is_unit or audit.evidence.model.link.unit_sides:
        return f"The lists are those of {counted(n_shown, title)} drawn at random."
    # In a small side, 5 % of the rows are no more rows than are shown.
    if len(side) // 20 > n_shown:
        return (
            f"The lists are those of a few {title}s, drawn from the 5 % with the "
            "longest vectors (usually the most used)."
        )
    return (
        f"The lists are those of the {counted(n_shown, title)} with the longest "
        "vectors (usually the most used)."
    )


def _shares_below(
    usual: Levels | None, examples: Sequence[Neighbourhood]
) -> list[list[str] | None]:
    """Rank the cosines of each list among the cosines of random pairs, if any.

    All lists are ranked at once, because each ranking looks at all pairs of rows.
    """
    if usual is None:
        return [None] * len(examples)
    cosines = [cosine for each in examples for _, cosine in each.before]
    shares = [percent(share) for share in usual.below(cosines)]
    ends = np.cumsum([len(each.before) for each in examples])
    return [
        shares[end - len(each.before) : end]
        for each, end in zip(examples, ends, strict=True)
    ]


def _neighbours(audit: Audit) -> Section:
    """Show two versions of neighbour lists, and lists with and without the bias."""
    evidence, role = audit.evidence, shown_side(audit)
    # Lists hold rows of one side, which an answer on pairs of both does not speak of.
    if evidence.role == "cross" and not audit.options.show:
        return Section("neighbours", "Neighbours", "")
    side, title = audit.model.side(role), audit.model.title(role)
    compared, is_still = compared_neighbours(audit), is_unmoved(audit)
    examples = compared.examples
    called = audit.model.row_title(role)
    usual = next((each.levels for each in evidence.traits if each.role == role), None)
    # Lists of a model that moved predictions are not lists of an equivalent one.
    comparable = examples if audit.predictions_hold else ()
    lists: list[Lists] = []
    for each, shares in zip(comparable, _shares_below(usual, comparable), strict=True):
        made = lists_of(
            each,
            ("by cosine", compared.heading),
            title=called,
            levels=shares,
            decimals=2 if usual is None else usual.decimals,
        )
        lists.append(made.first if is_still else made)
    biased = (each for each in evidence.bias_examples if each.before)
    lists += [
        lists_of(each, ("without the bias", "with it among the factors"), title=called)
        for each in biased
    ]
    texts = [_choice_of_rows(audit, side, title, len(examples))]
    shown = max((len(each.before) for each in examples), default=0)
    n_counted = max(
        (record.top_n or 0 for _, record in evidence.visits(role)), default=0
    )
    if n_counted > shown:
        texts.append(
            f"Each list shows the first {shown} of the {n_counted} nearest, and marks "
            f"those that are not among the {n_counted} nearest of the other list."
        )
    texts += filter(None, [remark_on_lists(audit)])
    if side.names is None and side.ids is None and role == "right":
        texts.append(
            f"These {title}s go by their number: `--labels FILE` names them, a name a "
            "line."
        )
    paragraphs = (" ".join(texts),) if lists else ()
    title = "Neighbours, side by side"
    alone = [
        row_called(called, each.name) for each in evidence.examples if not each.before
    ]
    undirected = (
        f"{name} is a zero vector, so it has no cosine and no neighbours."
        for name in alone
    )
    return Section(
        "neighbours",
        "Neighbours",
        title,
        paragraphs,
        lists=tuple(lists),
        end=tuple(undirected),
    )


def _served(audit: Audit) -> Section:
    """Lay out which lists an index keeps, and the queries that it changes most."""
    import pandas as pd

    title = "What your index lists"
    served = audit.evidence.served
    if served is None or not audit.predictions_hold:
        texts = tuple(note.text for note in audit.notes if note.code in WITHOUT_LISTS)
        return Section("served", "Served", title, texts)
    rows = []
    worst = []
    for lists in served.directions:
        before, after = lists.popularity
        unit = "length" if lists.popularity_is_length else "interactions"
        rows.append(
            {
                "direction": lists.title,
                "compared with": MEASURE_WORDS[lists.trained],
                "top": lists.n,
                "kept": lists.kept,
                "kept without bias": lists.kept_without_bias,
                "own best match": lists.own_first,
                f"median {unit}": before,
                "in the index": after,
                "lists": len(lists.queries),
            }
        )
        worst += [
            {"direction": lists.title, "query": hit["query"], "kept": hit["kept"]}
            for hit in lists.worst()
        ]
    frame = pd.DataFrame(rows).dropna(axis="columns", how="all")
    shares = ("kept", "kept without bias", "own best match")
    tables = [
        Table(
            f"lists of an index by {MEASURE_WORDS[served.served]}",
            frame,
            served.source,
            formats=dict.fromkeys(shares, percent),
            essential=("kept",),
        )
    ]
    if worst:
        tables.append(
            Table(
                "queries whose lists change most",
                pd.DataFrame(worst),
                formats={"kept": percent},
                longest=LONGEST,
            )
        )
    made = Section.from_tables("served", "Served", title, *tables)
    return replace(made, paragraphs=(served.explain(),))


def _queries(audit: Audit) -> Section:
    """Lay out which rows queries find most or never, and which queries are far."""
    import pandas as pd

    title = "What your queries find"
    reach = audit.evidence.reach
    if reach is None or not audit.predictions_hold:
        return Section("queries", "Queries", title)
    most_listed = pd.DataFrame(
        [
            {reach.item: row["name"], "lists": row["lists"], "share": row["share"]}
            for row in reach.most_listed_rows()
        ]
    )
    tables = [
        Table(
            f"{reach.items} in most lists",
            most_listed,
            f"top {reach.n} of {reach.measured_on.removeprefix('lists of ')}",
            formats={"share": percent},
            longest=LONGEST,
        )
    ]
    if len(reach.unreached) and reach.has_enough_queries:
        rows = []
        for row in reach.shown_unreached():
            shown = {reach.item: row["name"]}
            if reach.measure == "dot":
                can_lead = "no" if row["never_first"] else "not ruled out"
                shown["first for some vector"] = can_lead
            rows.append(shown)
        tables.append(
            Table(
                f"{reach.items} in no list",
                pd.DataFrame(rows),
                f"{len(rows)} of {len(reach.unreached):,}",
                longest=LONGEST,
            )
        )
    far = reach.farthest()
    if far:
        rows = [{"query": query["query"], "best": query["best"]} for query in far]
        tables.append(
            Table(
                f"queries far from {reach.all_items}",
                pd.DataFrame(rows),
                f"best {MEASURE_WORDS[reach.measure]}",
                longest=LONGEST,
            )
        )
    made = Section.from_tables("queries", "Queries", title, *tables)
    return replace(made, paragraphs=(reach.explain(),))


def _conventions(audit: Audit) -> Section:
    norm = (
        () if audit.evidence.norm is None else (convention_table(audit.evidence.norm),)
    )
    tables = (*norm, *(() if audit.head is None else head_tables(audit.head)))
    made = Section.from_tables(
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
