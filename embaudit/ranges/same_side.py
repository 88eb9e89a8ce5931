"""Cosines within a side that may be shifted and then changed linearly: the linear range around the translation's.

Each gauge is a shift of length at most τ followed by a linear gauge of condition at most κ, and for every shift the
cosines that the linear part reaches are known exactly: each value c of the interval [lo, hi] that a translation reaches
spreads to `[tanh(artanh c - ln κ), tanh(artanh c + ln κ)]`. Both ends grow with c, and the values a translation reaches
leave no gap, so the reachable set is

    [tanh(artanh lo - ln κ), tanh(artanh hi + ln κ)],

that is `tan(θ'/2)` from that of hi over κ to κ times that of lo.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats
from embaudit.gauges import Affine, Gauge
from embaudit.ranges.half_angle import between, normalise_exponent
from embaudit.ranges.linear import stretch_to_end, stretched
from embaudit.ranges.range_solver import AffineBudget, End, RangeEnds, point
from embaudit.ranges.translation import shift_to_end, shifted_ends


class SameSideRangeSolver(AffineBudget):
    """Pairs of rows of the side that is shifted, under an affine budget."""

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Return both ends; equal rows keep a cosine of 1."""
        if self.max_shift == 0:
            return stretched(point(between(normalise_exponent(x), normalise_exponent(y))), self.max_condition)
        return stretched(shifted_ends(x, y, self.max_shift), self.max_condition)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Shift to the end of the translation's range, then stretch the shifted pair."""
        shift = np.zeros(len(x))
        if self.max_shift != 0:
            shift = shift_to_end(x, y, self.max_shift, end, tol, self.max_condition)
        linear = stretch_to_end(x + shift, y + shift, self.side, self.max_condition, end, tol)
        return Affine(len(x), side=self.side).after(shift, linear)
