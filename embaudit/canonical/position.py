"""A model's place among its equivalents: the nearest exponent, and how far every canonical gauge is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.form import EXPONENTS, CanonicalForm
from embaudit.canonical.library_scaling import FactorScaling
from embaudit.core.checked import Vector
from embaudit.core.plain import record
from embaudit.core.results import Drawn
from embaudit.model import Link, SideName

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class HiddenBias:
    """A direction in which one side is constant: what the other side holds there is a bias."""

    role: SideName
    """The side that is constant."""
    column: int | None
    """Column number; None where it is a mixture of several, as after a rotation."""
    value: float
    """The constant; for a mixture, in units of its unit direction."""


@dataclass(frozen=True, eq=False)
class Position(Drawn):
    """Place of a model's factors among all equivalent ones."""

    roles: tuple[str, str]
    """Titles of the two sides, such as "user" and "item"."""
    link: Link
    """Link from scores to predictions."""
    exponent: float
    """The e in [0, 1] whose canonical gauge is nearest."""
    distance: float
    """ln κ of the gauge from there to the model: what no exponent explains."""
    distances: dict[str, float]
    """ln κ between the model and each canonical gauge, by name."""
    counted_distance: float | None
    """ln κ to the model that is balanced with every row weighted by its interactions; None without counts."""
    balancedness: Vector
    """(r,) eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, largest first; all equal where weight decay pinned the gauge."""
    singular_values: Vector
    """(r,) of the scores."""
    rank: int
    """Latent dimensions k of the factors."""
    resolution: float
    """Singular values up to here could not be told from zero."""
    habit: FactorScaling
    """Library's split that the factors look like."""
    hidden_biases: tuple[HiddenBias, ...]
    """Constant columns and directions found in the factors."""
    form: CanonicalForm
    """The canonical form of the model."""

    def __repr__(self) -> str:
        return (
            f"Position(exponent {self.exponent:.2f}, ln κ {self.distance:.3g} off, "
            f"effective rank {self.effective_rank} of {self.rank}, {self.habit})"
        )

    @property
    def effective_rank(self) -> int:
        """Number of directions that the predictions see."""
        return len(self.singular_values)

    @property
    def energy_rank(self) -> int:
        """Fewest directions that hold 99 % of the scores' sum of squares."""
        energy = np.cumsum(self.singular_values**2)
        return int(np.searchsorted(energy, 0.99 * energy[-1])) + 1

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each canonical gauge, and one for the nearest: exponent, and κ of the gauge to it."""
        import pandas as pd

        places = {name: (EXPONENTS[name], np.exp(d)) for name, d in self.distances.items()}
        places["nearest"] = (self.exponent, np.exp(self.distance))
        return pd.DataFrame.from_dict(places, orient="index", columns=["exponent", "condition"]).rename_axis("gauge")

    def explain(self) -> str:
        """Describe in plain words the place of the cosines, and the next step."""
        from embaudit.canonical.words import explain

        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them."""
        return record(
            self,
            *("exponent", "distance", "distances", "counted_distance", "balancedness", "singular_values", "rank"),
            *("effective_rank", "energy_rank", "resolution", "habit", "hidden_biases"),
            explanation=self.explain(),
        )
