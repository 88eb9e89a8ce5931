"""Find queries that are far from all rows.

No fixed cosine separates near from far queries, because the closeness of a query to its
best row (`embaudit.serving.closeness`) depends on the number of rows, on the direction
that all vectors share, and on the gap between queries and rows. So the closeness of a
query is compared with

- the *other queries*,
- *mixtures*: random mixtures of all queries, which are unrelated to the rows,
- *reference rows*, which fit by definition: the rows of a table themselves, each
  without itself, or the left rows of a model of two sides.

A query is *far* if three conditions hold:

1. It is an outlier: less close than the median query by more than `OUTLIER_MADS` median
   absolute deviations (Iglewicz & Hoaglin, 1993). The next two conditions exclude
   queries that are only less close than others.
2. It is unrelated: as far as the mixtures (`Nearness.is_unrelated`).
3. It is isolated: less close than nearly all reference rows, if there are any
   (`embaudit.serving.far_limit`).

If most queries are far, none of them is an outlier. Then all queries together are
compared with the reference rows. A query is *near* if it is closer than nearly all
mixtures. The queries do *not fit* if three conditions hold:

1. At least `MIN_NEAR_REFERENCES` of the reference rows are near, compared with mixtures
   of reference rows.
2. At most `MAX_NEAR_QUERIES` of the queries are near.
3. At most `MAX_NEAR_QUERIES` of the queries are near, compared with mixtures of
   reference rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds, reaches, tie_tolerance
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.rows import sample_rows
from embaudit.serving.closeness import (
    Closeness,
    closeness_of_mixtures,
    closeness_of_values,
)
from embaudit.serving.far_limit import FarLimit, far_limit

MIN_QUERIES = 30
"""Smallest number of queries that are compared with each other."""
MIN_REFERENCES = 30
"""Smallest number of reference rows that queries are compared with."""
MAD_TO_SIGMA = 1.4826
"""Standard deviation of normal numbers over their median absolute deviation."""
OUTLIER_MADS = 3.5 * MAD_TO_SIGMA
"""Distance of an outlier from the median, in median absolute deviations."""
MIN_NEAR_SHARE = 0.5
"""Rows and queries have subjects if at least this share of the queries is near."""
MIN_NEAR_REFERENCES = 0.5
"""Queries can be found not to fit only if this share of the reference rows is near."""
MAX_NEAR_QUERIES = 0.1
"""Queries do not fit if at most this share of them is near."""
MAX_REFERENCES = 2_000
"""Largest number of reference rows."""
MAX_REFERENCE_PRODUCTS = 4 * 10**10
"""Largest number of products of two entries for the best rows of the reference rows.

At least `N_QUERIES` reference rows are compared, even if they need more products.
"""


@dataclass(frozen=True, eq=False)
class Nearness:
    """How close queries, their mixtures and reference rows come to their best rows."""

    is_angle: bool
    """True if closeness is a cosine, whose angle is compared."""
    queries: Closeness = field(repr=False)
    """Closeness of the queries and of mixtures of them."""
    references: Closeness | None = field(repr=False)
    """Closeness of reference rows and of mixtures of them; None without such rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "typical": self.typical,
                "unrelated": self.unrelated,
                "n_mixtures": len(self.queries.mixture_values),
                "n_far": self.n_far,
                "least_far": self.limit.least_far,
                "reference_level": self.reference_level,
                "near_share": self.near_share,
                "near_share_by_reference": self.near_share_by_reference,
                "reference_near_share": self.reference_near_share,
                "fits": self.fits,
            }
        )

    # Far queries

    @cached_property
    def is_far(self) -> Flags:
        """(m,) True for queries that are far from all rows."""
        return np.asarray(self.is_outlier & self.is_unrelated & self.is_isolated)

    @property
    def is_outlier(self) -> Flags:
        """(m,) True for queries that are much less close than the typical query.

        Cosines are crowded below 1, so their angles are compared.
        """
        distances = -self.queries.values
        if self.is_angle:
            distances = np.arccos(np.clip(self.queries.values, -1, 1))
        median = float(np.median(distances))
        deviation = float(np.median(np.abs(distances - median)))
        largest = median + OUTLIER_MADS * deviation
        return np.asarray(distances > largest + tie_tolerance(distances))

    @property
    def is_unrelated(self) -> Flags:
        """(m,) True for queries that are as far from the rows as mixtures are.

        If rows and queries have subjects, most queries are closer than mixtures. Then a
        query that is at most as close as the typical mixture is unrelated.

        Otherwise, mixtures come as close as queries, for example because there are few
        subjects or few dimensions. Then even the least close mixture can be related, so
        an unrelated query has to be less close than all mixtures.
        """
        closeness = self.queries.values
        if self.shows_subjects:
            return np.asarray(closeness <= self.unrelated + self._rounding)
        least_close = self.queries.mixture_values.min()
        return np.asarray(closeness < least_close - self._rounding)

    @property
    def is_isolated(self) -> Flags:
        """(m,) True for queries that are less close than nearly all reference rows.

        True for all queries if there are no reference rows.
        """
        if self.reference_level is None:
            return np.ones(len(self.queries.values), dtype=bool)
        return np.asarray(self.queries.values < self.reference_level - self._rounding)

    @property
    def _rounding(self) -> float:
        """Largest difference of equal values of closeness."""
        return tie_tolerance(self.queries.values)

    @property
    def typical(self) -> float:
        """Closeness of the typical query: the median of the queries."""
        return float(np.median(self.queries.values))

    @property
    def unrelated(self) -> float:
        """Closeness of the typical unrelated query: the median of the mixtures."""
        return float(np.median(self.queries.mixture_values))

    @property
    def shows_subjects(self) -> bool:
        """True if the share of near queries is at least `MIN_NEAR_SHARE`."""
        return reaches(self.near_share, MIN_NEAR_SHARE)

    @cached_property
    def limit(self) -> FarLimit:
        """Reference row that limits far queries, and least number to report."""
        n_references = 0
        if self.references is not None:
            n_references = len(self.references.values)
        return far_limit(len(self.queries.values), n_references)

    @property
    def reference_level(self) -> float | None:
        """Closeness of the reference row that far queries have to stay below.

        None if there are no reference rows.
        """
        rank = self.limit.rank
        if self.references is None or rank is None:
            return None
        return float(np.partition(self.references.values, rank - 1)[rank - 1])

    @property
    def n_far(self) -> int:
        """Number of queries that are far from all rows."""
        return int(np.count_nonzero(self.is_far))

    @property
    def has_far(self) -> bool:
        """True if enough queries are far, or if the queries do not fit."""
        return not self.fits or self.n_far >= self.limit.least_far

    # All queries together

    @property
    def fits(self) -> bool:
        """False if the queries as a whole are as far from the rows as mixtures are.

        True if there are no reference rows.
        """
        by_reference = self.near_share_by_reference
        reference_share = self.reference_near_share
        if by_reference is None or reference_share is None:
            return True
        queries_are_near = exceeds(max(self.near_share, by_reference), MAX_NEAR_QUERIES)
        references_are_near = reaches(reference_share, MIN_NEAR_REFERENCES)
        return queries_are_near or not references_are_near

    @cached_property
    def near_share(self) -> float:
        """Share of the queries that are near, compared with their mixtures."""
        return self.queries.near_share

    @property
    def near_share_by_reference(self) -> float | None:
        """Share of the queries that are near, compared with reference mixtures."""
        if self.references is None:
            return None
        return self.queries.near_share_by(self.references.mixture_values)

    @property
    def reference_near_share(self) -> float | None:
        """Share of the reference rows that are near, compared with their mixtures."""
        if self.references is None:
            return None
        return self.references.near_share


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
    closeness = Closeness(
        values=closeness_of_values(order, queries, values),
        mixture_values=closeness_of_mixtures(order, queries, rng),
    )
    reference_closeness = None
    if references is not None and len(references) >= MIN_REFERENCES:
        reference_closeness = _closeness_of_references(order, references, own, rng)
    return Nearness(
        is_angle=order.measure == "cosine" and order.bias is None,
        queries=closeness,
        references=reference_closeness,
    )


def _closeness_of_references(
    order: Order, references: Floats, own: Indices | None, rng: np.random.Generator
) -> Closeness:
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
    return Closeness(
        values=closeness_of_values(order, rows, best.values[:, 0]),
        mixture_values=closeness_of_mixtures(order, references, rng),
    )
