"""Attribution of changed cosines and lost neighbours to the steps from one model to the other.

Only pairs and neighbours within a half are looked at, by the gauge that was fitted on the other half. What all of it
would be had some entities not helped to fit the gauges is measured on fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.fits import CrossFitHalf
from embaudit.comparison.matching import Pairing
from embaudit.core.checked import Flags, Floats, Indices
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.model import SideName

PARTNERS = 32
"""Number of other rows that each row is compared with."""
REASONS = ("gauge", "unseen", "learning")
"""Reasons for which a former neighbour is gone."""
OUTCOMES = ("kept", *(f"lost_to_{reason}" for reason in REASONS))
"""Outcomes of a former neighbour: it stays, or is lost for one of the reasons."""
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
    """Positions of the rows in the match."""
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
        cosines = {key: pair_cosines(x, x, pairs) for key, x in {id(x): x for x in self.versions}.items()}
        by_version = [cosines[id(x)] for x in self.versions]
        return by_version[0], by_version[4], by_version[2], by_version[self.end], by_version[3] - by_version[1]


def attribution_steps(role: SideName, paired: Pairing, fold: CrossFitHalf) -> AttributionSteps:
    """Follow the rows of one side that a fold judges."""
    rows = fold.held_out[role]
    raw = [x[rows] for x in paired.raw[role]]
    # What predictions see in full is the same array, so that no step is taken, and searched, in vain.
    old_seen, new_seen = (
        cut if visible is whole else visible[rows]
        for cut, visible, whole in zip(raw, paired.visible[role], paired.raw[role], strict=True)
    )
    gauged = fold.gauge.apply(role, paired.fitted[role][0][rows])
    steps = ("gauge", "learning") if paired.forward else ("learning", "gauge")
    return AttributionSteps(rows, (raw[0], old_seen, gauged, new_seen, raw[1]), ("unseen", *steps, "unseen"))


def plain_steps(x: Floats, y: Floats, rows: Indices) -> AttributionSteps:
    """Follow rows from one table to another, in which no gauge and no unseen dimension has a part."""
    old, new = x[rows], y[rows]
    return AttributionSteps(rows, (old, old, old, new, new), ("unseen", "gauge", "learning", "unseen"))


def draw_pairs(n_rows: int, rng: np.random.Generator) -> Indices:
    """Pair every row of a half with others of it."""
    count = min(PARTNERS, n_rows - 1)
    # Partners stand at random distances around a random circle: every row has as many, none twice and never itself.
    steps = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(n_rows)
    partners = order[np.add.outer(steps, np.arange(n_rows)) % n_rows]
    return np.column_stack([np.tile(order, count), partners.ravel()])


def mean_size(change: Floats) -> float:
    """Average how large changes are, where they are defined; 0 where none is."""
    sizes = np.abs(change[np.isfinite(change)])
    return float(sizes.mean()) if len(sizes) else 0.0


@dataclass(frozen=True, eq=False)
class NeighbourOutcomes:
    """Outcomes of former neighbours."""

    n: int
    """Length of the lists."""
    searched: Indices
    """Rows whose neighbours were looked up; again in each half."""
    counts: dict[str, Indices]
    """Number of neighbours of each searched row with each outcome."""
    replicates: dict[str, Floats]
    """Share of each outcome without each group of entities."""
    by_part: Indices
    """(outcomes, parts) how many neighbours each is that of in each part."""


def neighbour_attribution(
    paths: list[AttributionSteps], groups: NDArray[np.integer], n: int, rng: np.random.Generator
) -> NeighbourOutcomes:
    """Count former neighbours that stayed, and the others by the first step that drives them out, within each half."""
    n = min(n, min(len(path.rows) for path in paths) - 1)
    groups, n_groups = groups.astype(np.intp), int(groups.max()) + 1
    searched, flags, tables = [], [], np.zeros((len(OUTCOMES), n_groups, n_groups))
    for path in paths:
        rows = np.sort(rng.permutation(len(path.rows))[: SEARCHED // len(paths)])
        labels, former = _searched(path, rows, n, {})
        cells = groups[path.rows[rows]][:, None] * n_groups + groups[path.rows[former]]
        for table, flag in zip(tables, labels, strict=True):
            table += np.bincount(cells[flag], minlength=n_groups**2).reshape(table.shape)
        searched.append(path.rows[rows])
        flags.append(labels.sum(axis=2))
    counts, by_part = np.concatenate(flags, axis=1), np.stack([labels.sum(axis=1) for labels in flags], axis=1)
    diagonal = np.arange(n_groups)
    # A pair goes with the group of either end: all, less rows, less columns, plus the cell that both took away.
    left = tables.sum(axis=(1, 2))[:, None] - tables.sum(axis=1) - tables.sum(axis=2) + tables[:, diagonal, diagonal]
    by_row, replicates = (dict(zip(OUTCOMES, values, strict=True)) for values in (counts, shares(left)))
    return NeighbourOutcomes(n, np.concatenate(searched), by_row, replicates, by_part)


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
    labels = first_step_losing_neighbour(
        path, old.indices >= 0, lambda version: old.kept_in(nearest(version), tie=TIED)
    )
    return labels, old.indices


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
    open_ = is_entry & ~stays_in(4)
    labels = {"kept": is_entry & ~open_} | {f"lost_to_{reason}": np.zeros(is_entry.shape, bool) for reason in REASONS}
    for i, reason in enumerate(path.reasons, start=1):
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
    effects = []
    for fold, variants in refits:
        path = attribution_steps(role, paired, fold)
        rows = np.sort(rng.permutation(len(path.rows))[:PROBED])
        source, end = paired.fitted[role][0][path.rows], _cosines_of(path.versions[path.end], rows)
        lists: dict[int, NeighbourLists] = {}
        remains = []
        for each in (fold, *variants):
            gauged = each.gauge.apply(role, source)
            variant = replace(path, versions=(*path.versions[:2], gauged, *path.versions[3:]))
            counts = _searched(variant, rows, n, lists)[0].sum(axis=(1, 2))
            lists.pop(id(gauged), None)
            remains.append([mean_size(end - _cosines_of(gauged, rows)), *shares(counts)])
        effects.append(np.array(remains[1:]) - remains[0])
    remainder, *lost = np.mean(effects, axis=0).T
    return {"gauge": -remainder, "remainder": remainder, **dict(zip(OUTCOMES, lost, strict=True))}


def _cosines_of(x: Floats, rows: Indices) -> Floats:
    """Compute the cosines of some rows with all others; NaN where there is none, and with themselves."""
    unit = unit_rows(x)
    table = unit[rows] @ unit.T
    table[np.arange(len(rows)), rows] = np.nan
    return np.asarray(table)
