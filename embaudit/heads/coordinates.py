"""Coordinates of labels that no affine gauge changes, but for a rotation.

Centring the label rows removes every translation, whitening them every linear gauge, and the part of the
bias that is linear in the rows goes with the translation of the inputs. What is left is the affine shape
of the head: the place to ask which labels can win.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix, Vector, frozen
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.errors import InputError, Parameter, Sentence, must_be
from embaudit.linalg.moments import Moments, moments
from embaudit.linalg.rows import float64_blocks, row_norms, unit_rows
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model

EQUAL = "{} must differ from each other; all rows are equal; check the input."
ORDINARY = (1e-100, 1e100)
"""Largest entries between which squares of rows neither overflow nor vanish."""
LINEAR = 1e-9
"""A bias whose residual is this small beside its spread is linear in the rows: rounding is all that is left."""


def require_softmax(model: FactorModel, purpose: str | Parameter) -> None:
    """Raise InputError unless the model is a softmax head, which `purpose` needs.

    Examples
    --------
    >>> require_softmax(FactorModel.from_vectors([[1.0]]), "probe inputs")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the model must be a softmax head for probe inputs; got
    one with identity link; make it with from_softmax.
    """
    require_model(model)
    if model.link.name != "softmax":
        raise must_be(
            "the model",
            Sentence("a softmax head for {}", purpose),
            f"one with {model.link.name} link",
            "make it with from_softmax",
        )


def of_ordinary_size(x: Matrix) -> Matrix:
    """Multiply a matrix by a power of two where squares of its entries would overflow or vanish.

    Examples
    --------
    >>> of_ordinary_size(np.array([[2.0**600, -(2.0**601)]]))
    array([[ 0.5, -1. ]])
    """
    largest = max(float(np.abs(x[rows]).max()) for rows in row_blocks(*x.shape))
    if not largest or ORDINARY[0] <= largest <= ORDINARY[1]:
        return x
    # A power of two rounds nothing, and no answer depends on the scale of a head.
    return frozen(
        np.ldexp(np.asarray(x, dtype=np.float64), -int(np.ceil(np.log2(largest))))
    )


def require_different(x: Matrix, what: str) -> None:
    """Refuse a matrix all of whose rows are equal."""
    if all((x[rows] == x[0]).all() for rows in row_blocks(*x.shape)):
        raise InputError(EQUAL.format(what))


@dataclass(frozen=True, eq=False)
class LabelCoordinates:
    """Whitened label rows and what is left of the bias, read a block of rows at a time.

    A label has the coordinates `(z, β)`, `z = (w − w̄) T` with `Σ z zᵀ / V = I` (to six digits, of very many long
    rows), and β its bias less the best linear fit by z, scaled to spread 1. An input is `(x, τ)` with τ > 0, and a
    logit `z · x + β τ` up to what is common to all labels; τ → 0 are inputs far out, where the bias no longer counts.
    """

    rows: Matrix
    """(V, k) the label rows as stored."""
    mean: Vector
    """(k,) w̄."""
    whitening: Matrix
    """(k, r) T."""
    residual: Vector
    """(V,) β; zero without a bias, or where the rows explain it."""

    def __repr__(self) -> str:
        return f"LabelCoordinates({self.n_labels:,} labels, affine rank {self.rank})"

    @property
    def n_labels(self) -> int:
        """Number of labels V."""
        return len(self.rows)

    @property
    def rank(self) -> int:
        """Affine rank r: dimensions that the differences of labels span."""
        return int(self.whitening.shape[1])

    @property
    def is_simplex(self) -> bool:
        """True if the rows are affinely independent: then inputs can make any logits at all.

        Examples
        --------
        >>> from embaudit.model import FactorModel
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, 2.0]])
        >>> [label_coordinates(FactorModel.from_softmax(rows[:n])).is_simplex for n in (2, 3, 4)]
        [True, True, False]
        """
        return self.n_labels <= self.rank + 1

    def without_bias(self) -> Self:
        """Return the coordinates far out, where the bias no longer counts."""
        return replace(self, residual=np.zeros(self.n_labels))

    def take(self, labels: Indices) -> Floats:
        """Return the coordinates `(z, β)` of some labels, (m, r + 1)."""
        rows = np.asarray(self.rows[labels], dtype=np.float64)
        z = (rows - self.mean) @ self.whitening
        return np.column_stack([z, self.residual[labels]])

    def logit_blocks(self, inputs: Floats) -> Iterator[tuple[slice, Floats]]:
        """Yield `(labels, logits)` of inputs `(x, τ)`, (m, r + 1), block by block.

        Each block has the logits of some labels, one row per label.
        """
        x, bias_scale = inputs[:, :-1], inputs[:, -1]
        weights = self.whitening @ x.T
        mean_logits = self.mean @ weights

        def logits(labels: slice) -> tuple[slice, Floats]:
            rows = np.asarray(self.rows[labels], dtype=np.float64)
            # (w − w̄) T x is w T x less w̄ T x, so no block of rows is centred.
            values: Floats = rows @ weights - mean_logits
            values += np.outer(self.residual[labels], bias_scale)
            return labels, values

        yield from parallel_map(logits, row_blocks(*self.rows.shape), in_threads=True)


def label_coordinates(
    model: FactorModel, *, summary: Moments | None = None
) -> LabelCoordinates:
    """Whiten the label rows of a softmax head, as it multiplies them, streamed.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    summary : Moments, optional
        Of its label rows, where they are at hand already and of ordinary size.

    Raises
    ------
    InputError
        If the model is no softmax head, or all its rows are equal.

    Examples
    --------
    >>> label_coordinates(FactorModel.from_softmax([[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]]))
    LabelCoordinates(3 labels, affine rank 1)
    """
    require_softmax(model, "the geometry of its labels")
    rows = model.right if summary is not None else of_ordinary_size(model.right)
    if "right" in model.link.unit_sides:  # what the head multiplies its inputs with
        # Moments at hand are those of the rows as stored, not of these.
        rows, summary = unit_rows(model.right, none=0), None
    summary = moments(rows) if summary is None else summary
    whitening = np.sqrt(model.n_right) * _inverse_root(summary)
    plain = LabelCoordinates(
        rows, summary.mean, frozen(whitening), np.zeros(model.n_right)
    )
    if model.right_bias is None:
        return plain
    return replace(
        plain, residual=frozen(_residual(plain, np.asarray(model.right_bias)))
    )


def _inverse_root(summary: Moments) -> Matrix:
    """Return T with `Σ z zᵀ = I` for `z = (w − w̄) T`, of as many columns as the rows span dimensions."""
    if summary.right_inverse is not None:
        return summary.right_inverse
    # Axes of the rows, those of rounding left out: with the SVD `O s Vᵀ` of the centred rows, `(w − w̄) V s⁻¹` are rows
    # of O.
    s, vt = summary.axes
    size = float(np.sqrt(summary.n_rows) * np.abs(summary.mean).max())
    rank = int((s > summary.precision * max(s[0], size)).sum())
    if rank == 0:
        raise InputError(EQUAL.format("label rows"))
    return np.asarray(vt[:rank].T / s[:rank])


def _residual(space: LabelCoordinates, bias: Floats) -> Floats:
    """Remove from the bias what is linear in the rows, and scale the rest to spread 1."""
    # A constant is common to all labels; what is linear in the rows a shift of the inputs makes up for.
    centred = bias - bias.mean()
    slope = np.zeros(space.rows.shape[1])
    for labels, block in float64_blocks(space.rows):
        slope += centred[labels] @ (block - space.mean)
    # Σ z zᵀ / V = I turns the normal equations of the fit into a product.
    fit = space.whitening @ (space.whitening.T @ slope) / space.n_labels
    residual = np.empty_like(centred)
    for labels, block in float64_blocks(space.rows):
        residual[labels] = centred[labels] - (block - space.mean) @ fit
    spread = float(np.sqrt(np.mean(residual**2)))
    return (
        np.zeros_like(residual)
        if spread <= LINEAR * float(np.ptp(bias))
        else residual / spread
    )


EQUAL_WITHIN = 256 * np.finfo(np.float64).eps
"""Rows and biases that differ by less, beside the largest ones, differ by rounding."""


def first_twins(space: LabelCoordinates, bias: Vector | None) -> Indices:
    """Find for each label the first one that always has the same logit; itself where it has no twin.

    One random input gives twins the same logit, up to rounding; rows are compared where it does.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.heads.coordinates import label_coordinates
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 1.0]])
    >>> first_twins(label_coordinates(head), None).tolist()
    [0, 1, 0, 3]
    """
    biases = (
        np.zeros(space.n_labels) if bias is None else np.asarray(bias, dtype=np.float64)
    )
    level = float(np.abs(biases).max()) or 1.0
    # Logits of one random input of length √r, and the bias by another random number.
    direction = np.random.default_rng(0).standard_normal(space.rank)
    direction *= np.sqrt(space.rank) / np.linalg.norm(direction)
    keys = np.sqrt(2) * biases / level
    for labels, logits in space.without_bias().logit_blocks(
        np.append(direction, 0.0)[None]
    ):
        keys[labels] += logits[:, 0]
    order = np.argsort(keys, kind="stable")
    # Equal rows differ by this at most once they are centred and whitened, by a map of orthogonal columns.
    longest = float(row_norms(space.rows).max())
    tolerance = float(
        EQUAL_WITHIN * longest * np.linalg.norm(space.whitening, axis=0).max()
    )
    near = np.diff(keys[order]) <= np.sqrt(space.rank) * tolerance + 2 * EQUAL_WITHIN
    near &= np.abs(np.diff(biases[order])) <= EQUAL_WITHIN * level
    candidates = np.flatnonzero(near)
    for block in row_blocks(len(candidates), 2 * space.rank):
        pair = candidates[block]
        gap = space.take(order[pair])[:, :-1] - space.take(order[pair + 1])[:, :-1]
        near[pair] = np.linalg.norm(gap, axis=1) <= tolerance
    # Each run of labels that are near one another is called by its smallest number.
    begins = np.concatenate([[0], np.flatnonzero(~near) + 1])
    first = np.empty(len(order), dtype=np.intp)
    first[order] = np.repeat(
        np.minimum.reduceat(order, begins), np.diff(np.append(begins, len(order)))
    )
    return first
