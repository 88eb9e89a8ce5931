"""Find queries that are far from all rows.

The *closeness* of a query is the closeness to its best row: a cosine, an inner product,
or minus a distance. It depends on the number of rows, on the direction that all vectors
share, and on the gap between queries and rows. So no fixed cosine separates near from
far queries. Instead, a query is compared with the other queries, with random mixtures,
and with reference rows.

*Other queries.* The closeness of all queries has a median and a median absolute
deviation (MAD). A query is an outlier if its closeness lies more than `OUTLIER_MADS`
of these deviations below the median (Iglewicz & Hoaglin, 1993).

*Unrelated queries.* A random mixture of all queries is

    q̄ + Σ gᵢ (qᵢ − q̄) / √(m − 1)

with independent standard normal gᵢ. It has the mean and the covariance of the queries,
but no subject of its own. So mixtures show how close an unrelated query comes to its
best row by chance. A query is *near* if its closeness exceeds the quantile
`NEAR_QUANTILE` of the closeness of the mixtures.

*Reference rows* fit by definition: the rows of a table themselves, each without itself,
or the left rows of a model of two sides. Some of them are isolated, above all if the
lengths of the rows differ widely. So a far query has to be less close than all but a
few of them. `far_limit` chooses their number by a rank test, so that queries that are
drawn like the reference rows are rarely reported, whatever their distribution is.

A query is *far* if three conditions hold:

1. The query is an outlier. This alone would also name queries that are only less close
   than others.
2. If at least `MIN_NEAR_SHARE` of the queries are near, its closeness is at most the
   median closeness of the mixtures. Otherwise, it is below the closeness of every
   mixture, because mixtures of few subjects or few dimensions come as close as queries.
3. Its closeness is below the limit of the reference rows, if there are any.

If most queries are far, none of them is an outlier. Then all queries together are
compared with the reference rows. The queries do *not fit* if three conditions hold:

1. At least `MIN_NEAR_REFERENCES` of the reference rows are near, compared with mixtures
   of reference rows.
2. At most `MAX_NEAR_QUERIES` of the queries are near.
3. At most `MAX_NEAR_QUERIES` of the queries are near, compared with mixtures of
   reference rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds, reaches, tie_tolerance
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.rows import block_norms, sample_rows, unit_rows

MIN_QUERIES = 30
"""Smallest number of queries that are compared with each other."""
MIN_REFERENCES = 30
"""Smallest number of reference rows that queries are compared with."""
N_MIXTURES = N_QUERIES
"""Number of random mixtures."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""
OUTLIER_MADS = 3.5 * MAD_TO_SIGMA
"""Distance of an outlier from the median, in median absolute deviations."""
NEAR_QUANTILE = 0.95
"""A query is near if its closeness exceeds this quantile of the mixtures."""
MIN_NEAR_SHARE = 0.5
"""Rows and queries have subjects if at least this share of the queries is near."""
MIN_NEAR_REFERENCES = 0.5
"""Queries can be found not to fit only if this share of the reference rows is near."""
MAX_NEAR_QUERIES = 0.1
"""Queries do not fit if at most this share of them is near."""
MIN_FAR = 5
"""Smallest number of far queries that is reported."""
MIN_FAR_SHARE = 0.01
"""Smallest share of far queries that is reported."""
MAX_FALSE_ALARM = 0.05
"""Largest probability of a report if queries are drawn like the reference rows."""
MAX_REFERENCES = 2_000
"""Largest number of reference rows."""
MAX_REFERENCE_PRODUCTS = 4 * 10**10
"""Largest number of products of two entries for the best rows of the reference rows.

At least `N_QUERIES` reference rows are compared, even if they need more products.
"""


@dataclass(frozen=True, eq=False)
class ReferenceCloseness:
    """Closeness of reference rows, and of random mixtures of them."""

    closeness: Floats = field(repr=False)
    """Closeness of each reference row to its best row."""
    mixture_closeness: Floats = field(repr=False)
    """Closeness of each mixture of reference rows to its best row."""

    @property
    def near_share(self) -> float:
        """Share of the reference rows that are near, compared with their mixtures."""
        return _near_share(self.closeness, self.mixture_closeness)


@dataclass(frozen=True, eq=False)
class Nearness:
    """How close queries come to their best rows."""

    is_angle: bool
    """True if closeness is a cosine, whose angle is compared."""
    closeness: Floats = field(repr=False)
    """(m,) closeness of each query to its best row: the cosine; the inner product with
    the query divided by its length, or with the bias added; or minus the distance."""
    mixture_closeness: Floats = field(repr=False)
    """Closeness of each mixture of the queries to its best row."""
    reference: ReferenceCloseness | None = field(repr=False)
    """Closeness of reference rows and of their mixtures; None without such rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "typical": self.typical,
                "unrelated": self.unrelated_level,
                "n_mixtures": len(self.mixture_closeness),
                "n_far": self.n_far,
                "least_far": self.limit.min_far,
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
        return float(np.median(self.closeness))

    @property
    def unrelated_level(self) -> float:
        """Median closeness of the mixtures."""
        return float(np.median(self.mixture_closeness))

    @property
    def is_outlier(self) -> Flags:
        """(m,) True for queries that are much less close than the typical query.

        Cosines are crowded below 1, so their angles are compared.
        """
        distances = -self.closeness
        if self.is_angle:
            distances = np.arccos(np.clip(self.closeness, -1, 1))
        typical = float(np.median(distances))
        deviation = float(np.median(np.abs(distances - typical)))
        largest = typical + OUTLIER_MADS * deviation
        return np.asarray(distances > largest + tie_tolerance(distances))

    @property
    def shows_subjects(self) -> bool:
        """True if the share of near queries is at least `MIN_NEAR_SHARE`."""
        return reaches(self.near_share, MIN_NEAR_SHARE)

    @cached_property
    def far(self) -> Flags:
        """(m,) True for queries that are far from all rows."""
        rounding = tie_tolerance(self.closeness)
        # Typical mixtures are unrelated, so a query as close as they are is unrelated,
        # too. But if mixtures come as close as queries, even the least close mixture
        # can be related, so a far query has to be clearly less close.
        if self.shows_subjects:
            is_unrelated = self.closeness <= self.unrelated_level + rounding
        else:
            is_unrelated = self.closeness < self.mixture_closeness.min() - rounding
        is_far = self.is_outlier & is_unrelated
        if self.reference_level is not None:
            is_far &= self.closeness < self.reference_level - rounding
        return np.asarray(is_far)

    @cached_property
    def limit(self) -> FarLimit:
        """The rank of the reference row that limits far queries, and their number."""
        n_references = 0
        if self.reference is not None:
            n_references = len(self.reference.closeness)
        return far_limit(len(self.closeness), n_references)

    @property
    def reference_level(self) -> float | None:
        """Closeness of the reference row that far queries have to stay below.

        None if there are no reference rows.
        """
        rank = self.limit.rank
        if self.reference is None or rank is None:
            return None
        return float(np.partition(self.reference.closeness, rank - 1)[rank - 1])

    @property
    def has_far(self) -> bool:
        """True if enough queries are far, or if the queries do not fit."""
        return not self.fits or self.n_far >= self.limit.min_far

    @property
    def n_far(self) -> int:
        """Number of queries that are far from all rows."""
        return int(np.count_nonzero(self.far))

    @cached_property
    def near_share(self) -> float:
        """Share of the queries that are near, compared with their mixtures."""
        return _near_share(self.closeness, self.mixture_closeness)

    @property
    def near_share_by_reference(self) -> float | None:
        """Share of the queries that are near, compared with reference mixtures."""
        if self.reference is None:
            return None
        return _near_share(self.closeness, self.reference.mixture_closeness)

    @property
    def reference_near_share(self) -> float | None:
        """Share of the reference rows that are near, compared with their mixtures."""
        if self.reference is None:
            return None
        return self.reference.near_share

    @property
    def fits(self) -> bool:
        """False if the queries as a whole are as far from the rows as mixtures are."""
        by_reference = self.near_share_by_reference
        reference_share = self.reference_near_share
        if by_reference is None or reference_share is None:
            return True
        rows_are_near = reaches(reference_share, MIN_NEAR_REFERENCES)
        queries_are_near = exceeds(max(self.near_share, by_reference), MAX_NEAR_QUERIES)
        return queries_are_near or not rows_are_near


@dataclass(frozen=True)
class FarLimit:
    """Reference row that limits far queries, and number of far queries to report."""

    rank: int | None
    """A far query is less close than the reference row of this rank, in ascending order
    of closeness. So at most `rank - 1` reference rows are as far as a far query. None
    without reference rows."""
    min_far: int
    """Smallest number of far queries that is reported."""


def far_limit(n_queries: int, n_references: int) -> FarLimit:
    """Choose the limit that queries drawn like the reference rows rarely exceed.

    Let t be the reported number of queries and j the rank. At least t queries are less
    close than the j-th reference row if at least t of the t + j − 1 lowest values of
    both belong to queries. If both are drawn alike, all orders are equally likely, so
    this number is hypergeometric. The result is the largest j for which a report has a
    probability of at most `MAX_FALSE_ALARM`.

    If there are few reference rows, no rank is enough for the usual t. Then t is
    raised: the t lowest values all belong to queries with a probability of at most
    (m / (m + R))ᵗ, with m queries and R reference rows. This t can exceed m, so that
    far queries are never reported.

    Examples
    --------
    >>> far_limit(400, 1_500), far_limit(1_500, 100)
    (FarLimit(rank=6, min_far=5), FarLimit(rank=1, min_far=47))
    """
    from scipy.stats import hypergeom

    min_far = max(MIN_FAR, math.ceil(MIN_FAR_SHARE * n_queries))
    if n_references == 0:
        return FarLimit(None, min_far)
    total = n_queries + n_references
    ranks = np.arange(1, n_references + 1)
    n_lowest = min_far + ranks - 1
    probabilities = hypergeom.sf(min_far - 1, total, n_queries, n_lowest)
    # The probability grows with the rank, so the first ranks are the allowed ones.
    rank = int(np.count_nonzero(probabilities <= MAX_FALSE_ALARM))
    if rank > 0:
        return FarLimit(rank, min_far)
    # The smallest t with shareᵗ <= MAX_FALSE_ALARM.
    share = n_queries / total
    return FarLimit(1, math.ceil(math.log(MAX_FALSE_ALARM) / math.log(share)))


def closeness_of_values(order: Order, queries: Floats, values: Floats) -> Floats:
    """Turn the values of the best rows of queries into numbers that can be compared.

    Parameters
    ----------
    order : Order
        Candidates and measure; not hyperbolic.
    queries : array of shape (m, k)
        Rows of zeros are allowed only by distance or with a bias.
    values : array of shape (m,)
        The value `q·r + s` of the best row of each query, as `best_matches` returns it.

    Returns
    -------
    array of shape (m,)
        As `Nearness.closeness`; larger numbers are closer.

    Examples
    --------
    >>> rows, queries = np.array([[3.0, 4.0]]), np.array([[2.0, 0.0]])
    >>> for measure in ("cosine", "dot", "l2"):
    ...     order = Order(measure, rows)
    ...     best = best_matches(order, queries, 1).values[:, 0]
    ...     print(measure, closeness_of_values(order, queries, best).round(3))
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
    rng : numpy Generator
        Draws the weights.

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


def measure_nearness(
    order: Order,
    queries: Floats,
    values: Floats,
    references: Floats | None,
    own: Indices | None,
    rng: np.random.Generator,
) -> Nearness | None:
    """Measure how close queries come to their best rows.

    Parameters
    ----------
    order : Order
        The rows and their order.
    queries : array of shape (m, k)
        Different queries.
    values : array of shape (m,)
        The value of the best row of each query in this order.
    references : array of shape (q, k), optional
        Rows that fit by definition.
    own : array of int (q,), optional
        Candidate number of each reference row, which is excluded from its own search.
    rng : numpy Generator
        Draws the mixtures and the reference rows.

    Returns
    -------
    Nearness or None
        None for fewer than `MIN_QUERIES` queries, and for hyperbolic distances, because
        a mixture can lie outside of the ball.
    """
    if len(queries) < MIN_QUERIES or order.measure == "hyperbolic":
        return None
    mixture_closeness = _mixture_closeness(order, queries, rng)
    reference = None
    if references is not None and len(references) >= MIN_REFERENCES:
        reference = _reference_closeness(order, references, own, rng)
    return Nearness(
        is_angle=order.measure == "cosine" and order.bias is None,
        closeness=closeness_of_values(order, queries, values),
        mixture_closeness=mixture_closeness,
        reference=reference,
    )


def _reference_closeness(
    order: Order, references: Floats, own: Indices | None, rng: np.random.Generator
) -> ReferenceCloseness:
    """Measure how close reference rows and their mixtures come to their best rows.

    A sample of the rows bounds the time of the search. Mixtures are made of all rows,
    because their number does not depend on the number of rows.
    """
    n_products = len(order.candidates) * references.shape[1]
    n_affordable = max(N_QUERIES, MAX_REFERENCE_PRODUCTS // n_products)
    sample = sample_rows(len(references), min(MAX_REFERENCES, n_affordable), rng)
    own_of_sample = None
    if own is not None:
        own_of_sample = own[sample]
    rows = references[sample]
    best = best_matches(order, rows, 1, own=own_of_sample)
    return ReferenceCloseness(
        closeness=closeness_of_values(order, rows, best.values[:, 0]),
        mixture_closeness=_mixture_closeness(order, references, rng),
    )


def _mixture_closeness(
    order: Order, queries: Floats, rng: np.random.Generator
) -> Floats:
    """Return the closeness of mixtures of queries to their best rows."""
    if order.measure in ("cosine", "dot") and order.bias is None:
        # The length of a query changes no list, so all queries have the same weight in
        # the mixtures.
        queries = unit_rows(queries, none=0)
    mixed = mixtures(queries, N_MIXTURES, rng)
    best = best_matches(order, mixed, 1)
    return closeness_of_values(order, mixed, best.values[:, 0])


def _near_share(closeness: Floats, mixture_closeness: Floats) -> float:
    """Return the share of rows whose closeness exceeds `NEAR_QUANTILE` of mixtures."""
    level = float(np.quantile(mixture_closeness, NEAR_QUANTILE))
    # Closeness has the unit of the vectors, so the tolerance is relative to its size.
    rounding = tie_tolerance(np.append(closeness, level))
    return float((closeness > level + rounding).mean())
