"""Hit rate, recall and NDCG of neighbour lists, by the held-out items of users.

A query is a held-out item of a user, and the other held-out items of this user are
related to it. So one item can be the query of several users, with one list and several
sets of related items. Each user counts the same, however many items the user has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import row_blocks

LIST_MEASURES = ("hit_rate", "recall", "ndcg")
"""Measures of a list, in the order of their arrays."""


@dataclass(frozen=True, eq=False)
class UserQueries:
    """Held-out items of users as queries, and the items that are related to them."""

    owners: Indices
    """(m,) number of the user of each held-out item, ascending."""
    places: Indices
    """(m,) number of the item among the candidates; ascending for each user."""
    query_pairs: Indices
    """(q,) positions of the queries among the held-out items."""
    n_candidates: int
    """Number of candidates, including the items of the queries."""

    @property
    def users(self) -> Indices:
        """(q,) number of the user of each query."""
        return self.owners[self.query_pairs]

    @property
    def items(self) -> Indices:
        """(q,) number of the item of each query among the candidates."""
        return self.places[self.query_pairs]

    @property
    def n_related(self) -> NDArray[np.intp]:
        """(q,) number of other held-out items of the user."""
        return np.bincount(self.owners)[self.users] - 1

    def measures(self, lists: Indices) -> Floats:
        """Measure the list of each query.

        Hit rate is 1 if a related item is listed. Recall is the number of related items
        in the list, over the largest number that a list can hold (Liang et al. 2018,
        section 4.2). So the recall of a perfect list is 1, even if more items are
        related than the list has places. NDCG sums `1 / log2(i + 1)` over the places i
        of related items, from i = 1 up, over the sum for a perfect list.

        Parameters
        ----------
        lists : array of int (q, n)
            Candidates in the list of each query, the best first, without the query.

        Returns
        -------
        array of shape (q, 3)

        Examples
        --------
        User 0 holds items 0 and 2, user 1 holds items 0, 1 and 2.

        >>> owners, places = np.array([0, 0, 1, 1, 1]), np.array([0, 2, 0, 1, 2])
        >>> queries = UserQueries(owners, places, np.array([0, 2]), 4)
        >>> queries.measures(np.array([[1, 2], [1, 2]])).round(2)
        array([[1.  , 1.  , 0.63],
               [1.  , 1.  , 1.  ]])
        """
        n = lists.shape[1]
        discounts = 1 / np.log2(np.arange(1, n + 1) + 1)
        ideal = np.concatenate([[0], np.cumsum(discounts)])
        n_findable = np.minimum(self.n_related, n)
        # One number stands for a pair of a user and an item. Pairs are sorted by user
        # and then by item, so the numbers ascend and a binary search finds a pair.
        pairs = self.owners * self.n_candidates + self.places
        measures = np.empty((len(lists), len(LIST_MEASURES)))
        for block in row_blocks(*lists.shape):
            listed = self.users[block, None] * self.n_candidates + lists[block]
            place = np.minimum(np.searchsorted(pairs, listed), len(pairs) - 1)
            is_related = pairs[place] == listed
            n_found = is_related.sum(axis=1)
            measures[block, 0] = n_found > 0
            measures[block, 1] = n_found / n_findable[block]
            gain = is_related @ discounts
            measures[block, 2] = gain / ideal[n_findable[block]]
        return measures

    def chance_of_hit(self, n: int) -> Floats:
        """Return the probability that a random list of length `n` holds a related item.

        Without replacement, it is `1 - C(m - r, n) / C(m, n)` for m other candidates, r
        of which are related.

        Returns
        -------
        array of shape (q,)
        """
        others = self.n_candidates - 1
        unrelated = others - self.n_related
        # If fewer than n are unrelated, each list holds a related item.
        can_miss = unrelated >= n
        unrelated = np.maximum(unrelated, n)
        log_ratio = (
            gammaln(unrelated + 1)
            - gammaln(unrelated - n + 1)
            - gammaln(others + 1)
            + gammaln(others - n + 1)
        )
        return np.where(can_miss, -np.expm1(log_ratio), 1.0)


def user_weights(users: Indices) -> Floats:
    """Return weights of queries that sum to 1, and to the same for each user.

    Examples
    --------
    >>> user_weights(np.array([0, 0, 1]))
    array([0.25, 0.25, 0.5 ])
    """
    n_of_user = np.bincount(users)
    n_users = np.count_nonzero(n_of_user)
    return 1 / (n_users * n_of_user[users])


def without_each_group(
    measures: Floats, users: Indices, groups: NDArray[np.uint8]
) -> Floats:
    """Average measures over users, without each group of users in turn.

    Parameters
    ----------
    measures : array of shape (q, measures)
    users : array of int (q,)
        User of each query. Each user has a query.
    groups : array of shape (users,)
        Group of each user, from 0 up.

    Returns
    -------
    array of shape (groups, measures)

    Examples
    --------
    >>> groups = np.array([0, 1, 1], dtype=np.uint8)
    >>> values = np.array([[0.0], [2], [4], [8]])
    >>> without_each_group(values, np.array([0, 0, 1, 2]), groups)
    array([[6.],
           [1.]])
    """
    n_of_user = np.bincount(users)
    n_groups = int(groups.max()) + 1
    n_in_group = np.bincount(groups, minlength=n_groups)
    columns = []
    for values in measures.T:
        of_user = np.bincount(users, values) / n_of_user
        in_group = np.bincount(groups, of_user, minlength=n_groups)
        columns.append((of_user.sum() - in_group) / (len(groups) - n_in_group))
    return np.column_stack(columns)
