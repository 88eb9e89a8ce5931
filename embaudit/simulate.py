"""Clustered user-item data with known clusters: the recipe of Steck, Ekanadham and Kallus (2024), Section 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    MOST_COUNT,
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
from embaudit.errors import must_be

if TYPE_CHECKING:
    from scipy.sparse import csr_array


PopularityLaw = Literal["zipf", "density"]
_ROUNDS = 3
"""Rounds of drawing with replacement before the items still missing are found by a race over all items."""
_DENSE_SHARE = 8
"""A user who takes more than one item in this many goes straight to the race: most draws would repeat."""


@dataclass(frozen=True)
class SimulationParameters:
    """Every choice behind a simulated data set, checked when built; see `simulate_interactions`."""

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
        """Refuse weights, exponents and laws out of range."""
        weights = as_numbers(self.cluster_weights, "cluster_weights")
        if weights.shape != (self.n_clusters,) or not (
            np.isfinite(weights).all() and (weights > 0).all()
        ):
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
            allowed = f"a whole number in {self.min_items}..{self.n_items} (min_items to n_items)"
            raise must_be("max_items", allowed, self.max_items)


@dataclass(frozen=True)
class SimulatedInteractions:
    """A simulated data set together with the truth it was drawn from."""

    matrix: csr_array[Any]
    """(n, p) binary float64, sorted indices; every user has at least `min_items` items."""
    clusters: NDArray[np.int64]
    """(p,) the cluster of every item."""
    popularity: Floats
    """(p,) baseline popularity of every item, a distribution over each cluster: its items sum to one."""
    exponents: Floats
    """(C,) power-law exponent of the popularities in every cluster."""
    preferences: Floats
    """(n, C) how much every user likes every cluster; rows sum to one."""
    parameters: SimulationParameters
    """The choices it was drawn with."""
    seed: int | None
    """The seed, where one was given; None when a generator was."""

    def __repr__(self) -> str:
        n, p = self.matrix.shape
        return f"SimulatedInteractions({n} users, {p} items, {len(self.exponents)} clusters, {self.matrix.nnz} pairs)"


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
    """Draw a binary user-item matrix whose items form known clusters of power-law popularity.

    Item i falls into cluster c_i at random, and has the baseline popularity p_i ~ PowerLaw(β_c) with one
    exponent β_c ~ Uniform(0.25, 1.5) for each cluster; over a cluster they sum to one. User u prefers the
    clusters by a random distribution p_uc, takes k_u ~ PowerLaw(0.5) items, and draws them one after the
    other without replacement with probabilities proportional to `p_{u,c_i} · p_i`.

    The sizes, the two ranges of exponents and the sampling scheme are the paper's. It leaves open what the
    other parameters decide; their defaults are choices of this library, not of the paper.

    Parameters
    ----------
    n_users, n_items, n_clusters : int
        Size of the data; the defaults are the paper's.
    cluster_weights : sequence of n_clusters floats, optional
        Relative probability of each cluster to receive an item (not in the paper; equal by default).
    exponent_range : (float, float)
        β_c is uniform in this interval (the paper's by default).
    popularity_law : {"zipf", "density"}
        What PowerLaw(β) means for popularities (not in the paper): ``"zipf"`` gives the item of rank r within
        its cluster r^-β; ``"density"`` draws from the density ∝ x^-β on [1/n_items, 1].
    concentration : float
        p_uc is Dirichlet with this concentration for every cluster (not in the paper). Below 1 users
        specialise, above 1 they become alike.
    activity_exponent : float
        P(k_u = k) ∝ k^-activity_exponent (0.5 in the paper) ...
    min_items, max_items : int
        ... for k in `min_items`..`max_items` (not in the paper; 1 to min(1000, n_items) by default).
    rng : numpy.random.Generator, int or None
        Source of randomness; the same integer gives the same data.

    Returns
    -------
    SimulatedInteractions
        The CSR matrix and the clusters, popularities, exponents and preferences it was drawn from.

    Raises
    ------
    InputError
        If a size, weight, exponent or range is outside what its description allows.

    Notes
    -----
    Drawing with replacement and skipping repeats is the same as drawing without replacement, and so is
    keeping the k_u first of independent exponential clocks with rates p_ui (Gumbel-top-k, in logarithms).
    Users who take few items are served the first way, the others the second; whoever is still short after a
    few rounds continues with the second among the items left, which changes nothing because the next new
    item depends on the past only through what was already taken. Beyond the result, memory is a few blocks
    of 32 MiB whatever the sizes.

    References
    ----------
    Steck, Ekanadham, Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", WWW'24
    Companion, arXiv 2403.05440, Section 4.

    Examples
    --------
    >>> data = simulate_interactions(300, 40, 3, rng=1)
    >>> data.matrix.shape, data.clusters.shape, data.exponents.round(2)
    ((300, 40), (40,), array([0.89, 1.44, 0.43]))
    """
    for name, count in (
        ("n_users", n_users),
        ("n_items", n_items),
        ("n_clusters", n_clusters),
    ):
        as_count(count, name, most=MOST_COUNT)
    chances = (
        (1.0,) * n_clusters
        if cluster_weights is None
        else as_list(cluster_weights, "cluster_weights", "[1, 2]")
    )
    parameters = SimulationParameters(
        n_users,
        n_items,
        n_clusters,
        tuple(chances),
        exponent_range,
        popularity_law,
        concentration,
        activity_exponent,
        min_items,
        min(1000, n_items) if max_items is None else max_items,
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
        seed=int(rng) if isinstance(rng, int | np.integer) else None,
    )


def _popularities(
    rng: np.random.Generator,
    clusters: NDArray[np.int64],
    exponents: Floats,
    law: PopularityLaw,
) -> Floats:
    """Draw the popularity of each item by the law of its cluster, with sum 1 in each."""
    # "zipf": ranks 1 … n within the cluster, in random order. "density": independent draws. Either way they sum to 1.
    popularity = np.empty(len(clusters))
    for cluster, exponent in enumerate(exponents):
        items = np.flatnonzero(clusters == cluster)
        if law == "zipf":
            popularity[items] = (1.0 + rng.permutation(len(items))) ** -exponent
        else:
            popularity[items] = _power_density(
                rng.random(len(items)), exponent, 1 / len(clusters)
            )
        popularity[items] /= popularity[items].sum()
    return popularity


def _power_density(uniform: Floats, exponent: float, lowest: float) -> Floats:
    """Turn uniform numbers into draws of the density ∝ x^-exponent on [lowest, 1] by the inverse distribution."""
    if abs(exponent - 1) < 1e-9:
        return np.asarray(lowest ** (1 - uniform))
    # The inverse of F(x) = (x^(1−β) − ends)/(1 − ends); at β = 1 F is logarithmic.
    ends = lowest ** (1 - exponent)
    return np.asarray((ends + uniform * (1 - ends)) ** (1 / (1 - exponent)))


def _log_dirichlet(
    rng: np.random.Generator, n: int, n_clusters: int, concentration: float
) -> Floats:
    """Draw symmetric Dirichlet rows as logarithms, where small concentrations do not underflow to zero."""
    # Gamma(a) = Gamma(a + 1) · U^(1/a); rows of such variates, divided by their sums, all in logarithms.
    logs = np.log(rng.gamma(concentration + 1, size=(n, n_clusters)))
    logs -= rng.standard_exponential(size=(n, n_clusters)) / concentration
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return np.asarray(logs)


def _activity(
    rng: np.random.Generator, parameters: SimulationParameters
) -> NDArray[np.int64]:
    support = np.arange(parameters.min_items, parameters.max_items + 1)
    mass = support ** -float(parameters.activity_exponent)
    return rng.choice(support, size=parameters.n_users, p=mass / mass.sum())


class _Sampler:
    """The weights p_{u,c}·p_i, ready for a race over all items and for draws cluster by cluster."""

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
            # Cluster c owns the interval [c, c + 1), so that one search serves all clusters.
            self.table[members] = cluster + np.cumsum(sorted_popularity[members]) / max(
                self.mass[cluster], 1e-300
            )

    def race(self, rng: np.random.Generator, log_preferences: Floats) -> Floats:
        """Arrival times, in logarithms, of every item for every user: independent clocks with rates p_ui."""
        # The k first of independent exponential clocks are a draw of k without replacement by their rates.
        with np.errstate(divide="ignore"):
            times: Floats = np.log(
                rng.standard_exponential((len(log_preferences), self.n_items))
            )
        times -= log_preferences[:, self.clusters]
        times -= self.log_popularity
        return times

    def draw(
        self,
        rng: np.random.Generator,
        log_preferences: Floats,
        users: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """One item, with replacement, for every entry of `users`."""
        # First the cluster, by what the user prefers times what its items weigh, then an item by its popularity.
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
        # Rounding of the last cumulative sum may point one past the cluster.
        return self.by_cluster[
            np.clip(position, self.bounds[cluster], self.bounds[cluster + 1] - 1)
        ]


def _draw_rows(
    rng: np.random.Generator,
    sampler: _Sampler,
    log_preferences: Floats,
    counts: NDArray[np.int64],
) -> csr_array[Any]:
    """Draw the items of every user, a block of users at a time."""
    from scipy.sparse import csr_array

    # The number of items of each user is known, so that rows are written where they belong; in 32 bits where they fit.
    indptr = np.concatenate([[0], np.cumsum(counts)])
    wide = indptr[-1] > np.iinfo(np.int32).max
    indices = np.empty(indptr[-1], dtype=np.int64 if wide else np.int32)
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
    """Items of every user of a block, one user after the other, sorted within each."""
    # Users who take a large share go straight to the race; so do those whom a few rounds leave short.
    keys = _few(
        rng,
        sampler,
        log_preferences,
        np.where(counts * _DENSE_SHARE > sampler.n_items, 0, counts),
    )
    users = keys // sampler.n_items
    short = np.flatnonzero(counts > np.bincount(users, minlength=len(counts)))
    drawn = [keys]
    for block in row_blocks(len(short), sampler.n_items):
        who = short[block]
        times = sampler.race(rng, log_preferences[who])
        at = np.searchsorted(who, users)
        mine = (at < len(who)) & (who[np.minimum(at, len(who) - 1)] == users)
        # Items drawn already are out of the race.
        times[at[mine], keys[mine] % sampler.n_items] = np.inf
        missing = counts[who] - np.bincount(at[mine], minlength=len(who))
        drawn += [
            user * sampler.n_items + np.argpartition(row, count - 1)[:count]
            for user, row, count in zip(who, times, missing, strict=True)
        ]
    return np.sort(np.concatenate(drawn)) % sampler.n_items


def _few(
    rng: np.random.Generator,
    sampler: _Sampler,
    log_preferences: Floats,
    counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Draw with replacement, skip repeats, keep the first `counts`: keys `user · n_items + item`, some users short."""
    keys = np.empty(0, dtype=np.int64)
    missing = counts
    for _ in range(_ROUNDS):
        # Half as many again as are missing: some will repeat.
        users = np.repeat(np.arange(len(counts)), missing + missing // 2)
        if not len(users):
            break
        drawn = users * sampler.n_items + sampler.draw(rng, log_preferences, users)
        keys = _first_distinct(np.concatenate([keys, drawn]), sampler.n_items, counts)
        missing = counts - np.bincount(keys // sampler.n_items, minlength=len(counts))
    return keys


def _first_distinct(
    keys: NDArray[np.int64], n_items: int, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Keep the first `counts[user]` distinct keys of every user, in the order in which they were drawn."""
    # Keys sort by user; `first` is the draw in which each item came first, and its rank decides whether it is kept.
    distinct, first = np.unique(keys, return_index=True)
    users = distinct // n_items
    by_draw = np.lexsort((first, users))
    rank = np.arange(len(users)) - np.searchsorted(users, np.arange(len(counts)))[users]
    return distinct[by_draw][rank < counts[users]]
