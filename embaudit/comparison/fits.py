"""The gauge of a group that carries one model's factors nearest to another model's.

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
        if role == "left":
            return rows @ self.left + self.left_shift
        return rows @ self.right + self.right_shift


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
        The best rotation if the least squares of a group are singular, because no gauge
        is singular.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((20, 2))
    >>> found = fit_gauge({"right": (x, x * [2.0, 5.0])}, "diagonal")
    >>> found.right.round(9)
    array([[2., 0.],
           [0., 5.]])
    """
    before, after = next(iter(rows.values()))
    # Least squares with a shift are those of centred rows; the shift follows from both
    # means.
    means_before = dict.fromkeys(("left", "right"), np.zeros(before.shape[1]))
    means_after = dict.fromkeys(("left", "right"), np.zeros(after.shape[1]))
    if group == "affine":
        centred = {}
        for role, (x, y) in rows.items():
            if role in shifts:
                means_before[role] = x.mean(axis=0)
                means_after[role] = y.mean(axis=0)
            centred[role] = (x - means_before[role], y - means_after[role])
        rows = centred
    pair = None
    if group == "diagonal":
        pair = _diagonal(rows)
    elif group in ("linear", "affine"):
        pair = _linear(rows)
    # Singular least squares are no gauge; the best rotation always is one.
    left, right = pair or _rotation(rows)
    # The shift takes the mean before, once mapped, to the mean after.
    return GaugeFit(
        group,
        left,
        right,
        left_shift=means_after["left"] - means_before["left"] @ left,
        right_shift=means_after["right"] - means_before["right"] @ right,
    )


def _weight(x: Floats) -> float:
    """Return one over the sum of squares, so both sides count whatever their scale."""
    total = float(np.einsum("ij,ij->", x, x))
    return 1 / total if total > 0 else 0.0


def _scale(rows: Rows) -> float:
    """Compute c of `P' = c P R, Q' = Q R / c`."""
    # Left rows grow by c and right rows shrink by it. Both give an estimate unless all
    # rows are 0. The logarithms are averaged.
    logarithms = []
    for role, (x, y) in rows.items():
        weight_before, weight_after = _weight(x), _weight(y)
        if weight_before and weight_after:
            logarithm = np.log(weight_before / weight_after) / 2
            logarithms.append(logarithm if role == "left" else -logarithm)
    return float(np.exp(np.mean(logarithms))) if logarithms else 1.0


def _rotation(rows: Rows) -> Pair:
    """Orthogonal Procrustes, max tr(RᵀC), after the scale."""
    scale = _scale(rows)
    # Both sides weigh the same, whatever their scale: one orthogonal matrix acts on
    # both.
    target = sum(np.sqrt(_weight(x) * _weight(y)) * (x.T @ y) for x, y in rows.values())
    u, _, vt = np.linalg.svd(np.asarray(target), full_matrices=False)
    return scale * (u @ vt), (u @ vt) / scale


def _diagonal(rows: Rows) -> Pair | None:
    """Minimise `w ‖p d − p'‖² + v ‖q − q' d‖²` for each column by itself.

    The result is None if these scales are no gauge.
    """
    numerator, denominator, bound = np.zeros(1), np.zeros(1), np.zeros(1)
    for role, (x, y) in rows.items():
        source, target = (x, y) if role == "left" else (y, x)
        weight = _weight(target)
        source_squares = np.einsum("ij,ij->j", source, source)
        target_squares = np.einsum("ij,ij->j", target, target)
        numerator = numerator + weight * np.einsum("ij,ij->j", source, target)
        denominator = denominator + weight * source_squares
        bound = bound + weight * np.sqrt(source_squares * target_squares)
    # A column of zeros, or one whose two sides contradict each other, gets the scale of
    # the others.
    has_scale = np.abs(numerator) > ROUNDING * bound
    if not has_scale.any():
        return None
    scales = np.full_like(numerator, np.nan)
    np.divide(numerator, denominator, out=scales, where=has_scale)
    scales = np.where(has_scale, scales, np.nanmax(np.abs(scales)))
    if not _keeps_all(np.abs(scales), _scale(rows)):
        return None
    return np.diag(scales), np.diag(1 / scales)


def _linear(rows: Rows) -> Pair | None:
    """Fit a general linear gauge; None if the least squares are singular."""
    # The rank of M is at most the number of rows, so fewer rows than dimensions give no
    # gauge.
    n_rows = sum(len(x) for x, _ in rows.values())
    n_dimensions = min(min(x.shape[1], y.shape[1]) for x, y in rows.values())
    if n_rows < n_dimensions:
        return None
    if "left" not in rows:
        # Right rows alone give M⁻ᵀ, and the inverse of its transpose is M.
        pair = _with_inverse(_least_squares(*rows["right"]), 1 / _scale(rows))
        if pair is None:
            return None
        right, left = pair
        return left, right
    if "right" in rows:
        matrix = _sylvester(*rows["left"], *rows["right"])
    else:
        matrix = _least_squares(*rows["left"])
    return _with_inverse(matrix, _scale(rows))


def _least_squares(x: Floats, y: Floats) -> Floats:
    """Return the M that minimises ‖x M − y‖."""
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0])


def _with_inverse(linear: Floats, scale: float) -> Pair | None:
    """Pair M with M⁻ᵀ; None if M is singular.

    If `M = U S Vᵀ`, then `M⁻ᵀ = U S⁻¹ Vᵀ`. This is the transposed pseudo-inverse if the
    ranks differ.
    """
    u, s, vt = np.linalg.svd(linear, full_matrices=False)
    if not _keeps_all(s, scale):
        return None
    return linear, (u / s) @ vt


def _keeps_all(sizes: Floats, scale: float) -> bool:
    """Return True if no direction is lost on either side.

    Sizes are compared with the scale of all rows, because κ is 1 if there is only one
    dimension.
    """
    return bool(sizes.min() > ROUNDING * scale and sizes.max() * ROUNDING < scale)


def _sylvester(p: Floats, p_after: Floats, q: Floats, q_after: Floats) -> Floats:
    """Solve `A M + M B = C` with `A = w PᵀP` and `B = v Q'ᵀQ'`.

    Directions that neither side sees stay 0.
    """
    w, v = _weight(p_after), _weight(q)
    # In the eigenbases of A and B each entry has an equation of its own, (α + β) m = c.
    alpha, u = np.linalg.eigh(w * (p.T @ p))
    beta, z = np.linalg.eigh(v * (q_after.T @ q_after))
    target = u.T @ (w * (p.T @ p_after) + v * (q.T @ q_after)) @ z
    total = alpha[:, None] + beta
    # Smaller sums of eigenvalues are rounding of the Gram matrices.
    visible = total > EIGENVALUE_ROUNDING * total.max()
    entries = np.zeros_like(target)
    np.divide(target, total, out=entries, where=visible)
    return np.asarray(u @ entries @ z.T)


def unexplained(fit: GaugeFit, role: SideName, rows: Rows) -> float:
    """Return the share of the spread of the rows after that the gauge leaves.

    It is 0 if the gauge explains everything, and 1 if it is no better than the mean.
    """
    before, after = rows[role]
    spread = float(((after - after.mean(axis=0)) ** 2).sum())
    error = float(((fit.apply(role, before) - after) ** 2).sum())
    return error / spread if spread > 0 else float(error > 0)


@dataclass(frozen=True, eq=False)
class CrossFitHalf:
    """One half of the shared rows, and the gauge fitted on the other half."""

    held_out: dict[SideName, Indices]
    """Positions of the held-out rows in the match, by side."""
    fits: dict[str, GaugeFit]
    """The best gauge of each group."""
    group: str
    """The smallest group that is as good as any other on a third of the training half,
    which was not used to fit it."""

    @property
    def gauge(self) -> GaugeFit:
        """The gauge that judges this half."""
        return self.fits[self.group]


def _part(rows: Rows, positions: dict[SideName, Indices]) -> Rows:
    """Return the rows at some positions of each side."""
    return {
        role: (x[positions[role]], y[positions[role]]) for role, (x, y) in rows.items()
    }


def folds(
    rows: Rows, draws: Draws, groups: tuple[str, ...] = GROUPS, shifts: Shifts = BOTH
) -> list[CrossFitHalf]:
    """Cut the rows in halves at random, and fit gauges to each half.

    The gauges that are fitted to one half judge the other half.
    """
    first: dict[SideName, Indices] = {}
    second: dict[SideName, Indices] = {}
    for role, (x, _) in rows.items():
        order = draws[role].permutation(len(x))
        first[role], second[role] = np.array_split(order, 2)
    parts = []
    for held_out, train in ((first, second), (second, first)):
        training = _part(rows, train)
        fits = {group: fit_gauge(training, group, shifts) for group in groups}
        parts.append(CrossFitHalf(held_out, fits, _choose(training, groups, shifts)))
    return parts


def whole(
    rows: Rows, groups: tuple[str, ...] = GROUPS, shifts: Shifts = BOTH
) -> CrossFitHalf:
    """Fit gauges to all rows and judge them on the same rows.

    This serves models of the same predictions, between which there is a gauge.
    """
    fits = {group: fit_gauge(rows, group, shifts) for group in groups}
    errors = {group: _mean_unexplained(fit, rows) for group, fit in fits.items()}
    every_row: dict[SideName, Indices] = {
        role: np.arange(len(x)) for role, (x, _) in rows.items()
    }
    return CrossFitHalf(every_row, fits, _smallest(errors))


def _choose(training: Rows, groups: tuple[str, ...], shifts: Shifts) -> str:
    """Choose the smallest group that is as good as any other.

    The groups are judged on a third of the training rows, which is not used to fit
    them.
    """
    # Rows are in random order, so every third row is a random third.
    judging: dict[SideName, Indices] = {}
    fitting: dict[SideName, Indices] = {}
    for role, (x, _) in training.items():
        judging[role] = np.arange(0, len(x), 3)
        fitting[role] = np.delete(np.arange(len(x)), judging[role])
    judged, fitted = _part(training, judging), _part(training, fitting)
    errors = {
        group: _mean_unexplained(fit_gauge(fitted, group, shifts), judged)
        for group in groups
    }
    return _smallest(errors)


def _smallest(errors: dict[str, float]) -> str:
    """Return the first group whose error is near the smallest one.

    Groups are in the order of their numbers of parameters.
    """
    bound = max(EXPLAINED_SPREAD, WORSE * min(errors.values()))
    return next(group for group, error in errors.items() if error <= bound)


def is_open(rows: Rows, shifts: Shifts) -> bool:
    """Return True if neither side has enough rows to determine a linear gauge.

    A gauge that is fitted to some rows says nothing about the others then.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((2, 30, 10))
    >>> rows = {"right": (x[0], x[1])}
    >>> is_open(rows, ()), is_open(rows, ("right",))
    (False, True)

    A shift can replace a column of ones:

    >>> level = np.column_stack([x[0][:, :2], np.ones(30)])
    >>> rows = {"right": (level, level)}
    >>> is_open(rows, ()), is_open(rows, ("right",))
    (False, True)
    """
    for role, (x, _) in rows.items():
        is_shifted = role in shifts
        # The group is chosen by a fit to two thirds of a half of the rows.
        n_fitted = len(x) // 2 * 2 // 3
        if is_shifted:
            n_fitted -= 1
        has_rows = n_fitted >= x.shape[1]
        if has_rows and _n_directions(x, is_shifted=is_shifted) == x.shape[1]:
            return False
    return True


def _n_directions(x: Floats, *, is_shifted: bool) -> int:
    """Count the directions in which rows differ from 0, or from their mean."""
    if is_shifted:
        x = x - x.mean(axis=0)
    # Columns get equal lengths first, because a diagonal gauge must not count as a loss
    # of digits.
    sizes = np.linalg.norm(x, axis=0)
    x = x[:, sizes > 0] / sizes[sizes > 0]
    squares = np.linalg.eigvalsh(x.T @ x if len(x) > x.shape[1] else x @ x.T)
    return int((squares > FLOAT32_TIE**2 * squares.max(initial=0.0)).sum())


def _mean_unexplained(fit: GaugeFit, rows: Rows) -> float:
    """Return the mean over the sides of the share that a gauge leaves."""
    return float(np.mean([unexplained(fit, role, rows) for role in rows]))


def held_out_error(
    rows: Rows, parts: list[CrossFitHalf]
) -> dict[SideName, dict[str, float]]:
    """Return the share of the held-out rows' spread that gauges leave.

    The result has a number for each side and group, the mean over all parts.
    """
    judged = [(fold.fits, _part(rows, fold.held_out)) for fold in parts]
    errors: dict[SideName, dict[str, float]] = {}
    for role in rows:
        errors[role] = {}
        for group in parts[0].fits:
            shares = [unexplained(fits[group], role, part) for fits, part in judged]
            errors[role][group] = float(np.mean(shares))
    return errors
