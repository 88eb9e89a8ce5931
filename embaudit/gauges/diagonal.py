"""Diagonal gauges: one scale a latent dimension, the matrix D of the Netflix paper."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.equivalence import Equivalence
from embaudit.gauges.gauge import EPS, Gauge, require_rank
from embaudit.gauges.group import RNG, GaugeGroup, covers, require_budget, sample_spectrum, within_budget

MOST_CONDITION = 1e50
"""Beyond this the squares of the scales, the weights of a bounded range, leave float64."""


@dataclass(frozen=True)
class Diagonal(GaugeGroup):
    """`P' = P D, Q' = Q D⁻¹` with `κ(D) <= max_condition`.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    max_condition : float, optional
        Largest over smallest scale in absolute value, from 1 to 1e50; unbounded by default.

    Examples
    --------
    >>> from embaudit.gauges import GeneralLinear
    >>> Diagonal(3, max_condition=2.0) <= Diagonal(3) <= GeneralLinear(3)
    True
    >>> round(Diagonal(3, max_condition=2.0).sample(rng=0).condition_number, 9)
    2.0

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024, section 2.1.
    """

    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_rank(self.rank)
        require_budget("max_condition", self.max_condition, 1.0, MOST_CONDITION)

    @property
    def preserves(self) -> Equivalence:
        """Scores, since D and D⁻¹ cancel."""
        return Equivalence.SCORES

    @property
    def fixes_cosines(self) -> bool:
        """Only where all scales must be equal."""
        return self.rank == 1 or self.max_condition == 1

    @property
    def is_group(self) -> bool:
        """False within a budget: two gauges of κ = 2 can make one of κ = 4."""
        return self.rank == 1 or self.max_condition in (None, 1)

    def sample(self, *, rng: RNG = None) -> Gauge:
        """Draw log-normal scales, stretched to spend the budget exactly."""
        return Gauge.diagonal(sample_spectrum(self.rank, self.max_condition, rng))

    def contains(self, gauge: Gauge) -> bool:
        """Whether M is diagonal within rounding, κ within the budget, and nothing is shifted."""
        off_diagonal = gauge.left - np.diag(np.diag(gauge.left))
        return (
            gauge.rank == self.rank
            and not (gauge.shifts_left or gauge.shifts_right)
            and bool(np.abs(off_diagonal).max() <= 64 * EPS * np.abs(np.diag(gauge.left)).min())
            and within_budget(gauge.condition_number, self.max_condition)
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Smaller budgets of diagonal gauges, and in one dimension every linear one."""
        from embaudit.gauges.linear import is_linear, linear_budget

        kind = isinstance(other, Diagonal) or (self.rank == 1 and is_linear(other))
        return kind and (self.rank == 1 or covers(self.max_condition, linear_budget(other)))
