"""Cosines when one side is shifted and then both change linearly: the linear range around the translation's.

Each gauge is a shift of length at most τ followed by a linear gauge of condition at most κ, and for every shift the
cosines that the linear part reaches are known exactly. Same-side pairs of the shifted side: each value c of the
interval [lo, hi] that a translation reaches spreads to `[tanh(artanh c - ln κ), tanh(artanh c + ln κ)]`. Both ends grow
with c, and the values a translation reaches leave no gap, so the reachable set is

    [tanh(artanh lo - ln κ), tanh(artanh hi + ln κ)],

that is `tan(θ'/2)` from that of hi over κ to κ times that of lo. Left-right pairs: with `w = arsech|c|` a value c > 0
spreads to `[sech(w + ln κ), sech(max(0, w - ln κ))]`, one below 0 to the negatives of that, 0 stays 0; both ends grow
with c, so again the ends come from lo and from hi.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Floats
from embaudit.gauges import Affine, Gauge
from embaudit.model import SideName
from embaudit.ranges.cross import CrossLinearRangeSolver, depth_of
from embaudit.ranges.cross_translation import CrossTranslationRangeSolver
from embaudit.ranges.half_angle import normalise_exponent
from embaudit.ranges.linear import LinearRangeSolver, stretched
from embaudit.ranges.range_solver import End, RangeEnds
from embaudit.ranges.translation import TranslationRangeSolver


class AffineRangeSolver(NamedTuple):
    """Pairs of the side that is shifted by at most `max_shift > 0`, k >= 2; None for no bound."""

    side: SideName
    max_condition: float | None
    max_shift: float | None
    block_bytes: int = 2**21

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; equal rows keep a cosine of 1."""
        shifted = TranslationRangeSolver(self.side, self.max_shift).ends(x, y)
        if self.max_condition is not None:
            return stretched(shifted, self.max_condition)
        # One point that is 1 or -1 is all a translation reaches of equal rows: they never separate.
        still = (shifted.lower == shifted.upper) & ((shifted.lower == 0) | np.isinf(shifted.lower))
        lower, upper = np.where(still, shifted.lower, np.inf), np.where(still, shifted.upper, 0.0)
        lower[np.isnan(shifted.lower)] = upper[np.isnan(shifted.upper)] = np.nan
        return RangeEnds(
            lower,
            upper,
            shifted.lower_attained & (shifted.lower == lower),
            shifted.upper_attained & (shifted.upper == upper),
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch the shifted pair."""
        translation = TranslationRangeSolver(self.side, self.max_shift)
        shift = translation.shift(x, y, end, tol, self.max_condition or 1.0)
        linear = LinearRangeSolver(self.side, self.max_condition).witness(
            normalise_exponent(x[None] + shift)[0], normalise_exponent(y[None] + shift)[0], end, tol
        )
        return Affine(len(x), side=self.side).after(shift, linear)


class CrossAffineRangeSolver(NamedTuple):
    """Left-right pairs, `side` shifted by at most `max_shift > 0`, k >= 2; None for no bound."""

    side: SideName
    max_condition: float | None
    max_shift: float | None
    block_bytes: int = 2**21

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; a shift may turn the sign over, the linear part does not."""
        shifted = CrossTranslationRangeSolver(self.side, self.max_shift).ends(x, y)
        linear = CrossLinearRangeSolver(self.max_condition)
        lower, upper = (linear.around(*depth_of(tangent)) for tangent in shifted[:2])
        return RangeEnds(
            lower.lower,
            upper.upper,
            lower.lower_attained & shifted.lower_attained,
            upper.upper_attained & shifted.upper_attained,
        )

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch what was shifted against what was not."""
        translation = CrossTranslationRangeSolver(self.side, self.max_shift).witness(x, y, end, tol)
        shift = translation.right_shift if self.side == "right" else translation.left_shift
        moved = (x, y + shift) if self.side == "right" else (x + shift, y)
        linear = CrossLinearRangeSolver(self.max_condition).witness(*moved, end, tol)
        return Affine(len(x), side=self.side).after(shift, linear)
