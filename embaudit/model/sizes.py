"""Lengths of factors whose products fit into floating point."""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Matrix
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import (
    EXACT_SHAPE,
    FLOAT32_MAGNITUDE,
    LARGEST_MAGNITUDE,
    SMALLEST_MAGNITUDE,
)
from embaudit.core.words import counted
from embaudit.errors import Option, Sentence, must_be
from embaudit.model.factor_model import FactorModel

SIZES = {
    "float32": (1 / FLOAT32_MAGNITUDE, FLOAT32_MAGNITUDE),
    "float64": (SMALLEST_MAGNITUDE, LARGEST_MAGNITUDE),
}
"""Smallest and largest length whose products neither overflow nor vanish."""


def require_model(*models: object) -> None:
    """Raise InputError unless each argument is a FactorModel.

    Examples
    --------
    >>> require_model("m.npz")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the model must be a FactorModel; got 'm.npz'; load reads
    a file, from_vectors an array.
    """
    for model in models:
        if not isinstance(model, FactorModel):
            raise must_be(
                "the model",
                "a FactorModel",
                repr(model),
                "load reads a file, from_vectors an array",
            )


def require_ordinary_size(model: FactorModel) -> None:
    """Raise InputError for factors whose products do not fit into their precision.

    Raises
    ------
    InputError
        If the longest row of a side is neither 0 nor of ordinary length, or a bias is
        above 1e100.

    Examples
    --------
    >>> require_ordinary_size(FactorModel.from_vectors([[1e200]]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the longest row of the item factors must be between
    1e-100 and 1e+100 long in float64; ...
    """
    for role in model.sides:
        side = model.side(role)
        # Scores are sums of products of two lengths, and a gauge multiplies each of
        # them, so squares must fit, too.
        low, high = SIZES[str(side.dtype)]
        largest = float(side.norms.max())
        if largest and not low <= largest <= high:
            raise must_be(
                f"the longest row of the {side.title} factors",
                f"between {low:g} and {high:g} long in {side.dtype}",
                f"{largest:.2g}",
                "multiply the factors by a constant, which changes no cosine",
            )
        if side.bias is not None and np.abs(side.bias).max() > LARGEST_MAGNITUDE:
            raise must_be(
                f"the {side.title} bias",
                f"between {-LARGEST_MAGNITUDE:g} and {LARGEST_MAGNITUDE:g}",
                f"{side.bias[np.abs(side.bias).argmax()]:.2g}",
                "repair that entry or drop its row",
            )


def shape_question(model: FactorModel) -> Sentence | None:
    """Ask whether the columns are the entities, if one side has more columns than rows.

    None is returned for other models, for heads, which can have fewer labels than
    dimensions, and for rows of length 1, which show by it that they are the entities.
    Rows of length 1 at right angles do not show that: Vᵀ of a singular value
    decomposition has such rows, one per singular direction.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> print(shape_question(FactorModel.from_vectors([[1.0, 2.0]])).for_cli())
    This is read as 1 item of 2 numbers each. Did you mean 2 items? Then read it with
    --transpose right.
    >>> shape_question(FactorModel.from_vectors([[1.0], [2.0]]))
    >>> shape_question(FactorModel.from_vectors([[0.6, 0.8]]))
    >>> model = FactorModel.from_vectors([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> print(shape_question(model).for_cli())
    This is read as 2 items of 3 numbers each, orthonormal as the rows of Vᵀ in a
    singular value decomposition. Did you mean 3 items? Then read it with --transpose
    right.
    """
    if (
        model.left is not None
        or model.link.name == "softmax"
        or model.n_right >= model.rank
    ):
        return None
    looks = ""
    if model.right_side.is_unit:
        if not _are_orthonormal(model.right):
            return None
        looks = ", orthonormal as the rows of Vᵀ in a singular value decomposition"
    title, k = model.title("right"), model.rank
    return Sentence(
        "This is read as {} of {} numbers each{}. Did you mean {}? Then read it with "
        "{}.",
        counted(model.n_right, title),
        f"{k:,}",
        looks,
        counted(k, title),
        Option("transpose", "right"),
    )


def _are_orthonormal(rows: Matrix) -> bool:
    """Return True if A Aᵀ = I for the n ≥ 2 rows A, as far as float16 can store them.

    A Aᵀ x is compared with x for random signs x, which takes two products with a vector
    (Freivalds, 1977). An entry of A Aᵀ - I that exceeds the tolerance alone cannot
    cancel, and entries that cancel for one draw of signs do not for three.
    """
    if len(rows) < 2:
        return False
    first, second = np.asarray(rows[:2], dtype=np.float64)
    if abs(first @ second) > EXACT_SHAPE:
        return False
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(len(rows), 3))
    products = np.zeros((rows.shape[1], 3))
    for block in row_blocks(*rows.shape):
        products += np.asarray(rows[block], dtype=np.float64).T @ signs[block]
    for block in row_blocks(*rows.shape):
        found = np.asarray(rows[block], dtype=np.float64) @ products
        if np.abs(found - signs[block]).max() > EXACT_SHAPE:
            return False
    return True
