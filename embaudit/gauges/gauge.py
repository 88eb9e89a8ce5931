"""A gauge: one change of both factor matrices that leaves predictions alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    Floats,
    Matrix,
    Vector,
    as_count,
    as_factors,
    as_vector,
    as_whole_array,
    frozen,
    require_one_of,
)
from embaudit.core.tolerances import EPS
from embaudit.errors import EquivalenceError, InputError, Option, Sentence, must_be
from embaudit.linalg.rows import cached_blocks
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Linear
from embaudit.model.sizes import require_model
from embaudit.model.trainings import kept_objective

MOST_RANK = 1_000_000
"""Largest rank of a gauge; a larger number is a typing error."""


def _linear_part(array: ArrayLike, name: str) -> Matrix | Vector:
    """Check a square matrix or a vector of scales, and return it in float64."""
    array = as_whole_array(array, name)
    if array.ndim == 1 and len(array):
        return as_vector(array, name, len(array))
    matrix = as_factors(array, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise must_be(name, "a square matrix", f"shape {matrix.shape}")
    return frozen(matrix.astype(np.float64))


def _orthonormal(array: ArrayLike, scales: Matrix | Vector) -> Matrix:
    """Check a basis (k, r), with one scale per column, and return it in float64."""
    name = "the basis of a gauge"
    basis = as_factors(array, name).astype(np.float64)
    k, r = basis.shape
    if scales.shape != (r,) or r >= k:
        allowed = f"fewer columns than rows, and as many as the {len(scales)} scales"
        raise must_be(name, f"a matrix with {allowed}", f"shape {basis.shape}")
    error = float(np.abs(basis.T @ basis - np.eye(r)).max())
    if error > 64 * r * EPS:
        raise must_be(name, "orthonormal", f"columns with an error of {error:.1e}")
    return frozen(basis)


def _product(
    rows: Matrix | Vector, linear: Matrix | Vector, basis: Matrix | None
) -> Floats:
    """Multiply rows (n, k), or one row (k,), by one of the three forms of M."""
    if linear.ndim == 2:
        return np.asarray(rows @ linear)
    if basis is None:
        return np.asarray(rows * linear)
    return np.asarray(rows + ((rows @ basis) * (linear - 1)) @ basis.T)


def _norm(linear: Matrix | Vector, basis: Matrix | None) -> float:
    """Compute the largest singular value of one of the three forms of M."""
    if linear.ndim == 2:
        return float(np.linalg.norm(linear, 2))
    largest = float(np.abs(linear).max())
    # Directions orthogonal to the basis keep their length.
    return largest if basis is None else max(largest, 1.0)


@dataclass(frozen=True, eq=False)
class Gauge:
    """The change `P' = P M + 1uᵀ, Q' = Q M⁻ᵀ + 1vᵀ`.

    Scores become `P Qᵀ + (P' v) 1ᵀ + 1 (Q M⁻ᵀ u)ᵀ`: the linear part cancels, v adds a
    number to each row and u adds a number to each column. Biases can absorb both.

    M has one of three forms: a matrix, a vector of scales for `M = diag(scales)`, or
    scales d along the orthonormal columns of a basis W, for
    `M = I + W diag(d - 1) Wᵀ`. The last form multiplies long rows by two thin matrices.

    Parameters
    ----------
    left, right : array of shape (k, k), or (k,), or (r,) with a basis
        M and M⁻ᵀ, as matrices or as scales. The constructor checks that
        `left · rightᵀ` is the identity; it never inverts a matrix.
    left_shift, right_shift : array of shape (k,), optional
        u and v, zero by default.
    basis : array of shape (k, r), optional
        W, with fewer columns than rows. Directions orthogonal to its columns stay as
        they are.

    Raises
    ------
    InputError
        If left and right are not inverse to each other within rounding, or the columns
        of the basis are not orthonormal.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About
    Similarity?", 2024 (diagonal and orthogonal); Nielsen, "Why not to use Cosine
    Similarity between Label Representations", 2026 (translation).

    Examples
    --------
    >>> g = Gauge.diagonal([2.0, 0.5])
    >>> g
    Gauge(rank 2, condition number 4)
    >>> (g @ g.inverse()).condition_number
    1.0
    >>> one_direction = Gauge([3.0], [1 / 3], basis=[[0.6], [0.8]])
    >>> one_direction.apply([[0.6, 0.8], [0.8, -0.6]], "left").round(9)
    array([[ 1.8,  2.4],
           [ 0.8, -0.6]])
    >>> Gauge(np.eye(2), np.eye(3))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the right matrix of a gauge must be of shape (2, 2); ...
    >>> Gauge.identity(2) @ 3
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for @: 'Gauge' and 'int'
    >>> Gauge.identity(2) @ Gauge.identity(3)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: gauges to compose must have the same rank; got 2
    and 3.
    """

    left: Matrix | Vector
    right: Matrix | Vector
    left_shift: Vector = None  # type: ignore[assignment]
    right_shift: Vector = None  # type: ignore[assignment]
    basis: Matrix | None = None

    def __post_init__(self) -> None:
        """Check that left and right undo each other; shifts not given become zeros."""
        left = _linear_part(self.left, "the left matrix of a gauge")
        right = _linear_part(self.right, "the right matrix of a gauge")
        if right.shape != left.shape:
            raise must_be(
                "the right matrix of a gauge",
                f"of shape {left.shape}",
                f"shape {right.shape}",
            )
        object.__setattr__(self, "left", left)
        object.__setattr__(self, "right", right)
        if self.basis is not None:
            object.__setattr__(self, "basis", _orthonormal(self.basis, left))
        zero = np.zeros(self.rank)
        left_shift = zero if self.left_shift is None else self.left_shift
        right_shift = zero if self.right_shift is None else self.right_shift
        left_shift = as_vector(left_shift, "the left shift of a gauge", self.rank)
        right_shift = as_vector(right_shift, "the right shift of a gauge", self.rank)
        object.__setattr__(self, "left_shift", left_shift)
        object.__setattr__(self, "right_shift", right_shift)
        # The rounding of the product grows with κ. An error above one half would not
        # even show that the matrices are invertible.
        if left.ndim == 1:
            error = float(np.abs(left * right - 1).max())
        else:
            error = float(np.abs(left @ right.T - np.eye(self.rank)).max())
        if not error <= min(0.5, 64 * self.rank * EPS * self.condition_number):
            raise must_be(
                "left · rightᵀ",
                "the identity",
                f"an error of {error:.1e}",
                "build it with Gauge.linear",
            )

    @classmethod
    def identity(cls, rank: int) -> Gauge:
        """Make the gauge that changes nothing.

        Raises
        ------
        InputError
            If the rank is not an integer from 1 to a million.
        """
        ones = np.ones(as_count(rank, "rank", most=MOST_RANK))
        return cls(ones, ones)

    @classmethod
    def diagonal(cls, scales: ArrayLike) -> Gauge:
        """Make `M = diag(scales)`, the rescaling D of the Netflix paper.

        Raises
        ------
        InputError
            If a scale is zero, too small for its inverse, or not finite.
        """
        d = as_vector(scales, "scales", np.size(scales))
        # Smaller numbers have few digits in float64, and most have no finite inverse.
        is_too_small = np.abs(d) < np.finfo(np.float64).tiny
        if is_too_small.any():
            column = int(np.argmax(is_too_small))
            raise must_be(
                "scales",
                "numbers whose inverses float64 can hold",
                f"{d[column]:g} in column {column}",
                "drop that column",
            )
        return cls(d, 1 / d)

    @classmethod
    def linear(cls, matrix: ArrayLike) -> Gauge:
        """Make the gauge of any invertible M.

        M⁻ᵀ is computed from the singular value decomposition of M.

        Raises
        ------
        InputError
            If M is singular to working precision.
        """
        square = as_factors(matrix, "matrix")
        if square.shape[0] != square.shape[1]:
            raise must_be("matrix", "a square matrix", f"shape {square.shape}")
        return cls.from_svd(*np.linalg.svd(square.astype(np.float64)))

    @classmethod
    def from_svd(cls, u: NDArray[Any], s: NDArray[Any], vt: NDArray[Any]) -> Gauge:
        """Make `M = u diag(s) vt`, for orthogonal u and vt and positive s.

        Examples
        --------
        >>> Gauge.from_svd(np.eye(2), [4.0, 1.0], np.eye(2))
        Gauge(rank 2, condition number 4)
        >>> Gauge.from_svd(np.eye(3), [4.0, 1.0], np.eye(2))
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: u and vt must be of one shape; ...
        """
        u, vt = as_factors(u, "u"), as_factors(vt, "vt")
        s = as_vector(s, "s", len(vt))
        if u.shape != vt.shape:
            raise must_be("u and vt", "of one shape", f"{u.shape} and {vt.shape}")
        # Below this the rank is short of full for numpy, too, and the inverse would
        # consist of rounding errors.
        if s.min() <= len(s) * EPS * s.max():
            raise must_be(
                "matrix",
                "invertible",
                f"singular values from {s.min():.1e} to {s.max():.1e}",
            )
        return cls((u * s) @ vt, (u / s) @ vt)

    @classmethod
    def translation(
        cls, rank: int, *, left: ArrayLike | None = None, right: ArrayLike | None = None
    ) -> Gauge:
        """Make the gauge that adds one vector to every row of a side."""
        ones = np.ones(as_count(rank, "rank", most=MOST_RANK))
        return cls(ones, ones, left, right)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        parts = [f"rank {self.rank}", f"condition number {self.condition_number:.4g}"]
        if self.shifts_left:
            parts.append(f"left shift {np.linalg.norm(self.left_shift):.4g}")
        if self.shifts_right:
            parts.append(f"right shift {np.linalg.norm(self.right_shift):.4g}")
        return f"Gauge({', '.join(parts)})"

    @property
    def rank(self) -> int:
        """Number of latent dimensions k."""
        return len(self.left if self.basis is None else self.basis)

    @cached_property
    def condition_number(self) -> float:
        """Condition number κ(M) = ‖M‖ ‖M⁻¹‖ in the 2-norm; shifts do not count.

        Both norms are accurate to rounding. The smallest singular value of M would lose
        as many digits as κ has.
        """
        return _norm(self.left, self.basis) * _norm(self.right, self.basis)

    @property
    def shifts_left(self) -> bool:
        """True if left rows are translated."""
        return bool(self.left_shift.any())

    @property
    def shifts_right(self) -> bool:
        """True if right rows are translated."""
        return bool(self.right_shift.any())

    @property
    def shifts(self) -> tuple[SideName, ...]:
        """The sides that are translated."""
        sides: list[SideName] = []
        if self.shifts_left:
            sides.append("left")
        if self.shifts_right:
            sides.append("right")
        return tuple(sides)

    @property
    def linear_kind(self) -> Linear:
        """Kind of the linear part up to rounding: identity, rotation, similarity, any.

        A reflection counts as a rotation, because `M Mᵀ = I` holds for it, too.
        """
        left = self.left
        rounding = 64 * self.rank * EPS
        if left.ndim == 1:
            from_identity = np.abs(left - 1).max()
            from_rotation = np.abs(left**2 - 1).max()
        else:
            identity = np.eye(self.rank)
            from_identity = np.abs(left - identity).max()
            from_rotation = np.abs(left @ left.T - identity).max()
        if from_identity <= rounding:
            return Linear.IDENTITY
        if from_rotation <= rounding:
            return Linear.ROTATION
        return Linear.SIMILARITY if self.is_conformal else Linear.ANY

    @property
    def is_diagonal(self) -> bool:
        """True if the linear part only scales the columns, within rounding."""
        if self._consists_of_scales:
            return True
        left = self.matrix("left")
        scales = np.diag(left)
        # An entry off the diagonal turns the axis with the smallest scale most.
        most = 64 * EPS * np.abs(scales).min()
        return bool(np.abs(left - np.diag(scales)).max() <= most)

    @property
    def is_conformal(self) -> bool:
        """True if the linear part only rotates, reflects and scales as a whole.

        Its condition number is then 1, within rounding.
        """
        return self.condition_number <= 1 + 16 * self.rank * EPS

    @property
    def is_isometry(self) -> bool:
        """True if the linear part keeps every length, within rounding."""
        error = abs(_norm(self.left, self.basis) - 1)
        return self.is_conformal and error <= 16 * self.rank * EPS

    @property
    def fixes_cosines(self) -> bool:
        """True if no same-side cosine of any model can move."""
        return self.is_conformal and not self.shifts_left and not self.shifts_right

    @property
    def preserves(self) -> Equivalence:
        """Level preserved in any model, without help from its biases."""
        return self._level(shifts_left=self.shifts_left, shifts_right=self.shifts_right)

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level preserved in this model.

        Free biases of the model absorb shifts.
        """
        require_model(model)
        if model.link.needs_lengths:
            # If only one side is divided by its lengths, a common scale stays in the
            # scores.
            if not self.is_isometry:
                return Equivalence.NOTHING
            # A shift of the inputs leaves labels of length 1 alone, and the label bias
            # absorbs it.
            if self.shifts and set(self.shifts) <= set(model.free_shifts):
                return Equivalence.COSINES
        return self._level(
            shifts_left=self.shifts_left and model.right_bias is None,
            shifts_right=self.shifts_right and model.left_bias is None,
        )

    def _level(self, *, shifts_left: bool, shifts_right: bool) -> Equivalence:
        # The product u·q adds a number to a column of scores, which changes the order
        # within rows. The product p·v adds a number to a row, which the softmax
        # ignores.
        if shifts_left:
            return Equivalence.NOTHING
        if shifts_right:
            return Equivalence.PROBABILITIES
        if self.fixes_cosines:
            return Equivalence.COSINES
        return Equivalence.SCORES

    def multiply(self, rows: ArrayLike, side: SideName) -> Floats:
        """Multiply rows (n, k) of a side by M or M⁻ᵀ, without the shift, in float64."""
        require_one_of(side, "side", ("left", "right"))
        linear = self.left if side == "left" else self.right
        return _product(np.asarray(rows, dtype=np.float64), linear, self.basis)

    def apply(self, rows: ArrayLike, side: SideName) -> Floats:
        """Change rows (n, k) of a side: multiply them by M or M⁻ᵀ, and shift them."""
        shift = self.left_shift if side == "left" else self.right_shift
        return self.multiply(rows, side) + shift

    def matrix(self, side: SideName) -> Floats:
        """Return the matrix (k, k) that rows of a side are multiplied by.

        Examples
        --------
        >>> Gauge.diagonal([2.0, 4.0]).matrix("right")
        array([[0.5 , 0.  ],
               [0.  , 0.25]])
        """
        return self.multiply(np.eye(self.rank), side)

    def shift_before(self, side: SideName) -> Vector:
        """Return the shift before M acts that has the effect of the shift after M.

        It is v in `Q M⁻ᵀ + 1wᵀ = (Q + 1vᵀ) M⁻ᵀ`, so `v = M w`, and `M⁻ᵀ u` on the left.

        Examples
        --------
        >>> shift = Gauge.translation(2, right=[1.0, 2.0])
        >>> gauge = Gauge.diagonal([0.5, 1.0]) @ shift
        >>> gauge.right_shift, gauge.shift_before("right")
        (array([2., 2.]), array([1., 2.]))
        """
        if side == "right":
            return _product(self.right_shift, self.left.T, self.basis)
        return _product(self.left_shift, self.right.T, self.basis)

    def inverse(self) -> Gauge:
        """Return the gauge that undoes this one; it has the same κ."""
        # P = (P' − 1uᵀ) M⁻¹ with M⁻¹ = (M⁻ᵀ)ᵀ, so no matrix is inverted. The forms that
        # consist of scales are symmetric.
        left, right = self.right.T, self.left.T
        left_shift = -self.shift_before("left")
        right_shift = -self.shift_before("right")
        return Gauge(left, right, left_shift, right_shift, self.basis)

    def __matmul__(self, first: Gauge) -> Gauge:
        """Compose: `(g @ h).act(model)` is `g.act(h.act(model))`.

        If both sides are shifted, this holds up to one number that moves from the left
        biases to the right biases, which no score sees.
        """
        if not isinstance(first, Gauge):
            return NotImplemented
        if first.rank != self.rank:
            ranks = f"{self.rank} and {first.rank}"
            raise InputError(f"gauges to compose must have the same rank; got {ranks}.")
        left_shift = self.apply(first.left_shift, "left")
        right_shift = self.apply(first.right_shift, "right")
        if self._only_shifts:
            left, right, basis = first.left, first.right, first.basis
        elif first._only_shifts:
            left, right, basis = self.left, self.right, self.basis
        elif self._consists_of_scales and first._consists_of_scales:
            left, right, basis = first.left * self.left, first.right * self.right, None
        else:
            both = Gauge.linear(self.multiply(first.matrix("left"), "left"))
            left, right, basis = both.left, both.right, None
        return Gauge(left, right, left_shift, right_shift, basis)

    @property
    def _consists_of_scales(self) -> bool:
        return self.left.ndim == 1 and self.basis is None

    @property
    def _only_shifts(self) -> bool:
        return self._consists_of_scales and bool((self.left == 1).all())

    def act(self, model: FactorModel) -> FactorModel:
        """Return the equivalent model.

        It keeps the objective of the given model if the value of the objective stays.

        Raises
        ------
        EquivalenceError
            If the model predicts more than the gauge preserves.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0, 2.0]], [[3.0, 4.0], [4.0, 3.0]])
        >>> same = Gauge.diagonal([10.0, 1.0]).act(model)
        >>> model.scores(), same.scores()
        (array([[11., 10.]]), array([[11., 10.]]))
        >>> Gauge.translation(2, right=[1.0, 0.0]).act(model)
        Traceback (most recent call last):
            ...
        embaudit.errors.EquivalenceError: a gauge on this model must preserve its ...
        >>> Gauge.identity(3).act(model)
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: a gauge must have the rank of the model; ...
        """
        self._require_equivalence(model)
        left = None if model.left is None else self._applied(model.left, "left")
        right = self._applied(model.right, "right")
        # p'·q' = p·q + p·(Mv) + u·v + q·(M⁻ᵀu). The left bias absorbs the two terms
        # with v, and the right bias absorbs the last term. The terms are computed
        # before rows are rounded to the stored precision.
        left_bias, right_bias = model.left_bias, model.right_bias
        if self.shifts_right and left_bias is not None and model.left is not None:
            constant = self.left_shift @ self.right_shift
            left_bias = left_bias - model.left @ self.shift_before("right") - constant
        if self.shifts_left and right_bias is not None:
            rows = model.product_rows(
                "right", np.asarray(model.right, dtype=np.float64)
            )
            right_bias = right_bias - rows @ self.shift_before("left")
        objective = None
        if model.objective:
            objective = kept_objective(model.objective, self.linear_kind, self.shifts)
        return model.replace(
            left=left,
            right=right,
            left_bias=left_bias,
            right_bias=right_bias,
            objective=objective,
        )

    def _applied(self, x: Matrix, side: SideName) -> Matrix:
        """Apply the gauge to all rows of a side, stored as precisely as `x`."""
        result = np.empty(x.shape, dtype=x.dtype)
        for rows, block in cached_blocks(x, slice(0, len(x))):
            moved = self.apply(block, side)
            # A conversion to the stored type would turn larger numbers into infinity.
            largest = float(np.abs(moved).max())
            if largest > float(np.finfo(x.dtype).max):
                raise must_be(
                    "moved factors",
                    f"within the range of {x.dtype}",
                    f"{largest:.1e}",
                    "store the model in float64",
                )
            result[rows] = moved
        return result

    def _require_equivalence(self, model: FactorModel) -> None:
        """Refuse a model of another rank, or whose predictions the gauge changes."""
        require_model(model)
        users, items = model.roles
        if self.rank != model.rank:
            ranks = f"{self.rank} for a model of rank {model.rank}"
            raise InputError(f"a gauge must have the rank of the model; got {ranks}.")
        level = self.preserves_in(model)
        if level >= model.predicts:
            return
        preserved = level.title
        if level is not Equivalence.NOTHING:
            preserved += " only"
        # The first obstacle is named. Obstacles of special links come first.
        if model.compared is not None:
            why = Sentence(
                "one map acts on both rows that are compared, so it must be orthogonal"
            )
        elif model.link.name == "unknown":
            why = Sentence(
                "it changes the lengths of unit rows; read the model with {} if their "
                "dot products were trained",
                Option("link", "identity"),
            )
        elif model.predicts is Equivalence.COSINES:
            why = Sentence("it changes the lengths that the cosine divides by")
        elif self.shifts_left and model.right_bias is None:
            why = Sentence(
                f"shifting the {users}s adds a number to each {items} that only a free "
                f"{items} bias could absorb"
            )
        else:
            why = Sentence(
                f"shifting the {items}s adds a number to each {users} that only a free "
                f"{users} bias could absorb"
            )
        raise EquivalenceError(
            "a gauge on this model must preserve its {}; "
            "got a gauge that preserves {}: {}.",
            model.predicts.title,
            preserved,
            why,
        )
