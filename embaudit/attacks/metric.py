"""Gauges as attacks see them: up to what no cosine sees, a linear gauge is one symmetric positive matrix.

Moving it by `S ← S^½ exp(H) S^½` changes the cosine of unit rows a, b of the moved side at the rate

    d cos = aᵀ H b - cos/2 (aᵀ H a + bᵀ H b),

so a gradient is one k×k matrix. A budget κ is a window of width `2 ln κ` for the logarithms of the eigenvalues.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from embaudit.foundation.checked import Floats
from embaudit.gauges import Gauge
from embaudit.model import Role


class Moving(Protocol):
    """What rows can be seen under."""

    def apply(self, rows: Floats, sign: float = 1.0) -> Floats:
        """Multiply rows by the root."""

    def gauge(self, role: Role) -> Gauge:
        """Return the gauge that puts this metric on the side."""


class Metric(NamedTuple):
    """A gauge by the metric `A diag(exp(l)) Aᵀ` it puts on the side attacked (left for cross pairs)."""

    axes: Floats | None
    """A, orthogonal; None for the coordinates, where the gauge is diagonal."""
    logs: Floats

    def root(self, sign: float = 1.0) -> Floats:
        """Return the symmetric root, or its inverse with `sign = -1`."""
        scales = np.exp(sign * self.logs / 2)
        return np.diag(scales) if self.axes is None else np.asarray((self.axes * scales) @ self.axes.T)

    def apply(self, rows: Floats, sign: float = 1.0) -> Floats:
        """Multiply rows by the root."""
        return rows * np.exp(sign * self.logs / 2) if self.axes is None else np.asarray(rows @ self.root(sign))

    def gauge(self, role: Role) -> Gauge:
        """Return the gauge that puts this metric on the side."""
        return Gauge(self.root(-1), self.root()) if role == "right" else Gauge(self.root(), self.root(-1))

    def step(self, direction: Floats, size: float, window: float, *, diagonal: bool) -> Metric:
        """Go along a direction and clip the logarithms to a window."""
        if diagonal:
            return Metric(None, clipped(self.logs + size * np.diag(direction), window))
        values, turned = np.linalg.eigh(direction)
        root = self.root()
        moved = root @ (turned * np.exp(size * values)) @ turned.T @ root
        squares, axes = np.linalg.eigh((moved + moved.T) / 2)
        floor = squares[-1] * np.exp(-2 * window)
        return Metric(axes, clipped(np.log(np.maximum(squares, floor)), window))


def clipped(logs: Floats, window: float) -> Floats:
    """Clip to the window of that width that moves the values least at either end, centred on 0."""
    middle = (logs.max(axis=-1, keepdims=True) + logs.min(axis=-1, keepdims=True)) / 2
    # A hair inside, so that rounding never spends more than the budget.
    return np.asarray(np.minimum(np.maximum(logs - middle, -window / 2), window / 2) * (1 - 1e-12))


def rate(x: Floats, y: Floats, cosine: Floats, push: Floats, *, cross: bool) -> Floats:
    """Return H of steepest ascent of `Σ push · cos`, for unit rows; across, the metric of y is the inverse."""
    own = (x * (push * cosine)[:, None]).T @ x
    other = (y * (push * cosine)[:, None]).T @ y
    if cross:
        return np.asarray((other - own) / 2)
    both = (x * push[:, None]).T @ y
    return np.asarray((both + both.T - own - other) / 2)


def drag(x: Floats, y: Floats, cosine: Floats, push: Floats) -> Floats:
    """Return `Σ push · (y - cos x)`: how a common shift of all x changes the cosines, for unit rows."""
    return np.asarray(push @ (y - cosine[:, None] * x))
