"""The sizes of the Netflix figure, and the numbers an independent run of its recipe gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from embaudit.errors import must_be
from embaudit.simulate import PopularityLaw, SimulatedInteractions, simulate_interactions


@dataclass(frozen=True)
class NetflixSetting:
    """Size of the data, weights of the penalties, and the choices the paper leaves open."""

    n_users: int = 20_000
    n_items: int = 1_000
    n_clusters: int = 5
    alpha_product: float = 10_000.0
    """Weight of `‖A Bᵀ‖²` in Eq. 1."""
    alpha_factors: float = 100.0
    """Weight of `‖X A‖² + ‖B‖²` in Eq. 2."""
    rank: int = 50
    max_share: float = 0.4
    """Nobody takes more than this share of the catalogue (not in the paper)."""
    concentration: float = 1.0
    """Of the users' preferences (not in the paper)."""
    popularity_law: PopularityLaw = "zipf"
    """What a power law of popularities means (not in the paper)."""

    def simulate(self, seed: int) -> SimulatedInteractions:
        """Draw the data of one seed."""
        if not 0 < self.max_share <= 1:
            raise must_be("max_share", "a share above 0 and at most 1", self.max_share)
        return simulate_interactions(
            self.n_users,
            self.n_items,
            self.n_clusters,
            popularity_law=self.popularity_law,
            concentration=self.concentration,
            max_items=max(1, round(self.max_share * self.n_items)),
            rng=seed,
        )


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

REFERENCE: Mapping[tuple[str, str], tuple[float, float]] = MappingProxyType(
    {
        ("g^1/2", "within_mean"): (0.11, 0.45),
        ("g^1/2", "between_mean"): (0.0, 0.0),
        ("g^1/2", "auc"): (0.67, 0.92),
        ("identity", "within_mean"): (0.28, 0.65),
        ("identity", "between_mean"): (0.0, 0.03),
        ("identity", "auc"): (0.91, 0.995),
        ("identity", "overlap_with_first"): (0.57, 0.82),
        ("g^-1/2", "within_mean"): (0.54, 0.87),
        ("g^-1/2", "between_mean"): (0.005, 0.09),
        ("g^-1/2", "auc"): (0.985, 1.0),
        ("g^-1/2", "overlap_with_first"): (0.57, 0.82),
        ("sigma^-1/2", "within_mean"): (0.80, 0.90),
        ("sigma^-1/2", "between_mean"): (0.09, 0.42),
        ("sigma^-1/2", "auc"): (0.988, 1.0),
        ("sigma^-1/2", "overlap_with_first"): (0.57, 0.82),
        ("Eq. 2", "within_mean"): (0.97, 0.999),
        ("Eq. 2", "between_mean"): (0.16, 0.57),
        ("Eq. 2", "auc"): (0.993, 1.0),
        ("Eq. 2", "overlap_with_first"): (0.05, 0.13),
        ("Eq. 2", "effective_rank"): (4, 6),
    }
)
"""Orders of magnitude of an independent run of the recipe at the paper's size (five settings, two seeds each)."""
REFERENCE_ROUNDING = 0.005
"""They are given to two decimals."""

CHOICES: Mapping[str, Mapping[str, float | str]] = MappingProxyType(
    {
        "at most 20 % of the items": {"max_share": 0.2},
        "up to all items": {"max_share": 1.0},
        "preferences concentrated (0.3)": {"concentration": 0.3},
        "preferences alike (3)": {"concentration": 3.0},
        "power law as density": {"popularity_law": "density"},
    }
)
"""Other answers to what the paper leaves open, to see how much of the figure hangs on them."""


def as_setting(size: str | NetflixSetting) -> NetflixSetting:
    """Look a size up by its name.

    Examples
    --------
    >>> as_setting("paper").n_users
    20000
    """
    if isinstance(size, NetflixSetting):
        return size
    if size not in SIZES:
        raise must_be("size", "one of " + ", ".join(repr(name) for name in SIZES), repr(size))
    return SIZES[size]
