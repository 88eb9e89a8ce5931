"""The tables and sentences of an audit, the one source of the terminal, the page and the notebook view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.alone import said_of
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.limits import unseen_too
from embaudit.auditing.findings.movement import of_drawn
from embaudit.auditing.limits import holds_shifts, shifted_sides
from embaudit.canonical.equivalents import CANONICAL
from embaudit.foundation.words import (
    copied,
    counted,
    drawn_of,
    in_typical_rows,
    percent,
    row_quoted,
    visible,
)
from embaudit.model import Pairs
from embaudit.report.convention_grid import convention_grid
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from embaudit.auditing import Audit
    from embaudit.auditing.head_evidence import HeadReport
    from embaudit.auditing.limits import Certificate
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.model import FactorModel, SideName
    from embaudit.model.drift import Drift
    from embaudit.movements.levels import Levels
    from embaudit.movements.moved import Movement
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.ranges import RangeSummary

    Visit = tuple[EquivalentModel, Movement, Drift]


MOVED = "predictions moved"
"""Heading of what the check measured beside every figure."""
WIDTHS = {"linear": "linear", "diagonal": "rescaling", "affine": "with a shift"}
"""Groups whose ranges are shown, and what a table calls them."""


def _stretch(models: Sequence[EquivalentModel], at_hand: FactorModel) -> str:
    """Write the largest κ, and the longest shift where there is one; a dash where no gauge makes the models."""
    kappa, shift = max(model.condition_number for model in models), max(model.shift_in(at_hand) for model in models)
    text = "–" if np.isnan(kappa) else f"{kappa:.3g}"
    return f"{text}, {in_typical_rows(shift)}" if shift else text


def _movement_row(title: str, visits: list[Visit], top_n: int, at_hand: FactorModel) -> tuple[str, ...]:
    models, moved, drifts = zip(*visits, strict=True)

    def mean(field: str) -> float:
        return float(np.mean([getattr(record, field) for record in moved]))

    spearman = mean("spearman")
    cells = [
        title if len(visits) == 1 else f"{len(visits)} {title}",
        _stretch(models, at_hand),
        f"{mean('mean_abs'):.3f}",
        f"{max(record.max_abs for record in moved):.2f}",
        percent(mean("sign_flips")),
        "–" if np.isnan(spearman) else f"{spearman:.3f}",
    ]
    cells += [percent(mean("top_n_overlap"))] if top_n else []
    return (*cells, f"{max(record.max_abs for record in drifts):.0e}")


def _movement_note(records: Sequence[Movement], drawn: str) -> str:
    record = records[0]
    note = drawn_of(record.n_pairs, record.n_all_pairs, "pair") + drawn
    if record.top_n:
        note += f"; lists of {counted(record.n_lists, 'row')}"
        note += f", {percent(record.tied_lists)} of them end in a tie" if record.tied_lists else ""
    return note + (f"; {counted(record.n_zero, 'row')} without direction left out" if record.n_zero else "")


def families(audit: Audit, index: int) -> dict[str, list[Visit]]:
    """Group the equivalent models as tables do, each with the movement of the role at a position and its drift."""
    evidence = audit.evidence
    found: dict[str, list[Visit]] = {}
    for equivalent, records, drift in zip(evidence.equivalents, evidence.movement, evidence.drift, strict=True):
        record = records[index]
        family = equivalent.called(record.role) if equivalent.kind == CANONICAL else equivalent.title
        found.setdefault(family, []).append((equivalent, record, drift))
    return found


def movement_grids(audit: Audit) -> Iterator[Grid]:
    """Yield one grid a role: a row for each canonical model and for each family of random ones.

    Families are averaged, except for κ, the largest |Δcos| and the largest change of a prediction.
    """
    evidence = audit.evidence
    shifted = any(one.shift_in(evidence.model) for one in evidence.equivalents)
    for index, first in enumerate(evidence.movement[0]):
        headings = [
            "equivalent models",
            "κ, shift" if shifted else "κ",
            "mean |Δcos|",
            "largest",
            "sign flips",
            "rank corr.",
        ]
        headings += [f"top-{first.top_n} kept"] if first.top_n else []
        yield Grid(
            title=f"{Pairs(first.role).titled(evidence.model)} cosines",
            note=_movement_note([each[index] for each in evidence.movement], of_drawn(evidence, first.role, " of")),
            headings=(*headings, said_of(evidence.model, MOVED)),
            rows=tuple(_movement_row(*one, first.top_n, evidence.model) for one in families(audit, index).items()),
            essential=("mean |Δcos|", f"top-{first.top_n} kept"),
        )


def _limit_row(
    kappa: float, ranges: dict[str, RangeSummary], groups: Sequence[str], certificate: Certificate | None
) -> tuple[str, ...]:
    cells = [f"within κ = {kappa:g}"]
    for group in groups:
        summary = ranges.get(group)
        cells += (
            ["–", "–"]
            if summary is None
            else [
                f"{summary.width_quantiles[0.5]:.2f}",
                percent(summary.sign_definite_share),
            ]
        )
    if certificate is not None:
        cells.append(percent(certificate.entries.get(kappa, float("nan"))))
    return tuple(cells)


def limit_grids(audit: Audit) -> Iterator[Grid]:
    """Yield one grid a role: how wide the exact ranges are, and what share of the neighbour lists is certain."""
    limits, model = audit.evidence.limits, audit.evidence.model
    for role in dict.fromkeys(summary.role for summary in limits.ranges):
        found = [summary for summary in limits.ranges if summary.role == role]
        lists = [one for one in limits.certificates if one.role == role]
        certificate = next((one for one in lists if holds_shifts(model, role, one.group)), None)
        kappas = {s.max_condition or np.inf for s in found} | set(certificate.entries if certificate else ())
        groups = [name for name in WIDTHS if any(summary.group == name for summary in found)]
        headings = ["any gauge", *(text for name in groups for text in (f"width, {WIDTHS[name]}", "sign fixed"))]
        note = drawn_of(found[0].n_pairs, found[0].n_all_pairs, "pair") + of_drawn(audit.evidence, role, " of")
        if certificate is not None:
            headings.append(f"top-{certificate.top_n} certified")
            note += f", lists of {counted(certificate.n_rows, 'row')}"
            note += f", shifts up to {in_typical_rows(certificate.max_shift)}" if certificate.max_shift else ""
            note += f", {percent(certificate.tied_share)} of entries tied"
        by_kappa = {k: {s.group: s for s in found if s.max_condition == k} for k in sorted(kappas)}
        rows = tuple(_limit_row(kappa, by_kappa[kappa], groups, certificate) for kappa in by_kappa)
        note += f".{unseen_too(audit.evidence).removesuffix('.')}" if audit.evidence.fibre.unseen else ""
        title = f"{Pairs(role).titled(model)} cosines: how far they could move"
        yield Grid(
            title,
            note,
            tuple(headings),
            rows,
            essential=(f"width, {WIDTHS['affine' if shifted_sides(model, role) else 'linear']}", headings[-1]),
        )


def attack_sentences(audit: Audit) -> list[str]:
    """Put what attacks reached beside what cannot be passed, or say that none was made."""
    return [one.text for one in audit.conclusions if one.code in ("reached", "bound", "not_searched")]


def head_grids(head: HeadReport) -> Iterator[Grid]:
    """Yield what only a softmax head has: the effect of its mean row, and the shortest shifts of pairs of labels."""
    change, moved = head.neighbours, head.centred.movement
    first = f"top-1 changed (of {change.n_rows:,} labels)"
    among = f"; cosines of {counted(head.n_panel, 'label')} drawn" if head.is_drawn else ""
    yield Grid(
        "mean row removed",
        f"{head.offset:.2g} of a typical row long{among}",
        ("equal head", first, f"top-{change.top_n} changed", "mean |Δcos|", "largest", "probabilities moved"),
        (
            (
                "without its mean row" if head.origin_is_free else "without its mean row (not equal)",
                percent(change.top1_changed),
                percent(change.top_n_changed),
                f"{moved.mean_abs:.3f}",
                f"{moved.max_abs:.2f}",
                f"{head.centred.change:.0e}",
            ),
        ),
    )
    if head.shifts:
        levels = list(next(iter(head.shifts)).quantiles)
        yield Grid(
            "shortest shift of all labels that brings a pair there",
            f"{counted(head.shifts[0].n_pairs, 'pair')}, in typical row lengths",
            ("cosine", *(f"{100 * level:g} %" for level in levels), "within one length"),
            tuple(
                (f"{s.target:+g}", *(f"{value:.2f}" for value in s.quantiles.values()), percent(s.within_one))
                for s in head.shifts
            ),
        )


def head_sentences(head: HeadReport) -> list[str]:
    """Say which labels can lead, and what was done to one pair."""
    sentences = [head.argmax.explain()]
    for made in head.constructions:
        one, other = (row_quoted(head.model.title("right"), str(name)) for name in made.names)
        sentences.append(
            f"{one} and {other} have cosine {made.before:.2f}; in an equal head, shifted by {made.shift:.2g} "
            f"typical rows, they have {made.after:+.6f} (probabilities moved by {made.change:.0e})."
        )
    return sentences


def grids(audit: Audit) -> tuple[Grid, ...]:
    """Collect every table of numbers of an audit."""
    own = () if audit.head is None else head_grids(audit.head)
    norm = () if audit.evidence.norm is None else (convention_grid(audit.evidence.norm),)
    return (*own, *norm, *movement_grids(audit), *limit_grids(audit))


def sentences(audit: Audit) -> list[str]:
    """Collect what is said besides the tables."""
    found = [] if audit.head is None else head_sentences(audit.head)
    found += [*without_direction(audit)]
    found += attack_sentences(audit)
    position = audit.evidence.position
    return found if position is None else [*found, position.explain()]


def without_direction(audit: Audit) -> Iterator[str]:
    """Name the rows that neighbours were asked of and that have none."""
    for one in audit.evidence.examples:
        if not one.before:
            yield f"{visible(one.name)} has no direction, so it has no neighbours."


def neighbour_grids(audit: Audit) -> tuple[Grid, ...]:
    """Lay neighbours side by side in two equivalent models."""
    shown_in, examples = shown_neighbours(audit)
    usual = next((one.levels for one in audit.evidence.traits if one.role == shown_side(audit)), None)
    return tuple(_neighbour_grid(example, shown_in, usual) for example in examples)


def shown_side(audit: Audit) -> SideName:
    """Tell whose neighbours are shown."""
    return "left" if audit.evidence.about == "left" else "right"


def shown_neighbours(audit: Audit) -> tuple[str, tuple[Neighbourhood, ...]]:
    """Choose an equivalent model, in words, and the neighbours to show in it: of a head, without its mean row."""
    name, examples = audit.evidence.shown_in or "", audit.evidence.examples
    if audit.head is not None and origin_matters(audit.head) and not audit.evidence.chosen:
        name, examples = "mean row removed", audit.head.neighbours.examples
    side = shown_side(audit)
    shown_in = next((one.called(side) for one in audit.evidence.equivalents if one.name == name), name)
    return shown_in, tuple(example for example in examples if example.before)


def _neighbour_grid(example: Neighbourhood, shown_in: str, usual: Levels | None) -> Grid:
    kept = (example.stay, example.stayed)
    pairs = list(zip(example.before, example.after, strict=True))
    below = [float("nan")] * len(pairs) if usual is None else usual.below([c for (_, c), _ in pairs]).tolist()
    return Grid(
        f"nearest to {visible(example.name)}",
        f"{copied(example.left_out)} left out" if example.left_out else "",
        ("in the model at hand", "", "higher than", f"in an equivalent model: {shown_in}", ""),
        tuple(
            (visible(one), f"{c:.2f}", f"{percent(share)} of pairs", visible(other), f"{d:.2f}")
            for ((one, c), (other, d)), share in zip(pairs, below, strict=True)
        ),
        words=(0, 3),
        marked=frozenset((row, 3 * side) for row, pair in enumerate(pairs) for side in (0, 1) if not kept[side][row]),
    )


def bias_grids(audit: Audit) -> tuple[Grid, ...]:
    """Lay neighbours without the bias beside those that count it in, where predictions see one."""
    return tuple(_bias_grid(example) for example in audit.evidence.beside_bias if example.before)


def _bias_grid(example: Neighbourhood) -> Grid:
    pairs = list(zip(example.before, example.after, strict=True))
    kept = (example.stay, example.stayed)
    return Grid(
        f"nearest to {visible(example.name)}, without the bias and with it",
        f"{example.kept} of {len(pairs)} kept",
        ("without the bias", "", "with it among the factors", ""),
        tuple((visible(one), f"{c:.2f}", visible(other), f"{d:.2f}") for (one, c), (other, d) in pairs),
        words=(0, 2),
        marked=frozenset((row, 2 * side) for row in range(len(pairs)) for side in (0, 1) if not kept[side][row]),
    )
