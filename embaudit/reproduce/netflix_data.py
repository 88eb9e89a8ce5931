"""Interactions of one's own for the Netflix figure: the most popular items that have a known cluster."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.evaluation.truth import labels_in
from embaudit.foundation.checked import Floats, Indices
from embaudit.foundation.words import counted
from embaudit.io import join_ids, read_interactions
from embaudit.io.tables.ids import split_column

if TYPE_CHECKING:
    from embaudit.io import Interactions


@dataclass(frozen=True, eq=False)
class OwnInteractions:
    """Who took what, the cluster of every item, and what was left out."""

    matrix: Any
    """(n, p) binary; every user took an item."""
    clusters: Indices
    """(p,) numbers of `labels`."""
    popularity: Floats
    """(p,) users who took each item, those left out counted in."""
    labels: tuple[str, ...]
    """What each cluster is called, the largest first."""
    n_users_given: int
    """Users of the table."""
    n_takers: int
    """Of these, users who took an item of the figure."""
    n_items_given: int
    """Items of the table."""
    n_unlabelled: int
    """Of these, items without a label."""
    n_of_several: int
    """Items of the figure with more than one label, of which the first counts."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return f"OwnInteractions({n:,} users, {p:,} items, {counted(len(self.labels), 'cluster')})"

    def explain(self) -> str:
        """Say which part of the table the figure is of."""
        n, p = self.matrix.shape
        labelled = self.n_items_given - self.n_unlabelled
        return (
            f"{_part(p, labelled, 'item', 'most popular')} with a label, "
            f"{_part(n, self.n_takers, 'user', 'most active')} who took one of them"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        sizes = np.bincount(self.clusters, minlength=len(self.labels))
        return {
            "n_users": self.matrix.shape[0],
            "n_items": self.matrix.shape[1],
            "n_interactions": self.matrix.nnz,
            "n_users_given": self.n_users_given,
            "n_users_who_took_an_item": self.n_takers,
            "n_items_given": self.n_items_given,
            "n_items_without_a_label": self.n_unlabelled,
            "n_items_of_several_labels": self.n_of_several,
            "clusters": dict(zip(self.labels, sizes, strict=True)),
        }


def _part(kept: int, given: int, noun: str, how: str) -> str:
    """Say how many of how many were kept.

    Examples
    --------
    >>> _part(3, 3, "user", "most active"), _part(3, 40, "user", "most active")
    ('all 3 users', 'the 3 most active of 40 users')
    """
    return f"all {counted(kept, noun)}" if kept == given else f"the {kept:,} {how} of {counted(given, noun)}"


def read_own(
    data: str,
    truth: str,
    *,
    n_users: int,
    n_items: int,
    user: str | None = None,
    item: str | None = None,
    id: str | None = None,  # noqa: A002
) -> OwnInteractions:
    """Read interactions, every row as a 1, and the labels of their items.

    An item of several labels belongs to the cluster of the first, since the figure's clusters do not overlap. Of the
    items that have one, the most popular are kept, and of the users who took any of these the most active.

    Parameters
    ----------
    data : str
        A table of interactions.
    truth : str
        FILE:COLUMN, a table of the items and its column of labels.
    n_users, n_items : int
        How many to keep at most.
    user, item, id : str, optional
        Columns of the interactions, and that of the ids in the other table.

    Raises
    ------
    InputError
        If a table cannot be read, their ids do not match, or no item has a label.
    """
    read = read_interactions(data, user=user, item=item, rating="none", duplicates="max")
    listed = [labels_in(text) for text in _texts(read, data, truth, id)]
    popularity = read.counts("right")
    known = np.flatnonzero(list(map(len, listed)))
    items = np.sort(_largest(popularity, known, n_items))
    activity = np.asarray(read.matrix[:, items].sum(axis=1), dtype=np.float64).ravel()
    takers = np.flatnonzero(activity)
    users = np.sort(_largest(activity, takers, n_users))
    labels, clusters = _clusters([listed[item][0] for item in items])
    matrix = read.matrix[users][:, items].tocsr()
    matrix.sort_indices()
    return OwnInteractions(
        matrix=matrix,
        clusters=clusters,
        popularity=popularity[items],
        labels=labels,
        n_users_given=read.matrix.shape[0],
        n_takers=len(takers),
        n_items_given=len(listed),
        n_unlabelled=len(listed) - len(known),
        n_of_several=sum(len(listed[item]) > 1 for item in items),
    )


def _texts(read: Interactions, data: str, truth: str, column_of_ids: str | None) -> tuple[str | None, ...]:
    table, column = split_column(truth)
    if column is None:
        raise must_be("truth (--truth)", "FILE:COLUMN, a table of the items and its column of labels", repr(truth))
    return join_ids(read.item_ids, table, source=data, id=column_of_ids, title=column).texts


def _largest(values: Floats, among: NDArray[Any], most: int) -> NDArray[Any]:
    """Return at most so many of the places with the largest values; the earlier of equal ones."""
    if not len(among):
        raise InputError("truth (--truth) must hold a label of an item of the data; got none.")
    return among[np.argsort(-values[among], kind="stable")[:most]]


def _clusters(names: list[str]) -> tuple[tuple[str, ...], Indices]:
    """Number the labels, the most frequent first and equal ones by their names."""
    sizes = Counter(names)
    labels = sorted(sizes, key=lambda name: (-sizes[name], name))
    return tuple(labels), np.array([labels.index(name) for name in names], dtype=np.int64)
