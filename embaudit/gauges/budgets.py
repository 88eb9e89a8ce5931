"""Budgets of a set of gauges: bounds on κ(M) and on the length of a shift.

A budget is a number, or None for no bound.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import is_number
from embaudit.core.tolerances import TIE
from embaudit.errors import must_be


def require_budget(
    name: str, budget: float | None, least: float, most: float = np.inf
) -> None:
    """Raise InputError unless a budget is None, or a number in the range of float64.

    Examples
    --------
    >>> require_budget("max_condition", 10.0, 1.0, 10.0)
    >>> require_budget("max_condition", 11.0, 1.0, 10.0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: max_condition must be at most 10, what float64 can ...
    """
    if budget is None:
        return
    if not (is_number(budget) and budget >= least):
        remedy = "None sets no bound"
        is_condition_number = least == 1
        if is_condition_number:
            remedy = "it is the largest stretch over the smallest, such as 2"
        raise must_be(name, f"a finite number >= {least:g}", repr(budget), remedy)
    if budget > most:
        raise must_be(
            name,
            f"at most {most:g}, what float64 can hold",
            f"{budget:g}",
            "None sets no bound",
        )


def is_within_budget(spent: float, budget: float | None) -> bool:
    """Return True if a condition number or length is within a budget up to rounding."""
    return budget is None or spent <= budget * (1 + TIE)


def covers_budget(budget: float | None, other: float | None) -> bool:
    """Return True if a budget is at least as large as another; None has no bound."""
    if budget is None:
        return True
    return other is not None and other <= budget
