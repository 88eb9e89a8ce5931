"""How cosines of one side changed between two models, and how much of it a gauge explains.

Shared rows are cut into two halves. The gauge that judges a half is chosen and fitted on the other half alone, and
only pairs and neighbours within a half are looked at: no row is judged by a gauge it helped to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from embaudit.comparison.fits import GROUPS, GaugeFit, fit_gauge, unexplained
from embaudit.foundation.checked import Indices
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.pairs import pair_cosines

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.comparison.fits import Rows
    from embaudit.comparison.matching import Match
    from embaudit.comparison.seen import Pairing
    from embaudit.model import SideName

    Groups: TypeAlias = tuple[str, ...]
    Shifts: TypeAlias = tuple[SideName, ...]

SIDES: Shifts = ("left", "right")
REASONS = ("gauge", "unseen", "learning")
"""Why a former neighbour is gone."""
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

    role: SideName
    """Which side."""
    match: Match
    """The shared entities that were judged, in the order of the arrays below."""
    unexplained: dict[str, float]
    """For each gauge group, the share of the held-out rows' spread that its best gauge leaves."""
    total: NDArray[np.float64]
    """(m,) mean absolute change of a row's cosines."""
    gauge: NDArray[np.float64]
    """(m,) of it, what the gauge takes away."""
    unseen: NDArray[np.float64]
    """(m,) of it, what dimensions do that no prediction sees."""
    remainder: NDArray[np.float64]
    """(m,) of it, what is left between the gauged model and the other one; the three add up to the total."""
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
    lost_to_unseen: NDArray[np.intp]
    """Former neighbours that dimensions drive out which no prediction sees."""
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
    def mean_unseen(self) -> float:
        """Mean absolute change that dimensions make which no prediction sees."""
        return float(np.nanmean(self.unseen))

    @property
    def mean_remainder(self) -> float:
        """Mean absolute change that the gauge does not explain."""
        return float(np.nanmean(self.remainder))

    @property
    def neighbour_shares(self) -> dict[str, float]:
        """Shares of the former neighbours that stayed, and that left for each reason."""
        counts = {name: getattr(self, name).sum() for name in ("kept", *(f"lost_to_{reason}" for reason in REASONS))}
        former = max(1, sum(counts.values()))
        return {name: float(count / former) for name, count in counts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity, the one that moved most first."""
        import pandas as pd

        parts = {name: getattr(self, name) for name in ("total", "gauge", "unseen", "remainder")}
        return pd.DataFrame({"name": self.match.names, **parts}).sort_values(
            "total", ascending=False, kind="stable", ignore_index=True
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """One half of the shared rows, and the gauge fitted on the other half."""

    held_out: dict[SideName, Indices]
    """For each side, positions in the match."""
    fits: dict[str, GaugeFit]
    """The best gauge of each group."""
    chosen: str
    """The smallest group that served a part of the training half, kept out of its own fit, as well as any."""

    @property
    def gauge(self) -> GaugeFit:
        """The gauge that judges this half."""
        return self.fits[self.chosen]


def _part(rows: Rows, chosen: dict[SideName, Indices]) -> Rows:
    return {role: (x[chosen[role]], y[chosen[role]]) for role, (x, y) in rows.items()}


def folds(rows: Rows, rng: np.random.Generator, groups: Groups = GROUPS, shifts: Shifts = SIDES) -> list[Fold]:
    """Cut the rows in halves at random, and fit on each half the gauges that judge the other."""
    halves: list[dict[SideName, Indices]] = [{}, {}]
    for role, (x, _) in rows.items():
        order = rng.permutation(len(x))
        for half, part in zip(halves, np.array_split(order, 2), strict=True):
            half[role] = part
    return [_fold(rows, train, held_out, groups, shifts) for held_out, train in (halves, halves[::-1])]


def whole(rows: Rows, groups: Groups = GROUPS, shifts: Shifts = SIDES) -> list[Fold]:
    """Fit on all rows and judge them all: for models of one prediction, where a gauge is there to be found."""
    everything: dict[SideName, Indices] = {role: np.arange(len(x)) for role, (x, _) in rows.items()}
    fits = {group: fit_gauge(rows, group, shifts) for group in groups}
    left = {group: _mean_unexplained(fit, rows) for group, fit in fits.items()}
    return [Fold(everything, fits, _smallest(left))]


def _fold(
    rows: Rows, train: dict[SideName, Indices], held_out: dict[SideName, Indices], groups: Groups, shifts: Shifts
) -> Fold:
    training = _part(rows, train)
    fits = {group: fit_gauge(training, group, shifts) for group in groups}
    return Fold(held_out, fits, _choose(training, groups, shifts))


def _choose(training: Rows, groups: Groups, shifts: Shifts) -> str:
    """Choose the smallest group that serves as well as any, on a third of the training rows left out of a fit."""
    inner = {role: np.arange(len(x)) for role, (x, _) in training.items()}
    fitted = _part(training, {role: i[i % 3 > 0] for role, i in inner.items()})
    judged = _part(training, {role: i[i % 3 == 0] for role, i in inner.items()})
    return _smallest({group: _mean_unexplained(fit_gauge(fitted, group, shifts), judged) for group in groups})


def _smallest(left: dict[str, float]) -> str:
    bound = max(EXPLAINED, WORSE * min(left.values()))
    return next(group for group, value in left.items() if value <= bound)


def _mean_unexplained(fit: GaugeFit, rows: Rows) -> float:
    return float(np.mean([unexplained(fit, role, rows) for role in rows]))


@dataclass(frozen=True, eq=False)
class _Path:
    """Rows of one side on the way from the first model to the second, each step for one reason."""

    versions: tuple[NDArray[np.float64], ...]
    """As they are, as far as predictions see them, gauged, the second model's as far as seen, and as they are."""
    reasons: tuple[str, ...]
    """Why rows move from each version to the next."""

    def cosines(self, pairs: NDArray[np.intp]) -> list[NDArray[np.float64]]:
        """Compute the cosines of pairs in every version."""
        return [pair_cosines(x, x, pairs) for x in self.versions]


def role_change(
    role: SideName, match: Match, found: Pairing, parts: list[Fold], *, n: int, rng: np.random.Generator
) -> RoleChange:
    """Measure the change of one side's cosines on rows held out of the fits."""
    path = _path(role, found, parts)
    pairs = np.concatenate([_pairs(fold.held_out[role], rng) for fold in parts])
    old, old_seen, gauged, new_seen, new = path.cosines(pairs)
    end = new_seen if found.forward else old_seen
    total, seen, remainder = (_row_means(np.abs(c), pairs, len(match)) for c in (
        new - old, new_seen - old_seen, end - gauged))  # fmt: skip
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - seen, 0, total - remainder) if _hides(path) else np.where(np.isnan(total), np.nan, 0.0)
    return RoleChange(
        role=role,
        match=match,
        unexplained=held_out_error(role, found.fitted, parts),
        total=total,
        gauge=total - remainder - unseen,
        unseen=unseen,
        remainder=remainder,
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        **_neighbour_changes(role, path, parts, n, rng),
    )


def _path(role: SideName, found: Pairing, parts: list[Fold]) -> _Path:
    (old, new), (old_seen, new_seen) = found.raw[role], found.seen[role]
    source, target = found.fitted[role]
    gauged = np.empty_like(target)
    for fold in parts:
        gauged[fold.held_out[role]] = fold.gauge.apply(role, source[fold.held_out[role]])
    steps = ("gauge", "learning") if found.forward else ("learning", "gauge")
    return _Path((old, old_seen, gauged, new_seen, new), ("unseen", *steps, "unseen"))


def _hides(path: _Path) -> bool:
    old, old_seen, _, new_seen, new = path.versions
    return old_seen is not old or new_seen is not new


def serving(found: Pairing, parts: list[Fold], rng: np.random.Generator) -> list[Fold]:
    """Keep the chosen gauges if they bring the cosines of all sides together nearer, else take a rotation.

    A gauge acts on both sides: one that helps one side and spoils the other is not what happened.
    """
    apart, still_apart = 0.0, 0.0
    for role in found.raw:
        pairs = np.concatenate([_pairs(fold.held_out[role], rng) for fold in parts])
        _, old_seen, gauged, new_seen, _ = _path(role, found, parts).cosines(pairs)
        apart += _mean(new_seen - old_seen)
        still_apart += _mean((new_seen if found.forward else old_seen) - gauged)
    return parts if still_apart * WORSE <= apart else [replace(fold, chosen="rotation") for fold in parts]


def _mean(change: NDArray[np.float64]) -> float:
    known = np.abs(change[np.isfinite(change)])
    return float(known.mean()) if len(known) else 0.0


def held_out_error(role: SideName, rows: Rows, parts: list[Fold]) -> dict[str, float]:
    """Compute for each group the share of the held-out rows' spread that its gauges leave."""
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
    role: SideName, path: _Path, parts: list[Fold], n: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Count former neighbours that stayed, and the others by the first step that drives them out, within each half."""
    n = min(n, min(len(fold.held_out[role]) for fold in parts) - 1)
    columns: dict[str, list[NDArray[np.intp]]] = {"kept": [], **{f"lost_to_{reason}": [] for reason in REASONS}}
    searched = []
    for fold in parts:
        half = fold.held_out[role]
        rows = np.sort(rng.permutation(len(half))[: SEARCHED // len(parts)])
        for name, count in _lost(path, half, rows, n).items():
            columns[name].append(count)
        searched.append(half[rows])
    counted = {name: np.concatenate(counts) for name, counts in columns.items()}
    return {"n_neighbours": n, "searched": np.concatenate(searched), **counted}


def _lost(path: _Path, half: Indices, rows: Indices, n: int) -> dict[str, NDArray[np.intp]]:
    old = neighbours(path.versions[0][half], n, rows=rows)

    def lost(version: int) -> NDArray[np.bool_]:
        return ~old.kept_in(neighbours(path.versions[version][half], n, rows=rows), tie=TIED)

    known = old.indices >= 0
    gone = known & lost(-1)
    counts = {"kept": (known & ~gone).sum(axis=1)} | {f"lost_to_{r}": np.zeros(len(rows), np.intp) for r in REASONS}
    open_ = gone
    for i, reason in enumerate(path.reasons, start=1):
        if path.versions[i] is path.versions[i - 1]:
            continue
        last = i == len(path.reasons)
        out = open_ if last else open_ & lost(i)
        counts[f"lost_to_{reason}"] += out.sum(axis=1)
        open_ = open_ & ~out
    return counts
