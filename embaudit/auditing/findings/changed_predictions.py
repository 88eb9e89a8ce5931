"""EMB001: an equivalent model does not predict the same, so the check itself failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.core.ties import first_best

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB001",
    title="{predictions} did not stay the same: the check itself failed",
    severities=(Severity.ISSUE,),
    measured=(
        "The {predictions} of your model are compared with the {predictions} of each "
        "equivalent model that the audit made, on sampled rows."
    ),
    reported=(
        "If a {prediction} differs by more than rounding explains. The bound is the "
        "precision of the numbers times κ times the lengths of the factors."
    ),
    meaning=(
        "An equivalent model should predict the same as your model, but the audit made "
        "a model that predicts something else."
    ),
    why=(
        "An audit compares cosines of models with the same {predictions}. If the "
        "{predictions} differ, no other figure of the audit can be trusted."
    ),
    remedy=(
        "Look for columns with huge or tiny numbers in the factors. If there are no "
        "such columns, report this as a bug."
    ),
    reference=(
        "Higham: Accuracy and Stability of Numerical Algorithms (SIAM 2002), chapter 3."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Name the first equivalent model whose predictions are others.

    Of the equivalent heads it is the one furthest from its bound.
    """
    head, norm = evidence.head, evidence.norm
    if head is not None and not head.verified:
        worst = first_best(
            head.verifiable, lambda other: other.change / other.tolerance
        )
        changed = f"a probability changed by {worst.change:.2g} of itself"
        yield _failed(worst.name, changed, worst.change, worst.tolerance)
        return
    for model, drift in zip(evidence.equivalents, evidence.drift, strict=True):
        if not drift.ok:
            changed = f"the {drift.level.title} changed by {drift.max_abs:.2g}"
            yield _failed(model.name, changed, drift.max_abs, drift.tolerance)
            return
    if norm is not None and not norm.verified:
        worst_form = first_best(
            norm.drift, lambda drift: drift.max_abs / drift.tolerance
        )
        changed = f"the {worst_form.level.title} changed by {worst_form.max_abs:.2g}"
        name = "another form of the final norm"
        yield _failed(name, changed, worst_form.max_abs, worst_form.tolerance)


def _failed(name: str, changed: str, value: float, tolerance: float) -> Finding:
    """Report predictions that one equivalent model changes by more than rounding."""
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE,
        kind=Kind.SHOWN,
        scope=Scope(name),
        rows="the predictions",
        measured_on="the equivalent models that this audit made",
        value=value,
        title=f"the predictions did not stay the same: {changed}",
        text=(
            f"Under {name} {changed}, but rounding explains at most {tolerance:.2g}. "
            "No other figure of this audit can be trusted."
        ),
        remedy=(
            "Look for columns with huge or tiny numbers in the factors. If there are "
            "no such columns, report this as a bug."
        ),
    )
