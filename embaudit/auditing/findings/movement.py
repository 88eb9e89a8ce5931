"""How far cosines move: in the equivalent models visited, by an attack, and at most within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import embaudit.auditing.limits as budget
from embaudit.auditing.finding import Finding, Scope
from embaudit.auditing.findings.writing import finding, template
from embaudit.core.ties import TIE, first_best
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
from embaudit.movements.twins import standing_rows

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

SEEN = 1e-6
"""Largest |Δcos| up to which rounding may be all that moved."""


def of_drawn(evidence: Evidence, role: Role, start: str = " among") -> str:
    """Write of how many labels of a large head a figure is; nothing where none was left out."""
    count = evidence.n_sampled(role)
    return "" if count is None else f"{start} {counted(count, 'label')} drawn"


def moved(evidence: Evidence) -> Iterator[Finding]:
    """Report the equivalent model that moves the cosines of a role furthest on average."""
    for role in evidence.roles:
        visits = [visit for visit in evidence.visits(role) if visit[1].max_abs > SEEN]
        if not visits:
            continue
        # By the mean: the largest change is that of a single pair.
        equal, record = first_best(visits, lambda visit: visit[1].mean_abs, TIE)
        among = (
            ""
            if record.exact
            else f" among {drawn_of(record.n_pairs, record.n_all_pairs, 'pair')}"
        )
        lists = template("moved", "lists").format(
            top_n=record.top_n, kept=percent(record.top_n_overlap)
        )
        yield finding(
            "moved",
            evidence,
            role=role,
            scope=Scope(equal.name),
            value=record.mean_abs,
            witness=equal.gauge,
            called=equal.called(role),
            kappa="" if equal.gauge is None else f", κ = {equal.condition_number:.3g}",
            shift=f", a shift of {in_typical_rows(equal.shift_in(evidence.model))}"
            if equal.shift
            else "",
            most=record.max_abs,
            among=among + of_drawn(evidence, role, " of" if among else " among"),
            lists=lists * bool(record.top_n),
        )


def drawn(evidence: Evidence) -> Iterator[Finding]:
    """Average over the random linear models of the budget."""
    for role in evidence.roles:
        visits = [
            (e, m)
            for e, m in evidence.visits(role)
            if e.kind in (Diagonal.kind, GeneralLinear.kind)
        ]
        if not visits or max(m.max_abs for _, m in visits) <= SEEN:
            continue
        kappas, top_n = [e.condition_number for e, _ in visits], visits[0][1].top_n
        kappa = max(kappas)
        overlap = sum(m.top_n_overlap for _, m in visits) / len(visits)
        yield finding(
            "drawn",
            evidence,
            role=role,
            scope=Scope(counted(len(visits), "random linear map"), max_condition=kappa),
            value=sum(m.mean_abs for _, m in visits) / len(visits),
            kappa=f"{'κ = ' if f'{min(kappas):.3g}' == f'{kappa:.3g}' else 'κ up to '}{kappa:.3g}",
            lists=template("drawn", "lists").format(kept=percent(overlap), top_n=top_n)
            * bool(top_n),
        )


def unseen_too(evidence: Evidence) -> str:
    """Write behind a bound which components lie outside of its set, if there are any."""
    return template("bound", "unseen") if evidence.equivalence.unseen else ""


def _set_of(
    evidence: Evidence, group: str, max_condition: float | None, max_shift: float | None
) -> Scope:
    """Name a set of gauges; where no prediction sees some dimensions, it is one of those that are stored."""
    of = (
        f" of {counted(evidence.limits.columns, 'column')}"
        if evidence.equivalence.unseen
        else ""
    )
    return Scope(f"{group} gauges{of}", max_condition, max_shift)


def _counted_once(evidence: Evidence, role: Role) -> str:
    """Say that lists hold one row of each group of duplicates, if there are any.

    Rows that are equal but for the rounding of their storage can part under a gauge, so
    a proof about lists of one row of each group is none about lists of all rows.
    """
    has_copies = role != "cross" and standing_rows(evidence.model, role) is not None
    return ", duplicates counted once" if has_copies else ""


def ranges(evidence: Evidence) -> Iterator[Finding]:
    """Report how wide the exact ranges of single cosines are, for the set of gauges they were computed for."""
    for summary in evidence.limits.ranges:
        # A bound within a set that lacks a free shift bounds no equivalent model: the tables show it, no sentence does.
        if not budget.holds_shifts(evidence.model, summary.role, summary.group):
            continue
        pairs, kind = (
            drawn_of(summary.n_pairs, summary.n_all_pairs, "pair"),
            Pairs(summary.role).titled(evidence.model),
        )
        shift = budget.LENGTH if summary.max_shift else None
        scope = _set_of(evidence, summary.group, summary.max_condition, shift)
        yield finding(
            "range",
            evidence,
            role=summary.role,
            scope=scope,
            rows=f"{pairs} of {kind} cosines{of_drawn(evidence, summary.role)}",
            value=summary.width_quantiles[0.5],
            # Rounded down, so that the sentence claims no more than was computed.
            least=down(summary.width_quantiles[0.5]),
            set=scope,
            unseen=unseen_too(evidence),
        )


def certificates(evidence: Evidence) -> Iterator[Finding]:
    """Report what share of the neighbour lists no gauge of a set can change."""
    for certificate in evidence.limits.certificates:
        if not budget.holds_shifts(evidence.model, certificate.role, certificate.group):
            continue
        title = evidence.model.title(certificate.role)
        lists = (
            f"the {certificate.top_n} nearest of {counted(certificate.n_rows, title)}"
        )
        once = _counted_once(evidence, certificate.role)
        for kappa, share in certificate.lists.items():
            scope = _set_of(
                evidence, certificate.group, kappa, certificate.max_shift or None
            )
            yield finding(
                "certified",
                evidence,
                role=certificate.role,
                scope=scope,
                rows=lists + of_drawn(evidence, certificate.role) + once,
                value=share,
                # A certified share is rounded down for the same reason.
                share=at_least(share),
                set=scope,
                unseen=unseen_too(evidence),
            )


def attacks(evidence: Evidence) -> Iterator[Finding]:
    """Report what a concrete gauge reached, and what none of its set can exceed; or that none was tried."""
    model = evidence.model
    if evidence.limits.rank > budget.ATTACKED_RANK:
        yield finding("not_searched", evidence, most=budget.ATTACKED_RANK)
    for attack in evidence.limits.attacks:
        role, group, lists = attack.role, attack.group, attack.objective == "neighbours"
        shift = budget.LENGTH if isinstance(group, Affine) else None
        scope = _set_of(evidence, group.kind, group.max_condition, shift)
        pairs, title = Pairs(role).titled(model), model.title(role)
        rows = (
            f"{counted(attack.n_items, 'listed neighbour')} of {title}s"
            if lists
            else f"{drawn_of(attack.n_items, Pairs(role).n_pairs(model), 'pair')} of {pairs} cosines"
        ) + of_drawn(evidence, role)
        # Lists are of rows of one side.
        if lists and role != "cross":
            rows += _counted_once(evidence, role)
        variant = ["lists"] * lists
        common: dict[str, Any] = {
            "role": role,
            "scope": scope,
            "rows": rows,
            "set": scope,
        }
        # Found for some lists, a gauge does less to all of them, which tables tell of.
        visits = (
            1 - record.top_n_overlap
            for made, record in evidence.visits(role)
            if made.gauge is attack.gauge
        )
        share, over = percent(attack.achieved), percent(next(visits, attack.achieved))
        yield finding(
            "reached", evidence, *variant, **common, value=attack.achieved, witness=attack.gauge,
            share=share, over=template("reached", "over").format(share=over) * (over != share),
        )  # fmt: skip
        # A bound that lets every entry go says nothing.
        if budget.holds_shifts(model, role, group.kind) and not (
            lists and up(attack.bound) >= 1
        ):
            yield finding(
                "bound", evidence, *variant, **common, value=attack.bound,
                most=up(attack.bound), share=percent(up(attack.bound)), unseen=unseen_too(evidence),
            )  # fmt: skip
