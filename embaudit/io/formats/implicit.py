"""Files of the implicit library, whose factors have constant and bias columns.

BPR scores items by `p·q + b` with the factors stored as (p, 1) and (q, b). Logistic
matrix factorisation stores (p, 1, a) and (q, b, 1). Such columns are no part of an
embedding, because inside a cosine they mix popularity into similarity. So they are
split off here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.formats import register
from embaudit.io.intake import Part
from embaudit.io.npy import Npz
from embaudit.io.options import Request
from embaudit.model import FactorModel

USED = ("user_factors", "item_factors", "factors", "regularization")
COLUMNS = {1: "-1", 2: "-2"}
"""Column of the item bias, by the number of columns beyond the factors."""
NEIGHBOURS = ("K", "shape", "data", "indptr", "indices")


def recognises(path: Path) -> bool:
    """Return whether the archive has the members that implicit's `save` writes."""
    stored = Npz(path).tensors
    factors = {"user_factors", "item_factors", "factors"} <= set(stored) and not stored[
        "factors"
    ].shape
    return factors or set(NEIGHBOURS) <= set(stored)


@register(
    "implicit",
    suffixes=(".npz",),
    origin="models saved by implicit",
    content="users, items, biases",
    recognises=recognises,
)
def read(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine what the matrices hold, by their headers and the number of factors.

    Raises
    ------
    InputError
        If it is a nearest-neighbour model, or its columns are not those of any known
        model.
    """
    stored = Npz(path)
    if "user_factors" not in stored.tensors or "item_factors" not in stored.tensors:
        raise InputError(
            "{} must hold factors; it is a nearest-neighbour model of implicit, which "
            "has no factors; save an ALS, BPR or logistic model instead.",
            File(path),
        )
    rank = stored["factors"]
    if rank.shape or rank.dtype.kind not in "iu":
        raise must_be(
            Sentence("factors in {}", File(path)),
            "one integer",
            f"{rank.dtype} of shape {rank.shape}",
            "save it again",
        )
    shapes = {name: tensor.shape for name, tensor in stored.tensors.items()}
    split = cache(
        lambda: split_columns(stored["user_factors"], stored["item_factors"], int(rank))
    )
    # The number of columns beyond the factors tells the model: none ALS, one BPR, two
    # logistic.
    extra = shapes["item_factors"][-1] - int(rank) if shapes["item_factors"] else 0
    users, items = "user_factors", "item_factors"
    fields = {
        "left": Source(users, lambda: split().left, shapes[users]),
        "right": Source(items, lambda: split().right, shapes[items]),
    }
    if extra in COLUMNS:
        fields["right_bias"] = Source(
            f"its column {COLUMNS[extra]}", lambda: split().right_bias
        )
    if extra == 2:
        fields["left_bias"] = Source(
            "the last column of user_factors", lambda: split().left_bias
        )
    if extra == 1:
        fields["link"] = Source.from_value("that it has item biases alone", "ranking")
    if "regularization" in stored.tensors:
        fields["objective"] = Source(
            "", lambda: trained_with(stored["regularization"], split())
        )
    rest = (Part(name, "", shape) for name, shape in shapes.items() if name not in USED)
    return Contents(fields, tuple(rest))


def trained_with(strength: Any, model: FactorModel) -> str | None:
    """Determine the objective of a model of implicit.

    The columns that were split off tell the kinds of models apart. Stochastic training
    of BPR draws negative items at random, so its decay counts no interactions that a
    file could hold, and no law is known for it.
    """
    if model.left_bias is not None:
        # Each side of the logistic model has negative samples of its own, so both
        # together minimise nothing.
        decayed = None
    elif model.right_bias is not None:
        decayed = "bpr"
    else:
        decayed = "factors"
    return objective_of(strength, decayed=decayed)


def objective_of(*strengths: Any, decayed: str | None) -> str | None:
    """Determine the objective by the strengths of weight decay.

    None if they do not tell it.

    Parameters
    ----------
    *strengths : float
        Of the decay of each side, or of both.
    decayed : str or None
        What it is where all of them are positive, None where no objective is known for
        that.

    Examples
    --------
    >>> strengths = (0.01, 0, float("nan"), [0.1, 0.2])
    >>> [objective_of(strength, decayed="factors") for strength in strengths]
    ['factors', 'none', None, None]
    >>> objective_of(0.1, 0.2, decayed="factors-counted")
    'factors-counted'
    >>> objective_of(0.1, 0, decayed="factors-counted") is None
    True
    """
    values = [np.asarray(strength) for strength in strengths]
    if any(x.shape or x.dtype.kind not in "iuf" or not 0 <= x < np.inf for x in values):
        return None
    if not any(x > 0 for x in values):
        return "none"
    return decayed if all(x > 0 for x in values) else None


def split_columns(users: NDArray[Any], items: NDArray[Any], rank: int) -> FactorModel:
    """Make a model of implicit's matrices.

    Their columns beyond `rank` are constants and biases.

    Parameters
    ----------
    users, items : array of shape (n, rank + extra) and (p, rank + extra)
        0 extra columns are ALS; 1 is BPR: users end in 1, items in their bias; 2 is
        logistic matrix factorisation: users end in (1, bias), items in (bias, 1).
    rank : int
        The number of factors the model was asked for.

    Raises
    ------
    InputError
        If a column that must be constant is not.

    Examples
    --------
    >>> users, items = np.array([[2.0, 1.0]]), np.array([[3.0, 0.5], [4.0, 0.25]])
    >>> model = split_columns(users, items, 1)
    >>> model.right_bias
    array([0.5 , 0.25])
    >>> model.scores()
    array([[6.5 , 8.25]])
    """
    if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
        raise must_be(
            "user and item factors",
            "matrices of equal width",
            f"{users.shape} and {items.shape}",
        )
    extra = users.shape[1] - rank
    if extra == 0:
        return FactorModel.from_arrays(users, items)
    if extra == 1:
        _require_ones(users[:, -1], "the last column of the user factors")
        return FactorModel.from_arrays(
            users[:, :-1], items[:, :-1], link="ranking", right_bias=items[:, -1]
        )
    if extra != 2:
        raise must_be(
            "the factors",
            f"{rank} columns with at most 2 more for biases",
            f"{users.shape[1]} columns",
        )
    _require_ones(users[:, -2], "the second last column of the user factors")
    _require_ones(items[:, -1], "the last column of the item factors")
    return FactorModel.from_arrays(
        users[:, :-2], items[:, :-2], left_bias=users[:, -1], right_bias=items[:, -2]
    )


def _require_ones(column: NDArray[Any], name: str) -> None:
    wrong = column[column != 1]
    if len(wrong):
        raise must_be(
            name, "constant 1, as implicit stores it next to a bias", float(wrong[0])
        )
