"""Prediction cosines: similarities that all equivalent models agree on.

The prediction cosine of two right entities is the cosine of their columns of the score
matrix, and that of two left entities is the cosine of their rows. Both are computed
from the scores alone, so they are the same in every equivalent model.

The score matrix S, (n, p), is never built. With its singular value decomposition
`S = U s Vᵀ` of rank r,

    SᵀS = (V s)(V s)ᵀ    and    SSᵀ = (U s)(U s)ᵀ,

so the columns of S have the same cosines as the rows of `V s`, (p, r), and the rows of
S have the same cosines as the rows of `U s`, (n, r). These rows are called prediction
vectors. The canonical form maps the factors to them, a block of rows at a time.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from embaudit.canonical.form import (
    CanonicalForm,
    canonical_form,
    form_unless_zero,
    require_both_sides,
)
from embaudit.core.checked import Floats, Matrix
from embaudit.linalg.mapped import Mapped, RowMap
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import pairs_or_all
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_model


def identified_factors(model: FactorModel, role: SideName | str) -> Matrix:
    """Compute rows whose plain cosine is the prediction cosine.

    Let `S = U s Vᵀ` be the singular value decomposition of the scores. The rows for the
    right side are `V s`, and the rows for the left side are `U s`.

    The scores are taken without biases and offset. They are centred wherever
    predictions leave a mean free: over the users if the model has an item bias, and
    over the items if it has a user bias or a ranking link. The logits of a softmax
    model are centred over the inputs and over the labels, unless they have a soft cap.

    Parameters
    ----------
    model : FactorModel
        With both sides.
    role : {"left", "right"}
        Which side.

    Returns
    -------
    array of shape (n, r) or (p, r)
        In the precision of the factors; r is the rank that the predictions see. A row
        whose scores are all zero is zero, and has no cosine.

    Raises
    ------
    InputError
        If a side is missing, or if every score is zero.

    Examples
    --------
    >>> import numpy as np
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> np.abs(identified_factors(model, "right"))
    array([[2., 1.],
           [2., 1.]])
    """
    require_model(model)
    role = model.side_name(role)
    require_both_sides(model, "the prediction cosine")
    return prediction_view(model, canonical_form(model), role).stored()


def prediction_map(model: FactorModel, form: CanonicalForm, role: SideName) -> RowMap:
    """Return the function that maps float64 rows of a side to prediction vectors.

    Right rows are mapped to `V s`, which is the canonical model at exponent 0. Left
    rows are mapped to `U s`, which is the canonical model at exponent 1.
    """
    linear = form.right_map(0.0) if role == "right" else form.left_map(1.0)
    mapped = form.affine(role, linear)

    def prediction_vectors(block: Floats) -> Floats:
        """Map rows as the link multiplies them: of length 1 if it predicts cosines."""
        return mapped(model.product_rows(role, block))

    return prediction_vectors


def prediction_view(model: FactorModel, form: CanonicalForm, role: SideName) -> Mapped:
    """Return the prediction vectors of a side, each computed when it is taken."""
    return Mapped(model.factors(role), prediction_map(model, form, role), form.rank)


def prediction_views(model: FactorModel) -> dict[SideName, Mapped] | None:
    """Return the prediction vectors of both sides, each computed when it is taken.

    Return None if a side is missing, or if every score is zero.

    Raises
    ------
    InputError
        If the products of the factors leave the range of float64.
    """
    if model.left is None:
        return None
    form = form_unless_zero(model)
    if form is None:
        return None
    return {side: prediction_view(model, form, side) for side in model.sides}


def identified_cosines(
    model: FactorModel,
    *,
    role: SideName | str,
    pairs: ArrayLike | None = None,
) -> Floats:
    """Compute the cosine of two columns (right) or two rows (left) of the scores.

    The result depends on the rows of the other side, over which the scores are
    compared, for example on the inputs of a softmax model. `identified_factors` says
    how biases and free means are removed from the scores first.

    Parameters
    ----------
    model : FactorModel
        With both sides.
    role : {"left", "right"}
        Which side.
    pairs : array of shape (m, 2) or (2,), optional
        Row numbers; all pairs by default, up to 5 million.

    Returns
    -------
    array of shape (m,)
        Equal for equivalent models; NaN if all scores of a row or column are zero.

    Raises
    ------
    InputError
        If a side is missing, if every score is zero, or if a row number is out of
        range.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> other = Gauge.diagonal([10.0, 1.0]).act(model)
    >>> model.cosines("right", [[0, 1]]), other.cosines("right", [[0, 1]]).round(2)
    (array([0.]), array([-0.98]))
    >>> identified_cosines(model, role="right", pairs=[[0, 1]]).round(9)
    array([0.6])
    >>> identified_cosines(other, role="right", pairs=[[0, 1]]).round(9)
    array([0.6])
    """
    require_model(model)
    role = model.side_name(role)
    require_both_sides(model, "the prediction cosine")
    vectors = prediction_view(model, canonical_form(model), role)
    return pair_cosines(vectors, vectors, pairs_or_all(pairs, len(vectors)))
