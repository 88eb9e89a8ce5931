"""Lengths of factors whose products fit into floating point."""

from __future__ import annotations

from embaudit.errors import must_be
from embaudit.model.factor_model import FactorModel

SIZES = {"float32": (1e-12, 1e12), "float64": (1e-100, 1e100)}
"""Lengths between which products of two factors and of a gauge neither overflow nor vanish."""


def require_ordinary_size(model: FactorModel) -> None:
    """Refuse factors whose products do not fit into their own precision.

    Raises
    ------
    InputError
        If the longest row of a side is neither 0 nor of ordinary length.

    Examples
    --------
    >>> require_ordinary_size(FactorModel.from_vectors([[1e200]]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the longest of the item factors must be between 1e-100 and 1e+100 long in float64; ...
    """
    for side in model.sides:
        low, high = SIZES[str(model.side(side).rows.dtype)]
        largest = float(model.side(side).norms.max())
        if largest and not low <= largest <= high:
            raise must_be(
                f"the longest of the {model.title(side)} factors",
                f"between {low:g} and {high:g} long in {model.side(side).rows.dtype}",
                f"{largest:.2g}",
                "multiply them by a constant, which changes no cosine",
            )
