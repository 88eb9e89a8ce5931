"""What becomes of former neighbours on the way from one model to the other, and which step drives them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.path import Path
from embaudit.foundation.checked import Flags, Floats, Indices
from embaudit.kernels.nearest import NeighbourLists, neighbours

REASONS = ("gauge", "unseen", "learning")
"""Why a former neighbour is gone."""
OUTCOMES = ("kept", *(f"lost_to_{reason}" for reason in REASONS))
"""What can have become of a former neighbour."""
SEARCHED = 2_000
"""Rows whose neighbours are looked up."""
TIED = 1e-6
"""Cosines closer than this are one in float32, and which of them makes a list is chance."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of former neighbours."""

    n: int
    """Length of the lists."""
    searched: Indices
    """Rows whose neighbours were looked up; again in each half."""
    counts: dict[str, Indices]
    """For each outcome, how many neighbours of each such row it is that of."""
    replicates: dict[str, Floats]
    """For each outcome, its share without each group of entities."""
    by_part: Indices
    """(outcomes, parts) how many neighbours each is that of in each part."""


def outcomes(paths: list[Path], groups: NDArray[np.integer], n: int, rng: np.random.Generator) -> Outcomes:
    """Count former neighbours that stayed, and the others by the first step that drives them out, within each half."""
    n = min(n, min(len(path.rows) for path in paths) - 1)
    groups, n_groups = groups.astype(np.intp), int(groups.max()) + 1
    searched, flags, tables = [], [], np.zeros((len(OUTCOMES), n_groups, n_groups))
    for path in paths:
        rows = np.sort(rng.permutation(len(path.rows))[: SEARCHED // len(paths)])
        found, former = _searched(path, rows, n)
        cells = groups[path.rows[rows]][:, None] * n_groups + groups[path.rows[former]]
        for table, flag in zip(tables, found, strict=True):
            table += np.bincount(cells[flag], minlength=n_groups**2).reshape(table.shape)
        searched.append(path.rows[rows])
        flags.append(found.sum(axis=2))
    counts, by_part = np.concatenate(flags, axis=1), np.stack([found.sum(axis=1) for found in flags], axis=1)
    diagonal = np.arange(n_groups)
    left = tables.sum(axis=(1, 2))[:, None] - tables.sum(axis=1) - tables.sum(axis=2) + tables[:, diagonal, diagonal]
    by_row, replicates = (dict(zip(OUTCOMES, values, strict=True)) for values in (counts, shares(left)))
    return Outcomes(n, np.concatenate(searched), by_row, replicates, by_part)


def shares(counts: NDArray[np.number]) -> Floats:
    """Divide counts of outcomes, one a row, by their sum; 0 where nothing was counted.

    Examples
    --------
    >>> shares(np.array([[3, 0], [1, 0]]))
    array([[0.75, 0.  ],
           [0.25, 0.  ]])
    """
    return np.asarray(counts / np.maximum(counts.sum(axis=0), 1))


def _searched(path: Path, rows: Indices, n: int) -> tuple[Flags, Indices]:
    """Return the outcome of each former neighbour of some rows, and who these are."""
    lists: dict[int, NeighbourLists] = {}

    def nearest(version: int) -> NeighbourLists:
        x = path.versions[version]
        if id(x) not in lists:
            lists[id(x)] = neighbours(x, n, rows=rows)
        return lists[id(x)]

    old = nearest(0)
    found = fates(path, old.indices >= 0, lambda version: old.kept_in(nearest(version), tie=TIED))
    return found, old.indices


def fates(path: Path, known: Flags, kept: Callable[[int], Flags]) -> Flags:
    """Tell of each former neighbour which outcome is its own.

    Parameters
    ----------
    path : Path
        The steps.
    known : array of shape (m, n)
        Where there is a former neighbour.
    kept : function
        From the number of a version to an array that tells which of them are still near there.

    Returns
    -------
    array of shape (outcomes, m, n)
    """
    open_ = known & ~kept(4)
    found = {"kept": known & ~open_} | {f"lost_to_{reason}": np.zeros(known.shape, bool) for reason in REASONS}
    for i, reason in enumerate(path.reasons, start=1):
        if path.versions[i] is path.versions[i - 1]:
            continue
        out = open_ if i == 4 else open_ & ~kept(i)
        found[f"lost_to_{reason}"] |= out
        open_ = open_ & ~out
    return np.stack([found[name] for name in OUTCOMES])
