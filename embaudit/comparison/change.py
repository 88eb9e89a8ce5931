"""How cosines of one side changed between two models, and how much of it a gauge explains.

Only pairs and neighbours within a half are looked at, by the gauge that was fitted on the other half.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.comparison.folds import WORSE, held_out_error
from embaudit.foundation.checked import Indices
from embaudit.kernels.intervals import jackknife_margin
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.pairs import pair_cosines

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.comparison.folds import Fold, Sides
    from embaudit.comparison.matching import Match
    from embaudit.comparison.seen import Pairing
    from embaudit.kernels.nearest import NeighbourLists
    from embaudit.model import SideName

PARTS = ("total", "gauge", "unseen", "remainder")
"""The mean change of a cosine, and what it consists of."""
REASONS = ("gauge", "unseen", "learning")
"""Why a former neighbour is gone."""
OUTCOMES = ("kept", *(f"lost_to_{reason}" for reason in REASONS))
"""What can have become of a former neighbour."""
PARTNERS = 32
"""Other rows each row is compared with."""
SEARCHED = 2_000
"""Rows whose neighbours are looked up."""
TIED = 1e-6
"""Cosines closer than this are one in float32, and which of them makes a list is chance."""
PROBED = (4_000, 100)
"""Pairs and rows of a half by which gauges fitted without a group of entities are judged."""


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
    """Positions in `match` whose neighbours were looked up; again in each halving."""
    kept: NDArray[np.intp]
    """Neighbours that are the same before and after."""
    lost_to_gauge: NDArray[np.intp]
    """Former neighbours that the gauge alone drives out."""
    lost_to_unseen: NDArray[np.intp]
    """Former neighbours that dimensions drive out which no prediction sees."""
    lost_to_learning: NDArray[np.intp]
    """Former neighbours that the gauge would have kept, but the second model drops."""
    replicates: dict[str, NDArray[np.float64]]
    """For each mean (total, gauge, unseen, remainder) and share of neighbours, what it is without each of up to 20
    groups of entities."""

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a mean (total, ...) or share of neighbours (kept, ...), over other entities too.

        Pairs share entities, so groups of entities are left out in turn; this covers the draw of halves and pairs.
        """
        shares = self.neighbour_shares
        value = shares[name] if name in shares else float(np.nanmean(getattr(self, name)))
        margin = float(jackknife_margin(self.replicates[name]))
        return max(0.0, value - margin), min(1.0 if name in shares else 2.0, value + margin)

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
        counts = {name: getattr(self, name).sum() for name in OUTCOMES}
        former = max(1, sum(counts.values()))
        return {name: float(count / former) for name, count in counts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity, the one that moved most first."""
        import pandas as pd

        parts = {name: getattr(self, name) for name in PARTS}
        return pd.DataFrame({"name": self.match.names, **parts}).sort_values(
            "total", ascending=False, kind="stable", ignore_index=True
        )


@dataclass(frozen=True, eq=False)
class _Path:
    """Rows of a half on the way from the first model to the second, each step for one reason."""

    rows: Indices
    """Their positions in the match."""
    versions: tuple[NDArray[np.float64], ...]
    """As they are, as far as predictions see them, gauged, the second model's as far as seen, and as they are."""
    reasons: tuple[str, ...]
    """Why rows move from each version to the next."""

    @property
    def hides(self) -> bool:
        """Whether a model has dimensions that no prediction sees."""
        old, old_seen, _, new_seen, new = self.versions
        return old_seen is not old or new_seen is not new

    @property
    def end(self) -> NDArray[np.float64]:
        """Where the gauge should lead."""
        return self.versions[3 if self.reasons[1] == "gauge" else 1]

    def changes(self, pairs: NDArray[np.intp]) -> tuple[NDArray[np.float64], ...]:
        """Compute cosines before, after, gauged and where the gauge should lead, and as far as seen, of each pair."""
        cosines = {key: pair_cosines(x, x, pairs) for key, x in {id(x): x for x in self.versions}.items()}
        old, old_seen, gauged, new_seen, new = (cosines[id(x)] for x in self.versions)
        return old, new, gauged, cosines[id(self.end)], new_seen - old_seen

    def gauged_by(self, fold: Fold, role: SideName, found: Pairing) -> _Path:
        """Take another gauge; all else stays the same arrays."""
        versions = list(self.versions)
        versions[2] = fold.gauge.apply(role, found.fitted[role][0][self.rows])
        return replace(self, versions=tuple(versions))


def _path(role: SideName, found: Pairing, fold: Fold) -> _Path:
    rows = fold.held_out[role]
    raw = [x[rows] for x in found.raw[role]]
    # What predictions see in full is the same array, so that no step is taken, and searched, in vain.
    old_seen, new_seen = (
        cut if seen is whole else seen[rows]
        for cut, seen, whole in zip(raw, found.seen[role], found.raw[role], strict=True)
    )
    gauged = fold.gauge.apply(role, found.fitted[role][0][rows])
    steps = ("gauge", "learning") if found.forward else ("learning", "gauge")
    return _Path(rows, (raw[0], old_seen, gauged, new_seen, raw[1]), ("unseen", *steps, "unseen"))


def role_change(
    role: SideName, match: Match, found: Pairing, parts: list[Fold], sides: Sides, *, n: int, rng: np.random.Generator
) -> RoleChange:
    """Measure the change of one side's cosines on rows held out of the fits; `sides` are groups of entities."""
    groups = sides[role]
    paths = [_path(role, found, fold) for fold in parts]
    drawn = [_pairs(len(path.rows), rng) for path in paths]
    pairs = np.concatenate([path.rows[pair] for path, pair in zip(paths, drawn, strict=True)])
    steps = zip(*(path.changes(pair) for path, pair in zip(paths, drawn, strict=True)), strict=True)
    old, new, gauged, end, seen = map(np.concatenate, steps)
    rows = (_row_means(np.abs(change), pairs, groups) for change in (new - old, seen, end - gauged))
    means = _split(*rows, hides=paths[0].hides)
    outcomes = _outcomes(paths, groups, n, rng)
    replicates = {name: _without(values[:, :-1], groups) for name, values in means.items()} | outcomes.replicates
    for name, effect in _refit_effects(role, found, parts[:2], sides, outcomes.n, rng).items():
        replicates[name] = replicates[name] + effect
    by_row: dict[str, Any] = {name: values[:, -1] for name, values in means.items()} | outcomes.counts
    return RoleChange(
        role=role,
        match=match,
        unexplained=held_out_error(role, found.fitted, parts),
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        n_neighbours=outcomes.n,
        searched=outcomes.searched,
        replicates=replicates,
        **by_row,
    )


def _split(
    total: NDArray[np.float64], seen: NDArray[np.float64], remainder: NDArray[np.float64], *, hides: bool
) -> dict[str, NDArray[np.float64]]:
    """Split mean changes of rows into what the gauge takes away, unseen dimensions do, and what is left."""
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - seen, 0, total - remainder) if hides else np.where(np.isnan(total), np.nan, 0.0)
    return dict(zip(PARTS, (total, total - remainder - unseen, unseen, remainder), strict=True))


def _refit_effects(
    role: SideName, found: Pairing, parts: list[Fold], sides: Sides, n: int, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """Measure what gauges fitted without each group of entities change: whom a gauge was fitted on is chance too.

    On a sample of pairs and rows, and of one halving: an average over several would vary less.
    """
    effects = []
    for fold in parts:
        path = _path(role, found, fold)
        sample = _pairs(len(path.rows), rng)[: PROBED[0]], np.sort(rng.permutation(len(path.rows))[: PROBED[1]])
        searched: dict[int, NeighbourLists] = {}
        others = (path.gauged_by(other, role, found) for other in fold.without(found.fitted, sides, found.shifts))
        remains = [_remains(version, *sample, n, searched) for version in (path, *others)]
        effects.append(np.array(remains[1:]) - remains[0])
    remainder, *shares = np.mean(effects, axis=0).T
    return {"gauge": -remainder, "remainder": remainder, **dict(zip(OUTCOMES, shares, strict=True))}


def _remains(
    path: _Path, pairs: NDArray[np.intp], rows: Indices, n: int, searched: dict[int, NeighbourLists]
) -> list[float]:
    """Return the mean change beyond the gauge and the share of each outcome."""
    gauged, end = (pair_cosines(x, x, pairs) for x in (path.versions[2], path.end))
    outcomes = _lost(path, rows, n, searched)[0].sum(axis=(1, 2))
    return [_mean(end - gauged), *outcomes / max(1, outcomes.sum())]


def serving(found: Pairing, parts: list[Fold], rng: np.random.Generator) -> list[Fold]:
    """Keep the chosen gauges if they bring the cosines of all sides together nearer, else take a rotation.

    A gauge acts on both sides: one that helps one side and spoils the other is not what happened.
    """
    apart, still_apart = 0.0, 0.0
    for role in found.raw:
        paths = [_path(role, found, fold) for fold in parts]
        steps = [path.changes(_pairs(len(path.rows), rng)) for path in paths]
        apart += _mean(np.concatenate([seen for *_, seen in steps]))
        still_apart += _mean(np.concatenate([end - gauged for _, _, gauged, end, _ in steps]))
    return parts if still_apart * WORSE <= apart else [replace(fold, chosen="rotation") for fold in parts]


def _mean(change: NDArray[np.float64]) -> float:
    known = np.abs(change[np.isfinite(change)])
    return float(known.mean()) if len(known) else 0.0


def _pairs(n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Pair every row of a half with others of it."""
    count = min(PARTNERS, n_rows - 1)
    steps = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(n_rows)
    return np.concatenate([np.column_stack([order, np.roll(order, step)]) for step in steps])


def _row_means(values: NDArray[np.float64], pairs: NDArray[np.intp], groups: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Average over all pairs a row is in without partners of each group and, last, with all; NaN where there is none.

    Returns
    -------
    array of shape (m, groups + 1)
    """
    known = np.isfinite(values)
    rows, partners = pairs[known].ravel(), pairs[known][:, ::-1].ravel()
    shape = len(groups), int(groups.max()) + 1
    cells = rows * shape[1] + groups[partners]
    sums, counts = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (np.repeat(values[known], 2), None)
    )
    sums, counts = (np.hstack([(total := x.sum(axis=1, keepdims=True)) - x, total]) for x in (sums, counts))
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _without(values: NDArray[np.float64], groups: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Average each column over the rows of the other groups."""
    own = groups[:, None] == np.arange(values.shape[1])
    return np.asarray(np.nanmean(np.where(own, np.nan, values), axis=0))


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known] - x[known].mean(), y[known] - y[known].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


@dataclass(frozen=True, eq=False)
class _Outcomes:
    """What became of former neighbours."""

    n: int
    searched: Indices
    counts: dict[str, NDArray[np.intp]]
    replicates: dict[str, NDArray[np.float64]]


def _outcomes(paths: list[_Path], groups: NDArray[np.integer], n: int, rng: np.random.Generator) -> _Outcomes:
    """Count former neighbours that stayed, and the others by the first step that drives them out, within each half."""
    n = min(n, min(len(path.rows) for path in paths) - 1)
    groups, n_groups = groups.astype(np.intp), int(groups.max()) + 1
    searched, flags, tables = [], [], np.zeros((len(OUTCOMES), n_groups, n_groups))
    for path in paths:
        rows = np.sort(rng.permutation(len(path.rows))[: SEARCHED // len(paths)])
        found, former = _lost(path, rows, n, {})
        cells = groups[path.rows[rows]][:, None] * n_groups + groups[path.rows[former]]
        for table, flag in zip(tables, found, strict=True):
            table += np.bincount(cells[flag], minlength=n_groups**2).reshape(table.shape)
        searched.append(path.rows[rows])
        flags.append(found.sum(axis=2))
    counts = np.concatenate(flags, axis=1)
    diagonal = np.arange(n_groups)
    left = tables.sum(axis=(1, 2))[:, None] - tables.sum(axis=1) - tables.sum(axis=2) + tables[:, diagonal, diagonal]
    shares = left / np.maximum(left.sum(axis=0), 1)
    by_name = (dict(zip(OUTCOMES, values, strict=True)) for values in (counts, shares))
    return _Outcomes(n, np.concatenate(searched), *by_name)


def _lost(path: _Path, rows: Indices, n: int, searched: dict[int, NeighbourLists]) -> tuple[NDArray[np.bool_], Indices]:
    """For each outcome, whether it is that of each former neighbour; and who these are.

    Lists of versions are kept in `searched`, for another path through the same arrays.
    """

    def nearest(x: NDArray[np.float64]) -> NeighbourLists:
        if id(x) not in searched:
            searched[id(x)] = neighbours(x, n, rows=rows)
        return searched[id(x)]

    old = nearest(path.versions[0])

    def lost(version: int) -> NDArray[np.bool_]:
        return ~old.kept_in(nearest(path.versions[version]), tie=TIED)

    known = old.indices >= 0
    open_ = known & lost(-1)
    found = {"kept": known & ~open_} | {f"lost_to_{reason}": np.zeros(known.shape, bool) for reason in REASONS}
    for i, reason in enumerate(path.reasons, start=1):
        if path.versions[i] is path.versions[i - 1]:
            continue
        last = i == len(path.reasons)
        out = open_ if last else open_ & lost(i)
        found[f"lost_to_{reason}"] |= out
        open_ = open_ & ~out
    return np.stack([found[name] for name in OUTCOMES]), old.indices
