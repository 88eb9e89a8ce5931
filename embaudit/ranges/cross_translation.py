"""Left-right cosines when one side is shifted: a row moves within a ball, so it turns by `arcsin(r/‖row‖)` at most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Floats
from embaudit.gauges.gauge import Gauge
from embaudit.model import SideName
from embaudit.ranges.half_angle import between, dots, normalise_exponent
from embaudit.ranges.range_solver import End, RangeEnds


class CrossTranslationRangeSolver(NamedTuple):
    """Left-right pairs where `side` is shifted by at most `max_shift` (None: unbounded)."""

    side: SideName
    max_shift: float | None
    block_bytes: int = 2**21

    def _radius(self, moving: Floats) -> Floats:
        """Budget over the length of each moving row."""
        exponent = np.frexp(np.abs(moving).max(axis=1, initial=0))[1]
        scaled = np.ldexp(moving, -exponent[:, None])
        if self.max_shift is None:
            return np.full(len(moving), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius: Floats = np.ldexp(self.max_shift, -exponent) / np.sqrt(dots(scaled, scaled))
        return radius

    def ends(self, x: Floats, y: Floats) -> RangeEnds:
        """Turn by at most a right angle; a shift longer than the row points it anywhere."""
        tangent = between(normalise_exponent(x), normalise_exponent(y))
        radius = self._radius(y if self.side == "right" else x)
        free = radius > 1
        sine = np.where(free, 0, radius)
        turn = sine / (1 + np.sqrt((1 - sine) * (1 + sine))) if x.shape[1] > 1 else np.zeros(len(x))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            # tan((θ ± φ)/2) by the addition theorem; beyond a straight angle the cosine is −1, below 0 it is 1.
            product = tangent * turn
            low = np.where(free | ~(product < 1), np.inf, (tangent + turn) / (1 - product))
            high = np.where(np.isinf(tangent), 1 / turn, (tangent - turn) / (1 + product))
        high = np.where(free, 0.0, np.maximum(high, 0.0))
        low[np.isnan(tangent)] = high[np.isnan(tangent)] = np.nan
        return RangeEnds(low, high, radius != 1, radius != 1)

    def witness(self, x: Floats, y: Floats, end: End, tol: float) -> Gauge:
        """Take the moving row to the nearest point of the wanted direction, or just beyond the origin."""
        ends = self.ends(x[None], y[None])
        still, moving = (x, y) if self.side == "right" else (y, x)
        radius = float(self._radius(moving[None])[0])
        length = float(np.linalg.norm(moving))
        angle = 2 * np.arctan(float(getattr(ends, end)[0]))
        if radius == 1:
            angle += tol / 4 if end == "upper" else -tol / 4
        wanted = _at_angle(still / np.linalg.norm(still), moving / length, angle)
        along = float(moving @ wanted)
        if radius > 1:
            # A ball that holds the origin reaches every direction: stop just beyond the origin, within the budget.
            along = max(along, length * min(1.0, (radius - 1) / 2))
        shift = along * wanted - moving
        if self.max_shift is not None:
            # A short shift is the difference of two long vectors: rounding must not overspend.
            shift *= min(1.0, self.max_shift / max(float(np.linalg.norm(shift)), np.finfo(float).tiny))
        return Gauge.translation(len(x), **{self.side: shift})


def _at_angle(still: Floats, moving: Floats, angle: float) -> Floats:
    """Return the unit vector at an angle from `still`, in its plane with `moving`."""
    for candidate in (moving, np.eye(len(still))[np.argmin(np.abs(still))]):
        across = candidate - (candidate @ still) * still
        length = np.linalg.norm(across)
        if length > 1e-8:
            return np.asarray(np.cos(angle) * still + np.sin(angle) * across / length)
    return np.asarray(np.cos(angle) * still)
