"""Orthogonal gauges: rotations and reflections, which no cosine can see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.gauge import Gauge, require_rank
from embaudit.gauges.group import GaugeGroup, random_rotation
from embaudit.linalg.structured import WIDE, StructuredLinearMap, StructuredRotation
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Linear


@dataclass(frozen=True)
class Orthogonal(GaugeGroup):
    """`P' = P R, Q' = Q R` with `R Rᵀ = I`.

    Examples
    --------
    >>> Orthogonal(3).fixes_cosines
    True
    """

    kind = "orthogonal"
    title = "a rotation (control)"
    rank: int

    def __post_init__(self) -> None:
        require_rank(self.rank)

    @property
    def preserves(self) -> Equivalence:
        """Scores and all cosines."""
        return Equivalence.COSINES

    @property
    def fixes_cosines(self) -> bool:
        """Always."""
        return True

    @property
    def fixes_lengths(self) -> bool:
        """Always."""
        return True

    @property
    def is_group(self) -> bool:
        """Always."""
        return True

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw uniformly (Haar measure); above 256 dimensions a `StructuredRotation`, which is not quite uniform."""
        if self.rank > WIDE:
            turn = StructuredLinearMap(
                np.ones(self.rank),
                StructuredRotation.sample(self.rank, as_generator(rng)),
            )
            return Gauge(turn, turn)
        rotation = random_rotation(self.rank, as_generator(rng))
        return Gauge(rotation, rotation)

    def contains(self, gauge: Gauge) -> bool:
        """Check that `M Mᵀ = I` within rounding and nothing is shifted."""
        return (
            gauge.rank == self.rank
            and not (gauge.shifts_left or gauge.shifts_right)
            and gauge.linear_kind <= Linear.ROTATION
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Check for the orthogonal group itself."""
        return isinstance(other, Orthogonal)
