"""What "every local cosine is at least λ" guarantees, and the smallest change of block norms that changes the verdict.

With the unit profiles of block norms `a` (of x) and `b` (of y) and local cosines `c`, the global cosine is
`Σ a_b b_b c_b = a · g` with `g = b c`. Changing the norms of x's blocks, directions kept, moves `a` inside the
non-negative orthant; the global cosine of the changed profile `u` (a unit vector) is `u · g`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.checked import Floats, is_number
from embaudit.foundation.results import Result

SideXY: TypeAlias = Literal["x", "y"]


def require_cosine(name: str, value: float) -> float:
    """Return a threshold that a cosine can have.

    Raises
    ------
    InputError
        If it is no number from −1 to 1.

    Examples
    --------
    >>> require_cosine("the threshold", 1.5)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the threshold must be a cosine, from -1 to 1; got 1.5.
    """
    if not (is_number(value) and -1 <= value <= 1):
        raise must_be(name, "a cosine, from -1 to 1", value)
    return float(value)


@dataclass(frozen=True)
class LocalThreshold(Result):
    """What a lower bound on every local cosine says about the global one.

    With the norms it guarantees `ρλ`, and blocks that all have cosine λ attain it. Without them it guarantees
    `min(0, λ)`, approached as the two norm profiles come to lie on different blocks: nothing above 0.
    """

    level: float
    """λ."""
    holds: bool
    """Whether every local cosine at hand reaches λ."""
    n_below: int
    """Blocks whose local cosine is below λ."""
    n_undefined: int
    """Blocks without a local cosine, because a side is zero."""
    norm_cosine: float
    """ρ, the cosine of the two profiles of block norms."""
    guaranteed: float
    """The best lower bound of the global cosine that λ and the norms give: ρλ."""
    guaranteed_without_norms: float
    """The best lower bound that λ alone gives."""
    global_cosine: float
    """What the global cosine is."""

    def needed_for(self, threshold: float) -> float | None:
        """Return the local level that would guarantee a global threshold with these norms, None if none does.

        Examples
        --------
        >>> given = LocalThreshold(0.5, True, 0, 0, 0.8, 0.4, 0.0, 0.6)
        >>> given.needed_for(0.4), given.needed_for(0.9)
        (0.5, None)
        """
        wanted = require_cosine("the global threshold", threshold)
        if abs(wanted) > self.norm_cosine:
            return None if wanted > 0 else -1.0
        return wanted / self.norm_cosine if self.norm_cosine else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return dict(self.__dict__)

    def explain(self) -> str:
        """Say it in a sentence."""
        verb = "Every" if self.holds else f"Not every ({self.n_below} below)"
        return (
            f"{verb} local cosine is at least {self.level:g}. If all were, the global cosine would be at least "
            f"{self.guaranteed:.4f} with these norms and {self.guaranteed_without_norms:g} without them. "
            f"It is {self.global_cosine:.4f}."
        )

    __str__ = explain


@dataclass(frozen=True, eq=False)
class NormChange(Result):
    """The smallest change of one side's block norms, directions kept, that brings the global cosine to a threshold."""

    side: SideXY
    """Whose norms change."""
    threshold: float
    """The global cosine to reach."""
    before: float
    """The global cosine now."""
    distance: float | None
    """Length of the change relative to the side's own length, `‖x' − x‖/‖x‖`; None where no change suffices."""
    factors: Floats | None
    """What each block's norm is multiplied by; None where no change suffices. A zero block keeps factor 1."""
    reachable: tuple[float, float]
    """Infimum and supremum of the global cosine over all norms of this side."""

    @property
    def breaks(self) -> bool:
        """Whether the change takes the global cosine down to the threshold (else it restores it)."""
        return self.before >= self.threshold

    def to_dict(self, *, limit: int = 1000) -> dict[str, Any]:
        """Return plain values, with at most `limit` factors."""
        return {
            "side": self.side,
            "threshold": self.threshold,
            "before": self.before,
            "breaks": self.breaks,
            "distance": self.distance,
            "reachable": list(self.reachable),
            "factors": None if self.factors is None else [float(f) for f in self.factors[:limit]],
        }

    def explain(self) -> str:
        """Say it in a sentence."""
        verb = "break" if self.breaks else "restore"
        if self.distance is None:
            low, high = self.reachable
            return (
                f"No block norms of {self.side} {verb} a global cosine of {self.threshold:g}: "
                f"they reach {low:.4f} to {high:.4f}."
            )
        return (
            f"Changing the block norms of {self.side} by {self.distance:.1%} of its length would {verb} "
            f"a global cosine of {self.threshold:g} (now {self.before:.4f})."
        )

    __str__ = explain


def _supremum(g: Floats) -> float:
    """Return `sup u·g` over unit `u ≥ 0`."""
    positive = np.maximum(g, 0)
    return float(np.linalg.norm(positive)) if positive.any() else float(g.max())


def _along_path(a: Floats, g: Floats, t: float) -> Floats | None:
    """Solve on `u ∝ (a + βg)₊`, β ≥ 0, along which `u·g` rises; None where it ends below `t`.

    These are the stationary points of `max a·u, ‖u‖ ≤ 1, u·g ≥ t, u ≥ 0`, a convex problem.
    """

    def at(beta: float) -> Floats | None:
        u = np.maximum(a + beta * g, 0)
        length = float(np.linalg.norm(u))
        return u / length if length > 0 else None

    def enough(beta: float) -> bool:
        u = at(beta)
        return u is None or float(u @ g) >= t

    low, high = 0.0, 1.0
    while not enough(high) and high < 2.0**200:
        low, high = high, 2 * high
    for _ in range(200):
        middle = low + (high - low) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    best = at(high)
    return best if best is not None and float(best @ g) >= t - 1e-12 else _at_the_end(at(low), g, t)


def _at_the_end(u: Floats | None, g: Floats, t: float) -> Floats | None:
    return u if u is not None and abs(float(u @ g) - t) < 1e-9 else None


def _front(a: Floats, g: Floats) -> NDArray[np.intp]:
    """Return the blocks that no other beats in both `a` and `g`."""
    order = np.lexsort((-a, -g))
    highest = np.maximum.accumulate(a[order])
    front: NDArray[np.intp] = order[np.concatenate([[True], highest[1:] > highest[:-1]])]
    return front


def _on_two_blocks(a: Floats, g: Floats, t: float) -> Floats:
    """Solve where the convex relaxation is loose: the best `u` then lives on two blocks.

    There the multiplier of `‖u‖ = 1` has the sign of a minimum, which only a face without free directions admits.
    """
    front = _front(a, g)
    fa, fg = a[front], g[front]
    best, value = np.zeros(len(a)), -1.0
    for i in np.flatnonzero(fg >= t):
        # cos ψ g_i + sin ψ g_j = t for all j below t at once: from ψ = 0 to a right angle it falls through t once.
        reach, angle = np.hypot(fg[i], fg), np.arctan2(fg, fg[i])
        with np.errstate(divide="ignore", invalid="ignore"):
            psi = np.where(fg < t, angle + np.arccos(np.clip(t / reach, -1, 1)), 0.0)
        score = fa[i] * np.cos(psi) + fa * np.sin(psi)
        j = int(np.argmax(score))
        if score[j] > value:
            value, best = float(score[j]), np.zeros(len(a))
            # Rounding may leave the quadrant by a hair.
            best[front[i]] = abs(np.cos(psi[j]))
            best[front[j]] += abs(np.sin(psi[j]))
    return best


def _closest(a: Floats, g: Floats, t: float) -> Floats | None:
    """Return the unit `u ≥ 0` nearest to the ray of `a` with `u·g ≥ t`, None where there is none."""
    if _supremum(g) < t:
        return None
    u = _along_path(a, g, t)
    return u if u is not None else _on_two_blocks(a, g, t)


def norm_change(a: Floats, g: Floats, threshold: float, side: SideXY) -> NormChange:
    """Find the smallest change of a profile `a` that brings `a·g/‖a‖` to a threshold.

    Parameters
    ----------
    a : array of shape (m,)
        Unit profile of block norms, ≥ 0; a zero block has no direction and stays zero.
    g : array of shape (m,)
        Other side's profile times the local cosines.
    threshold : float
        The global cosine to reach, from above or from below.
    side : {"x", "y"}
        Whose profile it is.

    Notes
    -----
    Among all `a'` on the ray of a unit vector `u` the nearest to `a` is `(a·u)u`, at distance `√(1 − (a·u)²)`. So
    `a·u` is maximised over unit `u ≥ 0` on the other side of the threshold: a convex problem with a one-parameter
    family of solutions `(a + βg)₊`, and, where every local cosine already lies beyond the threshold in the same
    direction, a search over pairs of blocks.
    """
    threshold = require_cosine("the global threshold", threshold)
    live = a > 0
    used, weight = a[live], g[live]
    before = float(used @ weight)
    sign = -1.0 if before >= threshold else 1.0
    reachable = (-_supremum(-weight), _supremum(weight))
    u = _closest(used, sign * weight, sign * threshold)
    if u is None:
        return NormChange(side, threshold, before, None, None, reachable)
    along = float(used @ u)
    factors = np.ones(len(a))
    factors[live] = along * u / used
    distance = math.sqrt(math.fsum((along * u - used) ** 2))
    return NormChange(side, threshold, before, distance, factors, reachable)


def block_factors(a: Floats, g: Floats, threshold: float) -> Floats:
    """Find for each block alone the factor of its norm nearest to 1 (by ratio) that leads to a threshold.

    Parameters
    ----------
    a, g : array of shape (m,)
        As in `norm_change`.
    threshold : float
        The global cosine to reach.

    Returns
    -------
    array of shape (m,)
        NaN where no factor > 0 does it.

    Notes
    -----
    With the block's own share split off the condition `(N + s p)² = t²(D + s² q)` is quadratic in `s`.

    Examples
    --------
    >>> a = np.array([0.6, 0.8])
    >>> block_factors(a, np.array([0.8, 0.6]), 0.8).round(4)
    array([0.3889, 2.5714])
    """
    t = require_cosine("the global threshold", threshold)
    own, square = a * g, a * a
    rest, others = own.sum() - own, np.maximum(square.sum() - square, 0)
    # own·s + rest = t √(others + s² square), squared; the sign is checked on the way out.
    p, q, r = own**2 - t * t * square, 2 * own * rest, rest**2 - t * t * others
    root = np.sqrt(np.where(q * q >= 4 * p * r, q * q - 4 * p * r, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        stable = -(q + np.copysign(root, q)) / 2
        candidates = np.stack([stable / p, r / stable])
        reached = (own * candidates + rest) / np.sqrt(others + candidates**2 * square)
        fits = (candidates > 0) & np.isfinite(candidates) & (np.abs(reached - t) < 1e-8)
        candidates = np.where(fits & (square > 0), candidates, np.nan)
        cost = np.where(np.isnan(candidates), np.inf, np.abs(np.log(candidates)))
    nearest: Floats = np.take_along_axis(candidates, np.argmin(cost, axis=0)[None], axis=0)[0]
    return nearest
