"""The tables and sentences of an audit."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from embaudit.auditing.findings.movement import of_drawn, unseen_too
from embaudit.auditing.limits import LENGTH, SHIFT, holds_shifts, shifted_sides
from embaudit.auditing.wording import is_alone, seen_of, worded_for
from embaudit.canonical.equivalents import CANONICAL
from embaudit.core.words import counted, drawn_of, in_typical_rows, percent, row_quoted
from embaudit.model import Equivalence, Pairs
from embaudit.report.document import Glance
from embaudit.report.figures import ROUNDING
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.model.drift import Drift
    from embaudit.movements.movement import Movement
    from embaudit.softmax.conventions import NormEvidence

    Visit = tuple[EquivalentModel, Movement, Drift]


MOVED = "predictions moved"
"""Heading of what the check measured beside every figure."""
WIDTHS = {"linear": "linear", "diagonal": "rescaling", "affine": "with a shift"}
"""Groups whose ranges are shown, and what a table calls them."""
KAPPA = 1.5
"""Budget of what could move."""
SEEN, PROVEN = "most in equivalent models", f"proven while axes stretch up to κ = {KAPPA}"
"""Titles over the columns of the first table."""
SHIFTED = f"proven: κ ≤ {KAPPA} and limited shifts"
"""The same where rows may be shifted besides."""
USUAL = 0.8
"""The cosine whose share of lower pairs is told."""


def families(audit: Audit, index: int) -> dict[str, list[Visit]]:
    """Group the equivalent models as tables do, each with the movement of the role at a position and its drift."""
    evidence = audit.evidence
    groups: dict[str, list[Visit]] = {}
    for equivalent, records, drift in zip(evidence.equivalents, evidence.movement, evidence.drift, strict=True):
        record = records[index]
        family = equivalent.called(record.role) if equivalent.kind == CANONICAL else equivalent.title
        groups.setdefault(family, []).append((equivalent, record, drift))
    return groups


def movement_grids(audit: Audit) -> Iterator[Grid]:
    """Yield one grid a role: a row for each canonical model and for each family of random ones.

    Families are averaged, except for κ, the largest |Δcos| and the largest change of a prediction.
    """
    evidence, model = audit.evidence, audit.evidence.model
    shifted = any(equal.shift_in(model) for equal in evidence.equivalents)
    for index, first in enumerate(evidence.movement[0]):
        overlap = (f"top-{first.top_n} kept",) if first.top_n else ()
        note = drawn_of(first.n_pairs, first.n_all_pairs, "pair") + of_drawn(evidence, first.role, " of")
        if first.top_n:
            note += f"; lists of {counted(first.n_lists, 'row')}"
            note += f", {percent(first.tied_lists)} of them end in a tie" if first.tied_lists else ""
        note += f"; {counted(first.n_zero, 'row')} without direction left out" if first.n_zero else ""
        yield Grid(
            title=f"{Pairs(first.role).titled(model)} cosines",
            note=note,
            headings=("equivalent models", "κ, shift" if shifted else "κ", "mean |Δcos|", "largest", "sign flips",
                      "rank corr.", *overlap, worded_for(model, MOVED)),
            rows=tuple(_movement_row(*family, model) for family in families(audit, index).items()),
            essential=("mean |Δcos|", f"top-{first.top_n} kept"),
        )  # fmt: skip


def _movement_row(title: str, visits: list[Visit], at_hand: FactorModel) -> tuple[str, ...]:
    """Write the figures of a family of equivalent models: means over the family, the largest κ and change."""
    models, moved, drifts = zip(*visits, strict=True)
    names = ("mean_abs", "sign_flips", "spearman", "top_n_overlap")
    means = {name: float(np.mean([getattr(record, name) for record in moved])) for name in names}
    # How far one has to go is told by the furthest, which a mean would hide.
    kappa, shift = max(model.condition_number for model in models), max(model.shift_in(at_hand) for model in models)
    # No gauge makes some models, which have no κ.
    stretch = "–" if np.isnan(kappa) else f"{kappa:.3g}"
    return (
        title if len(visits) == 1 else f"{len(visits)} {title}",
        f"{stretch}, {in_typical_rows(shift)}" if shift else stretch,
        f"{means['mean_abs']:.3f}",
        f"{max(record.max_abs for record in moved):.2f}",
        percent(means["sign_flips"]),
        "–" if np.isnan(means["spearman"]) else f"{means['spearman']:.3f}",
        *([percent(means["top_n_overlap"])] if moved[0].top_n else []),
        f"{max(record.max_abs for record in drifts):.0e}",
    )


def limit_grids(audit: Audit) -> Iterator[Grid]:
    """Yield one grid a role: how wide the exact ranges are, and what share of the neighbour lists is certain."""
    limits, model = audit.evidence.limits, audit.evidence.model
    unseen = f".{unseen_too(audit.evidence).removesuffix('.')}" if audit.evidence.equivalence.unseen else ""
    for role in dict.fromkeys(summary.role for summary in limits.ranges):
        summaries = [summary for summary in limits.ranges if summary.role == role]
        lists = (each for each in limits.certificates if each.role == role and holds_shifts(model, role, each.group))
        certificate = next(lists, None)
        kappas = {s.max_condition or np.inf for s in summaries} | set(certificate.entries if certificate else ())
        groups = [name for name in WIDTHS if any(summary.group == name for summary in summaries)]
        headings = ["any gauge", *(text for name in groups for text in (f"width, {WIDTHS[name]}", "sign fixed"))]
        note = drawn_of(summaries[0].n_pairs, summaries[0].n_all_pairs, "pair") + of_drawn(audit.evidence, role, " of")
        if certificate is not None:
            headings.append(f"top-{certificate.top_n} certified")
            about, tied = f"lists of {counted(certificate.n_rows, 'row')}", percent(certificate.tied_share)
            if certificate.max_shift:
                note += f", widths with shifts up to {in_typical_rows(LENGTH)}. {about.capitalize()}: shifts up to "
                note += f"{in_typical_rows(certificate.max_shift)}, which alone leave {tied} of entries uncertain"
            else:
                note += f", {about}, {tied} of entries tied"
        rows = []
        # Ranges and lists may be known at different κ: each has a row, with dashes for what was not computed there.
        for kappa in sorted(kappas):
            ranges = {each.group: each for each in summaries if each.max_condition == kappa}
            cells = [
                text
                for group in groups
                for text in (
                    (f"{ranges[group].width_quantiles[0.5]:.2f}", percent(ranges[group].sign_definite_share))
                    if group in ranges
                    else ("–", "–")
                )
            ]
            certain = [] if certificate is None else [percent(certificate.entries.get(kappa, np.nan))]
            rows.append((f"within κ = {kappa:g}", *cells, *certain))
        # A narrow terminal keeps the ranges of the largest group and the lists.
        widest = f"width, {WIDTHS['affine' if shifted_sides(model, role) else 'linear']}"
        title = f"{Pairs(role).titled(model)} cosines: how far they could move"
        yield Grid(title, note + unseen, tuple(headings), tuple(rows), essential=(widest, headings[-1]))


def head_grids(head: HeadReport) -> Iterator[Grid]:
    """Yield what only a softmax head has: the effect of its mean row, and the shortest shifts of pairs of labels."""
    change, moved = head.neighbours, head.centred.movement
    first = f"top-1 changed (of {change.n_rows:,} labels)"
    among = f"; cosines of {counted(head.n_panel, 'label')} drawn" if head.is_drawn else ""
    row = ("without its mean row" if head.origin_is_free else "without its mean row (not equal)",
           percent(change.top1_changed), percent(change.top_n_changed), f"{moved.mean_abs:.3f}", f"{moved.max_abs:.2f}",
           f"{head.centred.change:.0e}")  # fmt: skip
    yield Grid(
        "mean row removed",
        f"{head.offset:.2g} of a typical row long{among}",
        ("equivalent head", first, f"top-{change.top_n} changed", "mean |Δcos|", "largest", "probabilities moved"),
        (row,),
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


def convention_grid(norm: NormEvidence) -> Grid:
    """Lay every two conventions beside each other.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> from embaudit.model.final_norm import FinalNorm
    >>> from embaudit.softmax.conventions import norm_evidence
    >>> draw = np.random.default_rng(0)
    >>> head = FactorModel.from_softmax(draw.standard_normal((9, 2)))
    >>> found = norm_evidence(head, FinalNorm("rms", [1.0, 5.0]), labels=np.arange(9), n_neighbours=2, rng=draw)
    >>> [row[:2] for row in convention_grid(found).rows]
    [('as stored', 'folded'), ('as stored', 'folded and centred'), ('folded', 'folded and centred')]
    """
    labels = counted(len(norm.queries), "label")
    note = f"{labels} without a duplicate, {norm.n_copies:,} left out" if norm.n_copies else labels
    top = norm.folded.top_n
    return Grid(
        f"conventions in use: one head behind its {norm.norm.title} (κ = {norm.norm.condition_number:.3g})",
        f"{note}; predictions moved by {max(each.max_abs for each in norm.drift):.0e} at most",
        ("one", "the other", "top-1 changed", f"top-{top} changed", "mean |Δcos|"),
        tuple(
            (each.first, each.second, percent(each.nearest.share), percent(each.top_n_changed), f"{each.mean_abs:.3f}")
            for each in norm.apart
        ),
        words=(0, 1),
    )


def head_sentences(head: HeadReport) -> list[str]:
    """Describe the labels that can lead, and what a shift does to one pair."""
    sentences = [head.argmax.explain()]
    for made in head.constructions:
        first, other = (row_quoted(head.model.row_title("right"), str(name)) for name in made.names)
        sentences.append(
            f"{first} and {other} have cosine {made.before:.2f}; in an equivalent head, shifted by {made.shift:.2g} "
            f"typical rows, they have {made.after:+.6f} (probabilities moved by {made.change:.0e})."
        )
    return sentences


class _Most(NamedTuple):
    """The largest figure that was seen, and the equivalent model that it was seen in; no name where nothing moved."""

    value: float
    model: str = ""


def glance_of(audit: Audit) -> Glance:
    """Tabulate for each kind of pairs what equivalent models were seen to do, and what is proven within a budget.

    Titles stand above the columns, and the key explains the words of the table, those that it has.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> glance = glance_of(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> glance.grid.rows
    (('item-item', '0.00', '0 %'), ('user-user', '0.00', '–'), ('user-item', '0.00', '–'))
    """
    evidence, model = audit.evidence, audit.evidence.model
    moved = [_largest(evidence, role, lambda record: record.mean_abs) for role in evidence.roles]
    lost = [_lost(evidence, role) for role in evidence.roles]
    # Each model that a figure was seen in has a letter, where there are several.
    names = list(dict.fromkeys(most.model for row in zip(moved, lost, strict=True) for most in row if most.model))
    letters = dict(zip(names, ascii_lowercase, strict=False)) if len(names) > 1 else {}
    # Lists of a small side are shorter; the heading names a length only where all have it.
    lengths = {record.top_n for _, record in evidence.visits() if record.top_n}
    near = f"{lengths.pop()} nearest" if len(lengths) == 1 else "nearest"

    def lettered(figures: list[_Most], write: Callable[[float], str]) -> list[str]:
        return [f"{write(most.value)} {letters.get(most.model, '')}".rstrip() for most in figures]

    visited = {"mean move": lettered(moved, _number), f"{near} lost": lettered(lost, percent)}
    proven = {
        "width of range": [_number(_width(evidence, role)) for role in evidence.roles],
        f"{near} sure to stay": [_rough(_certified(evidence, role)) for role in evidence.roles],
    }
    # A column of dashes would take the room of one that says something.
    shown = {heading: cells for heading, cells in (visited | proven).items() if set(cells) != {"–"}}
    bounds = [heading for heading in proven if heading in shown]
    columns = {"cosines": [Pairs(role).titled(model) for role in evidence.roles], **shown}
    groups = ((SEEN, len(shown) - len(bounds)), (SHIFTED if model.free_shifts else PROVEN, len(bounds)))
    key = [f"Equivalent: same {'products of both sides' if is_alone(audit.model) else 'predictions'}."]
    if bounds:
        key.append("κ: largest / smallest stretch.")
        key += ["Unseen parts: no bound."] * bool(evidence.equivalence.unseen)
        key += [f"Shifts: ≤ {LENGTH:g} typical row (lists {SHIFT:g})."] * bool(model.free_shifts)
    key += ["Widths: medians."] * ("width of range" in shown)
    key += [f"{letters[name]}: {name}." if letters else f"Seen in: {name}." for name in names]
    copies = any(traits.twins is not None and traits.twins.share > 0 for traits in evidence.traits)
    key += ["Duplicates count once."] * (copies and any("nearest" in heading for heading in shown))
    grid = Grid("equivalent models", "", tuple(columns), tuple(zip(*columns.values(), strict=True)))
    return Glance(grid, tuple(each for each in groups if each[1]), (*key, *scale(audit)))


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _rough(share: float) -> str:
    """Write a share without decimals, which are overlooked beside whole ones."""
    return "<1 %" if 0 < share < 0.01 else percent(share)


def _largest(evidence: Evidence, role: Role, figure: Callable[[Movement], float]) -> _Most:
    """Find the equivalent model with the largest figure, and how far it goes; one that rounding made is not named."""
    figures = [(figure(record), made) for made, record in evidence.visits(role) if not np.isnan(figure(record))]
    value, made = max(figures, key=lambda each: each[0], default=(np.nan, None))
    if made is None or value <= ROUNDING:
        return _Most(value)
    shift = f", {in_typical_rows(made.shift_in(evidence.model))}" if made.shift else ""
    # No gauge makes some models, which have no κ.
    far = "" if np.isnan(made.condition_number) else f" (κ = {made.condition_number:.3g}{shift})"
    return _Most(value, f"{made.title}{far}")


def _lost(evidence: Evidence, role: Role) -> _Most:
    """Find the largest share of neighbours that an equivalent model at hand replaces, a prediction cosine among them.

    Lists hold one row of each group of copies.
    """
    counterpart = None if evidence.predicted is None else evidence.predicted.of(role)
    most = _largest(evidence, role, _gone)
    if counterpart is None or evidence.model.predicts is Equivalence.COSINES or np.isnan(_gone(counterpart)):
        return most
    # Without any figure (NaN) the comparison is false, and the prediction cosine is told.
    return most if most.value >= _gone(counterpart) else _Most(_gone(counterpart), f"by {seen_of(evidence.model)}")


def _gone(record: Movement) -> float:
    return 1 - record.top_n_overlap if record.top_n else float("nan")


def _width(evidence: Evidence, role: Role) -> float:
    """Return the width that half of the exact ranges exceed."""
    group = "affine" if shifted_sides(evidence.model, role) else "linear"
    # Ranges of stretches alone bound nothing where rows may be shifted, so none is told there.
    for summary in evidence.limits.ranges if holds_shifts(evidence.model, role, group) else ():
        if (summary.role, summary.group, summary.max_condition) == (role, group, KAPPA):
            return summary.width_quantiles[0.5]
    return np.nan


def _certified(evidence: Evidence, role: Role) -> float:
    for certificate in evidence.limits.certificates:
        if certificate.role == role and holds_shifts(evidence.model, role, certificate.group):
            return certificate.entries[KAPPA]
    return np.nan


def scale(audit: Audit) -> Iterator[str]:
    """Yield the share of random pairs that a high cosine exceeds, or that it exceeds all that were drawn."""
    side = shown_side(audit)
    for each in audit.evidence.traits:
        if each.role == side and each.levels is not None and each.levels.n_pairs:
            levels, share = each.levels, float(each.levels.below([USUAL])[0])
            pairs = counted(levels.n_pairs, "pair" if levels.exact else "sampled pair")
            above = f"above all {pairs}" if share == 1 else f"higher than {percent(share)} of random pairs"
            yield f"{USUAL:.2f} is {above}."


def shown_side(audit: Audit) -> SideName:
    """Return the side whose neighbours are shown."""
    return "left" if audit.options.role == "left" else "right"
