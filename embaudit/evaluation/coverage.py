"""Coverage of neighbour lists: how many items are never listed, and who fills them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector


@dataclass(frozen=True)
class Coverage:
    """Shares of candidates and of places in the neighbour lists of one similarity."""

    never_listed: float
    """Share of the candidates that are in no list."""
    popular_places: float | None
    """Share of all places of lists that the most popular tenth of the candidates takes.
    None if popularity is not known."""


def coverage_of(
    lists: Indices, n_candidates: int, popular_weights: Vector | None
) -> Coverage:
    """Count how often each candidate is listed.

    Parameters
    ----------
    lists : array of int (q, n)
        Numbers of the candidates in each list.
    n_candidates : int
        Number of candidates.
    popular_weights : array of shape (candidates,), optional
        Weight of each candidate in the most popular tenth (see `most_popular_tenth`).

    Examples
    --------
    >>> coverage_of(np.array([[0, 1], [0, 2]]), 8, np.eye(8)[0])
    Coverage(never_listed=0.625, popular_places=0.5)
    """
    times_listed = np.bincount(lists.ravel(), minlength=n_candidates)
    popular_places = None
    if popular_weights is not None:
        n_places = times_listed.sum()
        popular_places = float(times_listed @ popular_weights / n_places)
    never_listed = float(np.mean(times_listed == 0))
    return Coverage(never_listed, popular_places)


def most_popular_tenth(counts: Vector) -> Floats:
    """Return the weight of each item in the most popular tenth of all items.

    The weight is 1 inside and 0 outside. Items with the count at the edge share the
    remaining places evenly, so the order of the rows does not matter.

    Examples
    --------
    >>> most_popular_tenth(np.array([5.0, 9.0] + [1.0] * 8))
    array([0., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    >>> most_popular_tenth(np.array([3.0, 3.0] + [1.0] * 8))[:3]
    array([0.5, 0.5, 0. ])
    """
    # A tenth of 25 items is 2.5 places: the third item holds the edge, with half of its
    # weight inside.
    n_places = len(counts) / 10
    ascending = np.sort(counts)
    edge = ascending[len(counts) - int(np.ceil(n_places))]
    is_above = counts > edge
    is_at_edge = counts == edge
    weights = np.zeros(len(counts))
    weights[is_above] = 1.0
    weights[is_at_edge] = (n_places - is_above.sum()) / is_at_edge.sum()
    return weights
