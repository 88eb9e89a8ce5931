"""Coverage of neighbour lists: items that are never listed, and popular items.

All lists together have as many *places* as entries. The popular items are the most
popular tenth of all items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector


@dataclass(frozen=True)
class Coverage:
    """Coverage of the neighbour lists of one similarity."""

    never_listed: float
    """Share of the candidates that no list holds."""
    popular_places: float | None
    """Share of the places that popular candidates take; None if the popularity of the
    candidates is not known.
    """


def coverage_of(
    lists: Indices, n_candidates: int, popular_weights: Vector | None
) -> Coverage:
    """Measure the coverage of neighbour lists.

    Parameters
    ----------
    lists : array of int (q, n)
        Numbers of the listed candidates, from 0 to m − 1. Every list is full.
    n_candidates : int
        Number m of candidates.
    popular_weights : array of shape (m,), optional
        1 for a popular candidate and 0 for another one, or a weight between them (see
        `most_popular_tenth`).

    Examples
    --------
    >>> coverage_of(np.array([[0, 1], [0, 2]]), 8, np.eye(8)[0])
    Coverage(never_listed=0.625, popular_places=0.5)
    """
    times_listed = np.bincount(lists.ravel(), minlength=n_candidates)
    popular_places = None
    if popular_weights is not None:
        popular_places = float(times_listed @ popular_weights / lists.size)
    never_listed = float(np.mean(times_listed == 0))
    return Coverage(never_listed, popular_places)


def most_popular_tenth(counts: Vector) -> Floats:
    """Return weights that mark the most popular tenth of all items.

    The weight is 1 for an item inside the tenth and 0 for an item outside. Items with
    the smallest count inside the tenth may not all fit. They have equal weights between
    0 and 1, so the order of the rows does not matter. The sum of all weights is m / 10
    for m items.

    Parameters
    ----------
    counts : array of shape (m,)
        Popularity of each item, for example its number of interactions.

    Returns
    -------
    array of shape (m,)

    Examples
    --------
    >>> most_popular_tenth(np.array([5.0, 9.0] + [1.0] * 8))
    array([0., 1., 0., 0., 0., 0., 0., 0., 0., 0.])
    >>> most_popular_tenth(np.array([3.0, 3.0] + [1.0] * 8))[:3]
    array([0.5, 0.5, 0. ])
    """
    # A tenth of 25 items is 2.5 items: the third most popular item has the smallest
    # count inside the tenth, and a weight of 0.5 if no other item has this count.
    size = len(counts) / 10
    descending = np.sort(counts)[::-1]
    smallest_inside = descending[int(np.ceil(size)) - 1]
    is_above = counts > smallest_inside
    is_tied = counts == smallest_inside
    weights = np.zeros(len(counts))
    weights[is_above] = 1.0
    weights[is_tied] = (size - is_above.sum()) / is_tied.sum()
    return weights
