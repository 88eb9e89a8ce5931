"""Writing of findings: the templates of texts.toml, filled in with numbers and the model's own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from embaudit.auditing.finding import AT_HAND, Finding, Kind, Scope, Severity
from embaudit.auditing.texts import CODES, SAYS
from embaudit.auditing.wording import names_of
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.gauges import Gauge
    from embaudit.model import Role

MOVES = 0.05
"""Mean |Δcos| from which cosines count as moving noticeably."""
CHANGED = 0.05
"""Share of changed neighbours from which lists count as changing noticeably."""
FEW = 20
"""Number of rows below which a share is told by their number: one of them is worth more than 5 %."""
HANDFUL = 5
"""Number of changed lists up to which a share says little: one label of ten is 10 %."""


def is_effect(share: float, n_lists: int) -> bool:
    """Check that changed lists are many: 5 % of them, and more than a handful.

    Examples
    --------
    >>> is_effect(0.1, 10), is_effect(0.1, 100), is_effect(0.01, 1000), is_effect(float("nan"), 0)
    (False, True, False, False)
    """
    return share >= CHANGED and share * n_lists > HANDFUL


def share_of(share: float, count: int) -> str:
    """Write a share of some rows; of fewer than 20, where one is worth more than 5 %, their number.

    Examples
    --------
    >>> share_of(0.1, 10), share_of(0.1, 1000)
    ('1 of 10', '10 % of')
    """
    return f"{round(share * count)} of {count}" if count < FEW else f"{percent(share)} of"


def template(code: str, name: str, *variants: str) -> str:
    """Return a template of a finding, in the first of some variants that it has, else as it is; empty without one."""
    says = SAYS[code]
    templates = (f"{name}_{variant}" for variant in variants if f"{name}_{variant}" in says)
    return says.get(next(templates, name), "")


def finding(
    code: str,
    evidence: Evidence,
    kind: Kind,
    *variants: str,
    role: Role | None = None,
    scope: Scope = AT_HAND,
    rows: str = "",
    value: float | None = None,
    severity: Severity | None = None,
    witness: Gauge | None = None,
    **fields: Any,
) -> Finding:
    """Write one finding.

    Parameters
    ----------
    code : str
        Its code, or the word of a note.
    evidence : Evidence
        What it is drawn from.
    kind : Kind
        Its firmness.
    *variants : str
        Variants of its templates, the preferred ones first.
    role, scope, rows, value, severity, witness
        The fields of `Finding`; rows are the cosines of the role by default, the severity is the first of the code.
    **fields : Any
        Numbers and names for the braces of the templates.
    """
    names: dict[str, Any] = dict(names_of(evidence.model, role or evidence.role))
    rows = rows or names["cosines"]
    declared = ", ".join(filter(None, (evidence.model.objective, evidence.declared_by)))
    names |= {"value": value, "rows": rows, "declared": declared, **fields}
    text, title, remedy = (template(code, field, *variants).format_map(names) for field in ("text", "title", "remedy"))
    entry = CODES.get(code)
    usual = Severity.NOTE if entry is None else entry.severities[0]
    return Finding(
        code,
        usual if severity is None else severity,
        kind,
        scope,
        rows,
        text,
        value,
        title,
        remedy,
        role,
        witness,
    )
