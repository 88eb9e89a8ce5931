"""A rank test: the reference row that limits far queries, and how many are reported.

A far query has to be less close than a reference row of a low rank. This is not the
lowest one, because some reference rows are isolated themselves, above all if the
lengths of the rows differ widely. And a few far queries are no reason for a report.

Rank and number are chosen so that queries that are drawn like the reference rows are
reported with a probability of at most `MAX_FALSE_ALARM`. This holds for every
distribution, because it depends on ranks alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

MIN_FAR = 5
"""Smallest number of far queries that is reported."""
MIN_FAR_SHARE = 0.01
"""Smallest share of far queries that is reported."""
MAX_FALSE_ALARM = 0.05
"""Largest probability of a report if queries are drawn like the reference rows."""


@dataclass(frozen=True)
class FarLimit:
    """Reference row that limits far queries, and number of far queries to report."""

    rank: int | None
    """Rank of the reference row that a far query is less close than. Rank 1 is the
    least close reference row. None without reference rows."""
    least_far: int
    """Smallest number of far queries that is reported."""


def far_limit(n_queries: int, n_references: int) -> FarLimit:
    """Choose the limit that queries drawn like the reference rows rarely exceed.

    Let there be m queries and R reference rows, let t be the number of far queries that
    is reported, and j the rank. At least t queries are less close than the reference
    row of rank j if and only if at least t of the t + j − 1 lowest of all m + R values
    belong to queries. If queries and reference rows are drawn alike, all orders of the
    values are equally likely, so the number of queries among the lowest values is
    hypergeometric. The result is the largest j for which the probability of t or more
    queries is at most `MAX_FALSE_ALARM`.

    With few reference rows, the probability is larger even for j = 1. Then j is 1 and t
    is raised: the t lowest values all belong to queries with a probability of at most
    (m / (m + R))ᵗ. This t can exceed m, so that far queries are never reported.

    Parameters
    ----------
    n_queries, n_references : int
        m and R.

    Examples
    --------
    >>> far_limit(400, 1_500), far_limit(1_500, 100)
    (FarLimit(rank=6, least_far=5), FarLimit(rank=1, least_far=47))
    """
    least_far = max(MIN_FAR, math.ceil(MIN_FAR_SHARE * n_queries))
    if n_references == 0:
        return FarLimit(None, least_far)
    rank = _largest_rank(n_queries, n_references, least_far)
    if rank > 0:
        return FarLimit(rank, least_far)
    # The smallest t with shareᵗ <= MAX_FALSE_ALARM.
    share = n_queries / (n_queries + n_references)
    return FarLimit(1, math.ceil(math.log(MAX_FALSE_ALARM) / math.log(share)))


def _largest_rank(n_queries: int, n_references: int, least_far: int) -> int:
    """Return the largest rank whose reports are rare enough, or 0 if there is none."""
    from scipy.stats import hypergeom

    ranks = np.arange(1, n_references + 1)
    n_lowest = least_far + ranks - 1
    probabilities = hypergeom.sf(
        least_far - 1, n_queries + n_references, n_queries, n_lowest
    )
    # The probability grows with the rank, so the first ranks are the allowed ones.
    return int(np.count_nonzero(probabilities <= MAX_FALSE_ALARM))
