"""Prediction cosines: similarities that all equivalent models agree on.

The prediction cosine of two right entities is the cosine of their columns of the score
matrix, that of two left entities the cosine of their rows. It needs the scores only, so
no gauge moves it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from embaudit.canonical.form import (
    CanonicalForm,
    canonical_form,
    require_both_sides,
)
from embaudit.core.checked import Floats, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError
from embaudit.linalg.mapped import Mapped, RowMap
from embaudit.linalg.pairs import as_pairs, pair_cosines, pairs_or_all
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_model


def identified_factors(model: FactorModel, role: SideName | str) -> Matrix:
    """Compute rows whose plain cosine is the prediction cosine.

    The scores are those without biases and offset, and without what a free bias could
    absorb. With a free item bias, the scores of each item are centred over the users.
    With a free user bias, or a softmax or ranking link, the scores of each user are
    centred over the items. Right rows are `(Q − centre) R_Pᵀ u = V s`, and left rows
    are `(P − centre) R_Qᵀ v = U s`: the canonical gauges at exponents 0 and 1.

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
        whose scores vanish is zero, and has no cosine.

    Raises
    ------
    InputError
        If a side is missing.

    Examples
    --------
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


def prediction_rows(model: FactorModel, form: CanonicalForm, role: SideName) -> RowMap:
    """Return the function that turns float64 rows of a side into prediction vectors."""
    # Right rows at exponent 0 are V s, and left rows at exponent 1 are U s.
    linear = form.right_map(0.0) if role == "right" else form.left_map(1.0)
    mapped = form.affine(role, linear)

    def prediction_vectors(block: Floats) -> Floats:
        """Map rows as the link multiplies them."""
        return mapped(model.product_rows(role, block))

    return prediction_vectors


def prediction_view(model: FactorModel, form: CanonicalForm, role: SideName) -> Mapped:
    """Return the rows of `identified_factors`, computed when they are taken."""
    return Mapped(model.factors(role), prediction_rows(model, form, role), form.rank)


def prediction_views(model: FactorModel) -> dict[SideName, Mapped] | None:
    """Return the prediction vectors of both sides.

    None if a side is missing, or if all scores vanish.
    """
    if model.left is None:
        return None
    try:
        form = canonical_form(model)
    except InputError:
        return None
    return {side: prediction_view(model, form, side) for side in model.sides}


def identified_cosines(
    model: FactorModel,
    *,
    role: SideName | str,
    pairs: ArrayLike | None = None,
) -> Floats:
    """Compute the cosine of two columns (right) or two rows (left) of the scores.

    The matrix of scores is not built: the metric of right rows is `PᵀP`, and that of
    left rows is `QᵀQ`. The scores of a softmax model are its logits, centred over the
    inputs and over the labels, so the answer is about the inputs of the model.

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
        Equal for equivalent models; NaN if all scores of a row or column vanish.

    Raises
    ------
    InputError
        If a side is missing, or a pair lies outside.

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
    form = canonical_form(model)
    x = model.factors(role)
    index = as_pairs(pairs_or_all(pairs, len(x)), len(x), len(x))
    function = prediction_rows(model, form, role)
    cosines = np.empty(len(index))
    for block in row_blocks(len(index), 8 * model.rank):
        wanted, where = np.unique(index[block], return_inverse=True)
        rows = function(np.asarray(x[wanted], dtype=np.float64))
        cosines[block] = pair_cosines(rows, rows, where.reshape(-1, 2))
    return cosines
