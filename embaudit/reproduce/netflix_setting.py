"""The sizes of the Netflix figure, and the numbers an independent run of its recipe gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import as_count, is_number
from embaudit.reproduce.netflix_data import OwnInteractions, read_own
from embaudit.simulate import PopularityLaw, SimulatedInteractions, simulate_interactions

SIMULATED = ("n_clusters", "cluster_weights", "max_share", "concentration", "popularity_law")
OWN = ("data", "truth", "user", "item", "id")
"""Fields that take part only where data are simulated, and only where they are read."""

MOST_ITEMS = 5_000
"""The figure shows, and holds, a cosine of every two."""


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
    """Of data of one's own at most so many, the most active."""
    n_items: int = 1_000
    """Of data of one's own at most so many, the most popular."""
    n_clusters: int = 5
    alpha_product: float = 10_000.0
    """Weight λ of `‖A Bᵀ‖²` in Eq. 1."""
    alpha_factors: float = 100.0
    """Weight λ of `‖X A‖² + ‖B‖²` in Eq. 2."""
    rank: int = 50
    max_share: float = 0.4
    """Nobody takes more than this share of the catalogue (not in the paper)."""
    concentration: float = 1.0
    """Of the users' preferences (not in the paper)."""
    popularity_law: PopularityLaw = "zipf"
    """What a power law of popularities means (not in the paper)."""
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
        as_count(self.n_users, "n_users (--users)", least=2)
        as_count(self.n_items, "n_items (--items)", least=2, most=MOST_ITEMS)
        for name, flag in (("alpha_product", "--lambda1"), ("alpha_factors", "--lambda2")):
            value = getattr(self, name)
            if not (is_number(value) and value > 0):
                raise must_be(f"{name} ({flag})", "a finite number > 0", value)
        if not 0 < self.max_share <= 1:
            raise must_be("max_share", "a share above 0 and at most 1", self.max_share)
        if (self.data is None) != (self.truth is None):
            raise InputError("data and truth (--data, --truth) must be given together: interactions, and clusters.")
        if self.data is not None and self.cluster_weights is not None:
            raise InputError("cluster_weights must be left out with data, whose clusters truth tells.")
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
        """Read the data, or draw those of one seed."""
        if self.data is None or self.truth is None:
            return self.simulate(seed)
        size = {"n_users": self.n_users, "n_items": self.n_items}
        found = read_own(self.data, self.truth, **size, user=self.user, item=self.item, id=self.id)
        self.require_rank(*found.matrix.shape)
        return found

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

_OVERLAP = {"overlap_with_first": (0.57, 0.82)}
REFERENCE: Mapping[str, Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "g^1/2": {"within_mean": (0.11, 0.45), "between_mean": (0.0, 0.0), "auc": (0.67, 0.92)},
        "identity": {"within_mean": (0.28, 0.65), "between_mean": (0.0, 0.03), "auc": (0.91, 0.995), **_OVERLAP},
        "g^-1/2": {"within_mean": (0.54, 0.87), "between_mean": (0.005, 0.09), "auc": (0.985, 1.0), **_OVERLAP},
        "sigma^-1/2": {"within_mean": (0.80, 0.90), "between_mean": (0.09, 0.42), "auc": (0.988, 1.0), **_OVERLAP},
        "Eq. 2": {
            "within_mean": (0.97, 0.999), "between_mean": (0.16, 0.57), "auc": (0.993, 1.0),
            "overlap_with_first": (0.05, 0.13), "effective_rank": (4, 6),
        },
    }
)  # fmt: skip
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
