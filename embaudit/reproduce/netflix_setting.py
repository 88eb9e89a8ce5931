"""Data and sizes of the Netflix figure, simulated or one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, as_count, is_number
from embaudit.core.words import counted
from embaudit.errors import InputError, must_be
from embaudit.evaluation.truth import labels_in
from embaudit.io import join_ids, read_interactions
from embaudit.io.tables.rows import split_column
from embaudit.simulate import PopularityLaw, SimulatedInteractions, simulate_interactions

SIMULATED = ("n_clusters", "cluster_weights", "max_share", "concentration", "popularity_law")
OWN = ("data", "truth", "user", "item", "id")
"""Fields that take part only where data are simulated, and only where they are read."""

MOST_ITEMS = 5_000
"""The figure shows, and holds, a cosine of every two."""


@dataclass(frozen=True, eq=False)
class OwnInteractions:
    """Interactions of one's own: who took which item, the cluster of every item, and the rows left out."""

    matrix: Any
    """(n, p) binary; every user took an item."""
    clusters: Indices
    """(p,) numbers of `labels`."""
    popularity: Floats
    """(p,) users who took each item, those left out counted in."""
    labels: tuple[str, ...]
    """Label of each cluster, the largest first."""
    n_users_given: int
    """Users of the table."""
    n_takers: int
    """Users of the table who took an item of the figure."""
    n_items_given: int
    """Items of the table."""
    n_unlabelled: int
    """Items of the table without a label."""
    n_of_several: int
    """Items of the figure with more than one label, of which the first counts."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return f"OwnInteractions({n:,} users, {p:,} items, {counted(len(self.labels), 'cluster')})"

    def explain(self) -> str:
        """Describe the part of the table that the figure is of."""
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


def _part(count: int, total: int, noun: str, how: str) -> str:
    """Describe how many of all rows are in the figure.

    Examples
    --------
    >>> _part(3, 3, "user", "most active"), _part(3, 40, "user", "most active")
    ('all 3 users', 'the 3 most active of 40 users')
    """
    return f"all {counted(count, noun)}" if count == total else f"the {count:,} {how} of {counted(total, noun)}"


def _largest(values: Floats, among: NDArray[Any], most: int) -> NDArray[Any]:
    """Return at most so many of the places with the largest values, sorted; the earlier of equal ones."""
    if not len(among):
        raise InputError("--truth must hold a label of an item of the data; got none.")
    return np.sort(among[np.argsort(-values[among], kind="stable")[:most]])


@dataclass(frozen=True)
class NetflixSetting:
    """Size of the data, weights of the penalties, and the choices the paper leaves open; or data of one's own.

    Raises
    ------
    InputError
        If a penalty is not above 0, the rank above the number of users or items, or fields do not go together.

    Examples
    --------
    >>> NetflixSetting(2_000, 200, 4, cluster_weights=(5, 3, 1, 1), rank=20).simulate(0)
    SimulatedInteractions(2000 users, 200 items, 4 clusters, ... pairs)
    >>> NetflixSetting(n_items=30, rank=50)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rank must be from 1 to 30, the fewer of users and items; got 50.
    """

    n_users: int = 20_000
    """Number of users; of data of one's own at most so many, the most active."""
    n_items: int = 1_000
    """Number of items; of data of one's own at most so many, the most popular."""
    n_clusters: int = 5
    alpha_product: float = 10_000.0
    """Weight λ of `‖A Bᵀ‖²` in Eq. 1."""
    alpha_factors: float = 100.0
    """Weight λ of `‖X A‖² + ‖B‖²` in Eq. 2."""
    rank: int = 50
    max_share: float = 0.4
    """Nobody takes more than this share of the catalogue (not in the paper)."""
    concentration: float = 1.0
    """Concentration of the users' preferences (not in the paper)."""
    popularity_law: PopularityLaw = "zipf"
    """Meaning of a power law of popularities (not in the paper)."""
    cluster_weights: tuple[float, ...] | None = None
    """Relative probability of each cluster to receive an item; equal by default (not in the paper)."""
    data: str | None = None
    """A table of interactions to take in place of simulated ones; every row counts 1."""
    truth: str | None = None
    """FILE:COLUMN with the labels of its items; the first label of an item, up to the first bar, is its cluster."""
    user: str | None = None
    """Column of the users, where its name is not customary."""
    item: str | None = None
    """Column of the items."""
    id: str | None = None
    """Column of the items' ids in the table of labels."""

    def __post_init__(self) -> None:
        """Check sizes, penalties and the rank, and that data of one's own come with labels."""
        as_count(self.n_users, "n_users", least=2)
        as_count(self.n_items, "n_items", least=2, most=MOST_ITEMS)
        for name in ("alpha_product", "alpha_factors"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0):
                raise must_be(name, "a finite number > 0", value)
        if not 0 < self.max_share <= 1:
            raise must_be("max_share", "a share above 0 and at most 1", self.max_share)
        # Data of one's own need clusters, and no parameter of a simulation.
        if (self.data is None) != (self.truth is None):
            raise InputError("--data and --truth must be given together: interactions, and clusters.")
        if self.data is not None and self.cluster_weights is not None:
            raise InputError("cluster_weights must be left out with data, whose clusters are those of truth.")
        self.require_rank(self.n_users, self.n_items)

    def require_rank(self, n_users: int, n_items: int) -> None:
        """Refuse a rank that so many users and items do not have."""
        most = min(n_users, n_items)
        if not 1 <= self.rank <= most:
            raise must_be("rank", f"from 1 to {most:,}, the fewer of users and items", self.rank)

    def simulate(self, seed: int) -> SimulatedInteractions:
        """Draw the data of one seed."""
        return simulate_interactions(
            self.n_users,
            self.n_items,
            self.n_clusters,
            cluster_weights=self.cluster_weights,
            popularity_law=self.popularity_law,
            concentration=self.concentration,
            max_items=max(1, round(self.max_share * self.n_items)),
            rng=seed,
        )

    def interactions(self, seed: int) -> SimulatedInteractions | OwnInteractions:
        """Draw the data of one seed, or read those of one's own: every row as a 1, and the labels of their items.

        An item of several labels belongs to the cluster of the first, since the figure's clusters do not overlap. Of
        the items that have one, the most popular are kept, and of the users who took any of these the most active.

        Raises
        ------
        InputError
            If a table cannot be read, their ids do not match, no item has a label, or too few rows are left.
        """
        if self.data is None or self.truth is None:
            return self.simulate(seed)
        table, column = split_column(self.truth)
        if column is None:
            raise must_be("--truth", "FILE:COLUMN, a table of the items and its column of labels", repr(self.truth))
        read = read_interactions(self.data, user=self.user, item=self.item, rating="none", duplicates="max")
        joined = join_ids(read.item_ids, table, source=self.data, id=self.id, title=column)
        # Items: those with a label, the most popular of them. Users: those who took one of these, the most active.
        listed = [labels_in(text) for text in joined.texts]
        popularity = read.counts("right")
        has_label = np.flatnonzero(list(map(len, listed)))
        items = _largest(popularity, has_label, self.n_items)
        activity = np.asarray(read.matrix[:, items].sum(axis=1), dtype=np.float64).ravel()
        takers = np.flatnonzero(activity)
        matrix = read.matrix[_largest(activity, takers, self.n_users)][:, items].tocsr()
        matrix.sort_indices()
        self.require_rank(*matrix.shape)
        # Clusters are numbered by size, the largest first, equal ones by their names.
        names = [listed[item][0] for item in items]
        sizes = Counter(names)
        labels = sorted(sizes, key=lambda name: (-sizes[name], name))
        return OwnInteractions(
            matrix=matrix,
            clusters=np.array([labels.index(name) for name in names], dtype=np.int64),
            popularity=popularity[items],
            labels=tuple(labels),
            n_users_given=read.matrix.shape[0],
            n_takers=len(takers),
            n_items_given=len(listed),
            n_unlabelled=len(listed) - len(has_label),
            n_of_several=sum(len(listed[item]) > 1 for item in items),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that take part."""
        idle = OWN if self.data is None else SIMULATED
        return {name: value for name, value in asdict(self).items() if name not in idle}


PAPER = NetflixSetting()
SMALL = NetflixSetting(
    # The penalties keep α of Eq. 1 = (α of Eq. 2)², and α of Eq. 2 between the clusters' singular values and the noise.
    n_users=4_000,
    n_items=300,
    alpha_product=1_600.0,
    alpha_factors=40.0,
    rank=30,
)
SIZES: Mapping[str, NetflixSetting] = MappingProxyType({"small": SMALL, "paper": PAPER})

CHOICES: Mapping[str, Mapping[str, float | str]] = MappingProxyType(
    {
        "at most 20 % of the items": {"max_share": 0.2},
        "up to all items": {"max_share": 1.0},
        "preferences concentrated (0.3)": {"concentration": 0.3},
        "preferences alike (3)": {"concentration": 3.0},
        "power law as density": {"popularity_law": "density"},
    }
)
"""Variants of the choices that the paper leaves open, to see how much the figure depends on them."""
