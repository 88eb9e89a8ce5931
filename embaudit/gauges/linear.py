"""General linear gauges: any invertible change of the latent coordinates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from embaudit.core.checked import RNG, as_generator
from embaudit.gauges.draws import random_linear
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup


@dataclass(frozen=True)
class GeneralLinear(GaugeGroup):
    """`P' = P M, Q' = Q M⁻ᵀ` with `κ(M) <= max_condition`.

    No cosine within a side sees a rotation or a common scale. So M acts like the
    symmetric positive matrix `S = M Mᵀ`: left cosines are those of the metric S, and
    right cosines are those of the metric S⁻¹.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    max_condition : float, optional
        Bound on the condition number of M in the 2-norm, from 1 to 1e12; unbounded by
        default.

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
    constraints = frozenset()
    # Beyond this budget float64 cannot tell dense matrices of some thousand dimensions
    # from singular ones.
    most_condition: ClassVar[float] = 1e12
    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw `M = U diag(s) Vᵀ` with uniform U and V and log-normal s.

        The scales s are stretched to use up the budget exactly. Above 256 dimensions,
        256 uniform orthonormal directions are stretched, and all directions orthogonal
        to them stay as they are.
        """
        return random_linear(self.rank, self.max_condition, as_generator(rng))
