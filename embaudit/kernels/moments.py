"""One pass over one side of a model: its mean row and a small matrix with the same inner products.

A factor matrix X of any height is summed up by its mean row and by a k×k root R of its centred Gram
matrix, `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`. Everything a linear gauge can do to cosines is read from the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from embaudit.foundation.checked import Floats, Matrix, Vector, frozen
from embaudit.kernels.passes import cached_blocks, each_chunk
from embaudit.kernels.rows import unit_rows

EPS = float(np.finfo(np.float64).eps)
Route: TypeAlias = Literal["qr", "gram"]
AFFORDABLE = 2**24
"""Entries up to which float32 factors take the slower QR route too."""


@dataclass(frozen=True, eq=False)
class Moments:
    """What one pass over an n×k factor matrix keeps of it."""

    n_rows: int
    """Number of rows n."""
    mean: Vector
    """(k,) the mean row."""
    centred_root: Matrix
    """(k, k) R with `RᵀR = Σ (x − x̄)(x − x̄)ᵀ`."""
    precision: float
    """Relative to the largest one, the singular values that the numbers and the route can tell from zero."""
    route: Route
    """QR (errors relative to X) or the Gram matrix (relative to its square, in float64)."""

    @cached_property
    def root(self) -> Matrix:
        """(k, k) R with `RᵀR = XᵀX`, the rows as they are."""
        stacked = np.vstack([np.sqrt(self.n_rows) * self.mean, self.centred_root])
        return frozen(np.asarray(np.linalg.qr(stacked, mode="r")))

    @cached_property
    def constant_columns(self) -> tuple[int, ...]:
        """Columns that hold one number other than 0 in every row, as a bias kept inside the factors needs."""
        spread = np.linalg.norm(self.centred_root, axis=0)
        level = np.sqrt(self.n_rows) * np.abs(self.mean)
        return tuple(np.flatnonzero((level > 0) & (spread <= 16 * self.precision * level)).tolist())


def moments(x: Matrix, *, normalise: bool = False) -> Moments:
    """Sum up a factor matrix in one streamed pass.

    QR of `[1 X]`, a block of rows at a time, holds the mean in its first row and the centred root below
    it, and does not square the condition number. Large float32 matrices take the Gram matrix in float64
    instead, ten times faster: what its square loses (singular values below √(k·eps) = 1e-7 of the
    largest) is below what float32 holds.

    Parameters
    ----------
    x : array of shape (n, k)
        Factors; may lie on disk.
    normalise : bool
        Take rows of length 1 instead, as a model that predicts cosines does.

    Examples
    --------
    >>> m = moments(np.array([[1.0, 1.0], [3.0, 1.0]]))
    >>> m.mean.round(12), np.abs(m.centred_root).round(12), m.constant_columns
    (array([2., 1.]), array([[1.41421356, 0.        ],
           [0.        , 0.        ]]), (1,))
    """
    use_gram = x.dtype == np.float32 and x.size > AFFORDABLE
    k = x.shape[1]
    mean, root = (_by_gram if use_gram else _by_qr)(x, normalise=normalise)
    precision = max(k * EPS, float(np.finfo(x.dtype).eps), np.sqrt(k * EPS) if use_gram else 0.0)
    return Moments(len(x), frozen(mean), frozen(root), precision, "gram" if use_gram else "qr")


def _qr(blocks: list[Floats]) -> Floats:
    return np.asarray(np.linalg.qr(np.vstack(blocks), mode="r"))


def _by_qr(x: Matrix, *, normalise: bool) -> tuple[Vector, Matrix]:
    k = x.shape[1]

    def triangle(chunk: slice) -> Floats:
        factor = np.zeros((k + 1, k + 1))
        for block in _chunk_blocks(x, chunk, normalise=normalise):
            factor = _qr([factor, np.column_stack([np.ones(len(block)), block])])
        return factor

    factor = np.zeros((k + 1, k + 1))
    for part in each_chunk(x, triangle):
        factor = _qr([factor, part])
    return factor[0, 1:] / factor[0, 0], factor[1:, 1:]


def _chunk_blocks(x: Matrix, chunk: slice, *, normalise: bool) -> Iterator[Floats]:
    """Yield the cached blocks of a chunk, their rows of length 1 if `normalise`."""
    for _, block in cached_blocks(x, chunk):
        yield unit_rows(block, none=0) if normalise else block


def _by_gram(x: Matrix, *, normalise: bool) -> tuple[Vector, Matrix]:
    """Accumulate sums about a provisional mean, so that a large mean does not cancel the spread."""
    k = x.shape[1]
    first = next(iter(_chunk_blocks(x, slice(0, min(4096, len(x))), normalise=normalise)))
    origin = first.mean(axis=0)

    def sums(chunk: slice) -> tuple[Floats, Floats]:
        gram, total = np.zeros((k, k)), np.zeros(k)
        for block in _chunk_blocks(x, chunk, normalise=normalise):
            block -= origin
            gram += block.T @ block
            total += np.ones(len(block)) @ block
        return gram, total

    gram, total = np.zeros((k, k)), np.zeros(k)
    for part_gram, part_total in each_chunk(x, sums):
        gram += part_gram
        total += part_total
    shift = total / len(x)
    return origin + shift, gram_root(gram - len(x) * np.outer(shift, shift))


def gram_root(gram: Floats) -> Floats:
    """Compute R with `RᵀR = G` for a positive semidefinite G, whatever the scales of its columns.

    Examples
    --------
    >>> r = gram_root(np.array([[4.0, 0.0], [0.0, 1e-40]]))
    >>> np.allclose(r.T @ r / [[4.0, 1], [1, 1e-40]], np.eye(2))
    True
    """
    scale = np.sqrt(np.maximum(np.diag(gram), 0))
    scale[scale == 0] = 1
    values, vectors = np.linalg.eigh(gram / scale[:, None] / scale)
    root: Floats = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T * scale
    return root
