"""Held-out interactions: which items each user consumed after training.

Two items are related for a user if both are among the held-out items of this user.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Indices, as_count
from embaudit.core.words import counted
from embaudit.errors import InputError, Option, Parameter, must_be
from embaudit.io.tables.interactions import Events, read_events
from embaudit.io.tables.titles import places_of
from embaudit.model import FactorModel, SideName
from embaudit.model.side import OPPOSITE


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out items of each user, by user and then by row.

    The roles can be exchanged: for the users of a model, "owners" are the items, and
    the users who consumed one of them are related.
    """

    owners: Indices
    """(m,) number of the user of each pair, from 0 up."""
    rows: Indices
    """(m,) row of the side that the item of each pair has."""
    owner: str
    """Title of an owner, such as "user"."""
    source: str
    """Description of the pairs, such as "all 19,322 held-out items of 601 users"."""

    def __repr__(self) -> str:
        return f"HeldOut({self.source})"

    @property
    def n_owners(self) -> int:
        """Number of owners."""
        return int(self.owners[-1]) + 1 if len(self.owners) else 0

    @property
    def sizes(self) -> NDArray[np.intp]:
        """(owners,) number of held-out rows of each owner."""
        return np.bincount(self.owners, minlength=self.n_owners)

    def related(self, is_candidate: Flags) -> HeldOut:
        """Keep the candidates of owners with at least two, and number owners anew.

        Parameters
        ----------
        is_candidate : array of bool of shape (n,)
            Flags of the rows of the side.
        """
        is_kept = is_candidate[self.rows]
        n_of_owner = np.bincount(self.owners[is_kept], minlength=self.n_owners)
        is_kept &= n_of_owner[self.owners] >= 2
        _, owners = np.unique(self.owners[is_kept], return_inverse=True)
        return replace(self, owners=owners, rows=self.rows[is_kept])

    def sample(self, size: int, rng: np.random.Generator) -> Indices:
        """Draw about `size` pairs as queries, as evenly over the owners as possible.

        All pairs are returned if there are at most `size`. Otherwise each owner keeps
        at most as many pairs as fit. If there are more owners than `size`, then `size`
        owners are drawn, with one pair each.

        Returns
        -------
        array of int
            Positions of the pairs, sorted.
        """
        n_pairs, sizes = len(self.owners), self.sizes
        if n_pairs <= size:
            return np.arange(n_pairs)

        def n_kept(limit: int) -> int:
            """Count the pairs if each owner keeps at most `limit`."""
            return int(np.minimum(sizes, limit).sum())

        # The count grows with the limit, so the largest limit at which the pairs fit is
        # found by bisection. It is 0 if there are more owners than `size`.
        limits = range(1, int(sizes.max()) + 1)
        limit = bisect_right(limits, size, key=n_kept)
        # Shuffle the pairs and sort them by owner, so that the first pairs of each
        # owner are a random choice.
        order = rng.permutation(n_pairs)
        order = order[np.argsort(self.owners[order], kind="stable")]
        starts = np.cumsum(sizes) - sizes
        place = np.arange(n_pairs) - np.repeat(starts, sizes)
        sample = order[place < max(limit, 1)]
        if limit == 0:
            sample = rng.choice(sample, size, replace=False)
        return np.sort(sample)


def held_out_interactions(
    interactions: Any,
    model: FactorModel,
    *,
    role: SideName | str = "right",
    last: int | None = None,
    user: str | int | None = None,
    item: str | int | None = None,
    time: str | int | None = None,
) -> HeldOut:
    r"""Read which items of a model each user consumed in a table of interactions.

    Leave these interactions out of training, because a model can learn its training
    data by heart. Ratings are ignored; drop interactions from the table that should not
    count.

    Parameters
    ----------
    interactions : path or data frame
        A table of interactions, as `embaudit fit` reads it, or a data frame.
    model : FactorModel
        A model whose items have ids.
    role : {"right", "left"}
        Side of the items. If it is the side of the users, then two users are related
        who consumed the same item.
    last : int, optional
        Keep only the last interactions of each user, at least 2. If the times do not
        say which these are, an interaction is kept if it is surely one of them. By
        default all interactions of the table count.
    user, item, time : str or int, optional
        Columns by name or position; by default those with customary names. Times are
        read only with `last`.

    Raises
    ------
    InputError
        If the items have no ids, the table cannot be read, or fewer than two users have
        two items of the model.

    Examples
    --------
    >>> import pandas as pd
    >>> items = FactorModel.from_vectors(np.eye(3), ids=[10, 20, 30])
    >>> table = pd.DataFrame(
    ...     {"user": [1, 1, 1, 2, 2], "item": [10, 20, 30, 10, 30], "time": range(5)}
    ... )
    >>> held_out_interactions(table, items)
    HeldOut(5 held-out items of 2 users)
    >>> kept = held_out_interactions(table, items, last=2)
    >>> kept.owners.tolist(), kept.rows.tolist()
    ([0, 0, 1, 1], [1, 2, 0, 2])
    """
    role = model.side_name(role)
    side = model.side(role)
    owner = model.title(OPPOSITE[role])
    side_ids = _required_ids(model, role)
    if last is not None:
        last = as_count(last, "last", least=2)
    elif time is not None:
        raise InputError(
            "{} must be omitted unless {} is given, because the order of interactions "
            "does not matter otherwise.",
            Parameter("time"),
            Parameter("last"),
        )
    events = read_events(
        interactions, user=user, item=item, time=time, with_times=last is not None
    )
    codes, ids = _codes_of_side(events, role)
    owners, _ = _codes_of_side(events, OPPOSITE[role])
    rows = places_of(ids, side_ids)[codes]
    is_known = rows >= 0
    n_owners = len(np.unique(owners))
    owners, rows = owners[is_known], rows[is_known]
    if last is not None:
        assert events.times is not None
        is_last = _surely_last(owners, events.times[is_known], last)
        owners, rows = owners[is_last], rows[is_last]
    order = np.lexsort((rows, owners))
    all_pairs = HeldOut(owners[order], rows[order], owner, "")
    kept = all_pairs.related(np.full(len(side), True))
    if kept.n_owners < 2:
        raise must_be(
            f"the number of {owner}s with two {side.title}s of the model in the "
            "interactions",
            "at least 2",
            kept.n_owners,
            "check that interactions and model have the same ids: the first id is "
            f"{ids[0]} in the interactions and {side_ids[0]} in the model",
        )
    words = f"{len(kept.rows):,} held-out {side.title}s"
    if last is not None:
        words = f"the last {last} {side.title}s, by {events.time_column},"
    source = f"{words} of {counted(kept.n_owners, owner)}"
    n_skipped = n_owners - kept.n_owners
    if n_skipped:
        source += (
            f" ({counted(n_skipped, owner)} with fewer than two {side.title}s of the "
            "model skipped)"
        )
    return replace(kept, source=source)


def _required_ids(model: FactorModel, role: SideName) -> NDArray[Any]:
    """Return the ids of a side; raise InputError if it has none."""
    side = model.side(role)
    if side.ids is not None:
        return side.ids
    option = "left_ids"
    if role == "right":
        option = "ids"
    raise InputError(
        "the {}s must have ids so that they can be found in the interactions; load "
        "the model with {}.",
        side.title,
        Option(option),
    )


def _codes_of_side(events: Events, role: SideName) -> tuple[Indices, NDArray[Any]]:
    """Return the code of each pair on a side, and the ids that the codes stand for."""
    if role == "left":
        return events.users, events.user_ids
    return events.items, events.item_ids


def _surely_last(owners: Indices, times: Floats, last: int) -> Flags:
    """Mark the interactions that are surely among the last ones of their owner.

    In descending order of time, an interaction is marked if its place is one of the
    first `last` and its time is later than the time at the next place. An interaction
    of that same time could take its place.
    """
    order = np.lexsort((-times, owners))
    owners, times = owners[order], times[order]
    n_of_owner = np.bincount(owners)
    starts = np.cumsum(n_of_owner) - n_of_owner
    first = starts[owners]
    place = np.arange(len(owners)) - first
    # Position of the next interaction of the owner, if the owner has more than `last`.
    following = np.minimum(first + last, len(owners) - 1)
    has_more = n_of_owner[owners] > last
    is_later = times > times[following]
    is_sure = (place < last) & (is_later | ~has_more)
    result = np.zeros(len(owners), dtype=bool)
    result[order] = is_sure
    return result


def counts_in(interactions: Any, model: FactorModel, role: SideName) -> Floats:
    """Count the interactions of each row of a side in a table of training data.

    Raises
    ------
    InputError
        If the rows have no ids, the table cannot be read, or none of its ids occurs in
        the model.
    """
    side = model.side(role)
    side_ids = _required_ids(model, role)
    # The options for columns are about the held-out interactions.
    events = read_events(interactions, has_options=False)
    codes, ids = _codes_of_side(events, role)
    rows = places_of(ids, side_ids)[codes]
    rows = rows[rows >= 0]
    if not len(rows):
        raise must_be(
            f"the {side.title}s of the training data",
            f"{side.title}s of the model, with ids such as {side_ids[0]}",
            f"ids such as {ids[0]}",
        )
    return np.bincount(rows, minlength=len(side)).astype(np.float64)
