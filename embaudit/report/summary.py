"""The tables of an audit as plain rows, the one source of the terminal, the page and the notebook view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from embaudit.auditing import Audit
    from embaudit.drift import Drift
    from embaudit.equivalents import EquivalentModel
    from embaudit.model import FactorModel, Role
    from embaudit.movement import Movement

TITLES = {
    "diagonal": "random rescalings",
    "linear": "random linear maps",
    "orthogonal": "a rotation (control)",
    "translation": "random translations",
}


@dataclass(frozen=True)
class Row:
    """How the cosines moved in one canonical model, or in all draws from one group."""

    title: str
    """Which equivalent models."""
    count: int
    """How many."""
    condition_number: float
    """The largest κ among them."""
    shift: float
    """The longest translation among them."""
    mean_abs: float
    """Mean |Δcos|, averaged over them."""
    max_abs: float
    """The largest |Δcos| in any."""
    sign_flips: float
    """Share of cosines that changed sign, averaged."""
    spearman: float
    """Rank correlation with the cosines at hand, averaged."""
    overlap: float
    """Share of nearest neighbours that stay, averaged; NaN without lists."""
    drift: float
    """The largest change of a prediction in any."""


@dataclass(frozen=True)
class Table:
    """The movement of one role."""

    role: Role
    title: str
    """For example "item-item"."""
    note: str
    """How many pairs are behind it."""
    top_n: int
    """N of the neighbour lists, 0 without."""
    rows: tuple[Row, ...]


def role_title(model: FactorModel, role: Role) -> str:
    """Name a role as people do.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> role_title(FactorModel.from_vectors([[1.0]]), "right")
    'item-item'
    """
    users, items = model.roles
    return {"right": f"{items}-{items}", "left": f"{users}-{users}", "cross": f"{users}-{items}"}[role]


def _row(title: str, group: list[tuple[EquivalentModel, Movement, Drift]]) -> Row:
    models, moved, drifts = zip(*group, strict=True)

    def mean(field: str) -> float:
        return float(np.mean([getattr(record, field) for record in moved]))

    return Row(
        title=title if len(group) == 1 else f"{len(group)} {title}",
        count=len(group),
        condition_number=max(model.condition_number for model in models),
        shift=max(model.shift for model in models),
        mean_abs=mean("mean_abs"),
        max_abs=max(record.max_abs for record in moved),
        sign_flips=mean("sign_flips"),
        spearman=mean("spearman"),
        overlap=mean("top_n_overlap"),
        drift=max(record.max_abs for record in drifts),
    )


def _note(record: Movement) -> str:
    pairs = f"all {record.n_pairs:,} pairs" if record.exact else f"{record.n_pairs:,} sampled pairs"
    return pairs + (f", {record.n_zero:,} rows without direction left out" if record.n_zero else "")


def tables(audit: Audit) -> tuple[Table, ...]:
    """Summarise an audit: one table a role, one row a canonical model or family of random ones."""
    evidence, found = audit.evidence, []
    for index, first in enumerate(evidence.movement[0]):
        groups: dict[str, list[tuple[EquivalentModel, Movement, Drift]]] = {}
        for equivalent, records, drift in zip(evidence.equivalents, evidence.movement, evidence.drift, strict=True):
            title = TITLES.get(equivalent.kind, equivalent.name)
            groups.setdefault(title, []).append((equivalent, records[index], drift))
        rows = tuple(_row(title, group) for title, group in groups.items())
        found.append(Table(first.role, role_title(evidence.model, first.role), _note(first), first.top_n, rows))
    return tuple(found)


def cells(row: Row, table: Table) -> list[str]:
    """Format a row for people, in the order of `headings`."""
    values = [row.title, f"{row.condition_number:.3g}", f"{row.mean_abs:.3f}", f"{row.max_abs:.2f}"]
    values += [f"{100 * row.sign_flips:.1f} %", "–" if np.isnan(row.spearman) else f"{row.spearman:.3f}"]
    if table.top_n:
        values.append(f"{100 * row.overlap:.0f} %")
    return [*values, f"{row.drift:.0e}"]


def headings(table: Table) -> list[str]:
    """Name the columns of `cells`."""
    names = ["equivalent models", "κ", "mean |Δcos|", "largest", "sign flips", "rank corr."]
    return [*names, *([f"top-{table.top_n} kept"] if table.top_n else []), "predictions moved"]
