"""EMB104: the penalty of the training would have chosen other cosines or lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.effect import CHANGED
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.auditing.samples import lists_of, pairs_of
from embaudit.auditing.wording import Nouns
from embaudit.core.ties import reaches
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.diagnosis import PenaltyGap
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB104",
    title=(
        "the penalty of the declared training would have chosen other cosines or lists"
    ),
    severities=(Severity.TIP, Severity.ISSUE),
    meaning=(
        "At a minimum with such decay the Gram matrices of both sides are equal up to "
        "a scale. Those of these factors are not, and in the form where they are, "
        "other rows are near."
    ),
    why=(
        "The decay is weak, so that the random start is still in the factors however "
        "long training ran; or training stopped early, the objective is another one, "
        "or somebody rescaled the factors afterwards."
    ),
    remedy=(
        "Train with stronger regularisation, and check the objective. More iterations "
        "help only if the regularisation is not weak. If decay counted ratings, "
        "declare `factors-counted`."
    ),
    computed=(
        "The balanced form of the factors is made, with rows weighted by interactions "
        "where the decay counts them. Reported where 5 % of the neighbours and more "
        "than five lists differ there, or cosines differ by 0.05 on average. It is an "
        "issue from 25 % of the neighbours on. Of implicit's ALS on MovieLens (16 "
        "dimensions), 12.7 % of the neighbours differ after 15 iterations and 15.6 % "
        "after 1,000 with a regularisation of 0.01; with 1, 16 % after 15 iterations "
        "and 1.8 % after 300; with 10, none after 100."
    ),
    reference=(
        "Srebro, Rennie, Jaakkola: Maximum-Margin Matrix Factorization (NIPS 2004), on "
        "penalties of both factors."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report each side whose rows are away from a minimum of the declared penalty."""
    form = evidence.penalty
    if form is not None:
        for gap in evidence.diagnosis.penalty_gaps:
            yield _reported(evidence, gap, form.stretch)


def _reported(evidence: Evidence, gap: PenaltyGap, stretch: float) -> Finding:
    """Report how far the cosines and lists of a side are from those at the minimum."""
    objective = evidence.diagnosis.objective
    assert objective is not None
    movement, changed = gap.movement, gap.share_changed
    nouns = Nouns.of(evidence.model, movement.role)
    law = "Gram matrices that are equal up to a scale"
    remedy = (
        "Train with stronger regularisation: if it is weak, the random start stays in "
        "the factors however long training runs. Check the objective, too. If the "
        "factors were rescaled afterwards, no penalty chose their cosines."
    )
    if objective.name == "factors-counted":
        law += ", each row weighted by its interactions"
    else:
        remedy += " If decay counted ratings, declare factors-counted."
    cosines_differ = f"{nouns.item} cosines differ by {movement.mean_abs:.2f}"
    there = f"There {cosines_differ} on average."
    title = f"{cosines_differ} on average from those at the penalty's minimum"
    measured_on = pairs_of(evidence.model, movement)
    if gap.lists_change:
        nearest = f"the {movement.top_n} nearest {nouns.items}"
        kept = percent(movement.top_n_overlap)
        there = f"There {kept} of {nearest} stay, and {cosines_differ} on average."
        title = f"{kept} of {nearest} stay at the penalty's minimum"
        measured_on = lists_of(evidence.model, movement)
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE if gap.is_far else Severity.TIP,
        kind=Kind.MEASURED,
        scope=AT_HAND,
        rows=nouns.cosines,
        role=movement.role,
        value=changed if reaches(changed, CHANGED) else movement.mean_abs,
        title=title,
        measured_on=measured_on,
        text=(
            f"The declared training is {evidence.declared_training}. At a minimum with "
            f"such decay, {nouns.users} and {nouns.items} have {law}. A gauge of "
            f"condition number {stretch:.3g} lies between that and these factors. "
            f"{there}"
        ),
        remedy=remedy,
    )
