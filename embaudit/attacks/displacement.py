"""Gauges as attacks see them: up to what no cosine sees, a shift of rows and then one symmetric positive matrix.

A budget κ is a window of width `2 ln κ` for the logarithms of the eigenvalues of that matrix, the *metric*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.core.checked import Floats
from embaudit.gauges import Affine, Gauge, GaugeGroup
from embaudit.linalg.structured import Linear, Spanned
from embaudit.model import Role

INSIDE = 1 - 1e-12
"""A hair within the budget, so that rounding never spends more."""


class Budget(NamedTuple):
    """Displacements allowed."""

    window: float
    """Largest difference of the logarithms of a metric."""
    radius: float = 0.0
    """Longest shift."""
    is_diagonal: bool = False
    """True if the metric is diagonal in the coordinates."""


class Slopes(NamedTuple):
    """Direction of steepest ascent."""

    metric: Floats
    """(r, r) H: the metric moves by `S ← S^½ exp(H) S^½`."""
    shift: Floats
    """Direction of the shift (r,)."""


class Displacement(NamedTuple):
    """A shift, then the metric `A diag(exp(l)) Aᵀ`, of the side attacked (the left one for cross pairs)."""

    shift: Floats
    """Shift added to each row (r,)."""
    axes: Floats | None
    """A, orthogonal; None for the coordinates."""
    logs: Floats
    """(r,) l."""

    def root(self, sign: float = 1.0) -> Floats:
        """Return the symmetric root of the metric, or its inverse with `sign = -1`."""
        scales = np.exp(sign * self.logs / 2)
        return np.diag(scales) if self.axes is None else np.asarray((self.axes * scales) @ self.axes.T)

    def stretched(self, rows: Floats, sign: float = 1.0) -> Floats:
        """Multiply rows by the root."""
        return rows * np.exp(sign * self.logs / 2) if self.axes is None else np.asarray(rows @ self.root(sign))

    def step(self, slopes: Slopes, size: float, budget: Budget) -> Displacement:
        """Go a share of the budget along slopes, and project onto the budget."""
        shift, length = self.shift, float(np.linalg.norm(slopes.shift))
        if 0 < length < np.inf:
            shift = within(shift + slopes.shift * (size * budget.radius / length), budget.radius)
        if budget.is_diagonal:
            # Within diagonal metrics the slope is the diagonal of H, and logarithms simply add up.
            direction = np.diag(slopes.metric)
            most = float(np.abs(direction).max())
            logs = self.logs + direction * (size * budget.window / most if most > 0 else 0.0)
            return Displacement(shift, None, clipped(logs, budget.window))
        # exp(H) by its eigenvalues, scaled such that the largest takes the share `size` of the window.
        values, turned = np.linalg.eigh(slopes.metric)
        most = float(np.abs(values).max())
        values = np.exp(values * (size * budget.window / most if most > 0 else 0.0))
        root = self.root()
        # S ← S^½ exp(H) S^½: steps of the same length from every metric, and positive whatever H is.
        moved = root @ (turned * values) @ turned.T @ root
        squares, axes = np.linalg.eigh((moved + moved.T) / 2)
        # Rounding may make eigenvalues far below the window negative; the projection clips such ones anyway.
        squares = np.maximum(squares, squares[-1] * np.exp(-2 * budget.window))
        return Displacement(shift, axes, clipped(np.log(squares), budget.window))

    def gauge(self, group: GaugeGroup, role: Role, span: Floats | None) -> Gauge:
        """Make the gauge of the set, from the dimensions of a span if there is one: outside it nothing is changed."""
        shift = self.shift
        # Rows of the side attacked are multiplied by S^½, those of the other side by its inverse: predictions stay.
        roots: tuple[Linear, Linear] = self.root(-1), self.root()
        if span is not None:
            axes, shift = span if self.axes is None else span @ self.axes, span @ self.shift
            roots = Spanned(axes, np.exp(-self.logs / 2), 1.0), Spanned(axes, np.exp(self.logs / 2), 1.0)
        linear = Gauge(*(roots if role == "right" else roots[::-1]))
        return group.after(shift, linear) if isinstance(group, Affine) and shift.any() else linear


def clipped(logs: Floats, window: float) -> Floats:
    """Clip to the window of that width that moves the values least at either end, centred on 0."""
    middle = (logs.max() + logs.min()) / 2
    return np.asarray(np.clip(logs - middle, -window / 2, window / 2) * INSIDE)


def within(shift: Floats, radius: float) -> Floats:
    """Shorten a shift to a radius."""
    length = float(np.linalg.norm(shift))
    return shift if length <= radius * INSIDE else shift * (radius * INSIDE / length)
