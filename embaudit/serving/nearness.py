"""Decide which queries are far from all rows, and whether the queries fit the rows.

No fixed cosine separates near from far queries, because the closeness of a query to its
best row (`embaudit.serving.closeness`) depends on the number of rows, on the direction
that all vectors share, and on the gap between queries and rows. So the closeness of a
query is compared with the closeness of

- the *other queries*,
- *mixtures*: random mixtures of all queries, which are unrelated to the rows,
- *reference rows*, which fit by definition: the rows of a table themselves, each
  without itself, or the left rows of a model of two sides.

A query is *near* if it is closer than nearly all mixtures (`NEAR_QUANTILE`). If most
queries are near, the vectors are said to *show subjects*, because a query then comes
closer to the rows about its subject than a mixture, which has no subject.

A query is *far* if three conditions hold:

1. It is an outlier: less close than the median query by more than `OUTLIER_MADS` median
   absolute deviations (Iglewicz & Hoaglin, 1993). The next two conditions exclude
   queries that are only less close than others.
2. It is unrelated: as far as the mixtures (`Nearness.is_unrelated`).
3. It is isolated: less close than nearly all reference rows, if there are any
   (`embaudit.serving.far_limit`).

If most queries are far, none of them is an outlier. Then all queries together are
compared with the reference rows. The queries do *not fit* if three conditions hold:

1. At least `MIN_NEAR_REFERENCES` of the reference rows are near, compared with mixtures
   of reference rows.
2. At most `MAX_NEAR_QUERIES` of the queries are near, compared with their mixtures.
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
from embaudit.linalg.best_matches import Order
from embaudit.linalg.rows import sample_rows
from embaudit.serving.closeness import (
    Closeness,
    closeness_of_best,
    closeness_of_mixtures,
    search_closeness,
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
"""The vectors show subjects if at least this share of the queries is near."""
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
    """Closeness of queries and reference rows, and the decisions that follow from it.

    Examples
    --------
    >>> mixtures = np.full(400, 0.5)
    >>> nearness = Nearness(
    ...     is_cosine=True,
    ...     closeness=Closeness(np.array([0.9] * 95 + [0.2] * 5), mixtures),
    ...     reference_closeness=None,
    ... )
    >>> nearness.n_far, nearness.near_share, nearness.fits
    (5, 0.95, True)
    """

    is_cosine: bool
    """True if closeness is a cosine."""
    closeness: Closeness = field(repr=False)
    """Closeness of the queries and of mixtures of them."""
    reference_closeness: Closeness | None = field(repr=False)
    """Closeness of reference rows and of mixtures of them; None without such rows."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "typical": self.typical_closeness,
                "unrelated": self.unrelated_closeness,
                "n_mixtures": len(self.closeness.mixture_values),
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

        Cosines of close queries are crowded below 1, so angles are compared instead.
        """
        distances = -self.closeness.values
        if self.is_cosine:
            distances = np.arccos(np.clip(self.closeness.values, -1, 1))
        median = float(np.median(distances))
        deviation = float(np.median(np.abs(distances - median)))
        largest_ordinary = median + OUTLIER_MADS * deviation
        return np.asarray(distances > largest_ordinary + tie_tolerance(distances))

    @property
    def is_unrelated(self) -> Flags:
        """(m,) True for queries that are as far from the rows as mixtures are.

        If the vectors show subjects, most queries are closer than mixtures. Then a
        query that is at most as close as the typical mixture is unrelated.

        Otherwise, mixtures come as close as queries, for example because there are few
        subjects or few dimensions. Then even the least close mixture can be related, so
        an unrelated query has to be less close than all mixtures.
        """
        values = self.closeness.values
        if self.shows_subjects:
            return np.asarray(values <= self.unrelated_closeness + self._rounding)
        least_close_mixture = self.closeness.mixture_values.min()
        return np.asarray(values < least_close_mixture - self._rounding)

    @property
    def is_isolated(self) -> Flags:
        """(m,) True for queries that are less close than nearly all reference rows.

        True for all queries if there are no reference rows.
        """
        values = self.closeness.values
        if self.reference_level is None:
            return np.ones(len(values), dtype=bool)
        return np.asarray(values < self.reference_level - self._rounding)

    @property
    def _rounding(self) -> float:
        """Largest difference of equal values of closeness."""
        return tie_tolerance(self.closeness.values)

    @property
    def typical_closeness(self) -> float:
        """Closeness of the typical query: the median of the queries."""
        return float(np.median(self.closeness.values))

    @property
    def unrelated_closeness(self) -> float:
        """Closeness of the typical unrelated query: the median of the mixtures."""
        return float(np.median(self.closeness.mixture_values))

    @property
    def shows_subjects(self) -> bool:
        """True if at least the share `MIN_NEAR_SHARE` of the queries is near."""
        return reaches(self.near_share, MIN_NEAR_SHARE)

    @cached_property
    def limit(self) -> FarLimit:
        """Limit of far queries among the reference rows, and least number to report."""
        n_references = 0
        if self.reference_closeness is not None:
            n_references = len(self.reference_closeness.values)
        return far_limit(len(self.closeness.values), n_references)

    @property
    def reference_level(self) -> float | None:
        """Closeness of the reference row that far queries have to stay below.

        None if there are no reference rows.
        """
        rank = self.limit.rank
        if self.reference_closeness is None or rank is None:
            return None
        return float(np.sort(self.reference_closeness.values)[rank - 1])

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
        if self.near_share_by_reference is None or self.reference_near_share is None:
            return True
        references_are_near = reaches(self.reference_near_share, MIN_NEAR_REFERENCES)
        few_are_near = not exceeds(self.near_share, MAX_NEAR_QUERIES)
        few_are_near_by_reference = not exceeds(
            self.near_share_by_reference, MAX_NEAR_QUERIES
        )
        return not (references_are_near and few_are_near and few_are_near_by_reference)

    @cached_property
    def near_share(self) -> float:
        """Share of the queries that are near, compared with their mixtures."""
        return self.closeness.near_share

    @property
    def near_share_by_reference(self) -> float | None:
        """Share of the queries that are near, compared with reference mixtures."""
        if self.reference_closeness is None:
            return None
        return self.closeness.near_share_by(self.reference_closeness.mixture_values)

    @property
    def reference_near_share(self) -> float | None:
        """Share of the reference rows that are near, compared with their mixtures."""
        if self.reference_closeness is None:
            return None
        return self.reference_closeness.near_share


def measure_nearness(
    order: Order,
    queries: Floats,
    best_values: Floats,
    *,
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
        Distinct queries.
    best_values : array of shape (m,)
        The value of the best row of each query in this order.
    references : array of shape (q, k), optional
        Reference rows.
    own : array of int (q,), optional
        Number in `order` of each reference row, which is excluded from its own search.
        None if the reference rows are not rows of `order`.
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
        values=closeness_of_best(order, queries, best_values),
        mixture_values=closeness_of_mixtures(order, queries, rng),
    )
    reference_closeness = None
    if references is not None and len(references) >= MIN_REFERENCES:
        reference_closeness = _closeness_of_references(order, references, own, rng)
    return Nearness(
        is_cosine=order.measure == "cosine" and order.bias is None,
        closeness=closeness,
        reference_closeness=reference_closeness,
    )


def _closeness_of_references(
    order: Order, references: Floats, own: Indices | None, rng: np.random.Generator
) -> Closeness:
    """Measure how close reference rows and their mixtures come to their best rows.

    The best row is searched for a sample of the reference rows, which bounds the time.
    Mixtures are made of all reference rows, because the number of mixtures, and so the
    time of their search, is fixed.
    """
    n_products = len(order.candidates) * references.shape[1]
    n_affordable = max(N_QUERIES, MAX_REFERENCE_PRODUCTS // n_products)
    sample = sample_rows(len(references), min(MAX_REFERENCES, n_affordable), rng)
    own_of_sample = None
    if own is not None:
        own_of_sample = own[sample]
    return Closeness(
        values=search_closeness(order, references[sample], own=own_of_sample),
        mixture_values=closeness_of_mixtures(order, references, rng),
    )
