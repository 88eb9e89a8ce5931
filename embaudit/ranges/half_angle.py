"""Half-angle arithmetic: `t = tan(θ/2)` keeps every digit of an angle that `cos θ` rounds away near ±1.

`t = exp(-artanh(cos θ))` runs from 0 (same direction) over 1 (orthogonal) to infinity (opposite). Products and
differences whose rounding errors would show are split in two by Dekker's method.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import EPS, Floats

PARALLEL = 4 * EPS
"""Rows whose half-angle tangent is below this are one direction: rounding alone makes them differ that much."""
_SPLIT = 2.0**27 + 1
_ROUGH = 0.999
"""|cosine| beyond which the tangent is no longer read off the cosine."""


def cosine_of(tangent: Floats) -> Floats:
    """Compute `cos θ = (1 - t²)/(1 + t²)` for t from 0 to infinity, both included.

    Examples
    --------
    >>> cosine_of(np.array([0.0, 1.0, np.inf]))
    array([ 1.,  0., -1.])
    """
    with np.errstate(divide="ignore", over="ignore"):
        tangent = np.abs(tangent)  # no negative zero
        small = np.minimum(tangent, 1 / tangent)
        cosine: Floats = np.copysign(
            (1 - small) * (1 + small) / (1 + small * small), 1 - tangent
        )
    return cosine


def tangent_of(cosine: Floats) -> Floats:
    """Compute `t = √((1 - c)/(1 + c))`, infinite at c = -1.

    Examples
    --------
    >>> tangent_of(np.array([1.0, 0.0, -1.0]))
    array([ 0.,  1., inf])
    """
    with np.errstate(divide="ignore"):
        tangent: Floats = np.sqrt((1 - cosine) / (1 + cosine))
    return tangent


def _split(x: Floats) -> tuple[Floats, Floats]:
    # Veltkamp's splitting in halves of 26 and 27 bits, whose products are exact in float64.
    scaled = _SPLIT * x
    high = scaled - (scaled - x)
    return high, x - high


def product_error(x: Floats, y: Floats, product: Floats) -> Floats:
    """Compute what rounding took from `product = x * y`, exactly (Dekker 1971)."""
    (x_high, x_low), (y_high, y_low) = _split(x), _split(y)
    error: Floats = (
        (x_high * y_high - product) + x_high * y_low + x_low * y_high
    ) + x_low * y_low
    return error


def shear(x: Floats, y: Floats, s: Floats) -> Floats:
    """Compute `y - s x` with an error relative to itself, however nearly the two cancel.

    Examples
    --------
    >>> shear(np.array([0.1]), np.array([0.3]), np.array([3.0])) == 0.3 - 3 * 0.1
    array([False])
    """
    product = s * x
    difference: Floats = (y - product) - product_error(
        np.broadcast_to(s, x.shape), x, product
    )
    return difference


def difference_of_products(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
    """Compute `ab - cd` with an error relative to itself."""
    ab, cd = a * b, c * d
    difference: Floats = (ab - cd) + (product_error(a, b, ab) - product_error(c, d, cd))
    return difference


def compensated_dot(x: Floats, y: Floats) -> Floats:
    """Dot products of rows in twice the working precision (Ogita, Rump & Oishi 2005, Dot2)."""
    total, lost = np.zeros(len(x)), np.zeros(len(x))
    for a, b in zip(x.T, y.T, strict=True):
        product = a * b
        added = total + product
        rounded = added - total
        # TwoSum (Knuth) has the rounding of the sum, Dekker's product that of the product; both are exact.
        lost += (
            (total - (added - rounded))
            + (product - rounded)
            + product_error(a, b, product)
        )
        total = added
    return total + lost


def dots(x: Floats, y: Floats) -> Floats:
    """Dot product of every row of x with that of y."""
    product: Floats = np.einsum("ij,ij->i", x, y)
    return product


def normalise_exponent(x: Floats) -> Floats:
    """Scale rows of extreme length to about 1 by powers of two, which rounds nothing; the others stay.

    Products of up to eight entries of what remains still fit into float64.
    """
    with np.errstate(over="ignore", under="ignore"):
        squares = dots(x, x)
    extreme = ~((squares > 1e-20) & (squares < 1e20))
    if not extreme.any():
        return x
    scaled = x.copy()
    exponent = np.frexp(np.abs(x[extreme]).max(axis=1, initial=0))[1]
    scaled[extreme] = np.ldexp(x[extreme], -exponent[:, None])
    return scaled


def _between_near(x: Floats, y: Floats) -> Floats:
    """Tangent for rows at an acute angle, from the part of y that x does not span."""
    squares = dots(x, x)
    rest = shear(x, y, np.sqrt(dots(y, y) / squares)[:, None])
    # What is left along x is rounding of the first difference; without it rest is the sine of the angle.
    rest -= (dots(x, rest) / squares)[:, None] * x
    sine = np.minimum(np.sqrt(dots(rest, rest) / dots(y, y)), 1)
    # tan(θ/2) = sin θ / (1 + cos θ).
    tangent: Floats = sine / (1 + np.sqrt((1 - sine) * (1 + sine)))
    tangent[tangent < PARALLEL] = 0
    return tangent


def between(x: Floats, y: Floats) -> Floats:
    """Compute the half-angle tangent of every pair of rows.

    Parameters
    ----------
    x, y : array of shape (m, k)
        Rows whose squares neither overflow nor vanish (see `normalise_exponent`).

    Returns
    -------
    array of shape (m,)
        From 0 to infinity with a relative error of a few eps; NaN where a row is zero.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 1e-12]])
    >>> between(x, np.array([[0.0, 2.0], [1.0, 0.0]]))
    array([1.e+00, 5.e-13])
    """
    squares = dots(x, x) * dots(y, y)
    with np.errstate(invalid="ignore", divide="ignore"):
        cosine = dots(x, y) / np.sqrt(squares)
        tangent = tangent_of(cosine)
        near = np.flatnonzero(np.abs(cosine) > _ROUGH)
        if len(near):
            opposite = cosine[near] < 0
            acute = _between_near(
                x[near], np.where(opposite[:, None], -y[near], y[near])
            )
            tangent[near] = np.where(opposite, 1 / acute, acute)
    return tangent
