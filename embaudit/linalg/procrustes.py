"""The rotation that brings rows nearest to other rows (orthogonal Procrustes).

Rows x_i of n columns and rows y_i of m columns belong together in pairs. Among all
matrices R with orthonormal rows (n ≤ m) or columns (n ≥ m), `Σ ‖x_i R − y_i‖²` is
smallest where `tr(Rᵀ C)` is largest, with the cross moment `C = Σ x_iᵀ y_i`. By the
singular value decomposition `C = U S Vᵀ` this is `R = U Vᵀ` (Schönemann, Psychometrika
31, 1966). So only C is needed, which is a sum over blocks of rows.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats


def best_rotation(cross: Floats, n_sources: int, n_targets: int) -> Floats:
    """Return the best rotation for a cross moment, with an image of every direction.

    Parameters
    ----------
    cross : array of shape (n, m)
        `Σ xᵀ y` over the leading n source and m target directions.
    n_sources, n_targets : int
        Number of all source directions, at least n, and of all target directions, at
        least m and at least `n_sources`.

    Returns
    -------
    array of shape (n_sources, n_targets)
        R with orthonormal rows. Source directions that have no counterpart go to target
        directions without one: first to those after the leading m.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((9, 2))
    >>> turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> best_rotation(x.T @ (x @ turn), 2, 2).round(12)
    array([[ 0.6,  0.8],
           [-0.8,  0.6]])
    >>> best_rotation(np.array([[-3.0]]), 2, 3)
    array([[-1.,  0.,  0.],
           [ 0.,  1.,  0.]])
    """
    n, m = cross.shape
    u, _, vt = np.linalg.svd(cross)
    sources, targets = np.eye(n_sources), np.eye(n_targets)
    sources[:n, :n] = u
    targets[:m, :m] = vt.T
    n_pairs = min(n, m)
    order = [*range(n_pairs), *range(m, n_targets), *range(n_pairs, m)]
    return np.asarray(sources @ targets[:, order[:n_sources]].T)
