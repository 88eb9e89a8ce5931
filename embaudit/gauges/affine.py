"""Affine gauges: a translation of one side, then a linear gauge of both."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import EPS, RNG, Vector, as_generator
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import (
    GaugeGroup,
    random_linear,
    sample_spectrum,
    within_budget,
)
from embaudit.gauges.linear import GeneralLinear
from embaudit.gauges.translation import Translation
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence


@dataclass(frozen=True)
class Affine(GaugeGroup):
    """`P' = P M, Q' = (Q + 1vᵀ) M⁻ᵀ` (side right) or `P' = (P + 1uᵀ) M, Q' = Q M⁻ᵀ` (side left).

    These are all models with the predictions of one of full rank, where a free bias absorbs the shift or the softmax
    ignores it. The length of the shift is measured in the model at hand, before the linear part.

    Parameters
    ----------
    rank : int
        Number of latent dimensions.
    side : {"right", "left"}
        Which factors are shifted.
    max_condition : float, optional
        Bound on κ(M), from 1 to 1e12; unbounded by default.
    max_shift : float, optional
        Bound on the length of v or u; unbounded by default.

    Examples
    --------
    >>> group = Affine(3, max_condition=2.0, max_shift=0.5)
    >>> gauge = group.sample(rng=0)
    >>> round(gauge.condition_number, 9), round(float(np.linalg.norm(group.shift_of(gauge))), 9)
    (2.0, 0.5)
    >>> GeneralLinear(3, max_condition=2.0) <= group, Translation(3, max_shift=1.0) <= group
    (True, False)

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026, lemma on translations.
    """

    title = "random affine maps"
    rank: int
    side: SideName = field(default="right", kw_only=True)
    max_condition: float | None = field(default=None, kw_only=True)
    max_shift: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        # Each part checks its own budget.
        _ = self.linear, self.translation

    def name_in(self, model: FactorModel) -> str:
        """Name the set by the side it shifts."""
        return f"{self.kind} of {model.title(self.side)}s"

    @property
    def linear(self) -> GeneralLinear:
        """The gauges of the set that shift nothing."""
        return GeneralLinear(self.rank, max_condition=self.max_condition)

    @property
    def translation(self) -> Translation:
        """The gauges of the set that only shift."""
        return Translation(self.rank, side=self.side, max_shift=self.max_shift)

    @property
    def preserves(self) -> Equivalence:
        """Level that both factors of the gauge preserve."""
        return min(self.linear.preserves, self.translation.preserves)

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that both factors preserve; a free bias of the other side absorbs the shift."""
        return min(
            self.linear.preserves_in(model), self.translation.preserves_in(model)
        )

    @property
    def fixes_cosines(self) -> bool:
        """True only where neither the linear part nor the shift moves any cosine."""
        return self.linear.fixes_cosines and self.translation.fixes_cosines

    @property
    def is_group(self) -> bool:
        """True unless a budget bounds it, which either part can exceed by repetition."""
        return self.linear.is_group and self.translation.is_group

    @property
    def has_inverses(self) -> bool:
        """True unless the shift is bounded: the inverse measures it after the linear part, which may lengthen it."""
        return self.max_shift in (None, 0)

    def shift_of(self, gauge: Gauge) -> Vector:
        """Return the shift that the gauge adds before its linear part.

        Examples
        --------
        >>> gauge = Gauge.diagonal([0.5, 1.0]) @ Gauge.translation(2, right=[1.0, 2.0])
        >>> gauge.right_shift, Affine(2).shift_of(gauge)
        (array([2., 2.]), array([1., 2.]))
        """
        # Q' = Q M⁻ᵀ + 1wᵀ with w = M⁻¹ v, hence v = M w; on the left M⁻ᵀ stands in for M.
        if self.side == "right":
            return np.asarray(gauge.right_shift @ gauge.left.T)
        return np.asarray(gauge.left_shift @ gauge.right.T)

    def after(self, shift: Vector, linear: Gauge) -> Gauge:
        """Return the gauge that adds the shift to its side and then does what a linear gauge does."""
        moved = {f"{self.side}_shift": shift @ getattr(linear, self.side)}
        return Gauge(linear.left, linear.right, **moved)

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a linear part and a shift that spend their budgets, and a log-normal scale for what has none."""
        draw = as_generator(rng)
        scale = np.exp(draw.standard_normal())
        linear = random_linear(
            scale * sample_spectrum(self.rank, self.max_condition, draw), draw
        )
        shift: Vector = getattr(self.translation.sample(rng=draw), f"{self.side}_shift")
        return self.after(
            shift if self.max_shift is not None else scale * shift, linear
        )

    def contains(self, gauge: Gauge) -> bool:
        """Check that κ and the length of the shift are within their budgets and that the other side is not shifted."""
        if gauge.rank != self.rank or (
            gauge.shifts_left if self.side == "right" else gauge.shifts_right
        ):
            return False
        if self.max_shift == 0 and (gauge.shifts_left or gauge.shifts_right):
            return False
        # Taking the linear part back leaves the rounding of M M⁻¹, which grows with κ.
        kappa = gauge.condition_number
        length = float(np.linalg.norm(self.shift_of(gauge))) * (1 - 8 * EPS * kappa)
        return within_budget(kappa, self.max_condition) and within_budget(
            length, self.max_shift
        )

    def includes(self, other: GaugeGroup) -> bool:
        """Check for smaller affine sets of the same side, and for sets that lie in either part."""
        if isinstance(other, Affine):
            return other.linear <= self.linear and other.translation <= self.translation
        return other <= self.linear or other <= self.translation

    def is_within(self, other: GaugeGroup) -> bool:
        """Check for a set that holds the linear part, if nothing may be shifted."""
        return (
            self.max_shift == 0
            and not isinstance(other, Affine)
            and self.linear <= other
        )
