"""Base of diagonal and general linear gauges: a bound on the largest scale over the smallest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from embaudit.gauges.gauge import Gauge, require_rank
from embaudit.gauges.group import GaugeGroup, require_budget, within_budget
from embaudit.gauges.orthogonal import Orthogonal
from embaudit.model.equivalence import Equivalence


@dataclass(frozen=True)
class BudgetedLinear(GaugeGroup):
    """Linear gauges with `κ(M) <= max_condition`; what shape M may have is said by the subclass.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    max_condition : float, optional
        Largest over smallest stretch, from 1 to `most_condition`; unbounded by default.
    """

    most_condition: ClassVar[float]
    """Largest condition number that float64 can hold."""
    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        require_rank(self.rank)
        require_budget("max_condition", self.max_condition, 1.0, self.most_condition)

    @property
    def preserves(self) -> Equivalence:
        """Scores, since M and M⁻¹ cancel."""
        return Equivalence.SCORES

    @property
    def fixes_cosines(self) -> bool:
        """True only where M can but rotate and scale as a whole."""
        return self.rank == 1 or self.max_condition == 1

    @property
    def is_group(self) -> bool:
        """True without a budget: two gauges of κ = 2 can make one of κ = 4."""
        return self.rank == 1 or self.max_condition in (None, 1)

    def contains(self, gauge: Gauge) -> bool:
        """Check that κ is within the budget and nothing is shifted."""
        return (
            gauge.rank == self.rank
            and not (gauge.shifts_left or gauge.shifts_right)
            and within_budget(gauge.condition_number, self.max_condition)
        )


def is_linear(group: GaugeGroup) -> bool:
    """Check that the gauges of the set shift nothing."""
    return isinstance(group, (BudgetedLinear, Orthogonal))


def linear_budget(group: GaugeGroup) -> float | None:
    """Return the largest condition number of the set's linear parts; None where unbounded."""
    return group.max_condition if isinstance(group, BudgetedLinear) else 1.0
