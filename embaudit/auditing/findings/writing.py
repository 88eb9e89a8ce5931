"""Writing of findings: the templates of texts.toml, filled in with numbers and the model's own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from embaudit.auditing.finding import AT_HAND, Finding, Kind, Scope, Severity
from embaudit.auditing.texts import CODES, SAYS
from embaudit.auditing.wording import names_of
from embaudit.gauges import Gauge
from embaudit.model import Role

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence


def template(code: str, name: str, *variants: str) -> str:
    """Return a template of a finding, in the first of some variants that it has, else as it is; empty without one."""
    says = SAYS[code]
    templates = (
        f"{name}_{variant}" for variant in variants if f"{name}_{variant}" in says
    )
    return says.get(next(templates, name), "")


def finding(
    code: str,
    evidence: Evidence,
    *variants: str,
    kind: Kind | None = None,
    role: Role | None = None,
    scope: Scope | None = None,
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
    *variants : str
        Variants of its templates, the preferred ones first.
    kind, role, scope, rows, value, severity, witness
        The fields of `Finding`. Those that texts.toml has of the code are used by default; else rows are the cosines of
        the role, and the scope is this model. The severity is the first of the code.
    **fields : Any
        Numbers and names for the braces of the templates.
    """

    def written(field: str) -> str:
        return template(code, field, *variants).format_map(names)

    role = role or cast("Role | None", template(code, "role") or None)
    names: dict[str, Any] = dict(names_of(evidence.model, role or evidence.role))
    names |= {"value": value, "declared": evidence.declared_training, **fields}
    names["rows"] = rows = rows or written("rows") or names["cosines"]
    models, entry = written("scope"), CODES.get(code)
    usual = Severity.NOTE if entry is None else entry.severities[0]
    return Finding(
        code,
        usual if severity is None else severity,
        Kind(written("kind")) if kind is None else kind,
        scope or (Scope(models) if models else AT_HAND),
        rows,
        written("text"),
        value,
        written("title"),
        written("remedy"),
        role,
        witness,
    )
