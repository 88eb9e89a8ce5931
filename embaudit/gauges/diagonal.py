"""Diagonal gauges: one scale per latent dimension, D in the Netflix paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.constraint import Constraint
from embaudit.gauges.draws import random_scales
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup

DIAGONAL = Constraint("diagonal", lambda gauge: gauge.is_diagonal, allows_scale=True)
"""M only scales the latent dimensions."""


@dataclass(frozen=True)
class Diagonal(GaugeGroup):
    """`P' = P D, Q' = Q D⁻¹` with `κ(D) <= max_condition`.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    max_condition : float, optional
        Bound on the largest scale over the smallest in absolute value, from 1 to 1e50;
        unbounded by default.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024, section 2.1.

    Examples
    --------
    >>> from embaudit.gauges import GeneralLinear
    >>> Diagonal(3, max_condition=2.0) <= Diagonal(3) <= GeneralLinear(3)
    True
    >>> round(Diagonal(3, max_condition=2.0).sample(rng=0).condition_number, 9)
    2.0
    """

    kind = "diagonal"
    title = "random rescalings"
    constraints = frozenset({DIAGONAL})
    # The weights of a bounded range are squares of the scales. Beyond this budget they
    # overflow float64.
    most_condition: ClassVar[float] = 1e50
    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw log-normal scales, stretched to use up the budget exactly."""
        scales = random_scales(self.rank, self.max_condition, as_generator(rng))
        return Gauge.diagonal(scales)
