"""Products of two factors, computed from r × r matrices: norms, angles and chance.

The update of a module is `D = s B A`, with B (out, r) and A (r, in). The QR
decompositions `B = Q R` and `Aᵀ = Q' R'` give `D = Q (s R R'ᵀ) Q'ᵀ`, so its singular
value decomposition is that of a matrix of r × r numbers. D itself is never built. A
gauge G of the pair, `B G` and `G⁻¹ A`, changes no number here but by rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector
from embaudit.core.tolerances import FULL_SPAN
from embaudit.io.adapters import AdapterPair


@dataclass(frozen=True, eq=False)
class Update:
    """The update of a module as `left diag(values) rightᵀ`.

    Examples
    --------
    >>> b, a = np.array([[1.0], [0.0]]), np.array([[3.0, 4.0]])
    >>> update = Update.from_pair(AdapterPair("m", b, a, scale=2.0))
    >>> update.shape, update.norm, update.effective_rank
    ((2, 2), 10.0, 1.0)
    """

    left: Floats = field(repr=False)
    """(out, k) orthonormal columns, with k at most r."""
    values: Vector
    """(k,) singular values in descending order."""
    right: Floats = field(repr=False)
    """(in, k) orthonormal columns."""

    @classmethod
    def from_pair(cls, pair: AdapterPair) -> Update:
        """Decompose the update of a pair."""
        return cls.from_factors(pair.b, pair.a, pair.scale)

    @classmethod
    def from_factors(cls, b: Matrix, a: Matrix, scale: float = 1.0) -> Update:
        """Decompose `scale · b a`."""
        left, left_triangle = np.linalg.qr(np.asarray(b, dtype=np.float64))
        right, right_triangle = np.linalg.qr(np.asarray(a, dtype=np.float64).T)
        core = scale * left_triangle @ right_triangle.T
        u, values, vt = np.linalg.svd(core, full_matrices=False)
        return cls(left @ u, values, right @ vt.T)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of outputs and of inputs."""
        return len(self.left), len(self.right)

    @property
    def norm(self) -> float:
        """Frobenius norm `‖D‖`."""
        return float(np.linalg.norm(self.values))

    @property
    def effective_rank(self) -> float:
        """`(Σ σ²)² / Σ σ⁴`: d if d singular values are equal and the others 0.

        NaN if the update is zero.
        """
        if not self.values[0] > 0:
            return math.nan
        shares = (self.values / self.values[0]) ** 2
        return float(shares.sum() ** 2 / (shares**2).sum())

    @property
    def rank(self) -> int:
        """Number of singular values above 1e-5 of the largest."""
        return int(np.count_nonzero(self.values > FULL_SPAN * self.values[0]))

    @property
    def output_rows(self) -> Floats:
        """(out, k) rows with the lengths and inner products of the rows of D."""
        return np.asarray(self.left * self.values)

    @property
    def input_rows(self) -> Floats:
        """(in, k) rows with the lengths and inner products of the columns of D."""
        return np.asarray(self.right * self.values)

    def product(self, other: Update) -> float:
        """Compute `tr(D₁ᵀ D₂)`, the inner product of two updates of one module."""
        left = self.left.T @ other.left
        right = self.right.T @ other.right
        products = self.values[:, None] * left * right * other.values
        return float(products.sum())

    def deviation_by_chance(self, other: Update) -> float:
        """Return the standard deviation of `tr(D₁ᵀ D₂)` if one side is random.

        Let Ω be a rotation drawn uniformly among all n × n rotations and reflections.
        Then `tr(D₁ᵀ Ω D₂)` has the mean 0 and the variance `‖D₂ D₁ᵀ‖² / n`, because
        `E[Ω_ij Ω_kl] = δ_ik δ_jl / n`. The larger standard deviation of both sides,
        outputs and inputs, is returned: two updates that read the same inputs, for
        example because training began with the same A, are alike by chance more often.
        """
        n_outputs, n_inputs = self.shape
        scales = np.outer(self.values, other.values)
        by_inputs = np.linalg.norm(scales * (self.right.T @ other.right))
        by_outputs = np.linalg.norm(scales * (self.left.T @ other.left))
        return float(
            max(by_inputs / math.sqrt(n_outputs), by_outputs / math.sqrt(n_inputs))
        )

    def distance(self, other: Update) -> float:
        """Compute `‖D₁ - D₂‖` without the cancellation of a difference of squares."""
        b = np.hstack([self.output_rows, -other.output_rows])
        a = np.vstack([self.right.T, other.right.T])
        return Update.from_factors(b, a).norm

    def output_overlap(self, other: Update) -> float:
        """Mean squared cosine of the principal angles between the column spaces.

        The angles are those of the space of smaller dimension: 1 if it lies within the
        other space, 0 if both are orthogonal.
        """
        return _overlap(self.left[:, : self.rank], other.left[:, : other.rank])

    def input_overlap(self, other: Update) -> float:
        """Mean squared cosine of the principal angles between the row spaces."""
        return _overlap(self.right[:, : self.rank], other.right[:, : other.rank])

    def overlaps_by_chance(self, other: Update) -> tuple[float, float]:
        """Return the mean overlap of random spaces, of outputs and of inputs.

        It is `max(d₁, d₂) / n`: each of the `min(d₁, d₂)` directions lies within a
        random space of the other dimension with this share of its squared length.
        """
        n_outputs, n_inputs = self.shape
        larger = max(self.rank, other.rank)
        return larger / n_outputs, larger / n_inputs


def _overlap(first: Floats, second: Floats) -> float:
    """Compute the mean squared cosine of the principal angles of orthonormal bases."""
    smaller = min(first.shape[1], second.shape[1])
    if smaller == 0:
        return math.nan
    return float(np.linalg.norm(first.T @ second) ** 2 / smaller)
