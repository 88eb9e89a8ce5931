"""Change of the cosines of one side between two models, and the part of it that a gauge explains.

Rows are followed from the first model to the second in steps: as stored, as predictions see them, gauged, and the same
of the second model. Pairs within a half, and the neighbours of its rows among all rows, are judged by the gauge that
was fitted on the other half. The change of a cosine is split by these steps; a former neighbour is lost to the first
step that drives it out. What all of it would be had some entities not helped to fit the gauges is measured on fewer
rows, for the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.fits import WORSE, CrossFitHalf, held_out_error
from embaudit.comparison.matching import Match, Pairing
from embaudit.comparison.thresholds import CarriedThreshold, n_displaced, thresholds
from embaudit.core.checked import Flags, Floats, Indices
from embaudit.linalg.intervals import jackknife_margin, standard_error
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.model import SideName
from embaudit.movements.neighbourhoods import Neighbourhood, by_name

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("total", "gauge", "unseen", "remainder")
"""The mean change of a cosine, and what it consists of."""
REASONS = ("gauge", "unseen", "learning")
"""Reasons for which a former neighbour is gone."""
OUTCOMES = ("kept", *(f"lost_to_{reason}" for reason in REASONS))
"""Outcomes of a former neighbour: it stays, or is lost for one of the reasons."""
EACH = 2
"""Entities that moved most, and entities in the middle, whose neighbours are shown."""
PARTNERS = 32
"""Number of other rows that each row is compared with."""
SEARCHED = 2_000
"""Rows whose neighbours are looked up."""
TIED = 1e-6
"""Cosines closer than this are one in float32, and which of them makes a list is chance."""
PROBED = 100
"""Rows of a half by which gauges fitted without a group of entities are judged, by their cosines with all others."""


@dataclass(frozen=True, eq=False)
class AttributionSteps:
    """Rows of a half on the way from the first model to the second, each step for one reason."""

    rows: Indices
    """Positions in the match of the half that is judged: its pairs, and its neighbours among all rows."""
    versions: tuple[Floats, ...]
    """Rows of the first model as stored, as predictions see them and gauged; of the second, seen and as stored."""
    reasons: tuple[str, ...]
    """Reason of the step from each version to the next."""

    @property
    def hides(self) -> bool:
        """True if a model has dimensions that no prediction sees."""
        old, old_seen, _, new_seen, new = self.versions
        return old_seen is not old or new_seen is not new

    @property
    def end(self) -> int:
        """Number of the version that the gauge should lead to."""
        return 3 if self.reasons[1] == "gauge" else 1

    def changes(self, pairs: Indices) -> tuple[Floats, ...]:
        """Compute cosines before, after, gauged and where the gauge should lead, and as far as seen, of each pair."""
        # Steps that change nothing share an array, whose cosines are computed once.
        cosines = {key: pair_cosines(x, x, pairs) for key, x in {id(x): x for x in self.versions}.items()}
        by_version = [cosines[id(x)] for x in self.versions]
        return by_version[0], by_version[4], by_version[2], by_version[self.end], by_version[3] - by_version[1]


def attribution_steps(role: SideName, paired: Pairing, fold: CrossFitHalf) -> AttributionSteps:
    """Follow the rows of one side that a fold judges."""
    # What predictions see in full is the same array, so that no step is taken, and searched, in vain.
    (old, new), (old_seen, new_seen) = paired.raw[role], paired.visible[role]
    gauged = fold.gauge.apply(role, paired.fitted[role][0])
    # A gauge that leads backward turns the second model's rows: on the way from the first one learning then comes
    # first.
    steps = ("gauge", "learning") if paired.forward else ("learning", "gauge")
    return AttributionSteps(fold.held_out[role], (old, old_seen, gauged, new_seen, new), ("unseen", *steps, "unseen"))


def plain_steps(old: Floats, new: Floats, rows: Indices) -> AttributionSteps:
    """Follow rows from one table to another, in which no gauge and no unseen dimension has a part."""
    return AttributionSteps(rows, (old, old, old, new, new), ("unseen", "gauge", "learning", "unseen"))


def draw_pairs(rows: Indices, rng: np.random.Generator) -> Indices:
    """Pair every row of a half with others of it."""
    n_rows = len(rows)
    count = min(PARTNERS, n_rows - 1)
    # Partners stand at random distances around a random circle: every row has as many, none twice and never itself.
    steps = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(rows)
    partners = order[np.add.outer(steps, np.arange(n_rows)) % n_rows]
    return np.column_stack([np.tile(order, count), partners.ravel()])


def mean_size(change: Floats) -> float:
    """Average how large changes are, where they are defined; 0 where none is."""
    sizes = np.abs(change[np.isfinite(change)])
    return float(sizes.mean()) if len(sizes) else 0.0


@dataclass(frozen=True, eq=False)
class RoleChange:
    """The change of one side's cosines, its gauge part and the remainder, on rows held out of every fit."""

    role: SideName
    """Side whose cosines are compared."""
    match: Match
    """The shared entities that were judged, in the order of the arrays below."""
    unexplained: dict[str, float]
    """Share of the held-out rows' spread that the best gauge of each group leaves."""
    total: Floats
    """(m,) mean absolute change of a row's cosines."""
    gauge: Floats
    """(m,) of it, what the gauge takes away."""
    unseen: Floats
    """(m,) of it, what dimensions do that no prediction sees."""
    remainder: Floats
    """(m,) of it, what is left between the gauged model and the other one; the three add up to the total."""
    correlation: float
    """Pearson correlation of the cosines before and after."""
    gauged_correlation: float
    """Correlation of the cosines once the gauge is taken out."""
    n_neighbours: int
    """Length of the neighbour lists."""
    kept: Indices
    """Neighbours that are the same before and after, a number for each half; so are those lost."""
    lost_to_gauge: Indices
    """Former neighbours that the gauge alone drives out."""
    lost_to_unseen: Indices
    """Former neighbours that dimensions drive out which no prediction sees."""
    lost_to_learning: Indices
    """Former neighbours that the gauge would have kept, but the second model drops."""
    replicates: dict[str, Floats]
    """Estimates of each mean (total, ...) and share of neighbours without each of up to 20 groups of entities."""
    halvings: dict[str, Floats]
    """Estimate of each component in every random half split, for the interval."""
    examples: tuple[Neighbourhood, ...] = ()
    """The nearest of some entities in either model: of two that moved most, and of two in the middle."""
    predicted_kept: float | None = None
    """Share of former neighbours by prediction cosine that are still near by it; None without predictions."""
    thresholds: tuple[CarriedThreshold, ...] = ()
    """Cosines of the first model, and those of the second that the same share of pairs exceeds."""
    n_displaced: int = 0
    """Entities whose vector in the second model is another one's in the first."""

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a mean (total, ...) or share of neighbours (kept, ...), over other entities too.

        Of the part and the losses that a gauge of the group found explains: what another group would, is not in it.
        Pairs share entities, so groups of entities are left out in turn; which halves were drawn is chance besides.
        """
        by_name: dict[str, float | None] = {**self.neighbour_shares, "predicted_kept": self.predicted_kept}
        share = by_name.get(name)
        value = float(np.nanmean(getattr(self, name))) if share is None else share
        margin = float(jackknife_margin(self.replicates[name], beside=standard_error(self.halvings[name])))
        return max(0.0, value - margin), min(1.0 if name in by_name else 2.0, value + margin)

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
    def n_without_direction(self) -> int:
        """Number of entities that are a zero row in one of the models, and so have no cosine."""
        return int(np.isnan(self.total).sum())

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


def role_change(
    role: SideName,
    match: Match,
    paired: Pairing,
    parts: list[CrossFitHalf],
    groups: NDArray[np.uint8],
    refits: Sequence[tuple[CrossFitHalf, Sequence[CrossFitHalf]]],
    *,
    n: int,
    rng: np.random.Generator,
    predicted: tuple[Floats, Floats] | None = None,
) -> RoleChange:
    """Measure the change of one side's cosines on rows held out of the fits.

    Parameters
    ----------
    role : {"left", "right"}
        Which side.
    match : Match
        Its shared entities.
    paired : Pairing
        Their rows.
    parts : list of CrossFitHalf
        Two halves of each cut, one after the other, or all rows.
    groups : array of shape (m,)
        The group of each entity, which are left out in turn.
    refits : sequence of (CrossFitHalf, sequence of CrossFitHalf)
        Some of the parts and what they are without each group.
    n : int
        Length of the neighbour lists.
    rng : numpy Generator
        Draws pairs and rows.
    predicted : pair of array of shape (m, r), optional
        The rows whose plain cosine is the prediction cosine, in either model.

    Returns
    -------
    RoleChange
    """
    paths = [attribution_steps(role, paired, fold) for fold in parts]
    drawn = [draw_pairs(path.rows, rng) for path in paths]
    pairs = np.concatenate(drawn)
    steps = [path.changes(pair) for path, pair in zip(paths, drawn, strict=True)]
    old, new, gauged, end, visible = map(np.concatenate, zip(*steps, strict=True))
    # A row's change, what predictions see of it, and what is left once the gauge is taken out.
    rows = (_row_means(np.abs(change), pairs, groups) for change in (new - old, visible, end - gauged))
    means = _split(*rows, hides=paths[0].hides)
    n = min(n, len(match) - 1)
    counts, kept_shares = neighbour_attribution(paths, groups, n, rng)
    replicates = {name: _without(values[:, :-1], groups) for name, values in means.items()}
    replicates |= dict(zip(OUTCOMES, kept_shares, strict=True))
    for name, effect in refit_effects(role, paired, refits, n=n, rng=rng).items():
        # A group counts twice: its rows are judged, and they help to fit the gauge. Both effects are small, so that
        # they add.
        replicates[name] = replicates[name] + effect
    sizes = np.array(
        [[mean_size(x) for x in (new - old, visible, end - gauged)] for old, new, gauged, end, visible in steps]
    )
    # Halves of one cut share their gauges' luck: their mean is one observation of it.
    halvings = _split(*_halvings(sizes.T).mean(axis=2), hides=paths[0].hides)
    halvings |= dict(zip(OUTCOMES, shares(_halvings(counts).sum(axis=2)), strict=True))
    predicted_kept = None
    if predicted is not None:
        # No gauge moves prediction cosines: one step is enough, and only the share that stays is read from it.
        same_rows = [plain_steps(*predicted, path.rows) for path in paths]
        scored, without = neighbour_attribution(same_rows, groups, n, rng)
        predicted_kept = float(shares(scored.sum(axis=1))[0])
        replicates["predicted_kept"], halvings["predicted_kept"] = (
            without[0],
            shares(_halvings(scored).sum(axis=2))[0],
        )
    before, after = paired.raw[role]
    # Neighbours shown are those among all that are shared: a list within one half would be nobody's.
    moved, examples = example_rows(means["total"][:, -1]), tuple[Neighbourhood, ...]()
    if len(moved):
        lists = (neighbours(x, n, rows=moved) for x in (before, after))
        examples = by_name(match.names, *lists, first=np.arange(len(match)), tie=TIED)
    arrays: dict[str, Any] = {name: values[:, -1] for name, values in means.items()}
    arrays |= dict(zip(OUTCOMES, counts, strict=True))
    return RoleChange(
        role=role,
        match=match,
        unexplained=held_out_error(role, paired.fitted, parts),
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        n_neighbours=n,
        replicates=replicates,
        halvings=halvings,
        examples=examples,
        predicted_kept=predicted_kept,
        thresholds=thresholds(before, after, groups, rng),
        n_displaced=n_displaced(before, after),
        **arrays,
    )


def _halvings(by_part: NDArray[np.number]) -> NDArray[np.number]:
    """Put the two halves of each cut together, in a last axis; all rows at once are a cut of their own."""
    n_parts = by_part.shape[1]
    return np.stack(np.split(by_part, max(1, n_parts // 2), axis=1), axis=1)


def _split(total: Floats, visible: Floats, remainder: Floats, *, hides: bool) -> dict[str, Floats]:
    """Split mean changes of rows into what the gauge takes away, unseen dimensions do, and what is left."""
    # A gauge that takes cosines further apart has no part in the change, and no negative one.
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - visible, 0, total - remainder) if hides else np.where(np.isnan(total), np.nan, 0.0)
    return dict(zip(PARTS, (total, total - remainder - unseen, unseen, remainder), strict=True))


def serving(paired: Pairing, parts: list[CrossFitHalf], rng: np.random.Generator) -> list[CrossFitHalf]:
    """Keep the chosen gauges if they bring the cosines of all sides together nearer, else take a rotation.

    A gauge acts on both sides: one that helps one side and spoils the other is not what happened.
    """
    apart, still_apart = 0.0, 0.0
    for role in paired.raw:
        paths = [attribution_steps(role, paired, fold) for fold in parts]
        steps = [path.changes(draw_pairs(path.rows, rng)) for path in paths]
        apart += mean_size(np.concatenate([visible for *_, visible in steps]))
        still_apart += mean_size(np.concatenate([end - gauged for _, _, gauged, end, _ in steps]))
    # The factor by which a larger group has to beat a smaller one holds for cosines, too.
    return parts if still_apart * WORSE <= apart else [replace(fold, group="rotation") for fold in parts]


def _row_means(values: Floats, pairs: Indices, groups: NDArray[np.uint8]) -> Floats:
    """Average over all pairs a row is in without partners of each group and, last, with all; NaN where there is none.

    Returns
    -------
    array of shape (m, groups + 1)
    """
    defined = np.isfinite(values)
    rows, partners = pairs[defined].ravel(), pairs[defined][:, ::-1].ravel()
    shape = len(groups), int(groups.max()) + 1
    cells = rows * shape[1] + groups[partners]
    sums, counts = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (np.repeat(values[defined], 2), None)
    )
    # All partners less those of one group leave the others; the whole stands last.
    sums, counts = (np.hstack([(total := x.sum(axis=1, keepdims=True)) - x, total]) for x in (sums, counts))
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _without(values: Floats, groups: NDArray[np.uint8]) -> Floats:
    """Average each column over the rows of the other groups."""
    # `_row_means` left the group out as partners; here it goes as rows.
    own = groups[:, None] == np.arange(values.shape[1])
    return np.asarray(np.nanmean(np.where(own, np.nan, values), axis=0))


def _pearson(x: Floats, y: Floats) -> float:
    defined = np.isfinite(x) & np.isfinite(y)
    x, y = x[defined] - x[defined].mean(), y[defined] - y[defined].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


def example_rows(moved: Floats) -> Indices:
    """Choose the rows that moved most and those in the middle; none where nothing moved.

    Examples
    --------
    >>> example_rows(np.array([0.1, 0.5, np.nan, 0.2, 0.4, 0.3])).tolist()
    [1, 4, 5, 3]
    >>> example_rows(np.array([0.0, 1e-9])).tolist()
    []
    """
    order = np.argsort(-moved, kind="stable")
    order = order[moved[order] > TIED]
    middle = order[EACH:][max(0, len(order) // 2 - EACH) :]
    return np.concatenate([order[:EACH], middle[:EACH]])


def neighbour_attribution(
    paths: list[AttributionSteps], groups: NDArray[np.integer], n: int, rng: np.random.Generator
) -> tuple[Indices, Floats]:
    """Count former neighbours that stayed, and the others by the first step that drives them out, among all rows.

    Returns
    -------
    counts : array of shape (outcomes, parts)
        Former neighbours of each outcome.
    replicates : array of shape (outcomes, groups)
        Shares of the outcomes without each group of entities.
    """
    groups, n_groups = groups.astype(np.intp), int(groups.max()) + 1
    counts, tables = [], np.zeros((len(OUTCOMES), n_groups, n_groups))
    for path in paths:
        rows = np.sort(rng.permutation(path.rows)[: SEARCHED // len(paths)])
        labels, former = _searched(path, rows, n, {})
        # Counted by the groups of both ends, so that each replicate is a sum of cells and needs no further search.
        cells = groups[rows][:, None] * n_groups + groups[former]
        for table, flag in zip(tables, labels, strict=True):
            table += np.bincount(cells[flag], minlength=n_groups**2).reshape(table.shape)
        counts.append(labels.sum(axis=(1, 2)))
    diagonal = np.arange(n_groups)
    # A pair goes with the group of either end: all, less rows, less columns, plus the cell that both took away.
    left = tables.sum(axis=(1, 2))[:, None] - tables.sum(axis=1) - tables.sum(axis=2) + tables[:, diagonal, diagonal]
    return np.stack(counts, axis=1), shares(left)


def shares(counts: NDArray[np.number]) -> Floats:
    """Divide counts of outcomes, one a row, by their sum; 0 where nothing was counted.

    Examples
    --------
    >>> shares(np.array([[3, 0], [1, 0]]))
    array([[0.75, 0.  ],
           [0.25, 0.  ]])
    """
    return np.asarray(counts / np.maximum(counts.sum(axis=0), 1))


def _searched(path: AttributionSteps, rows: Indices, n: int, lists: dict[int, NeighbourLists]) -> tuple[Flags, Indices]:
    """Return the outcome of each former neighbour of some rows, and who these are; lists at hand are not made again."""

    def nearest(version: int) -> NeighbourLists:
        x = path.versions[version]
        if id(x) not in lists:
            lists[id(x)] = neighbours(x, n, rows=rows)
        return lists[id(x)]

    old = nearest(0)
    is_entry = old.indices >= 0
    return first_step_losing_neighbour(path, is_entry, lambda i: old.kept_in(nearest(i), tie=TIED)), old.indices


def first_step_losing_neighbour(path: AttributionSteps, is_entry: Flags, stays_in: Callable[[int], Flags]) -> Flags:
    """Label each lost neighbour with the first attribution step at which it leaves the list.

    Parameters
    ----------
    path : Path
        The steps.
    is_entry : array of shape (m, n)
        Where there is a former neighbour.
    stays_in : function
        From the number of a version to an array that tells which of them are still near there.

    Returns
    -------
    array of shape (outcomes, m, n)
    """
    # A neighbour in the second model stayed, even if some version between had lost it.
    open_ = is_entry & ~stays_in(4)
    labels = {"kept": is_entry & ~open_} | {f"lost_to_{reason}": np.zeros(is_entry.shape, bool) for reason in REASONS}
    for i, reason in enumerate(path.reasons, start=1):
        # A step that changes no array loses no neighbour, and costs no search.
        if path.versions[i] is path.versions[i - 1]:
            continue
        out = open_ if i == 4 else open_ & ~stays_in(i)
        labels[f"lost_to_{reason}"] |= out
        open_ = open_ & ~out
    return np.stack([labels[name] for name in OUTCOMES])


def refit_effects(
    role: SideName,
    paired: Pairing,
    refits: Sequence[tuple[CrossFitHalf, Sequence[CrossFitHalf]]],
    *,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Measure what it changes to fit gauges without each group of entities.

    Parameters
    ----------
    role : {"left", "right"}
        The side judged.
    paired : Pairing
        Its rows.
    refits : sequence of (CrossFitHalf, sequence of CrossFitHalf)
        A fold and what it is without each group.
    n : int
        Length of the neighbour lists.
    rng : numpy Generator
        Draws the rows that are looked at.

    Returns
    -------
    dict of str to array of shape (groups,)
        For each mean and share that a gauge has a part in, by how much it is larger without each group.
    """
    # Each refit judges the same few rows, so that no draw adds to its difference from the fit on all entities.
    effects = []
    for fold, variants in refits:
        path = attribution_steps(role, paired, fold)
        rows = np.sort(rng.permutation(path.rows)[:PROBED])
        source, end = paired.fitted[role][0], _cosines_of(path.versions[path.end], rows)
        lists: dict[int, NeighbourLists] = {}
        remains = []
        for each in (fold, *variants):
            gauged = each.gauge.apply(role, source)
            variant = replace(path, versions=(*path.versions[:2], gauged, *path.versions[3:]))
            counts = _searched(variant, rows, n, lists)[0].sum(axis=(1, 2))
            # The next array may get the same id: this one's list must not be taken for that one's.
            lists.pop(id(gauged), None)
            remains.append([mean_size(end - _cosines_of(gauged, rows)), *shares(counts)])
        effects.append(np.array(remains[1:]) - remains[0])
    # The total has no gauge in it: what the remainder gains without a group, the gauge's part loses.
    remainder, *lost = np.mean(effects, axis=0).T
    return {"gauge": -remainder, "remainder": remainder, **dict(zip(OUTCOMES, lost, strict=True))}


def _cosines_of(x: Floats, rows: Indices) -> Floats:
    """Compute the cosines of some rows with all others; NaN where there is none, and with themselves."""
    unit = unit_rows(x)
    table = unit[rows] @ unit.T
    table[np.arange(len(rows)), rows] = np.nan
    return np.asarray(table)
