"""Data and sizes of the Netflix figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from embaudit.core.checked import as_count, is_integer, is_number
from embaudit.errors import must_be
from embaudit.simulate import (
    PopularityLaw,
    SimulatedInteractions,
    simulate_interactions,
)

MOST_ITEMS = 5_000
"""Largest number of items, because the figure holds the cosines of all pairs."""


@dataclass(frozen=True)
class NetflixSetting:
    """Size of the data, penalties, and the choices that the paper leaves open.

    Raises
    ------
    InputError
        If a size or penalty is not above 0, or the rank is above the number of users or
        items.

    Examples
    --------
    >>> NetflixSetting(2_000, 200, 4, cluster_weights=(5, 3, 1, 1), rank=20).simulate(0)
    SimulatedInteractions(2000 users, 200 items, 4 clusters, ... pairs)
    >>> NetflixSetting(n_items=30, rank=50)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: rank must be from 1 to 30, the fewer of users and items;
    got 50.
    """

    n_users: int = 20_000
    """Number of users."""
    n_items: int = 1_000
    """Number of items."""
    n_clusters: int = 5
    """Number of clusters of items."""
    alpha_product: float = 10_000.0
    """Weight λ of `‖A Bᵀ‖²` in Eq. 1."""
    alpha_factors: float = 100.0
    """Weight λ of `‖X A‖² + ‖B‖²` in Eq. 2."""
    rank: int = 50
    """Number of latent dimensions k of every model."""
    max_share: float = 0.4
    """Largest share of the catalogue that a user takes (not in the paper)."""
    concentration: float = 1.0
    """Concentration of the users' preferences (not in the paper)."""
    popularity_law: PopularityLaw = "zipf"
    """Meaning of a power law of popularities (not in the paper)."""
    cluster_weights: tuple[float, ...] | None = None
    """Relative probability of each cluster to receive an item; equal by default (not in
    the paper)."""

    def __post_init__(self) -> None:
        """Check sizes, penalties and the rank."""
        as_count(self.n_users, "n_users", least=2)
        as_count(self.n_items, "n_items", least=2, most=MOST_ITEMS)
        _require_positive("alpha_product", self.alpha_product)
        _require_positive("alpha_factors", self.alpha_factors)
        if not (is_number(self.max_share) and 0 < self.max_share <= 1):
            allowed = "a share above 0 and at most 1"
            raise must_be("max_share", allowed, repr(self.max_share))
        most = min(self.n_users, self.n_items)
        if not (is_integer(self.rank) and 1 <= self.rank <= most):
            allowed = f"from 1 to {most:,}, the fewer of users and items"
            raise must_be("rank", allowed, self.rank)

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

    def to_dict(self) -> dict[str, Any]:
        """Return all fields."""
        return asdict(self)


def _require_positive(name: str, value: float) -> None:
    if not (is_number(value) and value > 0):
        raise must_be(name, "a finite number > 0", value)


PAPER = NetflixSetting()
SMALL = NetflixSetting(
    # As in the paper, α of Eq. 1 is the square of α of Eq. 2, and α of Eq. 2 lies
    # between the singular values of the clusters and those of the noise.
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
"""Other answers to what the paper leaves open.

They show how much the figure depends on these choices.
"""
