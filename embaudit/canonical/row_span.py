"""Directions that rows span, and those that predictions see.

What a left row holds in a direction that no right row has, and the other way round, moves its cosines and no score.
Where a bias is free, a direction that the other side has alike in every row is one more: the bias could take it up.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Floats, Matrix, Vector, frozen
from embaudit.errors import InputError
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.rows import float64_blocks
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.equivalence import Equivalence

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
    """Return orthonormal columns that span every row, if they are fewer than `rank`.

    Columns that are zero on both sides are dropped, because they must not count as room
    for other models. If there are more columns than rows (and than `most`), a basis of
    the rows is returned. If shifts are free, this basis has one more direction, because
    a shift can leave the span.

    Returns
    -------
    array of shape (k, width), or None
        None if all columns are kept.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0]])
    >>> span_basis(model, most=3).shape, span_basis(model).shape
    ((4, 2), (4, 3))
    >>> span_basis(FactorModel.from_vectors([[3.0, 4.0], [1.0, 0.0]])) is None
    True
    """
    width = model.n_left + model.n_right + bool(model.free_shifts)
    if model.rank <= max(width, most):
        return _used_columns(model)
    draw = np.random.default_rng(0)
    rows = np.vstack(
        [np.asarray(model.side(side).rows, dtype=np.float64) for side in model.sides]
    )
    columns = orthonormal_span(rows, width, draw)
    # The columns of a QR decomposition are nearly the rows themselves, which a stretch of axes then hardly turns.
    return np.asarray(columns @ np.linalg.qr(draw.standard_normal((width, width)))[0])


def _used_columns(model: FactorModel) -> Floats | None:
    """Return the columns of the identity at which some row is not zero.

    Return None if these are all columns, or no column.
    """
    # A final norm divides by the number of columns, so columns of zeros matter.
    if model.final_norm is not None:
        return None
    used = np.zeros(model.rank, dtype=bool)
    for side in model.sides:
        for _, block in float64_blocks(model.factors(side)):
            used |= block.any(axis=0)
            if used.all():
                return None
    return np.asarray(np.eye(model.rank)[:, used]) if used.any() else None


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
    width = linear.shape[1]
    rows = {
        side: Mapped(model.side(side).rows, lambda x: x @ linear, width).stored()
        for side in model.sides
    }
    return model.replace(**rows)


def complement(columns: Floats) -> Floats:
    """Return an orthonormal basis (k, k − n) of what is orthogonal to n columns of any lengths.

    Examples
    --------
    >>> np.abs(complement(np.array([[3e-9], [0.0]]))).tolist()
    [[0.0], [1.0]]
    """
    return np.asarray(
        np.linalg.qr(columns / np.linalg.norm(columns, axis=0), mode="complete")[0][
            :, columns.shape[1] :
        ]
    )


def orthonormal_span(rows: Floats, width: int, draw: np.random.Generator) -> Floats:
    """Return (k, width) orthonormal columns that span all rows (n, k), n ≤ width, and random directions beside them."""
    columns = draw.standard_normal((rows.shape[1], width))
    # Lengths do not matter to what is spanned, and must not overflow.
    columns[:, : len(rows)] = (
        rows / np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    ).T
    return np.asarray(np.linalg.qr(columns)[0])


def outside_shares(x: Matrix, basis: Floats) -> Vector:
    """Compute for each row the share of its squared length that lies outside a (k, r) orthonormal basis."""
    shares = np.zeros(len(x))
    for rows, block in float64_blocks(x):
        largest = np.abs(block).max(axis=1, keepdims=True)
        block = block / np.where(largest > 0, largest, 1)
        whole = np.einsum("ij,ij->i", block, block)
        left_over = block - (block @ basis) @ basis.T
        shares[rows] = np.einsum("ij,ij->i", left_over, left_over) / np.where(
            whole > 0, whole, 1
        )
    return np.asarray(frozen(shares))


def rows_space(
    model: FactorModel, side: SideName, shifts: tuple[SideName, ...] = ()
) -> Floats:
    """Return an orthonormal basis (k, r) of the directions that rows of a side have, centred where shifts are free.

    What rows of the other side hold beside it takes part in no score.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0, 1.0], [2.0, 2.0]], [[1.0, 0.0]])
    >>> [rows_space(model, side).shape[1] for side in ("left", "right")], rows_space(model, "left", ("left",)).shape[1]
    ([1, 1], 1)
    """
    moments = model.moments(side)
    root = moments.centred_root if side in shifts else moments.root
    # Columns are evened out first: a diagonal gauge must not count as a loss of digits.
    sizes = np.linalg.norm(moments.root, axis=0)
    sizes[sizes == 0] = 1
    # Rounding is that of the rows as they are: centred ones may be nothing else.
    least = 16 * moments.precision * np.linalg.norm(moments.root / sizes, 2)
    _, s, vt = np.linalg.svd(root / sizes)
    space = np.linalg.qr((vt[: int((s > least).sum())] * sizes).T)[0]
    # Along the axes of the rows, the longest first.
    return np.asarray(space @ np.linalg.svd(root @ space)[2].T)


def reached_space(model: FactorModel, side: SideName) -> Floats:
    """Return an orthonormal basis (k, r) of the directions in which predictions see what rows of a side hold.

    A softmax or a ranking does not show what is added to all scores of a left row: there the right rows are centred.

    Examples
    --------
    >>> head = FactorModel([[1.0, 5.0], [0.0, 7.0]], [[2.0, 1.0], [3.0, 1.0]], link="softmax")
    >>> reached_space(head, "left").shape[1], reached_space(head.replace(link="identity"), "left").shape[1]
    (1, 2)
    """
    shifts = (
        model.free_shifts
        if side == "left" and model.predicts <= Equivalence.PROBABILITIES
        else ()
    )
    return rows_space(model, OPPOSITE[side], shifts)


def seen_directions(model: FactorModel, shifts: tuple[SideName, ...]) -> Floats:
    """Return an orthonormal basis (k, r) of the directions that the scores see.

    Projected to these directions, the rows of both sides have the same scores, and r is
    the rank of the scores. Sides in `shifts` are centred first.

    Raises
    ------
    InputError
        If every score vanishes.
    """
    if model.left is None or model.predicts is Equivalence.COSINES:
        return np.eye(model.rank)
    left, right = (model.moments(side) for side in model.sides)
    p = left.centred_root if "left" in shifts else left.root
    q = right.centred_root if "right" in shifts else right.root
    precision = max(left.precision, right.precision)

    # A column takes part in scores if neither side is zero there up to rounding. The
    # rounding is relative to the rows before centring, because rows that are all alike
    # consist of nothing but rounding after it.
    sizes_p, sizes_q = _column_lengths(p), _column_lengths(q)
    least_p = 16 * precision * _column_lengths(left.root)
    least_q = 16 * precision * _column_lengths(right.root)
    used = (sizes_p > least_p) & (sizes_q > least_q)

    # Give the columns of both sides equal lengths, so that a diagonal gauge does not
    # count as a loss of digits.
    ratios = np.divide(sizes_q, sizes_p, out=np.ones(model.rank), where=used)
    scale = np.sqrt(ratios)
    p, q = (p * scale)[:, used], (q / scale)[:, used]

    # The rank of the scores is that of p qᵀ, whose singular values below the resolution
    # are rounding.
    uncentred_p = (left.root * scale)[:, used]
    uncentred_q = (right.root / scale)[:, used]
    resolution = precision * _spectral_norm(uncentred_p) * _spectral_norm(uncentred_q)
    rank = int((np.linalg.svd(p @ q.T, compute_uv=False) > resolution).sum())
    if rank == 0:
        raise InputError(
            "the scores must differ from zero; got factors whose products all vanish; "
            "check the input."
        )

    # If `rank` single columns have all products above the resolution, these columns
    # are the basis. They are then kept as they are instead of mixed.
    identity = np.eye(model.rank)
    products = _column_lengths(p) * _column_lengths(q)
    columns = np.flatnonzero(used)[products > resolution]
    if len(columns) == rank:
        return identity[:, columns]
    return identity[:, used] @ _seen_row_space(p, q, scale[used], rank, precision)


def _column_lengths(x: Floats) -> Floats:
    return np.asarray(np.linalg.norm(x, axis=0))


def _spectral_norm(x: Floats) -> float:
    """Return the largest singular value, or 0 for a matrix without columns."""
    return float(np.linalg.svd(x, compute_uv=False).max(initial=0.0))


def _seen_row_space(
    p: Floats, q: Floats, scale: Floats, rank: int, precision: float
) -> Floats:
    """Return the part of the left row space that has products with right rows.

    Left rows are `p / scale` and right rows are `q * scale`. The result has `rank`
    orthonormal columns: the directions in the span of the left rows in which the right
    rows are largest.
    """
    _, s, vt = np.linalg.svd(p)
    rank_p = int((s > precision * s[0]).sum())
    rows = vt[: max(rank, rank_p)] / scale
    left_space, _ = np.linalg.qr(rows.T)
    right_rows = (q * scale) @ left_space
    _, _, directions = np.linalg.svd(right_rows)
    return np.asarray(left_space @ directions[:rank].T)
