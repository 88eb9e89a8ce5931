"""Coded findings: what the evidence means, how bad it is, and what to do about it.

Codes never change their meaning, so that a pipeline can ignore one by name.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.objectives import OBJECTIVES, Objective, Status, usual_objectives
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from embaudit.auditing.evidence import Evidence

MOVES = 0.05
"""Mean |Δcos| from which cosines count as moving noticeably."""
BALANCED = 1.1
"""Condition number of the gauge to the balanced model up to which factors count as balanced."""


class Severity(IntEnum):
    """How much a finding matters; `--fail-on` compares with it."""

    TIP = 1
    """Know this before you read the cosines."""
    ISSUE = 2
    """Do not read the cosines before this is mended."""

    @property
    def title(self) -> str:
        """The word people read."""
        return self.name.lower()


@dataclass(frozen=True)
class Finding:
    """One thing an audit found."""

    code: str
    """Stable code, EMB and three digits."""
    severity: Severity
    """Tip or issue."""
    title: str
    """What is the case, in a few words."""
    explanation: str
    """Why it matters."""
    remedy: str
    """What to do."""
    value: float | None = None
    """The number behind it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return asdict(self) | {"severity": self.severity.title}


def cosines_can_move(evidence: Evidence) -> bool:
    """Whether some gauge that keeps the predictions moves a cosine: not in one dimension, nor where all rows agree."""
    if evidence.model.rank == 1 or evidence.model.predicts is Equivalence.COSINES:
        return False
    tried = [m for e, m in evidence.visits() if e.condition_number > 1 + 1e-9 or e.shift > 0]
    return not tried or any(m.max_abs > 1e-6 for m in tried)


def objective_of(evidence: Evidence) -> Objective | None:
    """Look up how the model was trained, where it says so."""
    return OBJECTIVES[evidence.model.objective] if evidence.model.objective else None


def _drift(evidence: Evidence) -> Iterator[Finding]:
    for equivalent, record in zip(evidence.equivalents, evidence.drift, strict=True):
        if not record.ok:
            yield Finding(
                "EMB001",
                Severity.ISSUE,
                "the predictions did not stay the same",
                f"Under {equivalent.name} the {record.level.title} changed by {record.max_abs:.2g}, where rounding "
                f"explains {record.tolerance:.2g}; nothing else in this audit can be trusted.",
                "Check the factors for huge or tiny columns; if they are ordinary, report this as a bug.",
                record.max_abs,
            )
            return


def _identification(evidence: Evidence) -> Iterator[Finding]:
    objective = objective_of(evidence)
    if not cosines_can_move(evidence):
        return
    largest = max((m.mean_abs for e, m in evidence.visits() if m.role != "cross"), default=None)
    if objective is None:
        names = ", ".join(row.name for row in usual_objectives(evidence.trained_as))
        yield Finding(
            "EMB102",
            Severity.TIP,
            "the predictions do not fix the cosines, and how the model was trained is not known",
            "Equally predicting models have other cosines; whether training chose one depends on its objective.",
            f"Name the objective ({names} or another one, `--objective`).",
            largest,
        )
    elif objective.status is Status.FREE:
        yield Finding(
            "EMB101",
            Severity.ISSUE,
            "the cosines are not identified",
            f"Training minimised {objective.loss}; under it they are {objective.cosines}.",
            "Rank by the dot product, or compare what is predicted for two items instead of their vectors "
            "(cosines of the predictions do not depend on the gauge).",
            largest,
        )
    elif objective.status in (Status.CHOSEN, Status.INPUTS):
        yield Finding(
            "EMB103",
            Severity.TIP,
            f"the cosines are {objective.status.value}",
            f"Training minimised {objective.loss}; under it they are {objective.cosines}. The predictions alone "
            "would allow others.",
            "Read them as one convention, never across models; check them against cosines of the predictions.",
            largest,
        )


def _balance(evidence: Evidence) -> Iterator[Finding]:
    model, position = evidence.model, evidence.position
    plain = model.predicts is Equivalence.SCORES and model.left_bias is None and model.right_bias is None
    if position is None or not plain or model.objective != "factors":
        return
    stretch = float(np.exp(position.distances["balanced"]))
    if stretch > BALANCED:
        users, items = model.roles
        yield Finding(
            "EMB104",
            Severity.TIP,
            "the factors are not balanced as their objective would leave them",
            f"At a minimum with equal weight decay on both sides, {users}s and {items}s have equal Gram matrices; a "
            f"gauge of condition number {stretch:.3g} lies between that and these factors.",
            "Check the objective and that training converged; if somebody rescaled the factors, no cosine is pinned.",
            stretch,
        )


def _zero_rows(evidence: Evidence) -> Iterator[Finding]:
    for role, name in zip(("left", "right"), evidence.model.roles, strict=True):
        if role not in evidence.model.sides:
            continue
        count = len(evidence.model.zero_rows(role))
        if count:
            yield Finding(
                "EMB201",
                Severity.TIP,
                f"{count:,} {name}{'s have' if count > 1 else ' has'} no direction",
                "A zero vector has no cosine; it was left out of every figure.",
                "Give such rows no neighbours instead of arbitrary ones.",
                float(count),
            )


def _bias(evidence: Evidence) -> Iterator[Finding]:
    bias = evidence.model.right_bias
    if bias is not None and np.ptp(bias) > 0:
        items = evidence.model.title("right")
        yield Finding(
            "EMB202",
            Severity.TIP,
            f"the {items} bias takes no part in the cosines",
            f"Predictions rank {items}s with their bias, cosines without it: popularity is thrown away.",
            "Rank by the score where popularity should count.",
            float(np.ptp(bias)),
        )


def _hidden_directions(evidence: Evidence) -> Iterator[Finding]:
    position = evidence.position
    if position is not None and position.effective_rank < position.rank:
        unseen = position.rank - position.effective_rank
        yield Finding(
            "EMB203",
            Severity.ISSUE,
            f"{unseen} of {position.rank} latent dimensions take no part in the predictions",
            "What the vectors hold there is arbitrary, and their cosines count it in full.",
            "Remove those directions (the canonical models of this audit do).",
            float(unseen),
        )


CHECKS: tuple[Callable[[Evidence], Iterator[Finding]], ...] = (
    _drift,
    _identification,
    _balance,
    _hidden_directions,
    _zero_rows,
    _bias,
)


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Draw every conclusion from the evidence, the gravest first."""
    found = [finding for check in CHECKS for finding in check(evidence)]
    return tuple(sorted(found, key=lambda finding: -finding.severity))


def level_words(level: Equivalence) -> str:
    """Name what is predicted in a sentence."""
    return {Equivalence.PROBABILITIES: "probability", Equivalence.RANKINGS: "ranking"}.get(level, "score")
