"""Near-duplicates: rows far closer to their nearest row than usual, but not equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.linalg.duplicates import near_pairs, resolution
from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import NeighbourLists
from embaudit.linalg.rows import unit_rows

NEAR = 0.01
"""Largest angle of near-duplicates, in typical (median) angles of nearest rows."""
SEARCHED = 200_000
"""Largest number of rows among which all near-duplicates are searched for."""
SHOWN = 4
"""Number of near-duplicates that are named, at most."""


@dataclass(frozen=True)
class NearDuplicates:
    """Rows whose angle to the nearest row is at most 1 % of the median of such angles.

    The rule has no absolute scale. For rows with a smooth density of dimension m the
    share of such rows is about `ln 2 · 0.01^m` by chance. Rows of equal direction count
    once.
    """

    n_rows: int
    """Number of different directions of rows."""
    share: float
    """Share of these directions that are near-duplicates."""
    ci_low: float
    """Lower end of the 95 % interval (Wilson) of the share; the share itself if all
    rows were searched.
    """
    typical: float
    """Median angle between a row and its nearest row, in radians."""
    names: tuple[int, ...]
    """Numbers of some near-duplicates; empty if they were not searched for among all
    rows.
    """

    @property
    def exact(self) -> bool:
        """True if all rows were searched."""
        return self.ci_low == self.share

    @property
    def count(self) -> int:
        """Number of near-duplicates; a lower bound if not all rows were searched."""
        return round(self.ci_low * self.n_rows)


def near_duplicates(
    x: Matrix, standing: Indices, lists: NeighbourLists
) -> NearDuplicates | None:
    """Count near-duplicates among rows of different directions; None if there are none.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows.
    standing : array of int
        The rows to search: rows with a direction, one per group of duplicates.
    lists : NeighbourLists
        Nearest neighbours of a sample of these rows, duplicates counted once. The
        median of their angles is taken as the median of all rows.

    Examples
    --------
    On a circle, 40 rows lie 9 degrees apart. Two more rows lie 0.03 degrees beyond the
    last two of them.

    >>> from embaudit.linalg.nearest import neighbours
    >>> degrees = np.concatenate([np.arange(0, 360, 9), [342.03, 351.03]])
    >>> turn = np.radians(degrees)
    >>> rows = np.column_stack([np.cos(turn), np.sin(turn)])
    >>> found = near_duplicates(rows, np.arange(42), neighbours(rows, 1))
    >>> found.count, found.names, round(float(np.degrees(found.typical)), 2)
    (4, (38, 39, 40, 41), 9.0)
    """
    angles = _angles(x, lists)
    typical = float(np.median(angles))
    # Below this angle float64 does not tell directions apart.
    least_angle = np.sqrt(2 * resolution(x.shape[1]))
    limit = NEAR * typical
    if not limit > least_angle:
        return None
    pairs = None
    if len(standing) <= SEARCHED:
        pairs = near_pairs(x, standing, float(np.cos(limit)))
    if pairs is None:
        share = float((angles <= limit).mean())
        low = wilson_interval(share, len(angles))[0] if share else 0.0
        found = NearDuplicates(len(standing), share, low, typical, ())
    else:
        near = standing[np.unique(pairs)]
        share = len(near) / len(standing)
        found = NearDuplicates(
            len(standing), share, share, typical, tuple(near[:SHOWN].tolist())
        )
    return found if found.count else None


def _angles(x: Matrix, lists: NeighbourLists) -> Floats:
    """Compute the angle of each listed row to its nearest row.

    Half the chord gives small angles more precisely than the cosine.
    """
    nearest = lists.indices[:, 0]
    chords = unit_rows(x[lists.rows]) - unit_rows(x[nearest])
    halves = np.linalg.norm(chords, axis=1) / 2
    angles: Floats = 2 * np.arcsin(np.minimum(halves, 1.0))
    return angles
