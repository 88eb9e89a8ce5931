"""How far cosines could move within a budget: what is proven about all gauges of a set, and what an attack reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import embaudit.auditing.limits as budget
from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.movement import of_drawn
from embaudit.foundation.words import ONCE, beside, counted, drawn_of, percent
from embaudit.gauges import Affine
from embaudit.model import Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence


UNSEEN = "Components that no prediction sees can change further."
"""What stands behind every bound where rows have such components."""


def _named(evidence: Evidence, group: str, max_condition: float | None, max_shift: float | None) -> Scope:
    """Name a set of gauges; where no prediction sees some dimensions, it is one of those that are stored."""
    of = f" of {counted(evidence.model.rank, 'column')}" if evidence.fibre.unseen else ""
    return Scope(f"{group} gauges{of}", max_condition, max_shift)


def unseen_too(evidence: Evidence) -> str:
    """Say behind a bound what lies outside of its set, if anything does."""
    return f" {UNSEEN}" if evidence.fibre.unseen else ""


def ranges(evidence: Evidence) -> Iterator[Claim]:
    """Tell how wide the exact ranges of single cosines are, for the set of gauges they were computed for."""
    for summary in evidence.limits.ranges:
        if not budget.holds_shifts(evidence.model, summary.role, summary.group):
            continue
        pairs, kind = drawn_of(summary.n_pairs, summary.n_all_pairs, "pair"), Pairs(summary.role).titled(evidence.model)
        subject = f"{pairs} of {kind} cosines"
        subject += of_drawn(evidence, summary.role)
        shift = budget.LENGTH if summary.max_shift else None
        scope = _named(evidence, summary.group, summary.max_condition, shift)
        width = summary.width_quantiles[0.5]
        text = (
            f"No gauge among {scope} brings a cosine out of its range. Half of the ranges are wider than {width:.2f}."
            + unseen_too(evidence)
        )
        name = f"range:{summary.role}:{summary.group}:{summary.max_condition}"
        yield Claim(name, Kind.PROVEN, subject, scope, text, width, "ranges")


def certificates(evidence: Evidence) -> Iterator[Claim]:
    """Tell what share of the neighbour lists no gauge of a set can change."""
    for certificate in evidence.limits.certificates:
        if not budget.holds_shifts(evidence.model, certificate.role, certificate.group):
            continue
        title = evidence.model.title(certificate.role)
        subject = f"the {certificate.top_n} nearest of {counted(certificate.n_rows, title)}"
        subject += of_drawn(evidence, certificate.role)
        for kappa, share in certificate.lists.items():
            scope = _named(evidence, certificate.group, kappa, certificate.max_shift or None)
            once = certificate.lists_without_twins.get(kappa, float("nan"))
            text = f"Proven to stay whole: {beside(share, once, ONCE)} of the lists. That holds under {scope}."
            text += unseen_too(evidence)
            name = f"certified:{certificate.role}:{certificate.group}:{kappa:g}"
            yield Claim(name, Kind.PROVEN, subject, scope, text, share, "certificates")


def attacks(evidence: Evidence) -> Iterator[Claim]:
    """Tell what a concrete gauge reached, and what none of its set can exceed; or that none was tried."""
    if evidence.limits.rank > budget.ATTACKED_RANK:
        text = f"No attack was made: above rank {budget.ATTACKED_RANK} it costs too much; what a gauge reaches is open."
        yield Claim("reached:none", Kind.UNDECIDED, "cosines", Scope("no gauge"), text, evidence="attacks")
    for attack in evidence.limits.attacks:
        group = attack.group
        shift = budget.LENGTH if isinstance(group, Affine) else None
        scope = _named(evidence, group.kind, getattr(group, "max_condition", None), shift)
        pairs = Pairs(attack.role).titled(evidence.model)
        if attack.objective == "movement":
            subject = f"{counted(attack.n_items, 'pair')} of {pairs} cosines"
            most = f"moves {pairs} cosines by more than {attack.bound:.2f} on average"
        else:
            title = evidence.model.title(Pairs(attack.role).side)
            subject = f"{counted(attack.n_items, 'listed neighbour')} of {title}s"
            most = f"drives out more than {percent(attack.bound)} of the entries of {pairs} lists"
        subject += of_drawn(evidence, attack.role)
        name, reached = f"{attack.objective}:{attack.role}:{group.kind}", f"{attack.reached(evidence.model.roles)}."
        yield Claim(f"reached:{name}", Kind.SHOWN, subject, scope, reached, attack.achieved, "attacks", attack.gauge)
        if not budget.holds_shifts(evidence.model, attack.role, group.kind):
            continue
        text = f"No gauge among {scope} {most}.{unseen_too(evidence)}"
        yield Claim(f"bound:{name}", Kind.PROVEN, subject, scope, text, attack.bound, "attacks")
