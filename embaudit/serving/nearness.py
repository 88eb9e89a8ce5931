"""Queries that are far from all rows, judged against other and unrelated queries.

A query is near to the rows if its best row is near. How near a best row is depends on
the number of rows, on the direction that all vectors share, and on the gap between
queries and rows, so no fixed cosine is near or far. Two comparisons decide instead.

*Other queries.* The best values of all queries have a median and a median absolute
deviation (MAD). A query is an outlier if its best value lies more than 3.5 · 1.4826 MAD
below the median (Iglewicz & Hoaglin, 1993; 1.4826 MAD estimates the standard deviation
of normal numbers). Cosines are crowded below 1, so their angles are compared.

*Unrelated queries.* A random mixture of all queries is

    q̄ + Σ gᵢ (qᵢ − q̄) / √(m − 1)

with independent standard normal gᵢ. It has the mean and the covariance of the queries,
but no subject of its own. The best values of 400 mixtures among the same rows say how
near to some row a query comes that is related to none of them.

A query is *far* if it is an outlier, and is no nearer to its best row than half of the
mixtures are to theirs. The first condition alone would name queries that are only less
near than others. If rows and queries have few subjects or few dimensions, mixtures come
as near as queries do. So unless at least half of the queries are nearer than 95 % of
the mixtures, a far query has to be farther from all rows than every mixture.

If most queries are far, none of them is an outlier. Then all queries together are
compared with rows that are known to fit: with the rows of a table themselves, each
without itself, or with the left rows of a model of two sides. The queries do *not fit*
if at least 50 % of those rows come nearer to a row than 95 % of their own mixtures do,
but at most 10 % of the queries come nearer than 95 % of the mixtures of the queries, or
than 95 % of the mixtures of those rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import reaches
from embaudit.core.tolerances import TIE
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.rows import block_norms, unit_rows

MIN_QUERIES = 30
"""Smallest number of queries that are compared with each other."""
N_MIXTURES = N_QUERIES
"""Number of random mixtures."""
OUTLIER = 3.5 * 1.4826
"""Distance of an outlier from the median, in median absolute deviations."""
CLEAR = 0.95
"""Share of the mixtures that a query has to be nearer than, to stand out from them."""
LEAST_STAND_OUT = 0.5
"""Rows and queries have subjects if at least this share of the queries stands out."""
FITTING = 0.5
"""Queries can be found not to fit only if this share of the known rows stands out."""
UNFITTING = 0.1
"""Queries do not fit if at most this share of them stands out."""


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
    known: Floats | None = field(repr=False)
    """Closeness of rows that are known to fit to their best rows; None if there are
    none."""
    known_unrelated: Floats | None = field(repr=False)
    """Closeness of each mixture of such rows to its best row."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "typical": self.typical,
                "unrelated": self.unrelated_level,
                "n_mixtures": len(self.unrelated),
                "n_far": self.n_far,
                "stand_out": self.stand_out,
                "stand_out_of_known": self.stand_out_of_known,
                "known_stand_out": self.known_stand_out,
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
        rounding = TIE * float(np.abs(distances).max())
        return np.asarray(distances > typical + OUTLIER * deviation + rounding)

    @property
    def shows_subjects(self) -> bool:
        """True if at least half of the queries are nearer than 95 % of the mixtures."""
        return reaches(self.stand_out, LEAST_STAND_OUT)

    @property
    def far(self) -> Flags:
        """(m,) True for queries that are far from all rows."""
        rounding = TIE * float(np.abs(self.best).max())
        if self.shows_subjects:
            is_unrelated = self.best <= self.unrelated_level + rounding
        else:
            is_unrelated = self.best < self.unrelated.min() - rounding
        return np.asarray(self.is_outlier & is_unrelated)

    @property
    def n_far(self) -> int:
        """Number of queries that are far from all rows."""
        return int(np.count_nonzero(self.far))

    @property
    def stand_out(self) -> float:
        """Share of the queries that are nearer than 95 % of their mixtures."""
        return _share_above(self.best, self.unrelated)

    @property
    def stand_out_of_known(self) -> float | None:
        """Share of the queries that are nearer than 95 % of the mixtures of rows."""
        if self.known_unrelated is None:
            return None
        return _share_above(self.best, self.known_unrelated)

    @property
    def known_stand_out(self) -> float | None:
        """Share of the known rows that are nearer than 95 % of their mixtures."""
        if self.known is None or self.known_unrelated is None:
            return None
        return _share_above(self.known, self.known_unrelated)

    @property
    def fits(self) -> bool:
        """False if the queries as a whole are as far from the rows as mixtures are."""
        stand_out_of_known = self.stand_out_of_known
        known_stand_out = self.known_stand_out
        if stand_out_of_known is None or known_stand_out is None:
            return True
        rows_stand_out = reaches(known_stand_out, FITTING)
        queries_do_not = reaches(UNFITTING, max(self.stand_out, stand_out_of_known))
        return not (rows_stand_out and queries_do_not)


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
    known: Floats | None,
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
    known : array of shape (q, k), optional
        Rows that are known to fit.
    own : array of int (q,), optional
        Number of the candidate that each known row itself is.
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
    known_best = known_unrelated = None
    unrelated = _of_mixtures(order, queries, rng)
    if known is not None and len(known) >= MIN_QUERIES:
        sample = np.sort(rng.permutation(len(known))[:N_QUERIES])
        own_of_sample = None if own is None else own[sample]
        found = best_matches(order, known[sample], 1, own=own_of_sample)
        known_best = closeness(order, known[sample], found.values[:, 0])
        known_unrelated = _of_mixtures(order, known, rng)
    return Nearness(
        is_angle=order.measure == "cosine" and order.bias is None,
        best=closeness(order, queries, values),
        unrelated=unrelated,
        known=known_best,
        known_unrelated=known_unrelated,
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
    rounding = TIE * max(1.0, abs(level))
    return float((values > level + rounding).mean())
