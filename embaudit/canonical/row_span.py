"""A model of very many columns in the few dimensions that its rows span: the same predictions, the same cosines."""

from __future__ import annotations

import numpy as np

from embaudit.canonical.mapping import mapped
from embaudit.core.checked import Floats
from embaudit.model import FactorModel

DEAR = 1_024
"""Columns above which matrices of columns by columns are dear."""


def in_span(model: FactorModel, *, most: int = DEAR) -> FactorModel:
    """Turn the rows of both sides into the dimensions they span, where there are more columns than rows in all.

    An orthogonal map of both sides changes no product and no cosine. Where a side may be shifted, one dimension outside
    is kept, since shifts may leave the span; what linear maps of all columns do to rows, maps of these dimensions do.

    Parameters
    ----------
    model : FactorModel
        Returned as it is where it has no more columns than rows, or no more than `most`.
    most : int
        Columns that are not too many.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> small = in_span(model, most=3)
    >>> small.rank, np.allclose(small.cosines("right"), model.cosines("right"))
    (2, True)
    """
    return turned(model, span_basis(model, most=most))


def span_basis(model: FactorModel, *, most: int = DEAR) -> Floats | None:
    """Return orthonormal columns that span every row, and one more direction where shifts leave the span.

    Returns
    -------
    array of shape (k, width), or None
        None where the model has no more columns than that, or no more than `most`.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> span_basis(model, most=3).shape, span_basis(model)
    ((4, 2), None)
    """
    width = model.n_left + model.n_right + bool(model.free_shifts)
    if model.rank <= max(width, most):
        return None
    draw = np.random.default_rng(0)
    rows = np.vstack([np.asarray(model.side(side).rows, dtype=np.float64) for side in model.sides])
    columns = orthonormal_span(rows, width, draw)
    # The columns of a QR decomposition are nearly the rows themselves, which a stretch of axes then hardly turns.
    return np.asarray(columns @ np.linalg.qr(draw.standard_normal((width, width)))[0])


def turned(model: FactorModel, linear: Floats | None) -> FactorModel:
    """Multiply the rows of both sides by one (k, m) matrix: of orthonormal columns that span them, or its transpose.

    Without a matrix the model stays as it is.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> basis = span_basis(model, most=3)
    >>> np.allclose(turned(turned(model, basis), basis.T).right, model.right)
    True
    """
    if linear is None:
        return model
    zero = np.zeros(len(linear))
    return model.replace(**{side: mapped(model.side(side).rows, zero, linear) for side in model.sides})


def complement(columns: Floats) -> Floats:
    """Return an orthonormal basis (k, k − n) of what is orthogonal to n columns of any lengths.

    Examples
    --------
    >>> np.abs(complement(np.array([[3e-9], [0.0]]))).tolist()
    [[0.0], [1.0]]
    """
    return np.asarray(
        np.linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="complete")[0][:, columns.shape[1] :]
    )


def orthonormal_span(rows: Floats, width: int, draw: np.random.Generator) -> Floats:
    """Return (k, width) orthonormal columns that span all rows (n, k), n ≤ width, and random directions beside them."""
    columns = draw.standard_normal((rows.shape[1], width))
    # Lengths do not matter to what is spanned, and must not overflow.
    columns[:, : len(rows)] = (rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)).T
    return np.asarray(np.linalg.qr(columns)[0])
