"""Audits of the cases of the truth table, each computed once."""

from __future__ import annotations

from functools import cache

from truth.table import TABLE

from embaudit import audit

FEW_SAMPLES = {"n_gauges": 1, "n_pairs": 50}
"""Settings of all audits of the truth table, which keep them fast."""


@cache
def audited(name):
    """Return the audit of a case."""
    case = TABLE[name]
    return audit(case.model, n_starts=case.n_starts, **FEW_SAMPLES, **case.options)


def texts_of(result):
    """Return the texts of the answer and of all conclusions, with their scopes."""
    conclusions = [
        f"{conclusion.title}. {conclusion.text} {conclusion.remedy}\n"
        f"{conclusion.scope}\n{conclusion.rows}"
        for conclusion in result.conclusions
    ]
    return "\n".join(
        [str(result.answer), *result.answer.remarks, result.verdict, *conclusions]
    )


def conclusion_on_freedom(result, role):
    """Return the conclusion "free", "pinned" or "undecided" about a role."""
    (conclusion,) = (
        conclusion
        for conclusion in result.conclusions
        if conclusion.code in ("free", "pinned", "undecided")
        and conclusion.role == role
    )
    return conclusion
