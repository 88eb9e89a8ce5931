"""Closeness of queries to their best rows, and of random mixtures of the queries.

The *closeness* of a query compares it with its best row by a number: a cosine, an inner
product, or minus a distance. Larger numbers are closer.

Even a query that is unrelated to all rows has a best row. *Random mixtures* of queries
show how close such a query comes to a row by chance. A mixture of m queries q₁, …, qₘ
with the mean q̄ is

    q̄ + Σ gᵢ (qᵢ − q̄) / √(m − 1)

with independent standard normal gᵢ. It has the mean and the covariance of the queries,
but no subject of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import tie_tolerance
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.rows import block_norms, unit_rows

N_MIXTURES = N_QUERIES
"""Number of random mixtures."""
NEAR_QUANTILE = 0.95
"""A query is near if its closeness exceeds this quantile of the mixtures."""


@dataclass(frozen=True, eq=False)
class Closeness:
    """Closeness of some queries, and of random mixtures of them.

    Examples
    --------
    >>> closeness = Closeness(np.array([0.9, 0.8, 0.2]), np.linspace(0.1, 0.3, 400))
    >>> round(closeness.near_share, 3)
    0.667
    """

    values: Floats = field(repr=False)
    """(m,) closeness of each query: the cosine; the inner product, with the query
    divided by its length or with the bias added; or minus the distance."""
    mixture_values: Floats = field(repr=False)
    """(N_MIXTURES,) closeness of each mixture."""

    @property
    def near_share(self) -> float:
        """Share of the queries that are near, compared with their own mixtures."""
        return self.near_share_by(self.mixture_values)

    def near_share_by(self, mixture_values: Floats) -> float:
        """Return the share of the queries that are near, compared with some mixtures.

        A query is near if its closeness exceeds the quantile `NEAR_QUANTILE` of the
        closeness of the mixtures.
        """
        level = float(np.quantile(mixture_values, NEAR_QUANTILE))
        # Closeness has the unit of the vectors, so the tolerance is relative.
        rounding = tie_tolerance(np.append(self.values, level))
        return float((self.values > level + rounding).mean())


def closeness_of_best(order: Order, queries: Floats, best_values: Floats) -> Floats:
    """Compute the closeness of queries from the values of their best rows.

    Parameters
    ----------
    order : Order
        The rows and their measure; not hyperbolic.
    queries : array of shape (m, k)
        Rows of zeros are allowed only by distance or with a bias. Lengths are at most
        1e100, so that their squares are finite.
    best_values : array of shape (m,)
        The value `q·r + s` of the best row of each query, as `best_matches` returns it.

    Returns
    -------
    array of shape (m,)
        As `Closeness.values`.

    Examples
    --------
    >>> rows, queries = np.array([[3.0, 4.0]]), np.array([[2.0, 0.0]])
    >>> for measure in ("cosine", "dot", "l2"):
    ...     order = Order(measure, rows)
    ...     best_values = best_matches(order, queries, 1).values[:, 0]
    ...     print(measure, closeness_of_best(order, queries, best_values).round(3))
    cosine [0.6]
    dot [3.]
    l2 [-4.123]
    """
    lengths = block_norms(queries)
    if order.measure == "l2":
        # ‖q − r‖² = ‖q‖² − 2 (q·r − ½‖r‖²), and s = −½‖r‖².
        squares = lengths**2 - 2 * best_values
        return np.asarray(-np.sqrt(np.maximum(squares, 0)))
    if order.bias is not None:
        return best_values
    return np.asarray(best_values / lengths)


def search_closeness(
    order: Order, queries: Floats, *, own: Indices | None = None
) -> Floats:
    """Search for the best row of each query, and return the closeness.

    Parameters
    ----------
    order : Order
        The rows and their measure; not hyperbolic.
    queries : array of shape (m, k)
        As `closeness_of_best` takes them.
    own : array of int (m,), optional
        Number of the row that is the query itself, which is excluded from its search.

    Returns
    -------
    array of shape (m,)
        As `Closeness.values`.
    """
    best = best_matches(order, queries, 1, own=own)
    return closeness_of_best(order, queries, best.values[:, 0])


def closeness_of_mixtures(
    order: Order, queries: Floats, rng: np.random.Generator
) -> Floats:
    """Draw `N_MIXTURES` mixtures of queries, and return the closeness of each."""
    if order.measure in ("cosine", "dot") and order.bias is None:
        # The length of a query changes no list, so all queries have the same weight in
        # the mixtures.
        queries = unit_rows(queries, none=0)
    return search_closeness(order, random_mixtures(queries, N_MIXTURES, rng))


def random_mixtures(queries: Floats, count: int, rng: np.random.Generator) -> Floats:
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
    mixtures = np.zeros((count, queries.shape[1]))
    for block in row_blocks(len(queries), count + queries.shape[1]):
        deviations = queries[block] - mean
        mixtures += rng.standard_normal((count, len(deviations))) @ deviations
    mixtures /= np.sqrt(len(queries) - 1)
    return np.asarray(mixtures + mean)
