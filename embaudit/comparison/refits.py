"""What a comparison would say had some entities not helped to fit its gauges, for whom they fit is chance too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from embaudit.comparison.folds import Fold
from embaudit.comparison.outcomes import OUTCOMES, TIED, fates, shares
from embaudit.comparison.path import Path, mean_size, path_of
from embaudit.comparison.seen import Pairing
from embaudit.foundation.checked import Flags, Floats, Indices
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import unit_rows
from embaudit.model import SideName

PROBED = 100
"""Rows of a half by which gauges fitted without a group of entities are judged, by their cosines with all others."""


def refit_effects(
    role: SideName,
    found: Pairing,
    refits: Sequence[tuple[Fold, Sequence[Fold]]],
    *,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Floats]:
    """Measure what it changes to fit gauges without each group of entities.

    Parameters
    ----------
    role : {"left", "right"}
        The side judged.
    found : Pairing
        Its rows.
    refits : sequence of (Fold, sequence of Fold)
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
    for fold, others in refits:
        path = path_of(role, found, fold)
        probe = _Probe(path, np.sort(rng.permutation(len(path.rows))[:PROBED]), n)
        source = found.fitted[role][0][path.rows]
        remains = [probe.remains(gauged) for gauged in (f.gauge.apply(role, source) for f in (fold, *others))]
        effects.append(np.array(remains[1:]) - remains[0])
    remainder, *lost = np.mean(effects, axis=0).T
    return {"gauge": -remainder, "remainder": remainder, **dict(zip(OUTCOMES, lost, strict=True))}


class _Probe:
    """Some rows of a half, and what is the same of their path under every gauge."""

    def __init__(self, path: Path, rows: Indices, n: int) -> None:
        self.path, self.rows, self.n = path, rows, n
        self.former = neighbours(path.versions[0], n, rows=rows).indices
        tables = {id(x): self.table(x) for i, x in enumerate(path.versions) if i in (1, 3, 4)}
        self.end = tables[id(path.versions[path.end])]
        kept = {key: self.kept(table) for key, table in tables.items()}
        self.known = {i: kept[id(path.versions[i])] for i in (1, 3, 4)}

    def table(self, x: Floats) -> Floats:
        """Compute the cosines of the rows with all others; NaN where there is none, and with themselves."""
        unit = unit_rows(x)
        table = unit[self.rows] @ unit.T
        table[np.arange(len(self.rows)), self.rows] = np.nan
        return table

    def kept(self, table: Floats) -> Flags:
        """Tell which former neighbours are among the nearest in a table, or tie with the last of them."""
        filled = np.nan_to_num(table, nan=-np.inf)
        last = np.partition(filled, -self.n, axis=1)[:, -self.n, None]
        cosines = np.take_along_axis(filled, self.former, axis=1)
        return np.asarray((cosines > -np.inf) & (cosines >= last - TIED))

    def remains(self, gauged: Floats) -> list[float]:
        """Return the mean change beyond a gauge and the share of each outcome."""
        table = self.table(gauged)
        kept: Mapping[int, Flags] = self.known | {2: self.kept(table)}
        counts = fates(self.path, self.former >= 0, kept.__getitem__).sum(axis=(1, 2))
        return [mean_size(self.end - table), *shares(counts)]
