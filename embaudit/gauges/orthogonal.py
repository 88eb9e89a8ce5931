"""Orthogonal gauges: rotations and reflections, which move no cosine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.constraint import ORTHOGONAL
from embaudit.gauges.draws import random_basis, random_rotation
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup
from embaudit.linalg.rows import WIDE


@dataclass(frozen=True)
class Orthogonal(GaugeGroup):
    """`P' = P R, Q' = Q R` with `R Rᵀ = I`.

    A rotation changes no cosine within a side, so these gauges are the reference in
    which nothing moves.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.

    Examples
    --------
    >>> Orthogonal(3).fixes_cosines
    True
    """

    kind = "orthogonal"
    title = "a rotation (control)"
    constraints = frozenset({ORTHOGONAL})
    rank: int
    max_condition = 1.0

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a rotation uniformly (Haar measure).

        Above 256 dimensions, draw the reflection `I - 2 W Wᵀ` that reverses 256 uniform
        orthonormal directions W.
        """
        draw = as_generator(rng)
        if self.rank > WIDE:
            reversal = -np.ones(WIDE)
            return Gauge(reversal, reversal, basis=random_basis(self.rank, draw))
        rotation = random_rotation(self.rank, draw)
        return Gauge(rotation, rotation)
