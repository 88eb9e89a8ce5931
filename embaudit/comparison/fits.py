"""The gauge of a group that comes nearest to carrying one model's factors into another's.

A gauge moves both sides at once, `P' = P M, Q' = Q M⁻ᵀ`. Writing the second as `Q' Mᵀ =
Q` makes the best M a linear problem, `w PᵀP M + v M Q'ᵀQ' = w PᵀP' + v QᵀQ'`, solved in
the eigenbases of the two Gram matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.tolerances import (
    EIGENVALUE_ROUNDING,
    EXPLAINED_SPREAD,
    FLOAT32_TIE,
    ROUNDING,
)
from embaudit.model import SideName

GROUPS = ("rotation", "diagonal", "linear", "affine")
"""Groups of gauges, from few to many parameters; the first two do not contain each
other."""

Rows: TypeAlias = dict[SideName, tuple[Floats, Floats]]
"""Rows before and after of each side, in the same order."""
Draws: TypeAlias = dict[SideName, np.random.Generator]
"""Generator that draws the rows and pairs of each side."""
Pair: TypeAlias = tuple[Floats, Floats]
"""M and M⁻ᵀ."""
Shifts: TypeAlias = tuple[SideName, ...]
BOTH: Shifts = ("left", "right")
WORSE = 1.1
"""A larger group must beat a smaller one by this factor of unexplained spread to be
preferred."""


@dataclass(frozen=True, eq=False)
class GaugeFit:
    """A gauge between models whose ranks may differ."""

    group: str
    """One of `GROUPS`."""
    left: Floats
    """(k, k') M."""
    right: Floats
    """(k, k') M⁻ᵀ."""
    left_shift: Floats
    """(k',) added to every left row."""
    right_shift: Floats
    """(k',) added to every right row."""

    @property
    def condition_number(self) -> float:
        """κ(M): 1 for a rotation."""
        s = np.linalg.svd(self.left, compute_uv=False)
        return float(s[0] / s[-1]) if s[-1] > 0 else float("inf")

    def apply(self, role: SideName, rows: Floats) -> Floats:
        """Carry rows of the first model towards the second."""
        linear, shift = (
            (self.left, self.left_shift)
            if role == "left"
            else (self.right, self.right_shift)
        )
        return rows @ linear + shift


def fit_gauge(rows: Rows, group: str, shifts: Shifts = BOTH) -> GaugeFit:
    """Fit the gauge of a group to the rows of one side or of both.

    Parameters
    ----------
    rows : dict of role to (before, after)
        Matrices of shape (m, k) and (m, k').
    group : str
        "rotation" (with one scale, which no cosine sees), "diagonal", "linear" or
        "affine".
    shifts : tuple of {"left", "right"}
        Sides that an affine gauge may shift.

    Returns
    -------
    GaugeFit
        Where the least squares of a group are singular, which no gauge is, its best
        rotation.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((20, 2))
    >>> found = fit_gauge({"right": (x, x * [2.0, 5.0])}, "diagonal")
    >>> found.right.round(9)
    array([[2., 0.],
           [0., 5.]])
    """
    before, after = next(iter(rows.values()))
    means = {
        role: (np.zeros(before.shape[1]), np.zeros(after.shape[1]))
        for role in ("left", "right")
    }
    # Least squares with a shift are those of centred rows; the shift follows from both
    # means.
    if group == "affine":
        means |= {
            role: (x.mean(axis=0), y.mean(axis=0))
            for role, (x, y) in rows.items()
            if role in shifts
        }
        rows = {
            role: (x - means[role][0], y - means[role][1])
            for role, (x, y) in rows.items()
        }
    solve = {
        "rotation": _rotation,
        "diagonal": _diagonal,
        "linear": _linear,
        "affine": _linear,
    }[group]
    # Singular least squares are no gauge; the best rotation always is one.
    left, right = solve(rows) or _rotation(rows)
    # The shift takes the mean before, once mapped, to the mean after.
    moves = [
        means[role][1] - means[role][0] @ m
        for role, m in (("left", left), ("right", right))
    ]
    return GaugeFit(group, left, right, *moves)


def _weight(x: Floats) -> float:
    """One over the sum of squares, so that both sides have a say whatever their scale."""
    total = float(np.einsum("ij,ij->", x, x))
    return 1 / total if total > 0 else 0.0


def _scale(rows: Rows) -> float:
    """Compute c of `P' = c P R, Q' = Q R / c`."""
    # Left rows grow by c and right rows shrink by it: both give an estimate, averaged
    # as logarithms, unless all are 0.
    weights = {role: (_weight(x), _weight(y)) for role, (x, y) in rows.items()}
    steps = [
        np.log(x / y) / (2 if role == "left" else -2)
        for role, (x, y) in weights.items()
        if x and y
    ]
    return float(np.exp(np.mean(steps))) if steps else 1.0


def _rotation(rows: Rows) -> Pair:
    """Orthogonal Procrustes, max tr(RᵀC), after the scale."""
    scale = _scale(rows)
    # Both sides weigh the same, whatever their scale: one orthogonal matrix acts on
    # both.
    target = sum(np.sqrt(_weight(x) * _weight(y)) * (x.T @ y) for x, y in rows.values())
    u, _, vt = np.linalg.svd(np.asarray(target), full_matrices=False)
    return scale * (u @ vt), (u @ vt) / scale


def _diagonal(rows: Rows) -> Pair | None:
    """Minimise `w ‖p d − p'‖² + v ‖q − q' d‖²` for each column apart."""
    above, below, most = np.zeros(1), np.zeros(1), np.zeros(1)
    for role, (x, y) in rows.items():
        source, target = (x, y) if role == "left" else (y, x)
        weight, squares = _weight(target), np.einsum("ij,ij->j", source, source)
        above = above + weight * np.einsum("ij,ij->j", source, target)
        below = below + weight * squares
        most = most + weight * np.sqrt(squares * np.einsum("ij,ij->j", target, target))
    # A column that says nothing, or whose two sides contradict each other, gets the
    # scale of the others.
    has_scale = np.abs(above) > ROUNDING * most
    if not has_scale.any():
        return None
    d = np.divide(above, below, out=np.full_like(above, np.nan), where=has_scale)
    d = np.where(has_scale, d, np.nanmax(np.abs(d)))
    return (np.diag(d), np.diag(1 / d)) if _keeps_all(np.abs(d), _scale(rows)) else None


def _linear(rows: Rows) -> Pair | None:
    # The rank of M is at most the number of rows: fewer than it has dimensions make no
    # gauge.
    if sum(len(x) for x, _ in rows.values()) < min(
        x.shape[1] for pair in rows.values() for x in pair
    ):
        return None
    if "left" not in rows:
        # Right rows alone give M⁻ᵀ; its own inverse transposed is M.
        pair = _with_inverse(_least_squares(*rows["right"]), 1 / _scale(rows))
        return pair and pair[::-1]
    left = (
        _sylvester(*rows["left"], *rows["right"])
        if "right" in rows
        else _least_squares(*rows["left"])
    )
    return _with_inverse(left, _scale(rows))


def _least_squares(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def _with_inverse(linear: Floats, scale: float) -> Pair | None:
    """Pair M with M⁻ᵀ."""
    # Of M = U S Vᵀ, M⁻ᵀ is U S⁻¹ Vᵀ, and the pseudo-inverse transposed where ranks
    # differ.
    u, s, vt = np.linalg.svd(linear, full_matrices=False)
    return (linear, (u / s) @ vt) if _keeps_all(s, scale) else None


def _keeps_all(sizes: Floats, scale: float) -> bool:
    """Check that no direction is lost on either side; by the scale of all, which κ of a single dimension lacks."""
    return bool(sizes.min() > ROUNDING * scale and sizes.max() * ROUNDING < scale)


def _sylvester(p: Floats, p_after: Floats, q: Floats, q_after: Floats) -> Floats:
    """Solve `A M + M B = C` with `A = w PᵀP, B = v Q'ᵀQ'`; directions that neither side sees stay 0."""
    w, v = _weight(p_after), _weight(q)
    # In the eigenbases of A and B the equation falls apart into numbers: (α + β) m = c.
    alpha, u = np.linalg.eigh(w * (p.T @ p))
    beta, z = np.linalg.eigh(v * (q_after.T @ q_after))
    target = u.T @ (w * (p.T @ p_after) + v * (q.T @ q_after)) @ z
    total = alpha[:, None] + beta
    # Smaller sums of eigenvalues are rounding of the Gram matrices.
    visible = total > EIGENVALUE_ROUNDING * total.max()
    return np.asarray(
        u @ np.divide(target, total, out=np.zeros_like(target), where=visible) @ z.T
    )


def unexplained(fit: GaugeFit, role: SideName, rows: Rows) -> float:
    """Compute the share of the rows' spread after that the gauge leaves: 0 all explained, 1 no better than the mean."""
    before, after = rows[role]
    spread = float(((after - after.mean(axis=0)) ** 2).sum())
    error = float(((fit.apply(role, before) - after) ** 2).sum())
    return error / spread if spread > 0 else float(error > 0)


@dataclass(frozen=True, eq=False)
class CrossFitHalf:
    """One half of the shared rows, and the gauge fitted on the other half."""

    held_out: dict[SideName, Indices]
    """Positions in the match of the rows held out, by side."""
    fits: dict[str, GaugeFit]
    """The best gauge of each group."""
    group: str
    """The smallest group that served a part of the training half, kept out of its own
    fit, as well as any."""

    @property
    def gauge(self) -> GaugeFit:
        """The gauge that judges this half."""
        return self.fits[self.group]


def _part(rows: Rows, positions: dict[SideName, Indices]) -> Rows:
    return {
        role: (x[positions[role]], y[positions[role]]) for role, (x, y) in rows.items()
    }


def folds(
    rows: Rows, draws: Draws, groups: tuple[str, ...] = GROUPS, shifts: Shifts = BOTH
) -> list[CrossFitHalf]:
    """Cut the rows in halves at random, and fit on each half the gauges that judge the other."""
    halves: list[dict[SideName, Indices]] = [{}, {}]
    for role, (x, _) in rows.items():
        order = draws[role].permutation(len(x))
        for half, positions in zip(halves, np.array_split(order, 2), strict=True):
            half[role] = positions
    parts = []
    for held_out, train in (halves, halves[::-1]):
        training = _part(rows, train)
        fits = {group: fit_gauge(training, group, shifts) for group in groups}
        parts.append(CrossFitHalf(held_out, fits, _choose(training, groups, shifts)))
    return parts


def whole(
    rows: Rows, groups: tuple[str, ...] = GROUPS, shifts: Shifts = BOTH
) -> CrossFitHalf:
    """Fit on all rows and judge them all: for models of one prediction, where a gauge is there to be found."""
    fits = {group: fit_gauge(rows, group, shifts) for group in groups}
    left = {group: _mean_unexplained(fit, rows) for group, fit in fits.items()}
    return CrossFitHalf(
        {role: np.arange(len(x)) for role, (x, _) in rows.items()},
        fits,
        _smallest(left),
    )


def _choose(training: Rows, groups: tuple[str, ...], shifts: Shifts) -> str:
    """Choose the smallest group that serves as well as any, on a third of the training rows left out of a fit."""
    # Every third row judges: rows come in random order, since a half is a random cut.
    fitted = _part(
        training,
        {
            role: np.delete(np.arange(len(x)), np.s_[::3])
            for role, (x, _) in training.items()
        },
    )
    judged = _part(
        training, {role: np.arange(0, len(x), 3) for role, (x, _) in training.items()}
    )
    return _smallest(
        {
            group: _mean_unexplained(fit_gauge(fitted, group, shifts), judged)
            for group in groups
        }
    )


def _smallest(left: dict[str, float]) -> str:
    # Groups stand from few to many parameters, so that the first one near the best is
    # the smallest.
    bound = max(EXPLAINED_SPREAD, WORSE * min(left.values()))
    return next(group for group, value in left.items() if value <= bound)


def is_open(rows: Rows, shifts: Shifts) -> bool:
    """Check that neither side has the rows to fix a linear gauge: fits on some of them say nothing about the others.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((2, 30, 10))
    >>> is_open({"right": (x[0], x[1])}, ()), is_open({"right": (x[0], x[1])}, ("right",))
    (False, True)
    >>> level = np.column_stack([x[0][:, :2], np.ones(30)])  # a shift takes the last column
    >>> is_open({"right": (level, level)}, ()), is_open({"right": (level, level)}, ("right",))
    (False, True)
    """
    for role, (x, _) in rows.items():
        # The group is chosen on two thirds of a half of the rows, and a shift takes one
        # of them.
        judging = len(x) // 2 * 2 // 3 - (role in shifts)
        if (
            judging >= x.shape[1]
            and _n_directions(x, is_shifted=role in shifts) == x.shape[1]
        ):
            return False
    return True


def _n_directions(x: Floats, *, is_shifted: bool) -> int:
    """Count the directions in which rows differ from 0, or from their mean."""
    x = x - x.mean(axis=0) if is_shifted else x
    # Columns are evened out first: a diagonal gauge must not count as a loss of digits.
    sizes = np.linalg.norm(x, axis=0)
    x = x[:, sizes > 0] / sizes[sizes > 0]
    squares = np.linalg.eigvalsh(x.T @ x if len(x) > x.shape[1] else x @ x.T)
    return int((squares > FLOAT32_TIE**2 * squares.max(initial=0.0)).sum())


def _mean_unexplained(fit: GaugeFit, rows: Rows) -> float:
    return float(np.mean([unexplained(fit, role, rows) for role in rows]))


def held_out_error(
    rows: Rows, parts: list[CrossFitHalf]
) -> dict[SideName, dict[str, float]]:
    """Compute for each side and group the share of the held-out rows' spread that its gauges leave."""
    judged = [(fold.fits, _part(rows, fold.held_out)) for fold in parts]

    def left_by(group: str, role: SideName) -> float:
        return float(
            np.mean(
                [unexplained(fits[group], role, held_out) for fits, held_out in judged]
            )
        )

    return {
        role: {group: left_by(group, role) for group in parts[0].fits} for role in rows
    }
