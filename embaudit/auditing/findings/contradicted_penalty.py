"""EMB104: the penalty of the training would have chosen other cosines or lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.effect import CHANGED
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
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
    measured=(
        "The audit computes the balanced form of the factors, which is at a minimum of "
        "the declared penalty. It compares cosines and neighbour lists of the factors "
        "with the cosines and lists of this form. If the decay counts interactions, "
        "each row is weighted by its interactions."
    ),
    reported=(
        "If at least 5 % of the neighbours and more than five lists differ, or if "
        "cosines differ by at least 0.05 on average. An issue if at least 25 % of the "
        "neighbours differ, otherwise a tip."
    ),
    meaning=(
        "At a minimum of such a penalty, the Gram matrices of both sides are equal up "
        "to a scale. The Gram matrices of these factors differ by more, and in the "
        "balanced form other rows are nearest."
    ),
    why=(
        "The penalty did not choose these cosines. If the penalty is weak, the random "
        "start stays in the factors however long training runs. Or training stopped "
        "early, the objective is another one, or somebody rescaled the factors "
        "afterwards. For example, implicit's ALS on MovieLens (16 dimensions) has 12.7 "
        "% other neighbours after 15 iterations and 15.6 % after 1,000 if the "
        "regularisation is 0.01. If it is 1, they are 16 % after 15 iterations and 1.8 "
        "% after 300. If it is 10, no neighbour differs after 100 iterations."
    ),
    remedy=(
        "Train with a stronger penalty, and check the objective. More iterations help "
        "only if the penalty is not weak. If the decay of a row grows with its number "
        "of ratings, declare `factors-counted`."
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
    nouns = Nouns.from_model(evidence.model, movement.role)
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
    there = f"In this form, {cosines_differ} on average."
    title = f"{cosines_differ} on average from the cosines at the penalty's minimum"
    measured_on = pairs_of(evidence.model, movement)
    if gap.lists_change:
        nearest = f"the {movement.top_n} nearest {nouns.items}"
        kept = percent(movement.top_n_overlap)
        there = (
            f"In this form, {kept} of {nearest} stay, and {cosines_differ} on average."
        )
        title = f"{kept} of {nearest} stay at the penalty's minimum"
        measured_on = lists_of(evidence.model, movement)
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE if gap.is_far else Severity.TIP,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=nouns.cosines,
        role=movement.role,
        value=changed if reaches(changed, CHANGED) else movement.mean_abs,
        title=title,
        measured_on=measured_on,
        text=(
            f"The declared training is {evidence.declared_training}. At a minimum with "
            f"such decay, {nouns.users} and {nouns.items} have {law}. A gauge of "
            f"condition number {stretch:.3g} brings these factors to this form. "
            f"{there}"
        ),
        remedy=remedy,
    )
