"""Diagonal gauges: one scale a latent dimension, the matrix D of the Netflix paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from embaudit.core.checked import EPS, RNG
from embaudit.errors import must_be
from embaudit.gauges.budgeted import BudgetedLinear, is_linear, linear_budget
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup, covers, sample_spectrum


@dataclass(frozen=True)
class Diagonal(BudgetedLinear):
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

    kind = "diagonal"
    title = "random rescalings"
    most_condition: ClassVar[float] = 1e50
    """Largest condition number: beyond it the squares of the scales, the weights of a bounded range, leave float64."""

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw log-normal scales, stretched to spend the budget exactly."""
        return Gauge.diagonal(sample_spectrum(self.rank, self.max_condition, rng))

    def contains(self, gauge: Gauge) -> bool:
        """Check that M is diagonal within rounding, κ within the budget, and nothing shifted."""
        if not isinstance(gauge, Gauge):
            raise must_be(
                "gauge", "a Gauge", repr(gauge), "Gauge.linear makes one of a matrix"
            )
        # Rounding is judged by the smallest scale: beside it an entry off the diagonal turns that axis.
        left = np.asarray(gauge.left)
        off_diagonal = np.abs(left - np.diag(np.diag(left))).max()
        return super().contains(gauge) and bool(
            off_diagonal <= 64 * EPS * np.abs(np.diag(left)).min()
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Check for smaller budgets of diagonal gauges, and in one dimension for every linear one."""
        kind = isinstance(other, Diagonal) or (self.rank == 1 and is_linear(other))
        return kind and (
            self.rank == 1 or covers(self.max_condition, linear_budget(other))
        )
