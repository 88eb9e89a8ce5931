"""Random rotations, scales, linear gauges and shifts, from which sets draw gauges."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.tolerances import EPS
from embaudit.gauges.gauge import Gauge
from embaudit.linalg.rows import WIDE


def random_scales(
    size: int, max_condition: float | None, rng: np.random.Generator
) -> Vector:
    """Draw log-normal scales.

    With a budget, the logarithms are stretched so that the largest scale over the
    smallest is the budget, and shifted so that the geometric mean is 1.

    Parameters
    ----------
    size : int
        Number of scales.
    max_condition : float or None
        Budget, at least 1; None for scales that are not stretched.
    rng : numpy Generator
        Source of the draw.

    Returns
    -------
    array of shape (size,)

    Examples
    --------
    >>> scales = random_scales(4, 9.0, np.random.default_rng(0))
    >>> round(scales.max() / scales.min(), 9), round(scales.prod(), 9)
    (np.float64(9.0), np.float64(1.0))
    """
    logarithms = rng.standard_normal(size)
    if max_condition is None:
        return np.exp(logarithms)
    spread = np.ptp(logarithms)
    if spread > 0:
        # Slightly below the budget, so that rounding of the scales does not exceed it.
        logarithms *= np.log(max_condition) * (1 - 8 * EPS * size) / spread
    scales: Vector = np.exp(logarithms - logarithms.mean())
    return scales


def random_rotation(rank: int, rng: np.random.Generator) -> Floats:
    """Draw an orthogonal matrix (k, k) uniformly (Haar measure).

    It is Q of the QR decomposition of a Gaussian matrix, with the signs of R moved into
    Q. LAPACK fixes these signs, which would make the draw uneven (Mezzadri, Notices of
    the AMS 54, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((rank, rank)))
    return np.asarray(q * np.sign(np.diag(r)))


def random_basis(rank: int, rng: np.random.Generator) -> Matrix:
    """Draw `WIDE` = 256 orthonormal columns W, (k, 256), for k > 256.

    They are Q of the QR decomposition of a Gaussian matrix, so the axes along the
    columns are uniform. LAPACK fixes the sign of each column. The signs are not drawn
    as in `random_rotation`, because gauges use the columns only in `W diag(d) Wᵀ`,
    where signs cancel.
    """
    return np.linalg.qr(rng.standard_normal((rank, WIDE))).Q


def random_linear(
    rank: int,
    max_condition: float | None,
    rng: np.random.Generator,
    *,
    common_scale: float = 1.0,
) -> Gauge:
    """Draw `M = c U diag(s) Vᵀ` with uniform rotations U and V and log-normal s.

    A k×k matrix per gauge would take too long for large k. So above 256 dimensions M is
    `I + W diag(s - 1) Wᵀ` with 256 scales along uniform orthonormal directions W. All
    directions orthogonal to W stay as they are, so c is not used.

    Parameters
    ----------
    rank : int
        Number of dimensions k.
    max_condition : float or None
        Budget for κ(M), which the scales use up; None for scales that are not
        stretched.
    rng : numpy Generator
        Source of the draw.
    common_scale : float
        The factor c of all directions.

    Examples
    --------
    >>> gauge = random_linear(300, 2.0, np.random.default_rng(0))
    >>> gauge, round(float(np.linalg.cond(gauge.matrix("left"))), 9)
    (Gauge(rank 300, condition number 2), 2.0)
    """
    if rank > WIDE:
        scales = random_scales(WIDE, max_condition, rng)
        return Gauge(scales, 1 / scales, basis=random_basis(rank, rng))
    scales = random_scales(rank, max_condition, rng)
    u, v = random_rotation(rank, rng), random_rotation(rank, rng)
    return Gauge.from_svd(u, common_scale * scales, v)


def random_shift(
    rank: int, max_shift: float | None, rng: np.random.Generator
) -> Vector:
    """Draw a standard normal vector (k,); with a budget, as long as the budget."""
    # The direction of a normal vector is uniform.
    shift = rng.standard_normal(rank)
    if max_shift is not None:
        # Slightly below the budget, so that rounding does not exceed it.
        shift *= max_shift * (1 - 8 * EPS) / np.linalg.norm(shift)
    return shift
