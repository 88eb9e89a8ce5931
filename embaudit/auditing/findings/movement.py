"""Equivalent models that were seen to move cosines: the one that moves them most, and random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.finding import Finding, Kind, Scope
from embaudit.auditing.findings.writing import finding, template
from embaudit.core.words import counted, drawn_of, in_typical_rows, percent
from embaudit.gauges import Diagonal, GeneralLinear

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.model import Role

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
        equal, record = max(visits, key=lambda visit: visit[1].mean_abs)
        among = "" if record.exact else f" among {drawn_of(record.n_pairs, record.n_all_pairs, 'pair')}"
        lists = template("moved", "lists").format(top_n=record.top_n, kept=percent(record.top_n_overlap))
        yield finding(
            "moved",
            evidence,
            Kind.SHOWN,
            role=role,
            scope=Scope(equal.name),
            value=record.mean_abs,
            witness=equal.gauge,
            called=equal.called(role),
            kappa="" if equal.gauge is None else f", κ = {equal.condition_number:.3g}",
            shift=f", a shift of {in_typical_rows(equal.shift_in(evidence.model))}" if equal.shift else "",
            most=record.max_abs,
            among=among + of_drawn(evidence, role, " of" if among else " among"),
            lists=lists * bool(record.top_n),
        )


def drawn(evidence: Evidence) -> Iterator[Finding]:
    """Average over the random linear models of the budget."""
    for role in evidence.roles:
        visits = [(e, m) for e, m in evidence.visits(role) if e.kind in (Diagonal.kind, GeneralLinear.kind)]
        if not visits or max(m.max_abs for _, m in visits) <= SEEN:
            continue
        kappa, top_n = visits[0][0].condition_number, visits[0][1].top_n
        overlap = sum(m.top_n_overlap for _, m in visits) / len(visits)
        yield finding(
            "drawn",
            evidence,
            Kind.MEASURED,
            role=role,
            scope=Scope(counted(len(visits), "random linear map"), max_condition=kappa),
            value=sum(m.mean_abs for _, m in visits) / len(visits),
            kappa=kappa,
            lists=template("drawn", "lists").format(kept=percent(overlap), top_n=top_n) * bool(top_n),
        )
