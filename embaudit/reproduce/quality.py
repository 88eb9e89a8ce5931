"""How well item-item cosines recover known clusters."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.kernels.largest import Largest
from embaudit.kernels.ranks import area_under_curve

N_NEIGHBOURS = 10


@dataclass(frozen=True)
class Recovery:
    """What the cosines of all pairs of items say about their clusters."""

    within_mean: float
    """Mean cosine of two items of one cluster."""
    between_mean: float
    """Mean cosine of two items of different clusters."""
    auc: float
    """Probability that a pair of one cluster has a larger cosine than a pair of two, ties counted half."""
    top10_in_cluster: float
    """Share of an item's ten nearest items that belong to its cluster, averaged over items."""

    def to_dict(self) -> dict[str, float]:
        """Return the four numbers by name."""
        return asdict(self)


def nearest(cosines: Floats, n: int = N_NEIGHBOURS) -> Indices:
    """Return the columns of the `n` largest cosines of every row, itself left out, best first."""
    others = cosines.copy()
    np.fill_diagonal(others, -np.inf)
    return Largest(len(others), n).add(others).columns


def top_overlap(first: Indices, second: Indices) -> float:
    """Compute the mean share of neighbours that two lists of each item have in common.

    Examples
    --------
    >>> top_overlap(np.array([[1, 2], [0, 2]]), np.array([[2, 3], [2, 0]]))
    0.75
    """
    both = np.sort(np.hstack([first, second]), axis=1)
    return float((both[:, 1:] == both[:, :-1]).sum() / first.size)


def cluster_recovery(cosines: Floats, clusters: Indices) -> Recovery:
    """Compare a matrix of cosines with the clusters of its rows.

    Parameters
    ----------
    cosines : array of shape (p, p)
        Symmetric.
    clusters : array of shape (p,)
        The true cluster of every row; at least two clusters, one of them with two rows.

    Raises
    ------
    InputError
        If there are no pairs of one kind, or fewer than eleven rows.

    Examples
    --------
    >>> clusters = np.repeat([0, 1], 8)
    >>> cluster_recovery(np.where(clusters[:, None] == clusters, 0.75, 0.25), clusters)
    Recovery(within_mean=0.75, between_mean=0.25, auc=1.0, top10_in_cluster=0.7)
    """
    if len(clusters) <= N_NEIGHBOURS:
        raise must_be("the number of items", f"above {N_NEIGHBOURS}", len(clusters))
    same = clusters[:, None] == clusters
    upper = np.triu(np.ones_like(same), 1)
    values, together = cosines[upper], same[upper]
    if together.all() or not together.any():
        raise must_be("clusters", "at least two, one of them with two items", f"{len(np.unique(clusters))} in all")
    top = nearest(cosines)
    return Recovery(
        within_mean=float(values[together].mean()),
        between_mean=float(values[~together].mean()),
        auc=area_under_curve(values, together),
        top10_in_cluster=float((clusters[top] == clusters[:, None]).mean()),
    )
