"""How far equal models were seen to move cosines: the one that moves them most, and random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.foundation.words import ONCE, beside, counted, drawn_of, in_typical_rows
from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.model import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.model import Role
    from embaudit.movements.moved import Movement

SEEN = 1e-6
"""Largest |Δcos| up to which rounding may be all that moved."""


def moved(evidence: Evidence) -> Iterator[Claim]:
    """Tell of the equal model that moves the cosines of a role furthest on average."""
    for role in evidence.roles if evidence.predictions_hold else ():
        visits = [visit for visit in evidence.visits(role) if visit[1].max_abs > SEEN]
        if not visits:
            continue
        equal, record = max(visits, key=lambda visit: visit[1].mean_abs)
        cosines = f"{Pairs(role).titled(evidence.model)} cosines"
        kappa = "" if equal.gauge is None else f", κ = {equal.condition_number:.3g}"
        shift = f", a shift of {in_typical_rows(equal.shift_in(evidence.model))}" if equal.shift else ""
        among = "" if record.exact else f" among {drawn_of(record.n_pairs, record.n_all_pairs, 'pair')}"
        among += of_drawn(evidence, role, " of" if among else " among")
        text = (
            f"In one ({equal.called(role)}{kappa}{shift}) {cosines} differ by {record.mean_abs:.2f} on average. "
            f"At most they differ by {record.max_abs:.2f}{among}."
        )
        text += f" Of the {record.top_n} nearest, {_stay(record)} stay." if record.top_n else ""
        scope = Scope(equal.name)
        yield Claim(f"moved:{role}", Kind.SHOWN, cosines, scope, text, record.mean_abs, "movement", equal.gauge)


def of_drawn(evidence: Evidence, role: Role, start: str = " among") -> str:
    """Say of how many labels of a large head something is; nothing where nobody was left out."""
    count = evidence.n_drawn(role)
    return "" if count is None else f"{start} {counted(count, 'label')} drawn"


def _stay(record: Movement) -> str:
    return beside(record.top_n_overlap, record.overlap_without_twins, ONCE)


def drawn(evidence: Evidence) -> Iterator[Claim]:
    """Average over the random linear models of the budget."""
    for role in evidence.roles if evidence.predictions_hold else ():
        visits = [(e, m) for e, m in evidence.visits(role) if e.kind in (Diagonal.kind, GeneralLinear.kind)]
        if not visits or max(m.max_abs for _, m in visits) <= SEEN:
            continue
        mean = sum(m.mean_abs for _, m in visits) / len(visits)
        kappa, top_n = visits[0][0].condition_number, visits[0][1].top_n
        text = f"Random ones of κ = {kappa:.3g} move them by {mean:.2f} on average"
        if top_n:
            kept, once = (
                sum(getattr(m, name) for _, m in visits) / len(visits)
                for name in ("top_n_overlap", "overlap_without_twins")
            )
            text += f", and {beside(kept, once, ONCE)} of the {top_n} nearest stay"
        subject = f"{Pairs(role).titled(evidence.model)} cosines"
        scope = Scope(f"{len(visits)} random linear maps", max_condition=kappa)
        yield Claim(f"drawn:{role}", Kind.MEASURED, subject, scope, f"{text}.", mean, "movement")
