"""Hubs: rows that stand in the lists of very many others (Radovanović, Nanopoulos, Ivanović, JMLR 11, 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Indices
from embaudit.linalg.nearest import NeighbourLists

MAX_HUBS = 10
"""Rows at most whose share of all places is told."""
ONE_IN = 100
"""Hubs are one row in so many."""


@dataclass(frozen=True)
class Hubs:
    """Hubs: how unevenly rows occur in the lists of others."""

    n_lists: int
    """Lists looked at."""
    top_n: int
    """Length of the lists."""
    skewness: float
    """Skewness of how often a row occurs in them; 0 where all occur alike. Chance alone leaves 1/√mean."""
    few: tuple[int, ...]
    """The rows that occur most, one in a hundred and ten at most, the most frequent first."""
    lists_with: tuple[float, ...]
    """Share of the lists that each of them stands in."""
    filled: float
    """Share of all places that they fill together."""


def hubs(lists: NeighbourLists, standing: Indices | None = None) -> Hubs:
    """Count how often rows occur in lists.

    Parameters
    ----------
    lists : NeighbourLists
        Of some or all rows, each of them full.
    standing : array of int, optional
        The rows that may occur in them, one of each group of copies; all rows by default.

    Examples
    --------
    Every row of a circle has the same number of neighbours.

    >>> from embaudit.linalg.nearest import neighbours
    >>> turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> found = hubs(neighbours(np.column_stack([np.cos(turn), np.sin(turn)]), 2))
    >>> found.skewness, found.lists_with, found.filled
    (0.0, (0.01, 0.01), 0.01)
    """
    standing = np.arange(len(lists.searched)) if standing is None else standing
    # The lists may be those of some rows only, while every standing row may occur in them.
    occurs = np.bincount(lists.indices.ravel(), minlength=len(lists.searched))[standing]
    few = np.argsort(-occurs, kind="stable")[: min(MAX_HUBS, max(1, len(occurs) // ONE_IN))]
    shares = occurs[few] / len(lists.rows)
    return Hubs(
        n_lists=len(lists.rows),
        top_n=lists.indices.shape[1],
        skewness=_skewness(occurs),
        few=tuple(standing[few].tolist()),
        lists_with=tuple(shares.tolist()),
        filled=float(occurs[few].sum() / lists.indices.size),
    )


def _skewness(counts: Indices) -> float:
    off = counts - counts.mean()
    spread = float(np.square(off).mean())
    return float((off**3).mean() / spread**1.5) if spread > 0 else 0.0
