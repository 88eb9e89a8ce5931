"""Simulated user-item data with known clusters.

The recipe is that of Steck, Ekanadham and Kallus (2024), Section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    as_count,
    as_generator,
    as_list,
    as_numbers,
    frozen,
    is_integer,
    is_number,
    require_one_of,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.progress import track
from embaudit.core.sizes import MOST_COUNT
from embaudit.errors import must_be

if TYPE_CHECKING:
    from scipy.sparse import csr_array


PopularityLaw = Literal["zipf", "density"]
_ROUNDS = 3
"""Rounds of draws with replacement. A race over all items finds the missing ones."""
_DENSE_SHARE = 1 / 8
"""Share of all items above which a user's items are found by the race alone.

Most of the draws with replacement would repeat.
"""


@dataclass(frozen=True)
class SimulationParameters:
    """The choices behind a simulated data set; see `simulate_interactions`."""

    n_users: int
    n_items: int
    n_clusters: int
    cluster_weights: tuple[float, ...]
    exponent_range: tuple[float, float]
    popularity_law: PopularityLaw
    concentration: float
    activity_exponent: float
    min_items: int
    max_items: int

    def __post_init__(self) -> None:
        self._check_clusters()
        self._check_activity()

    def _check_clusters(self) -> None:
        """Raise InputError if a weight, an exponent or a law is out of range."""
        weights = as_numbers(self.cluster_weights, "cluster_weights")
        are_positive = np.isfinite(weights).all() and (weights > 0).all()
        if weights.shape != (self.n_clusters,) or not are_positive:
            allowed = f"{self.n_clusters} positive numbers, one for each cluster"
            raise must_be("cluster_weights", allowed, self.cluster_weights)
        ends = as_numbers(self.exponent_range, "exponent_range")
        if ends.shape != (2,) or not 0 <= ends[0] <= ends[1] < np.inf:
            raise must_be(
                "exponent_range",
                "two numbers with 0 <= low <= high",
                self.exponent_range,
            )
        require_one_of(self.popularity_law, "popularity_law", ("zipf", "density"))
        if not is_number(self.concentration) or self.concentration <= 0:
            raise must_be(
                "concentration",
                "a number > 0",
                repr(self.concentration),
                "1 draws preferences uniformly",
            )

    def _check_activity(self) -> None:
        if not is_number(self.activity_exponent) or self.activity_exponent < 0:
            raise must_be(
                "activity_exponent", "a number >= 0", repr(self.activity_exponent)
            )
        if not is_integer(self.min_items) or not 1 <= self.min_items <= self.n_items:
            raise must_be(
                "min_items",
                f"a whole number in 1..{self.n_items} (n_items)",
                self.min_items,
            )
        if (
            not is_integer(self.max_items)
            or not self.min_items <= self.max_items <= self.n_items
        ):
            raise must_be(
                "max_items",
                f"a whole number in {self.min_items}..{self.n_items} (min_items to "
                "n_items)",
                self.max_items,
            )


@dataclass(frozen=True)
class SimulatedInteractions:
    """A simulated data set together with the truth it was drawn from.

    Examples
    --------
    >>> import embaudit as ea
    >>> data = ea.simulate_interactions(300, 40, 3, rng=1)
    >>> data
    SimulatedInteractions(300 users, 40 items, 3 clusters, 4762 pairs)
    >>> data.matrix.shape, data.preferences.shape
    ((300, 40), (300, 3))
    """

    matrix: csr_array[Any]
    """(n, p) binary float64 with sorted indices; `min_items` or more items per user."""
    clusters: NDArray[np.int64]
    """(p,) cluster of each item."""
    popularity: Floats
    """(p,) baseline popularity of each item; the items of a cluster sum to 1."""
    exponents: Floats
    """(C,) power-law exponent of the popularities in each cluster."""
    preferences: Floats
    """(n, C) how much each user likes each cluster; rows sum to 1."""
    parameters: SimulationParameters
    """The choices behind the data."""
    seed: int | None
    """The seed, or None if a generator was given."""

    def __repr__(self) -> str:
        n_users, n_items = self.matrix.shape
        return (
            f"SimulatedInteractions({n_users} users, {n_items} items, "
            f"{len(self.exponents)} clusters, {self.matrix.nnz} pairs)"
        )


def simulate_interactions(
    n_users: int = 20_000,
    n_items: int = 1_000,
    n_clusters: int = 5,
    *,
    cluster_weights: Sequence[float] | None = None,
    exponent_range: tuple[float, float] = (0.25, 1.5),
    popularity_law: PopularityLaw = "zipf",
    concentration: float = 1.0,
    activity_exponent: float = 0.5,
    min_items: int = 1,
    max_items: int | None = None,
    rng: RNG = 0,
) -> SimulatedInteractions:
    """Draw a binary user-item matrix with known clusters of power-law popularity.

    Item i falls into cluster c_i at random, and has the baseline popularity
    p_i ~ PowerLaw(β_c) with one exponent β_c ~ Uniform(0.25, 1.5) per cluster; the
    popularities of a cluster sum to 1. User u prefers the clusters by a random
    distribution p_uc, takes k_u ~ PowerLaw(0.5) items, and draws them one after the
    other without replacement, with probabilities proportional to `p_{u,c_i} · p_i`.

    The sizes, the two ranges of exponents and the sampling scheme are those of the
    paper. It does not specify the other parameters, whose defaults are choices of this
    library.

    Parameters
    ----------
    n_users, n_items, n_clusters : int
        Size of the data; the defaults are those of the paper.
    cluster_weights : sequence of n_clusters floats, optional
        Relative probability that an item falls into each cluster (not in the paper;
        equal by default).
    exponent_range : (float, float)
        β_c is uniform in this interval (by default that of the paper).
    popularity_law : {"zipf", "density"}
        Meaning of PowerLaw(β) for popularities (not in the paper): ``"zipf"`` gives the
        item of rank r within its cluster r^-β; ``"density"`` draws from the density
        ∝ x^-β on [1/n_items, 1].
    concentration : float
        p_uc is Dirichlet with this concentration for each cluster (not in the paper).
        Below 1 users specialise, above 1 they become alike.
    activity_exponent : float
        A user takes k items with a probability ∝ k^-activity_exponent (0.5 in the
        paper).
    min_items, max_items : int
        Fewest and most items k that a user takes (not in the paper; by default 1 and
        min(1000, n_items)).
    rng : numpy.random.Generator, int or None
        Source of randomness; the same integer gives the same data.

    Returns
    -------
    SimulatedInteractions
        The CSR matrix, and the clusters, popularities, exponents and preferences from
        which it was drawn.

    Raises
    ------
    InputError
        If a size, weight, exponent or range is outside what its description allows.

    Notes
    -----
    There are two ways to draw without replacement: drawing with replacement and
    skipping repeats, or a race, in which independent exponential clocks with rates p_ui
    run and the k_u items whose clocks ring first are kept (Gumbel-top-k, in
    logarithms). Users who take few items use the first way, the others the second. A
    user who lacks items after a few rounds of the first way continues with a race among
    the remaining items. This is correct because the next new item depends on the past
    only through the set of items already taken. In addition to the result, memory is a
    few blocks of 32 MiB whatever the sizes.

    References
    ----------
    Steck, Ekanadham, Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", WWW'24 Companion, arXiv 2403.05440, Section 4.

    Examples
    --------
    >>> data = simulate_interactions(300, 40, 3, rng=1)
    >>> data.matrix.shape, data.clusters.shape, data.exponents.round(2)
    ((300, 40), (40,), array([0.89, 1.44, 0.43]))
    """
    as_count(n_users, "n_users", most=MOST_COUNT)
    as_count(n_items, "n_items", most=MOST_COUNT)
    as_count(n_clusters, "n_clusters", most=MOST_COUNT)
    if cluster_weights is None:
        cluster_weights = [1.0] * n_clusters
    if max_items is None:
        max_items = min(1000, n_items)
    parameters = SimulationParameters(
        n_users,
        n_items,
        n_clusters,
        tuple(as_list(cluster_weights, "cluster_weights", "[1, 2]")),
        exponent_range,
        popularity_law,
        concentration,
        activity_exponent,
        min_items,
        max_items,
    )
    generator = as_generator(rng)
    exponents = generator.uniform(*exponent_range, n_clusters)
    weights = np.asarray(parameters.cluster_weights, dtype=np.float64)
    clusters = generator.choice(n_clusters, size=n_items, p=weights / weights.sum())
    popularity = _popularities(generator, clusters, exponents, popularity_law)
    log_preferences = _log_dirichlet(generator, n_users, n_clusters, concentration)
    counts = _activity(generator, parameters)
    sampler = _Sampler(clusters, popularity, n_clusters)
    return SimulatedInteractions(
        matrix=_draw_rows(generator, sampler, log_preferences, counts),
        clusters=frozen(clusters),
        popularity=frozen(popularity),
        exponents=frozen(exponents),
        preferences=frozen(np.exp(log_preferences)),
        parameters=parameters,
        seed=int(rng) if is_integer(rng) else None,
    )


def _popularities(
    rng: np.random.Generator,
    clusters: NDArray[np.int64],
    exponents: Floats,
    law: PopularityLaw,
) -> Floats:
    """Draw the popularities of all items; those of a cluster sum to 1."""
    popularity = np.empty(len(clusters))
    for cluster, exponent in enumerate(exponents):
        items = np.flatnonzero(clusters == cluster)
        if law == "zipf":
            ranks = 1.0 + rng.permutation(len(items))
            drawn = ranks**-exponent
        else:
            drawn = _power_density(rng.random(len(items)), exponent, 1 / len(clusters))
        popularity[items] = drawn / drawn.sum()
    return popularity


def _power_density(uniform: Floats, exponent: float, lowest: float) -> Floats:
    """Turn uniform numbers into draws of the density ∝ x^-exponent on [lowest, 1].

    They are `F⁻¹(uniform)` for the distribution `F(x) = (x^(1−β) − a)/(1 − a)` with
    `a = lowest^(1−β)`; at β = 1, F is logarithmic.
    """
    if abs(exponent - 1) < 1e-9:
        return np.asarray(lowest ** (1 - uniform))
    a = lowest ** (1 - exponent)
    return np.asarray((a + uniform * (1 - a)) ** (1 / (1 - exponent)))


def _log_dirichlet(
    rng: np.random.Generator, n: int, n_clusters: int, concentration: float
) -> Floats:
    """Draw the logarithms of symmetric Dirichlet rows.

    A row is a row of Gamma(a) variates divided by its sum. The variates come from
    Gamma(a) = Gamma(a + 1) · U^(1/a) in logarithms, because they would underflow for a
    small concentration a.
    """
    logs = np.log(rng.gamma(concentration + 1, size=(n, n_clusters)))
    logs -= rng.standard_exponential(size=(n, n_clusters)) / concentration
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return np.asarray(logs)


def _activity(
    rng: np.random.Generator, parameters: SimulationParameters
) -> NDArray[np.int64]:
    """Draw the number of items of each user."""
    numbers = np.arange(parameters.min_items, parameters.max_items + 1)
    weights = numbers ** -float(parameters.activity_exponent)
    return rng.choice(numbers, size=parameters.n_users, p=weights / weights.sum())


class _Sampler:
    """Draws items with the rates `p_{u,c_i} · p_i`, by a race or with replacement."""

    def __init__(
        self, clusters: NDArray[np.int64], popularity: Floats, n_clusters: int
    ) -> None:
        self.clusters = clusters
        self.log_popularity = np.log(popularity)
        self.n_items = len(clusters)
        self.by_cluster = np.argsort(clusters, kind="stable")
        self.bounds = np.searchsorted(
            clusters[self.by_cluster], np.arange(n_clusters + 1)
        )
        self.mass = np.bincount(clusters, weights=popularity, minlength=n_clusters)
        sorted_popularity = popularity[self.by_cluster]
        self.table = np.empty(self.n_items)
        for cluster in range(n_clusters):
            members = slice(self.bounds[cluster], self.bounds[cluster + 1])
            # Cluster c has the interval [c, c + 1), so one search serves all clusters.
            # A cluster without items has no members.
            cumulated = np.cumsum(sorted_popularity[members])
            self.table[members] = cluster + cumulated / max(self.mass[cluster], 1e-300)

    def race(self, rng: np.random.Generator, log_preferences: Floats) -> Floats:
        """Draw when the clock of each item rings for each user, in logarithms.

        The first k of independent exponential clocks are a draw of k items without
        replacement, with probabilities proportional to their rates.
        """
        clocks = rng.standard_exponential((len(log_preferences), self.n_items))
        with np.errstate(divide="ignore"):
            times: Floats = np.log(clocks)
        times -= log_preferences[:, self.clusters]
        times -= self.log_popularity
        return times

    def draw(
        self,
        rng: np.random.Generator,
        log_preferences: Floats,
        users: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Draw an item with replacement for each entry of `users`.

        The cluster is drawn first, with the user's preference times the popularity of
        all its items as weight, and then one of its items by popularity.
        """
        with np.errstate(divide="ignore"):
            weights = log_preferences + np.log(self.mass)
        weights = np.exp(weights - weights.max(axis=1, keepdims=True))
        edges = np.cumsum(weights, axis=1)
        edges /= edges[:, -1:]
        uniform = rng.random(len(users))
        cluster = np.zeros(len(users), dtype=np.int64)
        for column in edges[:, :-1].T:
            cluster += uniform >= column[users]
        position = np.searchsorted(
            self.table, cluster + rng.random(len(users)), side="right"
        )
        # If the last cumulative sum is rounded down, a position can be one too far.
        first, last = self.bounds[cluster], self.bounds[cluster + 1] - 1
        return self.by_cluster[np.clip(position, first, last)]


def _draw_rows(
    rng: np.random.Generator,
    sampler: _Sampler,
    log_preferences: Floats,
    counts: NDArray[np.int64],
) -> csr_array[Any]:
    """Draw the items of all users, one block of users at a time."""
    from scipy.sparse import csr_array

    # The number of items of each user is known, so rows are written where they belong.
    indptr = np.concatenate([[0], np.cumsum(counts)])
    fits_32_bits = indptr[-1] <= np.iinfo(np.int32).max
    indices = np.empty(indptr[-1], dtype=np.int32 if fits_32_bits else np.int64)
    blocks = list(row_blocks(len(counts), 4 * int(counts.max())))
    for rows in track(blocks, "simulating users", len(blocks)):
        indices[indptr[rows.start] : indptr[rows.stop]] = _block(
            rng, sampler, log_preferences[rows], counts[rows]
        )
    matrix = csr_array(
        (np.ones(len(indices)), indices, indptr.astype(indices.dtype)),
        shape=(len(counts), sampler.n_items),
    )
    matrix.has_sorted_indices = True
    return matrix


def _block(
    rng: np.random.Generator,
    sampler: _Sampler,
    log_preferences: Floats,
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Draw the items of a block of users, sorted by user and by item."""
    takes_large_share = counts > _DENSE_SHARE * sampler.n_items
    keys = _draw_with_replacement(
        rng, sampler, log_preferences, np.where(takes_large_share, 0, counts)
    )
    owners = keys // sampler.n_items
    lacking = np.flatnonzero(counts > np.bincount(owners, minlength=len(counts)))
    drawn = [keys]
    for block in row_blocks(len(lacking), sampler.n_items):
        users = lacking[block]
        times = sampler.race(rng, log_preferences[users])
        # Items drawn before do not take part in the race.
        places = np.searchsorted(users, owners)
        in_block = users[np.minimum(places, len(users) - 1)] == owners
        places = places[in_block]
        times[places, keys[in_block] % sampler.n_items] = np.inf
        n_missing = counts[users] - np.bincount(places, minlength=len(users))
        for user, user_times, n in zip(users, times, n_missing, strict=True):
            first_items = np.argpartition(user_times, n - 1)[:n]
            drawn.append(user * sampler.n_items + first_items)
    return np.sort(np.concatenate(drawn)) % sampler.n_items


def _draw_with_replacement(
    rng: np.random.Generator,
    sampler: _Sampler,
    log_preferences: Floats,
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Draw items with replacement, skip repeats, and keep the first `counts` per user.

    Returns
    -------
    array of int
        A key `user · n_items + item` for each item. Some users can lack items.
    """
    keys = np.empty(0, dtype=np.int64)
    n_missing = counts
    for _ in range(_ROUNDS):
        # Draw half as many again as are missing, because some will repeat.
        users = np.repeat(np.arange(len(counts)), n_missing + n_missing // 2)
        if len(users) == 0:
            break
        drawn = users * sampler.n_items + sampler.draw(rng, log_preferences, users)
        keys = _first_distinct(np.concatenate([keys, drawn]), sampler.n_items, counts)
        owners = keys // sampler.n_items
        n_missing = counts - np.bincount(owners, minlength=len(counts))
    return keys


def _first_distinct(
    keys: NDArray[np.int64], n_items: int, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Keep the first `counts[user]` distinct keys of each user, in order of drawing."""
    # Distinct keys are sorted by user. `first` is the draw in which a key came first.
    distinct, first = np.unique(keys, return_index=True)
    users = distinct // n_items
    by_draw = np.lexsort((first, users))
    starts = np.searchsorted(users, np.arange(len(counts)))
    ranks = np.arange(len(users)) - starts[users]
    return distinct[by_draw][ranks < counts[users]]
