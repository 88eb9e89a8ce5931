"""Directions that rows span, and directions that predictions see.

If a left row has a component in a direction that no right row has, the component
changes cosines of this row but no score. The same holds for right rows. If a bias is
free, a direction in which all rows of the other side are alike is unseen too, because
the bias can absorb its scores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from embaudit.core.checked import Flags, Floats, Matrix, Vector, frozen
from embaudit.core.tolerances import FLOAT32_SHARE, USED_SHARE
from embaudit.errors import InputError
from embaudit.linalg.duplicates import (
    duplicate_representatives,
    spaced_places,
    spacing_of,
)
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.rows import float64_blocks, unit_rows
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.equivalence import Equivalence

DEAR = 1_024
"""Number of columns above which (columns × columns) matrices cost too much."""


def in_span(model: FactorModel, *, most: int = DEAR) -> FactorModel:
    """Express the rows of both sides in the dimensions that they span.

    An orthogonal map of both sides changes no product and no cosine, and every linear
    map of the columns acts on the rows like some linear map of these dimensions. If a
    side can be shifted, one dimension outside the span is kept, because a shift can
    leave the span.

    Parameters
    ----------
    model : FactorModel
        Columns of zeros are dropped. If at most `most` other columns are left, or no
        more than there are rows, the others are kept.
    most : int
        Number of columns up to which the span is not computed.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> small = in_span(model, most=2)
    >>> small.rank, np.allclose(small.cosines("right"), model.cosines("right"))
    (2, True)
    """
    return turned(model, span_basis(model, most=most))


def span_basis(model: FactorModel, *, most: int = DEAR) -> Floats | None:
    """Return orthonormal columns that span every row, if they are fewer than `rank`.

    Columns that are zero on both sides are dropped, because they must not count as room
    for other models. If more other columns are left than rows (and than `most`), a
    basis of the rows is returned. If shifts are free, this basis has one more
    direction, because a shift can leave the span.

    Returns
    -------
    array of shape (k, width), or None
        None if all columns are kept.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0]])
    >>> span_basis(model, most=2).shape, span_basis(model).shape
    ((4, 2), (4, 3))
    >>> span_basis(FactorModel.from_vectors([[3.0, 4.0], [1.0, 0.0]])) is None
    True
    """
    width = model.n_left + model.n_right + bool(model.free_shifts)
    used = used_columns(model)
    if np.count_nonzero(used) <= max(width, most):
        return _columns_of_identity(used)
    draw = np.random.default_rng(0)
    rows = np.vstack(
        [np.asarray(model.side(side).rows, dtype=np.float64) for side in model.sides]
    )
    columns = orthonormal_span(rows, width, draw)
    # The columns of a QR decomposition are nearly the rows themselves, so that a
    # stretch of the axes would hardly turn rows. A random rotation prevents this.
    return np.asarray(columns @ np.linalg.qr(draw.standard_normal((width, width)))[0])


def used_columns(model: FactorModel) -> Flags:
    """Flag the columns in which some row is not zero.

    All columns are flagged if no row has any other number than zero. They are also
    flagged if a final norm follows, because it divides by the number of columns.

    Examples
    --------
    >>> used_columns(FactorModel.from_vectors([[3.0, 0.0, 0.0], [1.0, 0.0, 2.0]]))
    array([ True, False,  True])
    """
    all_columns = np.ones(model.rank, dtype=bool)
    if model.final_norm is not None:
        return all_columns
    used = np.zeros(model.rank, dtype=bool)
    for side in model.sides:
        for _, block in float64_blocks(model.factors(side)):
            used |= block.any(axis=0)
            if used.all():
                return used
    return used if used.any() else all_columns


def _columns_of_identity(flags: Flags) -> Floats | None:
    """Return the flagged columns of the identity; None if all are flagged."""
    if flags.all():
        return None
    columns = np.flatnonzero(flags)
    basis = np.zeros((len(flags), len(columns)))
    basis[columns, np.arange(len(columns))] = 1
    return basis


def spanning_bases(model: FactorModel) -> list[Floats | None]:
    """Return orthonormal columns that span every row in as few dimensions as possible.

    Storage must not count as room for other models, so whether cosines are free, pinned
    or undecided is decided in the dimensions that the rows span. Columns of zeros add
    none. Rotated columns of zeros add none either, but after rounding the rows hold a
    little in them. So a dimension counts as used if some row has a share of more than
    `USED_SHARE` of its squared length there, and more than rounding leaves. It counts
    as unused if no row has a larger share than rounding to the stored format leaves, or
    to float32 if that format is shorter. In between, rounding may have made the
    dimension.

    Returns
    -------
    list of arrays of shape (k, r), or None for all k columns
        One basis, or two if rounding may have made some dimensions: first the basis
        without these dimensions, then the basis with them. The columns are columns of
        the identity if this suffices, and principal axes of the rows otherwise.
        Principal axes are not computed if a final norm follows, which divides by the
        number of columns, and for more than `DEAR` columns.

    Examples
    --------
    >>> plane = np.array([[3.0, 4.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    >>> spanning_bases(FactorModel.from_vectors(plane))[0].tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    >>> rotation, _ = np.linalg.qr(np.vander([1.0, 2.0, 3.0]))
    >>> turned_plane = FactorModel.from_vectors(plane @ rotation)
    >>> [basis.shape for basis in spanning_bases(turned_plane)]
    [(3, 2)]
    >>> spanning_bases(FactorModel.from_vectors(plane[:, :2]))
    [None]

    A third dimension that holds 1e-13 of the squared length of the last row may come
    from rounding.

    >>> plane[2, 2] = 2 * 1e-13**0.5
    >>> bases = spanning_bases(FactorModel.from_vectors(plane))
    >>> bases[0].shape, bases[1]
    ((3, 2), None)
    """
    columns = _columns_of_identity(used_columns(model))
    if model.rank > DEAR or model.final_norm is not None:
        return [columns]
    spacing = max(_spacing(model.factors(side)) for side in model.sides)
    # Rounding moves each number by at most half a spacing.
    used = max(USED_SHARE, spacing**2 / 4)
    unused = min(FLOAT32_SHARE, (model.rank * spacing) ** 2)
    if _sample_uses_all(model, used):
        return [None]
    axes, outside = _principal_axes(model)
    widths = sorted({_n_axes(outside, used), _n_axes(outside, unused)})
    bases: list[Floats | None] = []
    for width in widths:
        if width == model.rank:
            bases.append(None)
        elif columns is not None and columns.shape[1] == width:
            # Columns are preferred if they are as few, because they are exact.
            bases.append(columns)
        else:
            bases.append(axes[:, :width])
    return bases


def _spacing(x: Matrix) -> float:
    """Return the distance from 1 to the next number of the format of a few rows."""
    return spacing_of(np.asarray(x[spaced_places(len(x))], dtype=np.float64))


def _sample_uses_all(model: FactorModel, share: float) -> bool:
    """Return True if an even sample of rows shows that every dimension is used."""
    if sum(len(model.side(side)) for side in model.sides) < model.rank:
        return False
    # The largest share of a row along an axis is at least the mean share. The squared
    # singular values of the root are sums of the mean shares of both sides.
    sample = {}
    for side in model.sides:
        n = len(model.side(side))
        sample[side] = np.unique(np.linspace(0, n - 1, 2 * model.rank).astype(int))
    least = np.linalg.svd(_unit_root(model.take(**sample)), compute_uv=False)[-1]
    return bool(least**2 > len(model.sides) * share)


def n_directions(model: FactorModel, side: SideName) -> int:
    """Count the different directions of the rows of one side.

    Examples
    --------
    >>> rows = [[1.0, 2.0], [2.0, 4.0], [0.0, 0.0], [-1.0, -2.0]]
    >>> n_directions(FactorModel.from_vectors(rows), "right")
    2
    """
    directed = model.side(side).directed
    return len(np.unique(duplicate_representatives(model.factors(side), directed)))


def _principal_axes(model: FactorModel) -> tuple[Floats, Vector]:
    """Return the principal axes of the unit rows, and what leading axes leave out.

    Returns
    -------
    axes : array of shape (k, k)
        The longest axis first; each side has the same total weight.
    outside : array of shape (k,)
        Largest share of the squared length of a row outside of the first r axes, for
        every r from 0 to k − 1.
    """
    # Eigenvectors of the sum of x xᵀ would be less exact: their error in unused
    # directions can exceed the rounding of the rows.
    axes = np.linalg.svd(_unit_root(model))[2].T
    outside = np.zeros(model.rank)
    for side in model.sides:
        for units in _unit_blocks(model.factors(side)):
            squares = np.square(units @ axes)
            # Sum up from the last axis, whose squares are the smallest.
            left_over = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
            outside = np.maximum(outside, left_over.max(axis=0))
    return axes, outside


def _n_axes(outside: Vector, most_outside: float) -> int:
    """Count the leading axes that leave out at most a share of every row."""
    return max(1, int((outside > most_outside).sum()))


def used_dimensions(model: FactorModel, *, most_outside: float) -> Floats:
    """Return the fewest principal axes that hold nearly all of every unit row.

    Parameters
    ----------
    model : FactorModel
        A model of one side or of both sides.
    most_outside : float
        Largest share of its squared length that a row may have outside of the axes.

    Returns
    -------
    array of shape (k, r)
        Leading principal axes of the unit rows of all sides.
    """
    axes, outside = _principal_axes(model)
    return axes[:, : _n_axes(outside, most_outside)]


def _unit_root(model: FactorModel) -> Floats:
    """Stack a root of `Σ x xᵀ` of the unit rows x of each side, with a trace of 1."""
    roots = []
    for side in model.sides:
        root = model.side(side).unit_moments.root
        # A side of zero rows keeps its root of zeros.
        roots.append(root / max(float(np.linalg.norm(root)), 1.0))
    return np.vstack(roots)


def _unit_blocks(x: Matrix) -> Iterator[Floats]:
    return (unit_rows(block, none=0) for _, block in float64_blocks(x))


def stored_columns(basis: Floats | None) -> tuple[int, ...] | None:
    """Return the stored column that each column of a basis is.

    Return None if columns are mixed, or if there is no basis because all are kept.

    Examples
    --------
    >>> stored_columns(np.eye(4)[:, [1, 3]]), stored_columns(np.array([[0.6], [0.8]]))
    ((1, 3), None)
    """
    if basis is None or not ((basis == 0) | (basis == 1)).all():
        return None
    return tuple(basis.argmax(axis=0).tolist())


def turned(model: FactorModel, linear: Floats | None) -> FactorModel:
    """Multiply the rows of both sides by one (k, m) matrix.

    The matrix has orthonormal columns that span all rows, or is the transpose of such a
    matrix. If `linear` is None, the model is returned unchanged.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[3.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 2.0]])
    >>> basis = span_basis(model, most=2)
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
    """Return an orthonormal basis (k, k − n) of the directions orthogonal to n columns.

    The columns can have any lengths except 0.

    Examples
    --------
    >>> np.abs(complement(np.array([[3e-9], [0.0]]))).tolist()
    [[0.0], [1.0]]
    """
    n = columns.shape[1]
    unit = columns / np.linalg.norm(columns, axis=0)
    whole_basis, _ = np.linalg.qr(unit, mode="complete")
    return np.asarray(whole_basis[:, n:])


def orthonormal_span(rows: Floats, width: int, draw: np.random.Generator) -> Floats:
    """Return (k, width) orthonormal columns that span all n rows of length k.

    The other width − n directions are random.
    """
    columns = draw.standard_normal((rows.shape[1], width))
    columns[:, : len(rows)] = _scaled_rows(rows).T
    basis, _ = np.linalg.qr(columns)
    return np.asarray(basis)


def _scaled_rows(rows: Floats) -> Floats:
    """Divide each row by its largest entry, so that no square overflows.

    Rows of zeros stay as they are.
    """
    largest = np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(rows / np.where(largest > 0, largest, 1))


def outside_shares(x: Matrix, basis: Floats) -> Vector:
    """Compute the share of each row's squared length that lies outside a basis.

    The basis has r orthonormal columns of length k. The share of a zero row is 0.
    """
    shares = np.zeros(len(x))
    for rows, block in float64_blocks(x):
        scaled = _scaled_rows(block)
        outside = scaled - (scaled @ basis) @ basis.T
        squared_lengths = np.einsum("ij,ij->i", scaled, scaled)
        squares_outside = np.einsum("ij,ij->i", outside, outside)
        # Scaled rows that are not zero have at least the length 1.
        shares[rows] = squares_outside / np.maximum(squared_lengths, 1)
    return np.asarray(frozen(shares))


def rows_space(
    model: FactorModel, side: SideName, shifts: tuple[SideName, ...] = ()
) -> Floats:
    """Return an orthonormal basis (k, r) of the span of one side's rows.

    The rows are centred first if the side is in `shifts`. Components of the other
    side's rows outside this span change no score.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0, 1.0], [2.0, 2.0]], [[1.0, 0.0]])
    >>> rows_space(model, "left").shape[1], rows_space(model, "right").shape[1]
    (1, 1)
    >>> rows_space(model, "left", ("left",)).shape[1]
    1
    """
    moments = model.moments(side)
    root = moments.centred_root if side in shifts else moments.root
    # Give all columns the same length, so that a diagonal gauge does not count as a
    # loss of digits.
    sizes = np.linalg.norm(moments.root, axis=0)
    sizes[sizes == 0] = 1
    # Rounding is relative to the rows before centring, because equal rows consist of
    # nothing but rounding after it.
    least = 16 * moments.precision * np.linalg.norm(moments.root / sizes, 2)
    _, s, vt = np.linalg.svd(root / sizes)
    rank = int((s > least).sum())
    space, _ = np.linalg.qr((vt[:rank] * sizes).T)
    # Turn the basis to the principal axes of the rows, the longest first.
    _, _, axes = np.linalg.svd(root @ space)
    return np.asarray(space @ axes.T)


def reached_space(model: FactorModel, side: SideName) -> Floats:
    """Return an orthonormal basis (k, r) in which predictions see one side's rows.

    It spans the rows of the other side. A softmax or a ranking does not change if a
    number is added to all scores of a left row, so the right rows are centred there.

    Examples
    --------
    >>> head = FactorModel([[1.0, 5.0]], [[2.0, 1.0], [3.0, 1.0]], link="softmax")
    >>> reached_space(head, "left").shape[1]
    1
    >>> reached_space(head.replace(link="identity"), "left").shape[1]
    2
    """
    shifts: tuple[SideName, ...] = ()
    if side == "left" and model.predicts <= Equivalence.PROBABILITIES:
        shifts = model.free_shifts
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
    left, right = model.moments("left"), model.moments("right")
    p = left.centred_root if "left" in shifts else left.root
    q = right.centred_root if "right" in shifts else right.root
    precision = max(left.precision, right.precision)

    # A column takes part in scores if neither side is zero there up to rounding. The
    # rounding is relative to the rows before centring, because equal rows consist of
    # nothing but rounding after it.
    sizes_p, sizes_q = _column_lengths(p), _column_lengths(q)
    least_p = 16 * precision * _column_lengths(left.root)
    least_q = 16 * precision * _column_lengths(right.root)
    used = (sizes_p > least_p) & (sizes_q > least_q)

    # Give the columns of both sides equal lengths, so that a diagonal gauge does not
    # count as a loss of digits.
    ratios = np.divide(sizes_q, sizes_p, out=np.ones(model.rank), where=used)
    scale = np.sqrt(ratios)
    p, q = (p * scale)[:, used], (q / scale)[:, used]

    # The rank of the scores is the rank of p qᵀ. Singular values of p qᵀ below the
    # resolution are rounding.
    uncentred_p = (left.root * scale)[:, used]
    uncentred_q = (right.root / scale)[:, used]
    resolution = precision * _spectral_norm(uncentred_p) * _spectral_norm(uncentred_q)
    rank = int((np.linalg.svd(p @ q.T, compute_uv=False) > resolution).sum())
    if rank == 0:
        raise InputError(
            "at least one score must differ from zero; got factors whose products are "
            "all zero; check the input."
        )

    # If `rank` single columns have all products above the resolution, these columns
    # are the basis. They are then kept as they are instead of mixed.
    identity = np.eye(model.rank)
    products = _column_lengths(p) * _column_lengths(q)
    columns = np.flatnonzero(used)[products > resolution]
    if len(columns) == rank:
        return identity[:, columns]
    return identity[:, used] @ _seen_row_space(p, q, scale[used], rank, precision)


def _column_lengths(x: Matrix) -> Floats:
    """Return the length of each column."""
    return np.asarray(np.linalg.norm(x, axis=0))


def _spectral_norm(x: Matrix) -> float:
    """Return the largest singular value, or 0 for a matrix without columns."""
    return float(np.linalg.svd(x, compute_uv=False).max(initial=0.0))


def _seen_row_space(
    p: Matrix, q: Matrix, scale: Vector, rank: int, precision: float
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
