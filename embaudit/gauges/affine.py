"""Affine gauges: a translation of one side, then a linear gauge of both."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from embaudit.core.checked import RNG, Vector, as_generator
from embaudit.gauges.draws import random_linear, random_shift
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup
from embaudit.gauges.linear import GeneralLinear
from embaudit.gauges.translation import Translation
from embaudit.model import FactorModel, SideName


@dataclass(frozen=True)
class Affine(GaugeGroup):
    """A shift of one side, then a linear gauge of both sides.

    `P' = P M, Q' = (Q + 1vᵀ) M⁻ᵀ` (side right) or
    `P' = (P + 1uᵀ) M, Q' = Q M⁻ᵀ` (side left).

    If a free bias absorbs the shift, or the softmax ignores it, these are all models
    with the predictions of a model of full rank. The length of the shift is measured in
    the current model, before M acts.

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

    References
    ----------
    Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026,
    lemma on translations.

    Examples
    --------
    >>> group = Affine(3, max_condition=2.0, max_shift=0.5)
    >>> gauge = group.sample(rng=0)
    >>> length = float(np.linalg.norm(group.shift_of(gauge)))
    >>> round(gauge.condition_number, 9), round(length, 9)
    (2.0, 0.5)
    >>> GeneralLinear(3, max_condition=2.0) <= group
    True
    >>> Translation(3, max_shift=1.0) <= group
    False
    """

    kind = "affine"
    title = "random affine maps"
    constraints = GeneralLinear.constraints
    most_condition: ClassVar[float] = GeneralLinear.most_condition
    rank: int
    side: SideName = field(default="right", kw_only=True)
    max_condition: float | None = field(default=None, kw_only=True)
    max_shift: float | None = field(default=None, kw_only=True)

    def name_in(self, model: FactorModel) -> str:
        """Name the set by the rows that it shifts."""
        return f"{self.kind} of {model.title(self.side)}s"

    @property
    def linear(self) -> GeneralLinear:
        """The gauges of the set that do not shift rows."""
        return GeneralLinear(self.rank, max_condition=self.max_condition)

    @property
    def translation(self) -> Translation:
        """The gauges of the set that only shift rows."""
        return Translation(self.rank, side=self.side, max_shift=self.max_shift)

    def after(self, shift: Vector, linear: Gauge) -> Gauge:
        """Return the gauge that adds a shift to the side, and then acts linearly."""
        # (Q + 1vᵀ) M⁻ᵀ = Q M⁻ᵀ + 1 (v M⁻ᵀ)
        moved = linear.multiply(shift, self.side)
        if self.side == "right":
            return replace(linear, right_shift=moved)
        return replace(linear, left_shift=moved)

    def shift_of(self, gauge: Gauge) -> Vector:
        """Return the shift that a gauge adds to the side before its linear part."""
        return gauge.shift_before(self.side)

    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a linear part and a shift that use up their budgets.

        A log-normal factor multiplies M, and the shift if it has no budget. Above 256
        dimensions it does not multiply M.
        """
        draw = as_generator(rng)
        scale = float(np.exp(draw.standard_normal()))
        linear = random_linear(self.rank, self.max_condition, draw, common_scale=scale)
        shift = random_shift(self.rank, self.max_shift, draw)
        if self.max_shift is None:
            shift *= scale
        return self.after(shift, linear)
