"""Hubs: rows that stand in the lists of very many others, or of very many queries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Indices

MAX_HUBS = 10
"""Largest number of rows that count as hubs."""
ONE_IN = 100
"""One row in this many counts as a hub."""


@dataclass(frozen=True)
class Hubs:
    """Hubs: rows that occur in very many lists."""

    n_lists: int
    """Number of lists."""
    top_n: int
    """Length of the lists."""
    skewness: float
    """Skewness of the number of times that a row occurs in the lists. It is 0 if all
    rows occur equally often, and about 1/√mean by chance.
    """
    few: tuple[int, ...]
    """The rows that occur most often: one in a hundred, at most ten, and the most
    frequent first.
    """
    lists_with: tuple[float, ...]
    """For each of these rows, the share of the lists that contain it."""
    filled: float
    """Share of all list entries that these rows fill together."""


def occurrences(lists: Indices, n_rows: int) -> Indices:
    """Count the lists that each row occurs in.

    Parameters
    ----------
    lists : array of int (m, n)
        Row numbers, each at most once in a list; -1 for no entry.
    n_rows : int
        Number of rows.

    Returns
    -------
    array of int (n_rows,)

    Examples
    --------
    >>> occurrences(np.array([[2, 0], [2, -1]]), 4).tolist()
    [1, 0, 2, 0]
    """
    listed = lists[lists >= 0]
    return np.bincount(listed, minlength=n_rows)


def hubs(lists: Indices, standing: Indices) -> Hubs:
    """Find the rows that occur most often in lists.

    Parameters
    ----------
    lists : array of int (m, n)
        Row numbers of full lists.
    standing : array of int
        The rows that can occur in the lists, one per group of duplicates.

    Examples
    --------
    Every row of a circle has the same number of neighbours.

    >>> from embaudit.linalg.nearest import neighbours
    >>> turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> circle = np.column_stack([np.cos(turn), np.sin(turn)])
    >>> found = hubs(neighbours(circle, 2).indices, np.arange(200))
    >>> found.skewness, found.lists_with, found.filled
    (0.0, (0.01, 0.01), 0.01)
    """
    counts = occurrences(lists, int(standing.max()) + 1)[standing]
    n_hubs = min(MAX_HUBS, max(1, len(counts) // ONE_IN))
    # The sort is stable, so that the first of equally frequent rows is named on every
    # machine.
    most_frequent = np.argsort(-counts, kind="stable")[:n_hubs]
    # Radovanović et al. (2010) measure hubs by the skewness of these counts.
    deviations = counts - counts.mean()
    variance = float(np.square(deviations).mean())
    skewness = 0.0
    if variance > 0:
        skewness = float((deviations**3).mean() / variance**1.5)
    return Hubs(
        n_lists=len(lists),
        top_n=lists.shape[1],
        skewness=skewness,
        few=tuple(standing[most_frequent].tolist()),
        lists_with=tuple((counts[most_frequent] / len(lists)).tolist()),
        filled=float(counts[most_frequent].sum() / lists.size),
    )
