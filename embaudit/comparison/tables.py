"""The numbers of a comparison as people read them: words for measures and sides, few digits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.words import percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from embaudit.comparison.change import RoleChange
    from embaudit.comparison.result import Comparison
    from embaudit.model import SideName


def summary_rows(comparison: Comparison) -> list[dict[str, str]]:
    """Return a row for each measure that says something, with a column for each side.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> compare(model, model).summary_rows()[:2]
    [{'measure': 'shared', 'users': '40', 'items': '30'},
     {'measure': 'mean change of cosines', 'users': '0.000', 'items': '0.000'}]
    """
    measures = {**_COUNTS, **_CHANGES, **_NEIGHBOURS}
    rows = [
        {"measure": name, **{f"{comparison.title(role)}s": tell(c) for role, c in comparison.changes.items()}}
        for name, tell in measures.items()
        if name not in _OPTIONAL or any(_OPTIONAL[name](c) for c in comparison.changes.values())
    ]
    nearest = {c.n_neighbours for c in comparison.changes.values()}
    length = f"{nearest.pop()} nearest" if len(nearest) == 1 else "nearest"
    return [{**row, "measure": row["measure"].replace("nearest", length, 1)} for row in rows]


def moved_rows(comparison: Comparison, role: SideName, n: int) -> list[dict[str, str]]:
    """Return the entities of a side that moved most, with the parts of their change."""
    parts = {"total": "mean change", "gauge": "by the gauge", "unseen": "by unseen dimensions",
             "remainder": "remains"}  # fmt: skip
    frame = comparison.moved_most(role, n)
    shown = [name for name in parts if name != "unseen" or comparison.changes[role].mean_unseen > 0]
    return [
        {comparison.title(role): str(row["name"]), **{parts[name]: f"{row[name]:.3f}" for name in shown}}
        for row in frame.to_dict("records")
    ]


def _without_direction(change: RoleChange) -> int:
    return int(np.isnan(change.total).sum())


def _correlation(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


_Tell = dict[str, "Callable[[RoleChange], str]"]
_COUNTS: _Tell = {
    "shared": lambda c: f"{len(c.match):,}",
    "only in the first model": lambda c: f"{c.match.only_before:,}",
    "only in the second model": lambda c: f"{c.match.only_after:,}",
    "without a direction": lambda c: f"{_without_direction(c):,}",
}
_CHANGES: _Tell = {
    "mean change of cosines": lambda c: f"{c.mean_total:.3f}",
    "by the gauge": lambda c: f"{c.mean_gauge:.3f}",
    "by dimensions no prediction sees": lambda c: f"{c.mean_unseen:.3f}",
    "remains": lambda c: f"{c.mean_remainder:.3f}",
    "correlation of cosines": lambda c: _correlation(c.correlation),
    "correlation without the gauge": lambda c: _correlation(c.gauged_correlation),
}
_NEIGHBOURS: _Tell = {
    "nearest kept": lambda c: percent(c.neighbour_shares["kept"]),
    "lost to the gauge": lambda c: percent(c.neighbour_shares["lost_to_gauge"]),
    "lost to dimensions no prediction sees": lambda c: percent(c.neighbour_shares["lost_to_unseen"]),
    "lost otherwise": lambda c: percent(c.neighbour_shares["lost_to_learning"]),
}
_OPTIONAL: dict[str, Callable[[RoleChange], bool]] = {
    "only in the first model": lambda c: c.match.only_before > 0,
    "only in the second model": lambda c: c.match.only_after > 0,
    "without a direction": lambda c: _without_direction(c) > 0,
    "by dimensions no prediction sees": lambda c: c.mean_unseen > 0,
    "lost to dimensions no prediction sees": lambda c: c.neighbour_shares["lost_to_unseen"] > 0,
}
"""Measures that are left out where they say nothing."""
