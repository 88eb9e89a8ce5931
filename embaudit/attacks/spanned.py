"""Attacks on very long rows, in the span of the few rows that they are about.

Let the orthonormal columns of W (k×r) span the rows that an objective looks at, and x = W z with `z = xᵀW`. A metric S
of the k dimensions shows them `xᵀ S y = zᵀ (Wᵀ S W) z'` and nothing else, and `κ(Wᵀ S W) <= κ(S)`. The other way round
every metric T of the span with eigenvalues on both sides of 1 comes from `S = W T Wᵀ + (I − W Wᵀ)`, which has the same
condition number. So both have the same worst value within a budget: nothing is lost. A common shift may leave the span,
by a vector at right angles to every row; all directions of such are alike, so that one more column is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from embaudit.attacks.metric import Metric
from embaudit.foundation.checked import Floats, Matrix
from embaudit.gauges import Gauge
from embaudit.kernels.stretch import Spanned
from embaudit.model import Role

SPANNED = 256
"""Dimensions above which attacks keep to a span."""
ROWS = 64
"""Rows that such an attack on pairs is about."""
LISTS, NEAREST = 8, 5
"""Rows whose lists such an attack is about, and rows outside each that it knows."""


def span_of(rows: Matrix, *, more: int = 0) -> Floats:
    """Return orthonormal columns that span some rows, and `more` random directions at right angles to these.

    Examples
    --------
    >>> rows = np.array([[3.0, 4.0, 0.0, 0.0]])
    >>> axes = span_of(rows, more=1)
    >>> axes.shape, bool(np.abs(rows - rows @ axes @ axes.T).max() < 1e-12)
    ((4, 2), True)
    """
    columns = np.asarray(rows, dtype=np.float64).T
    # Lengths do not matter to what is spanned, and must not drown each other.
    columns = columns / np.maximum(np.abs(columns).max(axis=0), 1e-300)
    others = np.random.default_rng(0).standard_normal((len(columns), more))
    return np.asarray(np.linalg.qr(np.hstack([columns, others]))[0])


class Lifted(NamedTuple):
    """A metric of a span, as all dimensions have it: 1 at right angles to the span.

    Examples
    --------
    >>> one = Lifted.of(Metric(None, np.array([np.log(4.0)])), np.array([[1.0], [0.0]]))
    >>> one.apply(np.array([[1.0, 1.0]])), one.gauge("left").condition_number
    (array([[2., 1.]]), 2.0)
    """

    axes: Floats
    """(k, r) orthonormal."""
    logs: Floats
    """(r,) logarithms of the eigenvalues, some below 0 and some above, or all 0."""

    @classmethod
    def of(cls, metric: Metric, span: Floats) -> Lifted:
        """Lift a metric of a span."""
        return cls(span if metric.axes is None else span @ metric.axes, metric.logs)

    def root(self, sign: float = 1.0) -> Spanned:
        """Return the symmetric root, or its inverse with `sign = -1`."""
        return Spanned(self.axes, np.exp(sign * self.logs / 2), 1.0)

    def apply(self, rows: Floats, sign: float = 1.0) -> Floats:
        """Multiply rows by the root."""
        return np.asarray(rows @ self.root(sign))

    def gauge(self, role: Role) -> Gauge:
        """Return the gauge that puts this metric on the side."""
        return Gauge(self.root(-1), self.root()) if role == "right" else Gauge(self.root(), self.root(-1))
