"""A gauge: one change of both factor matrices that leaves predictions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    EPS,
    Matrix,
    Vector,
    as_count,
    as_factors,
    as_vector,
    frozen,
    require_one_of,
)
from embaudit.errors import EquivalenceError, InputError, Option, Sentence, must_be
from embaudit.linalg.rows import cached_blocks
from embaudit.linalg.structured import WIDE, Structured, StructuredLinearMap
from embaudit.linalg.structured import Linear as Map
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Linear
from embaudit.model.sizes import require_model
from embaudit.model.trainings import kept_objective

MOST_RANK = 1_000_000


def require_rank(rank: int) -> None:
    """Refuse a rank below 1, or one whose gauges no memory holds."""
    if as_count(rank, "rank") > MOST_RANK:
        raise must_be("rank", f"at most {MOST_RANK:,}", rank)


def _square(array: ArrayLike | Structured, name: str) -> Map:
    if isinstance(array, Structured):
        return array
    matrix = as_factors(array, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise must_be(name, "a square matrix", f"shape {matrix.shape}")
    return frozen(matrix.astype(np.float64))


def _still(rank: int) -> Map:
    return StructuredLinearMap.identity(rank) if rank > WIDE else np.eye(rank)


def _norm(linear: Map) -> float:
    """Compute the largest singular value."""
    if isinstance(linear, Structured):
        return float(linear.sizes.max())
    # The norm of a diagonal matrix needs no decomposition.
    if np.count_nonzero(linear) == np.count_nonzero(linear.diagonal()):
        return float(np.abs(linear.diagonal()).max())
    return float(np.linalg.norm(linear, 2))


def _affine(x: Matrix, linear: Map, shift: Vector) -> Matrix:
    """Compute `x · linear + 1 shiftᵀ` in float64, stored as precisely as `x` was."""
    # Products in float64 whatever is stored, a few rows at a time: only the result is rounded to the stored precision.
    result = np.empty(x.shape, dtype=x.dtype)
    for rows, block in cached_blocks(x, slice(0, len(x))):
        moved = block @ linear + shift
        largest = float(np.abs(moved).max())
        if largest > float(np.finfo(x.dtype).max):
            raise must_be(
                "moved factors",
                f"within {x.dtype}",
                f"{largest:.1e}",
                "store the model in float64",
            )
        result[rows] = moved
    return result


@dataclass(frozen=True, eq=False)
class Gauge:
    """The change `P' = P M + 1uᵀ, Q' = Q M⁻ᵀ + 1vᵀ`.

    Scores become `P Qᵀ + (P' v) 1ᵀ + 1 (Q M⁻ᵀ u)ᵀ`: the linear part cancels, v adds a number to each row
    and u a number to each column, which biases can absorb.

    Parameters
    ----------
    left, right : array of shape (k, k), or Structured
        M and M⁻ᵀ; `left · rightᵀ = I` is checked, nothing is ever inverted. In very many dimensions no matrix is made
        of what was drawn: `np.asarray` makes it.
    left_shift, right_shift : array of shape (k,), optional
        u and v, zero by default.

    Raises
    ------
    InputError
        If the two matrices are not inverse to each other within rounding.

    Examples
    --------
    >>> g = Gauge.diagonal([2.0, 0.5])
    >>> g
    Gauge(rank 2, condition number 4)
    >>> (g @ g.inverse()).condition_number
    1.0
    >>> Gauge(np.eye(2), np.eye(3))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the right matrix of a gauge must be of shape (2, 2); got shape (3, 3).
    >>> Gauge.identity(2) @ 3
    Traceback (most recent call last):
        ...
    TypeError: unsupported operand type(s) for @: 'Gauge' and 'int'
    >>> Gauge.identity(2) @ Gauge.identity(3)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: gauges must have one rank to compose; got 2 and 3.

    References
    ----------
    Steck, Ekanadham & Kallus, "Is Cosine-Similarity of Embeddings Really About Similarity?", 2024 (diagonal
    and orthogonal); Nielsen, "Why not to use Cosine Similarity between Label Representations", 2026 (translation).
    """

    left: Map
    right: Map
    left_shift: Vector = None  # type: ignore[assignment]
    right_shift: Vector = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        """Check that the two matrices undo each other; shifts that are left out become zeros."""
        for field in ("left", "right"):
            object.__setattr__(
                self,
                field,
                _square(getattr(self, field), f"the {field} matrix of a gauge"),
            )
        k = self.rank
        if self.right.shape != self.left.shape:
            raise must_be(
                "the right matrix of a gauge",
                f"of shape {self.left.shape}",
                f"shape {self.right.shape}",
            )
        for field in ("left_shift", "right_shift"):
            shift = getattr(self, field)
            vector = np.zeros(k) if shift is None else shift
            object.__setattr__(
                self,
                field,
                as_vector(vector, f"the {field.replace('_', ' ')} of a gauge", k),
            )
        # M⁻ᵀ is given and not computed: it is checked by the product, whose rounding grows with κ.
        left, right = self.left, self.right
        if (
            isinstance(left, Structured)
            and isinstance(right, Structured)
            and left.is_undone_by(right)
        ):
            return
        error = float(np.abs(np.asarray(self.left @ self.right.T) - np.eye(k)).max())
        # Beyond one half nothing says that either matrix is invertible at all.
        if not error <= min(0.5, 64 * k * EPS * self.condition_number):
            raise InputError(
                f"left · rightᵀ must be the identity; got an error of {error:.1e}; build it with Gauge.linear."
            )

    @classmethod
    def identity(cls, rank: int) -> Gauge:
        """Make the gauge that changes nothing."""
        require_rank(rank)
        return cls(_still(rank), _still(rank))

    @classmethod
    def diagonal(cls, scales: ArrayLike) -> Gauge:
        """Make `M = diag(scales)`, the rescaling D of the Netflix paper.

        Raises
        ------
        InputError
            If a scale is zero or not finite.
        """
        d = as_vector(scales, "scales", np.size(scales))
        # A scale below 1e-308 has no inverse in float64, though it is not 0.
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / d
        if not np.isfinite(inverse).all():
            at = int(np.argmin(np.isfinite(inverse)))
            raise must_be(
                "scales",
                "numbers whose inverse is finite",
                f"{d[at]} in column {at}",
                "drop that column",
            )
        return (
            cls(StructuredLinearMap(d), StructuredLinearMap(frozen(inverse)))
            if len(d) > WIDE
            else cls(np.diag(d), np.diag(inverse))
        )

    @classmethod
    def linear(cls, matrix: ArrayLike) -> Gauge:
        """Make the gauge of any invertible M, with M⁻ᵀ from its singular value decomposition.

        Raises
        ------
        InputError
            If M is singular to working precision.
        """
        return cls.from_svd(*np.linalg.svd(_square(matrix, "matrix")))

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
        embaudit.errors.InputError: u and vt must be of one shape; got (3, 3) and (2, 2).
        """
        u, vt = as_factors(u, "u"), as_factors(vt, "vt")
        s = as_vector(s, "s", len(vt))
        if u.shape != vt.shape:
            raise must_be("u and vt", "of one shape", f"{u.shape} and {vt.shape}")
        # Below this numpy's rank is short of full, too: the inverse would be made of rounding.
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
        require_rank(rank)
        return cls(_still(rank), _still(rank), left, right)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        parts = [f"rank {self.rank}", f"condition number {self.condition_number:.4g}"]
        for side in ("left", "right"):
            length = float(np.linalg.norm(getattr(self, f"{side}_shift")))
            parts += [f"{side} shift {length:.4g}"] if length else []
        return f"Gauge({', '.join(parts)})"

    @property
    def rank(self) -> int:
        """Number of latent dimensions k."""
        return len(self.left)

    @cached_property
    def condition_number(self) -> float:
        """κ(M) = ‖M‖ ‖M⁻¹‖, 2-norm; the translation has no part in it.

        Two largest singular values, each accurate to rounding, where the smallest one of M would lose κ digits.
        """
        return math.prod(_norm(m) for m in (self.left, self.right))

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
        moved: dict[SideName, bool] = {
            "left": self.shifts_left,
            "right": self.shifts_right,
        }
        return tuple(side for side, moves in moved.items() if moves)

    @property
    def linear_kind(self) -> Linear:
        """Kind of the linear part (identity, rotation, similarity or any), within rounding."""
        # Of very many columns no matrix is made where κ decides.
        if isinstance(self.left, Structured) and not self.is_conformal:
            return Linear.ANY
        # From the smallest kind on: a reflection has determinant −1 and counts as a rotation, since M Mᵀ = I.
        still, rounding, left = (
            np.eye(self.rank),
            64 * self.rank * EPS,
            np.asarray(self.left),
        )
        if np.abs(left - still).max() <= rounding:
            return Linear.IDENTITY
        if np.abs(left @ left.T - still).max() <= rounding:
            return Linear.ROTATION
        return Linear.SIMILARITY if self.is_conformal else Linear.ANY

    @property
    def is_conformal(self) -> bool:
        """True if the linear part only rotates, reflects and scales as a whole (κ = 1), within rounding."""
        return self.condition_number <= 1 + 16 * self.rank * EPS

    @property
    def is_isometry(self) -> bool:
        """True if the linear part keeps every length, within rounding."""
        return self.is_conformal and abs(_norm(self.left) - 1) <= 16 * self.rank * EPS

    @property
    def fixes_cosines(self) -> bool:
        """True if no same-side cosine of any model can move."""
        return self.is_conformal and not self.shifts_left and not self.shifts_right

    @property
    def preserves(self) -> Equivalence:
        """Level preserved in any model, without help from its biases."""
        return self._level(shifts_left=self.shifts_left, shifts_right=self.shifts_right)

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level preserved in this model, whose free biases absorb translations."""
        # Where one side only is divided by its lengths, a common scale is not divided out of the other.
        require_model(model)
        if model.link.needs_lengths and not self.is_isometry:
            return Equivalence.NOTHING
        # Labels of length 1 stay as they are where inputs are shifted, and their bias takes up the shift.
        if (
            model.link.needs_lengths
            and self.shifts
            and {*self.shifts} <= {*model.free_shifts}
        ):
            return Equivalence.COSINES
        return self._level(
            shifts_left=self.shifts_left and model.right_bias is None,
            shifts_right=self.shifts_right and model.left_bias is None,
        )

    def _level(self, *, shifts_left: bool, shifts_right: bool) -> Equivalence:
        # u·q adds a number to a column and changes the order within rows; p·v adds one to a row, which softmax ignores.
        if shifts_left:
            return Equivalence.NOTHING
        if shifts_right:
            return Equivalence.PROBABILITIES
        return Equivalence.COSINES if self.fixes_cosines else Equivalence.SCORES

    def on(self, side: SideName) -> tuple[Map, Vector]:
        """Return what it does to the rows of one side: the (k, k) matrix they are multiplied by, and their shift."""
        require_one_of(side, "side", ("left", "right"))
        return (
            (self.left, self.left_shift)
            if side == "left"
            else (self.right, self.right_shift)
        )

    def inverse(self) -> Gauge:
        """Return the gauge that undoes this one; κ stays the same."""
        # P = (P' − 1uᵀ) M⁻¹ with M⁻¹ = (M⁻ᵀ)ᵀ, so that nothing is inverted here either.
        return Gauge(
            self.right.T,
            self.left.T,
            -(self.left_shift @ self.right.T),
            -(self.right_shift @ self.left.T),
        )

    def __matmul__(self, first: Gauge) -> Gauge:
        """Compose: `(g @ h).act(model)` is `g.act(h.act(model))`.

        Where both sides are shifted, up to one number that left and right biases exchange; no score sees it.
        """
        if not isinstance(first, Gauge):
            return NotImplemented
        if first.rank != self.rank:
            raise InputError(
                f"gauges must have one rank to compose; got {self.rank} and {first.rank}."
            )
        left, right = first.left @ self.left, first.right @ self.right
        if isinstance(left, Structured) or isinstance(right, Structured):
            return self._after(first, left, right)
        # Where the two conditions cancel, as in g⁻¹g, their rounding remains: Newton's iteration for M⁻ᵀ removes it.
        for _ in range(2):
            right = right + (np.eye(self.rank) - right @ left.T) @ right
        return self._after(first, left, right)

    def _after(self, first: Gauge, left: Map, right: Map) -> Gauge:
        return Gauge(
            left,
            right,
            first.left_shift @ self.left + self.left_shift,
            first.right_shift @ self.right + self.right_shift,
        )

    def act(self, model: FactorModel) -> FactorModel:
        """Return the equivalent model; it has the objective of the given one where that keeps its value.

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
        embaudit.errors.EquivalenceError: a gauge on this model must preserve its scores; got one that ...
        >>> Gauge.identity(3).act(model)
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: a gauge must have the rank of the model; got 3 for a model of rank 2.
        """
        self._require_equivalence(model)
        left = (
            None
            if model.left is None
            else _affine(model.left, self.left, self.left_shift)
        )
        right = _affine(model.right, self.right, self.right_shift)
        # p'·q' = p·q + (pM)·v + u·v + (q M⁻ᵀ)·u: the left bias takes the two terms with v, the right one that with u.
        left_bias, right_bias = model.left_bias, model.right_bias
        # Biases take up what rows shift by before they are stored: what rounding does to rows far off is not theirs.
        if self.shifts_right and left_bias is not None and model.left is not None:
            left_bias = (
                left_bias
                - model.left @ (self.left @ self.right_shift)
                - self.left_shift @ self.right_shift
            )
        if self.shifts_left and right_bias is not None:
            rows = model.seen("right", np.asarray(model.right, dtype=np.float64))
            right_bias = right_bias - rows @ (self.right @ self.left_shift)
        objective = (
            kept_objective(model.objective, self.linear_kind, self.shifts)
            if model.objective
            else None
        )
        return model.replace(
            left=left,
            right=right,
            left_bias=left_bias,
            right_bias=right_bias,
            objective=objective,
        )

    def _require_equivalence(self, model: FactorModel) -> None:
        """Refuse a model of another rank, or whose predictions the gauge changes, with the reason."""
        require_model(model)
        users, items = model.roles
        if self.rank != model.rank:
            raise InputError(
                f"a gauge must have the rank of the model; got {self.rank} for a model of rank {model.rank}."
            )
        # The first obstacle is named, those of special links before those of all.
        level = self.preserves_in(model)
        if level >= model.predicts:
            return
        preserved = level.title + (" only" if level else "")
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
            "a gauge on this model must preserve its {}; got one that preserves {}: {}.",
            model.predicts.title,
            preserved,
            why,
        )
