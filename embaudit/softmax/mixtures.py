"""Points that are mixtures of others, found without a linear program where they lie well inside.

The weights that write a target as an affine combination of n points form a flat of dimension n − d − 1; those of a
mixture are not negative. Projecting in turn onto the flat (one product with an orthonormal basis) and onto
`λ >= δ/n` ends after finitely many steps wherever the two meet: the first non-negative weights on the flat prove
that the target lies in the convex hull. Targets near the surface of the hull, or outside, stay undecided.

Source: von Neumann's alternating projections, with over-relaxation (Gubin, Polyak & Raik, 1967).
"""

from __future__ import annotations

import numpy as np

from embaudit.foundation.checked import Flags, Floats

STEPS = 300
RELAXATION = 1.8
"""Steps go this far towards the non-negative weights, less than twice the way."""
FLOOR = 0.01
"""δ: what each weight should be at least, as a share of an equal weight."""


def are_mixtures(points: Floats, targets: Floats) -> Flags:
    """Prove for some targets that they lie in the convex hull of points.

    Parameters
    ----------
    points : array of shape (n, d)
        What to mix.
    targets : array of shape (m, d)
        What to write as mixtures.

    Returns
    -------
    array of shape (m,)
        True is proven up to rounding, False says nothing.

    Examples
    --------
    >>> corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> are_mixtures(corners, np.array([[0.5, -0.4], [1.1, 0.0]]))
    array([ True, False])
    """
    n, d = points.shape
    proven = np.zeros(len(targets), dtype=bool)
    if n < d + 1:
        return proven
    centre = points.mean(axis=0)
    basis, triangle = np.linalg.qr(points - centre)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() <= 1e-9 * sizes.max():
        return proven
    goal = np.linalg.solve(triangle.T, (targets - centre).T)
    weights = 1 / n + basis @ goal
    for _ in range(STEPS):
        proven |= weights.min(axis=0) >= 0
        rest = np.flatnonzero(~proven)
        if not len(rest):
            break
        part = weights[:, rest]
        part += RELAXATION * (np.maximum(part, FLOOR / n) - part)
        part += (1 - part.sum(axis=0)) / n + basis @ (goal[:, rest] - basis.T @ part)
        weights[:, rest] = part
    return proven
