"""General linear gauges: any invertible change of the latent coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.budgeted import BudgetedLinear, is_linear, linear_budget
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup, covers, random_linear, sample_spectrum


@dataclass(frozen=True)
class GeneralLinear(BudgetedLinear):
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

    kind = "linear"
    title = "random linear maps"
    most_condition: ClassVar[float] = 1e12
    """Largest condition number: beyond it float64 takes dense matrices of some thousand dimensions for singular."""

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw `M = U diag(s) Vᵀ`: U and V uniform, s log-normal, stretched to spend the budget exactly.

        Above 256 dimensions `M = U diag(s)`, and U is a `StructuredRotation`, not quite uniform. No cosine sees V.
        """
        draw = as_generator(rng)
        return random_linear(sample_spectrum(self.rank, self.max_condition, draw), draw)

    def includes(self, other: GaugeGroup) -> bool:
        """Check for a linear set whose budget is not larger."""
        return is_linear(other) and (
            self.rank == 1 or covers(self.max_condition, linear_budget(other))
        )
