"""Coverage of neighbour lists: how many items are never listed, and who fills them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector


@dataclass(frozen=True)
class Coverage:
    """What the neighbour lists of one similarity hold."""

    never_listed: float
    """Share of the candidates that are in no list."""
    popular_places: float | None
    """Share of all places of lists that the most popular tenth of the candidates takes.
    None if popularity is not known."""


def coverage_of(
    lists: Indices, n_candidates: int, is_popular: Vector | None
) -> Coverage:
    """Count which candidates are listed.

    Parameters
    ----------
    lists : array of int (q, n)
        Numbers of the candidates in each list.
    n_candidates : int
        Number of candidates.
    is_popular : array of shape (candidates,), optional
        Weights of `most_popular_tenth`.

    Examples
    --------
    >>> coverage_of(np.array([[0, 1], [0, 2]]), 8, np.eye(8)[0])
    Coverage(never_listed=0.625, popular_places=0.5)
    """
    times_listed = np.bincount(lists.ravel(), minlength=n_candidates)
    popular_places = None
    if is_popular is not None:
        popular_places = float(times_listed @ is_popular / times_listed.sum())
    return Coverage(float(np.mean(times_listed == 0)), popular_places)


def most_popular_tenth(counts: Vector) -> Floats:
    """Return the weight of each item in the most popular tenth of all items.

    It is 1 inside and 0 outside. Items with the count at the edge share the remaining
    places evenly, so that the order of the rows does not matter.

    Examples
    --------
    >>> most_popular_tenth(np.array([5.0, 9.0] + [1.0] * 8))
    array([0., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    >>> most_popular_tenth(np.array([3.0, 3.0] + [1.0] * 8))[:3]
    array([0.5, 0.5, 0. ])
    """
    n_places = len(counts) / 10
    ascending = np.sort(counts)
    edge = ascending[len(counts) - int(np.ceil(n_places))]
    is_above = counts > edge
    is_edge = counts == edge
    share = (n_places - is_above.sum()) / is_edge.sum()
    return np.where(is_above, 1.0, np.where(is_edge, share, 0.0))
