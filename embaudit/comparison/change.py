"""How cosines of one side changed between two models, and how much of it a gauge explains.

Shared rows are cut into two halves. The gauge that judges a half is chosen and fitted on the other half alone, and
only pairs and neighbours within a half are looked at: no row is judged by a gauge it helped to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.arrays import Indices
from embaudit.comparison.fits import GaugeFit, fit_gauge, possible_groups, unexplained
from embaudit.similarity import Neighbours, neighbours, pair_cosines

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.comparison.fits import Rows
    from embaudit.comparison.matching import Match
    from embaudit.model import FactorModel, Side

PARTNERS = 32
"""Other rows each row is compared with."""
SEARCHED = 2_000
"""Rows whose neighbours are looked up."""
TIED = 1e-6
"""Cosines closer than this are one in float32, and which of them makes a list is chance."""
EXPLAINED = 1e-8
"""Share of the spread below which a gauge explains all that float32 can show."""
WORSE = 1.1
"""A larger group must beat a smaller one by this factor of unexplained spread to be preferred."""


@dataclass(frozen=True, eq=False)
class RoleChange:
    """The change of one side's cosines, its gauge part and the remainder, on rows held out of every fit."""

    role: Side
    """Which side."""
    match: Match
    """The shared entities that were judged, in the order of the arrays below."""
    unexplained: dict[str, float]
    """For each gauge group, the share of the held-out rows' spread that its best gauge leaves."""
    total: NDArray[np.float64]
    """(m,) mean absolute change of a row's cosines."""
    gauge: NDArray[np.float64]
    """(m,) of it, what the gauge does to the first model's cosines."""
    remainder: NDArray[np.float64]
    """(m,) mean absolute difference between the gauged first model and the second."""
    correlation: float
    """Pearson correlation of the cosines before and after."""
    gauged_correlation: float
    """The same once the gauge is taken out."""
    n_neighbours: int
    """Length of the neighbour lists."""
    searched: Indices
    """Positions in `match` whose neighbours were looked up."""
    kept: NDArray[np.intp]
    """Neighbours that are the same before and after."""
    lost_to_gauge: NDArray[np.intp]
    """Former neighbours that the gauge alone drives out."""
    lost_to_learning: NDArray[np.intp]
    """Former neighbours that the gauge would have kept, but the second model drops."""

    @property
    def mean_total(self) -> float:
        """Mean absolute change of the cosines."""
        return float(np.nanmean(self.total))

    @property
    def mean_gauge(self) -> float:
        """Mean absolute change that the gauge makes."""
        return float(np.nanmean(self.gauge))

    @property
    def mean_remainder(self) -> float:
        """Mean absolute change that the gauge does not explain."""
        return float(np.nanmean(self.remainder))

    @property
    def neighbour_shares(self) -> dict[str, float]:
        """Shares of the former neighbours that stayed, left because of the gauge, and left for another reason."""
        counts = {
            "kept": self.kept.sum(),
            "lost_to_gauge": self.lost_to_gauge.sum(),
            "lost_to_learning": self.lost_to_learning.sum(),
        }
        whole = max(1, sum(counts.values()))
        return {name: float(count / whole) for name, count in counts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity, the one that moved most first."""
        import pandas as pd

        columns = {"name": self.match.names, "total": self.total, "gauge": self.gauge, "remainder": self.remainder}
        return pd.DataFrame(columns).sort_values("total", ascending=False, kind="stable", ignore_index=True)


@dataclass(frozen=True, eq=False)
class Fold:
    """One half of the shared rows, and the gauge fitted on the other half."""

    held_out: dict[Side, Indices]
    """For each side, positions in the match."""
    fits: dict[str, GaugeFit]
    """The best gauge of each group."""
    chosen: str
    """The smallest group that served a part of the training half, kept out of its own fit, as well as any."""

    @property
    def gauge(self) -> GaugeFit:
        """The gauge that judges this half."""
        return self.fits[self.chosen]


def shared_rows(before: FactorModel, after: FactorModel, matches: dict[Side, Match]) -> Rows:
    """Gather the rows of the shared entities in float64."""
    return {
        role: (
            np.asarray(before.factors(role)[found.before], dtype=np.float64),
            np.asarray(after.factors(role)[found.after], dtype=np.float64),
        )
        for role, found in matches.items()
    }


def _part(rows: Rows, chosen: dict[Side, Indices]) -> Rows:
    return {role: (x[chosen[role]], y[chosen[role]]) for role, (x, y) in rows.items()}


def folds(rows: Rows, rng: np.random.Generator) -> list[Fold]:
    """Cut the rows in halves at random, and fit on each half the gauges that judge the other."""
    halves: list[dict[Side, Indices]] = [{}, {}]
    for role, (x, _) in rows.items():
        order = rng.permutation(len(x))
        for half, part in zip(halves, np.array_split(order, 2), strict=True):
            half[role] = part
    return [_fold(rows, train, held_out) for held_out, train in (halves, halves[::-1])]


def _fold(rows: Rows, train: dict[Side, Indices], held_out: dict[Side, Indices]) -> Fold:
    training = _part(rows, train)
    x, y = next(iter(training.values()))
    groups = possible_groups(x.shape[1], y.shape[1])
    fits = {group: fit_gauge(training, group) for group in groups}
    return Fold(held_out, fits, _choose(training, groups))


def _choose(training: Rows, groups: tuple[str, ...]) -> str:
    """Choose the smallest group that serves as well as any, on a third of the training rows left out of a fit."""
    inner = {role: np.arange(len(x)) for role, (x, _) in training.items()}
    fitted = _part(training, {role: i[i % 3 > 0] for role, i in inner.items()})
    judged = _part(training, {role: i[i % 3 == 0] for role, i in inner.items()})
    left = {group: _mean_unexplained(fit_gauge(fitted, group), judged) for group in groups}
    bound = max(EXPLAINED, WORSE * min(left.values()))
    return next(group for group in groups if left[group] <= bound)


def _mean_unexplained(fit: GaugeFit, rows: Rows) -> float:
    return float(np.mean([unexplained(fit, role, rows) for role in rows]))


def role_change(
    role: Side, match: Match, rows: Rows, parts: list[Fold], *, n: int, rng: np.random.Generator
) -> RoleChange:
    """Measure the change of one side's cosines on rows held out of the fits."""
    before, after = rows[role]
    gauged = np.empty_like(after)
    for fold in parts:
        gauged[fold.held_out[role]] = fold.gauge.apply(role, before[fold.held_out[role]])
    pairs = np.concatenate([_pairs(fold.held_out[role], rng) for fold in parts])
    old, carried, new = (pair_cosines(x, x, pairs) for x in (before, gauged, after))
    return RoleChange(
        role=role,
        match=match,
        unexplained=_held_out_error(role, rows, parts),
        total=_row_means(np.abs(new - old), pairs, len(match)),
        gauge=_row_means(np.abs(carried - old), pairs, len(match)),
        remainder=_row_means(np.abs(new - carried), pairs, len(match)),
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(carried, new),
        **_neighbour_changes(role, (before, gauged, after), parts, n, rng),
    )


def _held_out_error(role: Side, rows: Rows, parts: list[Fold]) -> dict[str, float]:
    judged = [_part(rows, fold.held_out) for fold in parts]
    return {
        group: float(np.mean([unexplained(f.fits[group], role, part) for f, part in zip(parts, judged, strict=True)]))
        for group in parts[0].fits
    }


def _pairs(rows: Indices, rng: np.random.Generator) -> NDArray[np.intp]:
    """Pair every row of a half with others of it."""
    count = min(PARTNERS, len(rows) - 1)
    steps = 1 + np.argsort(rng.random(len(rows) - 1))[:count]
    order = rng.permutation(rows)
    return np.concatenate([np.column_stack([order, np.roll(order, step)]) for step in steps])


def _row_means(values: NDArray[np.float64], pairs: NDArray[np.intp], n: int) -> NDArray[np.float64]:
    """Average over all pairs a row is in; NaN for a row without direction."""
    known = np.isfinite(values)
    index = pairs[known].ravel()
    sums = np.bincount(index, np.repeat(values[known], 2), minlength=n)
    counts = np.bincount(index, minlength=n)
    return np.asarray(np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0))


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known] - x[known].mean(), y[known] - y[known].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


def _neighbour_changes(
    role: Side, versions: tuple[NDArray[np.float64], ...], parts: list[Fold], n: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Count former neighbours that stayed, left under the gauge alone, and left otherwise, within each half."""
    n = min(n, min(len(fold.held_out[role]) for fold in parts) - 1)
    columns: list[list[NDArray[np.intp]]] = [[], [], [], []]
    for fold in parts:
        half = fold.held_out[role]
        rows = np.sort(rng.permutation(len(half))[: SEARCHED // 2])
        old, gauged, new = (neighbours(x[half], n, rows=rows) for x in versions)
        known = old.indices >= 0
        survives, stays = (_still(old, found, x[half]) for found, x in zip((gauged, new), versions[1:], strict=True))
        counts = ((known & m).sum(axis=1) for m in (stays, ~stays & ~survives, ~stays & survives))
        for column, value in zip(columns, (half[rows], *counts), strict=True):
            column.append(value)
    searched, kept, to_gauge, to_learning = (np.concatenate(column) for column in columns)
    return {"n_neighbours": n, "searched": searched, "kept": kept, "lost_to_gauge": to_gauge,
            "lost_to_learning": to_learning}  # fmt: skip


def _still(old: Neighbours, found: Neighbours, x: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each former neighbour is as near as the last of the new list, ties included."""
    others = np.where(old.indices >= 0, old.indices, 0)
    pairs = np.column_stack([np.repeat(old.rows, others.shape[1]), others.ravel()])
    cosines = pair_cosines(x, x, pairs).reshape(others.shape)
    last = np.nan_to_num(found.cosines, nan=np.inf).min(axis=1)
    return np.asarray(cosines >= last[:, None] - TIED)
