"""Coded findings: what the evidence means, one family of checks a file, and the one list of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.checks.argmax import hidden_labels
from embaudit.auditing.checks.balance import balance
from embaudit.auditing.checks.bias import bias
from embaudit.auditing.checks.declared import declared
from embaudit.auditing.checks.dimensions import few_dimensions
from embaudit.auditing.checks.direction import common_direction
from embaudit.auditing.checks.hubs import hubs
from embaudit.auditing.checks.identification import identification
from embaudit.auditing.checks.lengths import lengths
from embaudit.auditing.checks.norm import final_norm
from embaudit.auditing.checks.one_side import orthonormal_columns, unit_rows
from embaudit.auditing.checks.origin import origin, undeclared_mean
from embaudit.auditing.checks.predictions import predictions
from embaudit.auditing.checks.rank import absorbable, constant_alone, hidden_directions
from embaudit.auditing.checks.rounding import rounding
from embaudit.auditing.checks.rows import undirected_rows
from embaudit.auditing.checks.simplex import simplex
from embaudit.auditing.checks.tail import tail
from embaudit.auditing.checks.twins import twin_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.finding import Finding

    Check = Callable[[Evidence], Iterator[Finding]]

ABOUT_HEADS: tuple[Check, ...] = (
    predictions,
    origin,
    simplex,
    hidden_labels,
    declared,
    undeclared_mean,
    undirected_rows,
)
"""What a head report concludes from."""
OF_TRAITS: tuple[Check, ...] = (
    twin_rows,
    tail,
    common_direction,
    hubs,
    lengths,
    few_dimensions,
    constant_alone,
    rounding,
    unit_rows,
    orthonormal_columns,
)
"""What the rows themselves are like, whatever they predict."""
CHECKS: tuple[Check, ...] = (
    *ABOUT_HEADS,
    final_norm,
    identification,
    balance,
    hidden_directions,
    absorbable,
    bias,
    *OF_TRAITS,
)


def findings(evidence: Evidence, checks: Sequence[Check] = CHECKS) -> tuple[Finding, ...]:
    """Draw every conclusion from the evidence, the gravest first."""
    found = [finding for check in checks for finding in check(evidence)]
    return tuple(sorted(found, key=lambda finding: -finding.severity))
