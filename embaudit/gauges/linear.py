"""General linear gauges: any invertible change of the latent coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.equivalence import Equivalence
from embaudit.gauges.diagonal import Diagonal
from embaudit.gauges.gauge import Gauge, require_rank
from embaudit.gauges.group import (
    RNG,
    GaugeGroup,
    covers,
    random_rotation,
    require_budget,
    sample_spectrum,
    within_budget,
)
from embaudit.gauges.orthogonal import Orthogonal

MOST_CONDITION = 1e12
"""Beyond this float64 no longer tells a dense matrix of a few thousand dimensions from a singular one."""


def is_linear(group: GaugeGroup) -> bool:
    """Whether the gauges of the set shift nothing."""
    return isinstance(group, (Diagonal, GeneralLinear, Orthogonal))


def linear_budget(group: GaugeGroup) -> float | None:
    """Return the largest condition number of the set's linear parts; None where unbounded."""
    return group.max_condition if isinstance(group, (Diagonal, GeneralLinear)) else 1.0


@dataclass(frozen=True)
class GeneralLinear(GaugeGroup):
    """`P' = P M, Q' = Q M⁻ᵀ` with `κ(M) <= max_condition`.

    Up to a rotation and a scale, which no cosine sees, M is the symmetric positive matrix `S = M Mᵀ`: left cosines
    are those of the metric S, right ones those of `S⁻¹`.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    max_condition : float, optional
        Bound on the 2-norm condition number, from 1 to 1e12; unbounded by default.

    Examples
    --------
    >>> group = GeneralLinear(4, max_condition=3.0)
    >>> g = group.sample(rng=0)
    >>> group.contains(g), round(g.condition_number, 9)
    (True, 3.0)
    >>> group.is_group, group.contains(g @ g)
    (False, False)
    """

    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_rank(self.rank)
        require_budget("max_condition", self.max_condition, 1.0, MOST_CONDITION)

    @property
    def preserves(self) -> Equivalence:
        """Scores, since `M M⁻¹` cancels."""
        return Equivalence.SCORES

    @property
    def fixes_cosines(self) -> bool:
        """Only where M can but rotate and scale as a whole."""
        return self.rank == 1 or self.max_condition == 1

    @property
    def is_group(self) -> bool:
        """False within a budget: two gauges of κ = 2 can make one of κ = 4."""
        return self.rank == 1 or self.max_condition in (None, 1)

    def sample(self, *, rng: RNG = None) -> Gauge:
        """Draw `M = U diag(s) Vᵀ`: U and V uniform, s log-normal, stretched to spend the budget exactly."""
        draw = np.random.default_rng(rng)
        scales = sample_spectrum(self.rank, self.max_condition, draw)
        return Gauge.from_svd(random_rotation(self.rank, draw), scales, random_rotation(self.rank, draw))

    def contains(self, gauge: Gauge) -> bool:
        """Whether κ is within the budget and nothing is shifted."""
        return (
            gauge.rank == self.rank
            and not (gauge.shifts_left or gauge.shifts_right)
            and within_budget(gauge.condition_number, self.max_condition)
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Every linear set whose budget is not larger."""
        return is_linear(other) and (self.rank == 1 or covers(self.max_condition, linear_budget(other)))
