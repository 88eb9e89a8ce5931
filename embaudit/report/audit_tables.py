"""The tables and sentences of an audit."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from embaudit.auditing.findings.movement import of_drawn, unseen_too
from embaudit.auditing.limits import LENGTH, SHIFT, holds_shifts, shifted_sides
from embaudit.auditing.wording import is_alone, seen_of, worded_for
from embaudit.canonical.equivalents import CANONICAL
from embaudit.core.words import counted, drawn_of, in_typical_rows, percent, row_quoted, visible
from embaudit.model import Equivalence, Pairs
from embaudit.report.document import Glance
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from embaudit.auditing import Audit
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.heads import HeadReport
    from embaudit.auditing.limits import Certificate
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.model.drift import Drift
    from embaudit.movements.result import Movement
    from embaudit.ranges import RangeSummary
    from embaudit.softmax.conventions import NormEvidence

    Visit = tuple[EquivalentModel, Movement, Drift]


MOVED = "predictions moved"
"""Heading of what the check measured beside every figure."""
WIDTHS = {"linear": "linear", "diagonal": "rescaling", "affine": "with a shift"}
"""Groups whose ranges are shown, and what a table calls them."""
KAPPA = 1.5
"""Budget of what could move."""
RANGE, SURE = "width of range", "sure to stay"
"""Headings of the columns of proven figures."""
SEEN, PROVEN = "most in equivalent models", f"proven while axes stretch up to κ = {KAPPA}"
"""Titles over the columns of the first table."""
SHIFTED = f"proven: κ ≤ {KAPPA} and limited shifts"
"""The same where rows may be shifted besides."""
ROUNDING = 1e-6
"""Largest figure up to which rounding may be all that moved."""
USUAL = 0.8
"""The cosine whose share of lower pairs is told."""


def _stretch(models: Sequence[EquivalentModel], at_hand: FactorModel) -> str:
    """Write the largest κ, and the longest shift where there is one; a dash where no gauge makes the models."""
    kappa, shift = max(model.condition_number for model in models), max(model.shift_in(at_hand) for model in models)
    text = "–" if np.isnan(kappa) else f"{kappa:.3g}"
    return f"{text}, {in_typical_rows(shift)}" if shift else text


def _movement_row(title: str, visits: list[Visit], top_n: int, at_hand: FactorModel) -> tuple[str, ...]:
    """Write the figures of a family of equal models: means over the family, the largest κ and change."""
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
    evidence = audit.evidence
    shifted = any(equal.shift_in(evidence.model) for equal in evidence.equivalents)
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
            headings=(*headings, worded_for(evidence.model, MOVED)),
            rows=tuple(
                _movement_row(*family, first.top_n, evidence.model) for family in families(audit, index).items()
            ),
            essential=("mean |Δcos|", f"top-{first.top_n} kept"),
        )


def _limit_row(
    kappa: float, ranges: dict[str, RangeSummary], groups: Sequence[str], certificate: Certificate | None
) -> tuple[str, ...]:
    """Write the widths and the certified share within one κ."""
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
        summaries = [summary for summary in limits.ranges if summary.role == role]
        lists = [each for each in limits.certificates if each.role == role]
        certificate = next((each for each in lists if holds_shifts(model, role, each.group)), None)
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
        by_kappa = {k: {s.group: s for s in summaries if s.max_condition == k} for k in sorted(kappas)}
        rows = tuple(_limit_row(kappa, by_kappa[kappa], groups, certificate) for kappa in by_kappa)
        note += f".{unseen_too(audit.evidence).removesuffix('.')}" if audit.evidence.equivalence.unseen else ""
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
    return [each.text for each in audit.conclusions if each.code in ("reached", "bound", "not_searched")]


def head_grids(head: HeadReport) -> Iterator[Grid]:
    """Yield what only a softmax head has: the effect of its mean row, and the shortest shifts of pairs of labels."""
    change, moved = head.neighbours, head.centred.movement
    first = f"top-1 changed (of {change.n_rows:,} labels)"
    among = f"; cosines of {counted(head.n_panel, 'label')} drawn" if head.is_drawn else ""
    yield Grid(
        "mean row removed",
        f"{head.offset:.2g} of a typical row long{among}",
        ("equivalent head", first, f"top-{change.top_n} changed", "mean |Δcos|", "largest", "probabilities moved"),
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
            (
                each.first,
                each.second,
                percent(each.nearest.share),
                percent(each.top_n_changed),
                f"{each.mean_abs:.3f}",
            )
            for each in norm.apart
        ),
        words=(0, 1),
    )


def head_sentences(head: HeadReport) -> list[str]:
    """Describe the labels that can lead, and what a shift does to one pair."""
    sentences = [head.argmax.explain()]
    for made in head.constructions:
        first, other = (row_quoted(head.model.title("right"), str(name)) for name in made.names)
        sentences.append(
            f"{first} and {other} have cosine {made.before:.2f}; in an equivalent head, shifted by {made.shift:.2g} "
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
    texts = [] if audit.head is None else head_sentences(audit.head)
    texts += [*without_direction(audit)]
    texts += attack_sentences(audit)
    position = audit.evidence.position
    return texts if position is None else [*texts, position.explain()]


def without_direction(audit: Audit) -> Iterator[str]:
    """Name the rows that neighbours were asked of and that have none."""
    for each in audit.evidence.examples:
        if not each.before:
            yield f"{visible(each.name)} has no direction, so it has no neighbours."


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
    return Grid("equivalent models", "", tuple(shown), tuple(zip(*shown.values(), strict=True)))


def is_proven(heading: str) -> bool:
    """Return True if a column holds proven figures."""
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
    most = [figure(evidence, role) for role in evidence.roles for figure in (_moved, _lost)]
    return dict(zip(dict.fromkeys(each.called for each in most if each.called), ascii_lowercase, strict=False))


def named(evidence: Evidence, made: EquivalentModel) -> str:
    """Name an equal model as tables do, and say how far it goes; some are no gauge of the model."""
    if np.isnan(made.condition_number):
        return made.title
    shift = f", {in_typical_rows(made.shift_in(evidence.model))}" if made.shift else ""
    return f"{made.title} (κ = {made.condition_number:.3g}{shift})"


def _largest(evidence: Evidence, role: Role, figure: Callable[[Movement], float]) -> _Most:
    """Find the equal model with the largest figure; one that rounding alone made names no model."""
    figures = [(figure(record), made) for made, record in evidence.visits(role) if not np.isnan(figure(record))]
    if not figures:
        return NOTHING
    value, made = max(figures, key=lambda each: each[0])
    return _Most(value, named(evidence, made) if value > ROUNDING else "")


def _moved(evidence: Evidence, role: Role) -> _Most:
    return _largest(evidence, role, lambda record: record.mean_abs)


def _width(evidence: Evidence, role: Role) -> float:
    """Return the width that half of the exact ranges exceed."""
    group = "affine" if shifted_sides(evidence.model, role) else "linear"
    for summary in evidence.limits.ranges if holds_shifts(evidence.model, role, group) else ():
        if (summary.role, summary.group, summary.max_condition) == (role, group, KAPPA):
            return summary.width_quantiles[0.5]
    return np.nan


def _certified(evidence: Evidence, role: Role) -> float:
    for certificate in evidence.limits.certificates:
        if certificate.role == role and holds_shifts(evidence.model, role, certificate.group):
            return certificate.entries[KAPPA]
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


def key(audit: Audit, grid: Grid) -> Iterator[str]:
    """Explain the words of the table, those that it has, a sentence each."""
    yield f"Equivalent: same {'products of both sides' if is_alone(audit.model) else 'predictions'}."
    if any(map(is_proven, grid.headings)):
        yield "κ: largest / smallest stretch."
        if audit.evidence.equivalence.unseen:
            yield "Unseen parts: no bound."
        if audit.evidence.model.free_shifts:
            yield f"Shifts: ≤ {LENGTH:g} typical row (lists {SHIFT:g})."
    if RANGE in grid.headings:
        yield "Widths: medians."
    letters = sources(audit.evidence)
    if len(letters) == 1:
        yield f"Seen in: {next(iter(letters))}."
    else:
        yield from (f"{letter}: {called}." for called, letter in letters.items())
    copies = any(traits.twins is not None and traits.twins.share > 0 for traits in audit.evidence.traits)
    if copies and any("nearest" in heading for heading in grid.headings):
        yield "Duplicates count once."
    yield from scale(audit)


def glance_of(audit: Audit) -> Glance:
    """Collect the first table, with titles above its columns and the meaning of its words."""
    grid = movement_grid(audit.evidence)
    proven = sum(map(is_proven, grid.headings))
    title = SHIFTED if audit.evidence.model.free_shifts else PROVEN
    groups = ((SEEN, len(grid.headings) - 1 - proven), (title, proven))
    return Glance(grid, tuple(each for each in groups if each[1]), tuple(key(audit, grid)))


def scale(audit: Audit) -> Iterator[str]:
    """Yield the share of random pairs that a high cosine exceeds."""
    side = shown_side(audit)
    for each in audit.evidence.traits:
        if each.role == side and each.levels is not None and each.levels.n_pairs:
            share = percent(float(each.levels.below([USUAL])[0]))
            yield f"{USUAL:.2f} is higher than {share} of random pairs."


def shown_side(audit: Audit) -> SideName:
    """Return the side whose neighbours are shown."""
    return "left" if audit.evidence.primary_role == "left" else "right"
