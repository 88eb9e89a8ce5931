"""Coordinates of labels that no affine gauge changes, except for a rotation.

Centring the label rows removes every translation, and whitening them every linear
gauge. A translation of the inputs changes the bias by a part that is linear in the
rows, so that part is removed from the bias. The rest is the affine shape of the head,
which decides which labels can be the most probable one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices, Matrix, Vector, frozen
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.tolerances import EQUAL_ROWS, TIE
from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.linalg.duplicates import equal_representatives
from embaudit.linalg.moments import Moments, moments
from embaudit.linalg.rows import float64_blocks, row_norms, unit_rows
from embaudit.model import FactorModel
from embaudit.model.sizes import require_model, require_ordinary_size

EQUAL = "{} must not all be equal; check the input."


def require_softmax(model: FactorModel, purpose: str | Parameter) -> None:
    """Raise InputError unless the model is a softmax head, which `purpose` needs.

    Examples
    --------
    >>> require_softmax(FactorModel.from_vectors([[1.0]]), "probe inputs")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the model must be a softmax head for probe inputs; got
    one with identity link; read it with kind='head'.
    """
    require_model(model)
    if model.link.name != "softmax":
        raise must_be(
            "the model",
            Sentence("a softmax head for {}", purpose),
            f"one with {model.link.name} link",
            Sentence("read it with {}", Option("kind", "head")),
        )


def require_different(x: Matrix, name: str) -> None:
    """Raise InputError if all rows of a matrix are equal."""
    if all((x[rows] == x[0]).all() for rows in row_blocks(*x.shape)):
        raise InputError(EQUAL.format(name))


@dataclass(frozen=True, eq=False)
class LabelCoordinates:
    """Whitened label rows and the part of the bias that they do not explain.

    A label has the coordinates `u = (z, β)`: `z = (w − w̄) T` with `Σ z zᵀ / V = I`,
    and β is its bias without the best linear fit by z, scaled to standard deviation 1.
    An input is `(x, τ)` with τ > 0, and the logit of a label is `z · x + β τ` up to a
    constant that all labels share. At τ = 0 the input is far out, where the bias no
    longer counts.

    Rows are read block by block.
    """

    rows: Matrix
    """(V, k) the label rows as the head multiplies them."""
    mean: Vector
    """(k,) w̄."""
    whitening: Matrix
    """(k, r) T."""
    residual: Vector
    """(V,) β; zero without a bias, or if the rows explain the bias."""

    def __repr__(self) -> str:
        return f"LabelCoordinates({self.n_labels:,} labels, affine rank {self.rank})"

    @property
    def n_labels(self) -> int:
        """Number of labels V."""
        return len(self.rows)

    @property
    def rank(self) -> int:
        """Affine rank r: number of dimensions that the differences of rows span."""
        return int(self.whitening.shape[1])

    @property
    def is_simplex(self) -> bool:
        """True if the rows are affinely independent, so inputs can make any logits.

        Examples
        --------
        >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [3.0, 2.0]])
        >>> for n in (3, 4):
        ...     label_coordinates(FactorModel.from_softmax(rows[:n])).is_simplex
        True
        False
        """
        return self.n_labels <= self.rank + 1

    def without_bias(self) -> Self:
        """Return coordinates for inputs far out, where the bias no longer counts."""
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

        blocks = row_blocks(self.n_labels, self.rows.shape[1] + len(inputs))
        yield from parallel_map(logits, blocks, in_threads=True)


def label_coordinates(
    model: FactorModel, *, summary: Moments | None = None
) -> LabelCoordinates:
    """Whiten the label rows of a softmax head block by block.

    Parameters
    ----------
    model : FactorModel
        A softmax head.
    summary : Moments, optional
        Moments of the stored label rows, if they have been computed already.

    Raises
    ------
    InputError
        If the model is not a softmax head, its rows are too long or too short, or all
        its rows are equal.

    Examples
    --------
    >>> rows = [[1.0, 5.0], [3.0, 5.0], [8.0, 5.0]]
    >>> label_coordinates(FactorModel.from_softmax(rows))
    LabelCoordinates(3 labels, affine rank 1)
    """
    require_softmax(model, "the geometry of its labels")
    require_ordinary_size(model)
    rows = model.right
    if "right" in model.link.unit_sides:
        # The head multiplies its inputs with unit rows, which have other moments.
        rows, summary = unit_rows(model.right, none=0), None
    summary = moments(rows) if summary is None else summary
    whitening = np.sqrt(model.n_right) * _inverse_root(summary)
    space = LabelCoordinates(
        rows, summary.mean, frozen(whitening), np.zeros(model.n_right)
    )
    if model.right_bias is None:
        return space
    return replace(space, residual=frozen(_residual(space, model.right_bias)))


def _inverse_root(summary: Moments) -> Matrix:
    """Return T, (k, r), with `Σ z zᵀ = I` for `z = (w − w̄) T`.

    With the SVD `O s Vᵀ` of the centred rows, `T = V s⁻¹` gives the rows of O. Singular
    values that are rounding are dropped.
    """
    s, vt = summary.axes
    size = float(np.sqrt(summary.n_rows) * np.abs(summary.mean).max())
    rank = int((s > summary.precision * max(s[0], size)).sum())
    if rank == 0:
        raise InputError(EQUAL.format("label rows"))
    return np.asarray(vt[:rank].T / s[:rank])


def _residual(space: LabelCoordinates, bias: Vector) -> Floats:
    """Remove the mean and the best linear fit from the bias, and scale the rest.

    The mean is common to all labels, and a shift of the inputs makes up for the part
    that is linear in the rows. With `Σ z zᵀ / V = I` the normal equations of the fit
    are solved by a product: the fit is `z · Σ (b − b̄) z / V`.
    """
    centred = np.asarray(bias - bias.mean(), dtype=np.float64)
    slope = np.zeros(space.rows.shape[1])
    for labels, block in float64_blocks(space.rows):
        slope += centred[labels] @ (block - space.mean)
    fit = space.whitening @ (space.whitening.T @ slope) / space.n_labels
    residual = np.empty_like(centred)
    for labels, block in float64_blocks(space.rows):
        residual[labels] = centred[labels] - (block - space.mean) @ fit
    spread = float(np.sqrt(np.mean(residual**2)))
    if spread <= TIE * float(np.ptp(bias)):
        return np.zeros_like(residual)
    return residual / spread


def first_twins(space: LabelCoordinates, bias: Vector | None) -> Indices:
    """Find for each label the first label with an equal row and an equal bias.

    A label without such a twin is its own first label. Twins have the same logit at
    every input, up to rounding, so labels are sorted by their logits at one random
    input, and rows and biases of labels that follow each other are compared.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 1.0]]
    >>> head = FactorModel.from_softmax(rows)
    >>> first_twins(label_coordinates(head), None).tolist()
    [0, 1, 0, 3]
    """
    biases = np.zeros(space.n_labels)
    if bias is not None:
        biases = np.asarray(bias, dtype=np.float64)
    largest_bias = float(np.abs(biases).max()) or 1.0
    # The key of a label is its logit for one random input of length √r, plus its bias
    # times another number.
    direction = np.random.default_rng(0).standard_normal(space.rank)
    direction *= np.sqrt(space.rank) / np.linalg.norm(direction)
    keys = np.sqrt(2) * biases / largest_bias
    random_input = np.append(direction, 0.0)[None]
    for labels, logits in space.without_bias().logit_blocks(random_input):
        keys[labels] += logits[:, 0]
    # Largest distance of the coordinates of equal rows. The columns of the whitening
    # are orthogonal, so its longest column bounds how much it stretches a difference.
    longest = float(row_norms(space.rows).max())
    stretch = float(np.linalg.norm(space.whitening, axis=0).max())
    tolerance = EQUAL_ROWS * longest * stretch
    key_tolerance = np.sqrt(space.rank) * tolerance + 2 * EQUAL_ROWS

    def are_twins(labels: Indices, others: Indices) -> Flags:
        bias_gap = np.abs(biases[labels] - biases[others])
        is_twin = bias_gap <= EQUAL_ROWS * largest_bias
        candidates = np.flatnonzero(is_twin)
        for block in row_blocks(len(candidates), 2 * space.rank):
            places = candidates[block]
            # The last coordinate is the bias.
            z = space.take(labels[places])[:, :-1]
            z_other = space.take(others[places])[:, :-1]
            is_twin[places] = np.linalg.norm(z - z_other, axis=1) <= tolerance
        return is_twin

    return equal_representatives(keys, float(key_tolerance), are_twins)
