"""Queries that are far from all rows, judged against queries, mixtures and rows.

A query is near to the rows if its best row is near. How near a best row is depends on
the number of rows, on the direction that all vectors share, and on the gap between
queries and rows, so no fixed cosine is near or far. Three comparisons decide instead.

*Other queries.* The best values of all queries have a median and a median absolute
deviation (MAD). A query is an outlier if its best value lies more than 3.5 · 1.4826 MAD
below the median (Iglewicz & Hoaglin, 1993; 1.4826 MAD estimates the standard deviation
of normal numbers). Cosines are crowded below 1, so their angles are compared.

*Unrelated queries.* A random mixture of all queries is

    q̄ + Σ gᵢ (qᵢ − q̄) / √(m − 1)

with independent standard normal gᵢ. It has the mean and the covariance of the queries,
but no subject of its own. The best values of 400 mixtures among the same rows say how
near to some row a query comes that is related to none of them.

*Reference rows* fit by definition: the rows of a table themselves, each without itself,
or the left rows of a model of two sides. Some of them are isolated, above all if the
lengths of the rows differ widely. If queries are drawn like these rows, then all ranks
of the best values of queries among those of reference rows are equally likely. So a
value can be chosen that t queries exceed with a probability of at most 5 %, whatever
the distribution is: the j-th worst value of the reference rows, with the largest j for
which this holds.

A query is *far* if it is an outlier, is no nearer to its best row than half of the
mixtures are to theirs, and is worse than that value of the reference rows. The first
condition alone would name queries that are only less near than others. If rows and
queries have few subjects or few dimensions, mixtures come as near as queries do. So
unless at least half of the queries are nearer than 95 % of the mixtures, a far query
has to be farther from all rows than every mixture.

If most queries are far, none of them is an outlier. Then all queries together are
compared with the reference rows. The queries do *not fit* if at least 50 % of the
reference rows come nearer to a row than 95 % of their own mixtures do, but at most 10 %
of the queries come nearer than 95 % of the mixtures of the queries, or than 95 % of the
mixtures of the reference rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import reaches, tie_tolerance
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.rows import block_norms, sample_rows, unit_rows

MIN_QUERIES = 30
"""Smallest number of queries that are compared with each other."""
N_MIXTURES = N_QUERIES
"""Number of random mixtures."""
OUTLIER = 3.5 * 1.4826
"""Distance of an outlier from the median, in median absolute deviations."""
CLEAR = 0.95
"""Share of the mixtures than which a query is nearer if it counts as near."""
LEAST_NEAR_SHARE = 0.5
"""Rows and queries have subjects if at least this share of the queries is near."""
FITTING = 0.5
"""Queries can be found not to fit only if this share of the reference rows is near."""
UNFITTING = 0.1
"""Queries do not fit if at most this share of them is near."""
LEAST_FAR = 5
"""Smallest number of far queries that is reported."""
LEAST_FAR_SHARE = 0.01
"""Smallest share of far queries that is reported."""
FALSE_ALARM = 0.05
"""Largest probability of a report if queries are drawn like the reference rows."""
MOST_REFERENCES = 2_000
"""Largest number of reference rows."""
MOST_PRODUCTS = 4 * 10**10
"""Largest number of products of two entries for the best rows of the reference rows, if
there are more than 400 of them."""


@dataclass(frozen=True, eq=False)
class Nearness:
    """How near queries come to their best rows."""

    is_angle: bool
    """True if closeness is a cosine, whose angle is compared."""
    best: Floats = field(repr=False)
    """(m,) closeness of each query to its best row: the cosine; the inner product with
    the query divided by its length, or with the bias added; or minus the distance."""
    unrelated: Floats = field(repr=False)
    """Closeness of each mixture of the queries to its best row."""
    reference: Floats | None = field(repr=False)
    """Closeness of reference rows to their best rows; None if there are none."""
    reference_unrelated: Floats | None = field(repr=False)
    """Closeness of each mixture of reference rows to its best row."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "typical": self.typical,
                "unrelated": self.unrelated_level,
                "n_mixtures": len(self.unrelated),
                "n_far": self.n_far,
                "least_far": self.limit.least_far,
                "reference_level": self.reference_level,
                "near_share": self.near_share,
                "near_share_by_reference": self.near_share_by_reference,
                "reference_near_share": self.reference_near_share,
                "fits": self.fits,
            }
        )

    @property
    def typical(self) -> float:
        """Median closeness of the queries."""
        return float(np.median(self.best))

    @property
    def unrelated_level(self) -> float:
        """Median closeness of the mixtures."""
        return float(np.median(self.unrelated))

    @property
    def is_outlier(self) -> Flags:
        """(m,) True for queries that are much less near than the typical query.

        Cosines are crowded below 1, so their angles are compared.
        """
        distances = -self.best
        if self.is_angle:
            distances = np.arccos(np.clip(self.best, -1, 1))
        typical = float(np.median(distances))
        deviation = float(np.median(np.abs(distances - typical)))
        rounding = tie_tolerance(distances)
        return np.asarray(distances > typical + OUTLIER * deviation + rounding)

    @property
    def shows_subjects(self) -> bool:
        """True if at least half of the queries are nearer than 95 % of the mixtures."""
        return reaches(self.near_share, LEAST_NEAR_SHARE)

    @property
    def far(self) -> Flags:
        """(m,) True for queries that are far from all rows."""
        rounding = tie_tolerance(self.best)
        if self.shows_subjects:
            is_unrelated = self.best <= self.unrelated_level + rounding
        else:
            is_unrelated = self.best < self.unrelated.min() - rounding
        is_far = self.is_outlier & is_unrelated
        if self.reference_level is not None:
            is_far &= self.best < self.reference_level - rounding
        return np.asarray(is_far)

    @property
    def limit(self) -> Limit:
        """The rank among reference rows that far queries exceed, and their number."""
        n_references = 0 if self.reference is None else len(self.reference)
        return limit_of(len(self.best), n_references)

    @property
    def reference_level(self) -> float | None:
        """Closeness below which a query is farther than reference rows, but a few."""
        if self.reference is None:
            return None
        rank = self.limit.rank
        return float(np.partition(self.reference, rank - 1)[rank - 1])

    @property
    def has_far(self) -> bool:
        """True if enough queries are far, or if the queries do not fit."""
        return not self.fits or self.n_far >= self.limit.least_far

    @property
    def n_far(self) -> int:
        """Number of queries that are far from all rows."""
        return int(np.count_nonzero(self.far))

    @property
    def near_share(self) -> float:
        """Share of the queries that are nearer than 95 % of their mixtures."""
        return _share_above(self.best, self.unrelated)

    @property
    def near_share_by_reference(self) -> float | None:
        """Share of the queries that are nearer than 95 % of mixtures of references."""
        if self.reference_unrelated is None:
            return None
        return _share_above(self.best, self.reference_unrelated)

    @property
    def reference_near_share(self) -> float | None:
        """Share of the reference rows that are nearer than 95 % of their mixtures."""
        if self.reference is None or self.reference_unrelated is None:
            return None
        return _share_above(self.reference, self.reference_unrelated)

    @property
    def fits(self) -> bool:
        """False if the queries as a whole are as far from the rows as mixtures are."""
        by_reference = self.near_share_by_reference
        reference_share = self.reference_near_share
        if by_reference is None or reference_share is None:
            return True
        rows_are_near = reaches(reference_share, FITTING)
        queries_are_not = reaches(UNFITTING, max(self.near_share, by_reference))
        return not (rows_are_near and queries_are_not)


@dataclass(frozen=True)
class Limit:
    """How much farther than reference rows how many queries have to be."""

    rank: int
    """A far query is less close than the reference row of this rank, in ascending order
    of closeness. So at most `rank - 1` reference rows are as far as a far query."""
    least_far: int
    """Smallest number of far queries that is reported."""


def limit_of(n_queries: int, n_references: int) -> Limit:
    """Choose the limit that queries drawn like the reference rows rarely exceed.

    Let t be the reported number of queries and j the rank. At least t queries are worse
    than the j-th worst reference row if at least t of the t + j − 1 worst values of
    both belong to queries. If both are drawn alike, this number is hypergeometric.

    If there are few reference rows, no rank is enough for the usual t. Then t is
    raised: the t worst values all belong to queries with a probability of at most
    (m / (m + R))ᵗ, with m queries and R reference rows.

    Examples
    --------
    >>> limit_of(400, 1_500), limit_of(1_500, 100)
    (Limit(rank=6, least_far=5), Limit(rank=1, least_far=47))
    """
    from scipy.stats import hypergeom

    least_far = max(LEAST_FAR, math.ceil(LEAST_FAR_SHARE * n_queries))
    if not n_references:
        return Limit(1, least_far)
    total = n_queries + n_references
    ranks = np.arange(1, n_references + 1)
    n_worst = least_far + ranks - 1
    probabilities = hypergeom.sf(least_far - 1, total, n_queries, n_worst)
    rank = int(np.count_nonzero(probabilities <= FALSE_ALARM))
    if rank:
        return Limit(rank, least_far)
    share = n_queries / total
    return Limit(1, math.ceil(math.log(FALSE_ALARM) / math.log(share)))


def closeness(order: Order, queries: Floats, values: Floats) -> Floats:
    """Turn the values of the best rows of queries into numbers that can be compared.

    Parameters
    ----------
    order : Order
        The candidates and their order, other than hyperbolic.
    queries : array of shape (m, k)
    values : array of shape (m,)
        The value `q·r + s` of the best row of each query.

    Returns
    -------
    array of shape (m,)
        As `Nearness.best`; larger numbers are nearer.

    Examples
    --------
    >>> rows, queries = np.array([[3.0, 4.0]]), np.array([[2.0, 0.0]])
    >>> for measure in ("cosine", "dot", "l2"):
    ...     order = Order(measure, rows)
    ...     best = best_matches(order, queries, 1).values[:, 0]
    ...     print(measure, closeness(order, queries, best).round(3))
    cosine [0.6]
    dot [3.]
    l2 [-4.123]
    """
    lengths = block_norms(queries)
    if order.measure == "l2":
        # The value leaves out −½‖q‖², which is the same for all rows.
        squares = lengths**2 - 2 * values
        return np.asarray(-np.sqrt(np.maximum(squares, 0)))
    if order.bias is not None:
        return values
    return np.asarray(values / lengths)


def mixtures(queries: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draw random mixtures of queries, which have their mean and covariance.

    Parameters
    ----------
    queries : array of shape (m, k)
        At least two queries.
    count : int
        Number of mixtures.

    Returns
    -------
    array of shape (count, k)
    """
    mean = queries.mean(axis=0)
    mixed = np.zeros((count, queries.shape[1]))
    for block in row_blocks(len(queries), count + queries.shape[1]):
        deviations = queries[block] - mean
        mixed += rng.standard_normal((count, len(deviations))) @ deviations
    mixed /= np.sqrt(len(queries) - 1)
    return np.asarray(mixed + mean)


def nearness(
    order: Order,
    queries: Floats,
    values: Floats,
    references: Floats | None,
    own: Indices | None,
    rng: np.random.Generator,
) -> Nearness | None:
    """Judge how near queries come to their best rows.

    Parameters
    ----------
    order : Order
        The rows and their order.
    queries : array of shape (m, k)
        Different queries.
    values : array of shape (m,)
        The value of the best row of each query.
    references : array of shape (q, k), optional
        Rows that fit by definition.
    own : array of int (q,), optional
        Number of the candidate that each reference row itself is.
    rng : numpy Generator
        Draws the mixtures.

    Returns
    -------
    Nearness or None
        None for fewer than 30 queries, and for hyperbolic distances, because a mixture
        can lie outside of the ball.
    """
    if len(queries) < MIN_QUERIES or order.measure == "hyperbolic":
        return None
    reference = reference_unrelated = None
    unrelated = _of_mixtures(order, queries, rng)
    if references is not None and len(references) >= MIN_QUERIES:
        n_that_fit = MOST_PRODUCTS // (len(order.candidates) * queries.shape[1])
        most = min(MOST_REFERENCES, max(N_QUERIES, n_that_fit))
        sample = sample_rows(len(references), most, rng)
        own_of_sample = None if own is None else own[sample]
        lists = best_matches(order, references[sample], 1, own=own_of_sample)
        reference = closeness(order, references[sample], lists.values[:, 0])
        reference_unrelated = _of_mixtures(order, references, rng)
    return Nearness(
        is_angle=order.measure == "cosine" and order.bias is None,
        best=closeness(order, queries, values),
        unrelated=unrelated,
        reference=reference,
        reference_unrelated=reference_unrelated,
    )


def _of_mixtures(order: Order, queries: Floats, rng: np.random.Generator) -> Floats:
    """Return the closeness of mixtures of queries to their best rows."""
    if order.measure in ("cosine", "dot") and order.bias is None:
        # The length of a query changes no list, so all queries have the same weight.
        queries = unit_rows(queries, none=0)
    mixed = mixtures(queries, N_MIXTURES, rng)
    return closeness(order, mixed, best_matches(order, mixed, 1).values[:, 0])


def _share_above(values: Floats, mixed: Floats) -> float:
    """Return the share of the values that exceed 95 % of the values of mixtures."""
    level = float(np.quantile(mixed, CLEAR))
    # Closeness has the unit of the vectors, so the tolerance is relative to its size.
    rounding = tie_tolerance(np.append(values, level))
    return float((values > level + rounding).mean())
