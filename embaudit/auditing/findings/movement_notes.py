"""Notes on how far cosines move: in visited models, by attacks, and at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.limits import ATTACKED_RANK, LENGTH, holds_shifts
from embaudit.auditing.samples import pairs_of
from embaudit.core.ties import first_best
from embaudit.core.tolerances import FLOAT32_TIE, TIE
from embaudit.core.words import (
    at_least,
    counted,
    down,
    drawn_of,
    in_typical_rows,
    percent,
    up,
)
from embaudit.gauges import Affine, Diagonal, GeneralLinear
from embaudit.model import Pairs, Role
from embaudit.movements import Movement
from embaudit.movements.twins import representatives_of

if TYPE_CHECKING:
    from embaudit.attacks import Attack
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.limits import Certificate
    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.ranges import RangeSummary

NOTES = ("moved", "drawn", "range", "certified", "not_searched", "reached", "bound")
"""Words of the notes that this module can write."""


def of_drawn(evidence: Evidence, role: Role, start: str = " among") -> str:
    """Write among how many drawn right rows a figure was measured, if not all."""
    count = evidence.n_sampled(role)
    if count is None:
        return ""
    return f"{start} {counted(count, evidence.model.title('right'))} drawn"


def unseen_too(evidence: Evidence) -> str:
    """Write behind a bound that components outside of its set can change further."""
    if not evidence.equivalence.unseen:
        return ""
    return " Components that no prediction sees can change further."


def moved(evidence: Evidence) -> Iterator[Finding]:
    """Report the visited model that moves the cosines of a role furthest on average."""
    for role in evidence.roles:
        visits = [
            visit for visit in evidence.visits(role) if visit[1].max_abs > FLOAT32_TIE
        ]
        if visits:
            # By the mean: the largest change is that of a single pair.
            furthest = first_best(visits, lambda visit: visit[1].mean_abs, TIE)
            yield _moved(evidence, role, *furthest)


def _moved(
    evidence: Evidence, role: Role, equal: EquivalentModel, movement: Movement
) -> Finding:
    """Report how far one equivalent model moves the cosines of a role."""
    cosines = _cosines(evidence, role)
    if movement.exact:
        among = of_drawn(evidence, role)
    else:
        pairs = drawn_of(movement.n_pairs, movement.n_all_pairs, "pair")
        among = f" among {pairs}{of_drawn(evidence, role, ' of')}"
    gauge = equal.title_for(role)
    if equal.gauge is not None:
        gauge = f"{gauge}, κ = {equal.condition_number:.3g}"
    if equal.shift:
        shift = in_typical_rows(equal.shift_in(evidence.model))
        gauge = f"{gauge}, a shift of {shift}"
    text = (
        f"One equivalent model moves {cosines} by {movement.mean_abs:.2f} on average, "
        f"and by {movement.max_abs:.2f} at most{among}. Its gauge: {gauge}."
    )
    if movement.top_n:
        kept = percent(movement.top_n_overlap)
        text = f"{text} Of the {movement.top_n} nearest, {kept} stay."
    return Finding(
        code="moved",
        severity=Severity.NOTE,
        kind=Kind.SHOWN,
        scope=Scope(equal.name),
        rows=cosines,
        role=role,
        value=movement.mean_abs,
        witness=equal.gauge,
        text=text,
        measured_on=pairs_of(evidence.model, movement),
    )


def drawn(evidence: Evidence) -> Iterator[Finding]:
    """Average over the random linear models of the budget."""
    for role in evidence.roles:
        visits = [
            (equal, movement)
            for equal, movement in evidence.visits(role)
            if equal.kind in (Diagonal.kind, GeneralLinear.kind)
        ]
        if any(movement.max_abs > FLOAT32_TIE for _, movement in visits):
            yield _drawn(evidence, role, visits)


def _drawn(
    evidence: Evidence,
    role: Role,
    visits: Sequence[tuple[EquivalentModel, Movement]],
) -> Finding:
    """Report how far random models move the cosines of a role on average."""
    cosines = _cosines(evidence, role)
    conditions = [equal.condition_number for equal, _ in visits]
    largest = f"{max(conditions):.3g}"
    if f"{min(conditions):.3g}" == largest:
        gauges = f"κ = {largest}"
    else:
        gauges = f"κ up to {largest}"
    mean = sum(movement.mean_abs for _, movement in visits) / len(visits)
    lists = ""
    top_n = visits[0][1].top_n
    if top_n:
        kept = sum(movement.top_n_overlap for _, movement in visits) / len(visits)
        lists = f", and {percent(kept)} of the {top_n} nearest stay"
    return Finding(
        code="drawn",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope(
            counted(len(visits), "random linear map"), max_condition=max(conditions)
        ),
        rows=cosines,
        role=role,
        value=mean,
        text=(
            f"Random gauges of {gauges} move {cosines} by {mean:.2f} on average{lists}."
        ),
    )


def ranges(evidence: Evidence) -> Iterator[Finding]:
    """Report how wide the exact ranges of cosines are within a set of gauges."""
    for summary in evidence.limits.ranges:
        # A bound within a set that lacks a free shift bounds no equivalent model: the
        # tables show it, and no sentence does.
        if holds_shifts(evidence.model, summary.role, summary.group):
            yield _range(evidence, summary)


def _range(evidence: Evidence, summary: RangeSummary) -> Finding:
    """Report how wide half of the ranges are at least, rounded down."""
    shift = LENGTH if summary.max_shift else None
    scope = _set_of(evidence, summary.group, summary.max_condition, shift)
    pairs = drawn_of(summary.n_pairs, summary.n_all_pairs, "pair")
    rows = (
        f"{pairs} of {_cosines(evidence, summary.role)}"
        f"{of_drawn(evidence, summary.role)}"
    )
    median = summary.width_quantiles[0.5]
    return Finding(
        code="range",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=scope,
        rows=rows,
        role=summary.role,
        value=median,
        text=(
            f"No gauge among {scope} brings a cosine out of its range. Half of the "
            f"ranges (of {rows}) are at least {down(median):.2f} wide."
            f"{unseen_too(evidence)}"
        ),
    )


def certificates(evidence: Evidence) -> Iterator[Finding]:
    """Report the share of neighbour lists that no gauge of a set can change."""
    for certificate in evidence.limits.certificates:
        if not holds_shifts(evidence.model, certificate.role, certificate.group):
            continue
        for condition, share in certificate.lists.items():
            yield _certified(evidence, certificate, condition, share)


def _certified(
    evidence: Evidence, certificate: Certificate, condition: float, share: float
) -> Finding:
    """Report the share of whole lists within one budget, rounded down."""
    role = certificate.role
    shift = certificate.max_shift or None
    scope = _set_of(evidence, certificate.group, condition, shift)
    n_rows = counted(certificate.n_rows, evidence.model.title(role))
    rows = (
        f"the {certificate.top_n} nearest of {n_rows}{of_drawn(evidence, role)}"
        f"{_counted_once(evidence, role)}"
    )
    return Finding(
        code="certified",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=scope,
        rows=rows,
        role=role,
        value=share,
        text=(
            f"Proven to stay whole: {at_least(share)} of the lists ({rows}). This "
            f"holds under {scope}.{unseen_too(evidence)}"
        ),
    )


def attacks(evidence: Evidence) -> Iterator[Finding]:
    """Report what attacks reached and what no gauge of their set exceeds.

    If rows have too many dimensions for an attack, report that.
    """
    if evidence.limits.rank > ATTACKED_RANK:
        yield _not_searched()
    for attack in evidence.limits.attacks:
        yield _reached(evidence, attack)
        # A bound that lets every entry go says nothing.
        says_nothing = attack.objective == "neighbours" and up(attack.bound) >= 1
        if not says_nothing and holds_shifts(
            evidence.model, attack.role, attack.group.kind
        ):
            yield _bound(evidence, attack)


def _not_searched() -> Finding:
    """Report that no attack was made."""
    return Finding(
        code="not_searched",
        severity=Severity.NOTE,
        kind=Kind.UNDECIDED,
        scope=Scope("no gauge"),
        rows="cosines",
        text=(
            f"No attack was made: above {ATTACKED_RANK:,} dimensions it costs too "
            "much. How far a gauge can move cosines is open."
        ),
    )


def _reached(evidence: Evidence, attack: Attack) -> Finding:
    """Report what the worst gauge found does."""
    scope = _attacked_set(evidence, attack)
    rows = _attacked_rows(evidence, attack)
    if attack.objective == "neighbours":
        share = percent(attack.achieved)
        text = (
            f"The worst gauge found drives out {share} of {rows}. The search was for "
            f"these lists, among {scope}."
        )
        # A gauge that was found for some lists does less to all of them.
        share_of_all = percent(_effect_on_all(evidence, attack))
        if share_of_all != share:
            text += f" Over all lists that were measured it drives out {share_of_all}."
    else:
        text = (
            f"The worst gauge found moves {rows} by {attack.achieved:.2f} on average. "
            f"The search was for these pairs, among {scope}."
        )
    return Finding(
        code="reached",
        severity=Severity.NOTE,
        kind=Kind.SHOWN,
        scope=scope,
        rows=rows,
        role=attack.role,
        value=attack.achieved,
        witness=attack.gauge,
        text=text,
    )


def _effect_on_all(evidence: Evidence, attack: Attack) -> float:
    """Return the share of all measured lists' entries that a found gauge drives out."""
    for equal, movement in evidence.visits(attack.role):
        if equal.gauge is attack.gauge:
            return 1 - movement.top_n_overlap
    return attack.achieved


def _bound(evidence: Evidence, attack: Attack) -> Finding:
    """Report what no gauge of the set of an attack exceeds, rounded up."""
    scope = _attacked_set(evidence, attack)
    rows = _attacked_rows(evidence, attack)
    most = up(attack.bound)
    if attack.objective == "neighbours":
        text = (
            f"At most {percent(most)} of {rows} can be driven out. This holds for all "
            f"{scope}."
        )
    else:
        text = (
            f"The mean move of {rows} is at most {most:.2f}. This holds for all "
            f"{scope}."
        )
    return Finding(
        code="bound",
        severity=Severity.NOTE,
        kind=Kind.PROVEN,
        scope=scope,
        rows=rows,
        role=attack.role,
        value=attack.bound,
        text=text + unseen_too(evidence),
    )


def _attacked_set(evidence: Evidence, attack: Attack) -> Scope:
    """Name the set of gauges that an attack searched."""
    group = attack.group
    shift = LENGTH if isinstance(group, Affine) else None
    return _set_of(evidence, group.kind, group.max_condition, shift)


def _attacked_rows(evidence: Evidence, attack: Attack) -> str:
    """Name the list entries or the pairs that an attack was made for."""
    role = attack.role
    if attack.objective == "neighbours":
        entries = counted(attack.n_items, "listed neighbour")
        return (
            f"{entries} of {evidence.model.title(role)}s{of_drawn(evidence, role)}"
            f"{_counted_once(evidence, role)}"
        )
    pairs = drawn_of(attack.n_items, Pairs(role).n_pairs(evidence.model), "pair")
    return f"{pairs} of {_cosines(evidence, role)}{of_drawn(evidence, role)}"


def _set_of(
    evidence: Evidence, group: str, max_condition: float | None, max_shift: float | None
) -> Scope:
    """Name a set of gauges.

    If no prediction sees some dimensions, the set is of gauges of the stored ones.
    """
    gauges = f"{group} gauges"
    if evidence.equivalence.unseen:
        gauges = f"{gauges} of {counted(evidence.limits.columns, 'column')}"
    return Scope(gauges, max_condition, max_shift)


def _counted_once(evidence: Evidence, role: Role) -> str:
    """Write that lists hold one row of each group of duplicates, if there are any.

    Rows that are equal but for the rounding of their storage can part under a gauge, so
    a proof about lists of one row of each group is none about lists of all rows.
    """
    if role == "cross" or representatives_of(evidence.model, role) is None:
        return ""
    return ", duplicates counted once"


def _cosines(evidence: Evidence, role: Role) -> str:
    """Name the cosines of a role, such as "item-item cosines"."""
    return f"{Pairs(role).titled(evidence.model)} cosines"
