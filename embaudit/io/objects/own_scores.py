"""Scores of a live object are compared with those of its arrays.

The module also holds helpers for all libraries.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import first_largest
from embaudit.errors import InputError, must_be
from embaudit.io.contents import OwnScores
from embaudit.io.layouts.reading import two_labels
from embaudit.model import FactorModel

WRAPPERS = ("OptimizedModule", "DataParallel", "DistributedDataParallel")
"""Classes of torch that hold another network."""
TOLERANCE = 1e-4
"""Largest gap between two ways to one score in single precision, relative to the
largest score.
"""


def require_own_scores(model: FactorModel, own: OwnScores, name: str) -> None:
    """Refuse a model whose scores are not those of the object it was read from.

    Parameters
    ----------
    model : FactorModel
        The fields, with what the caller said next to them.
    own : OwnScores
        Scores of the object.
    name : str
        What to call the object.

    Raises
    ------
    InputError
        If one of a few scores, and the prediction made of it, differ by more than 1e-4
        of the largest.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0]], [[2.0]])
    >>> require_own_scores(model, OwnScores(lambda users, items: [2.0]), "MF")
    >>> require_own_scores(model, OwnScores(lambda users, items: [2.5]), "MF")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...; got 2 where its predict says 2.5 (row 0 of ...
    """
    scored = model if own.probes is None else model.replace(left=own.probes)
    if scored.left_side is None:
        return
    left, right = own.pairs or _spread_pairs(scored)
    theirs = np.asarray(own.score(left, right), dtype=float).ravel()
    if not len(left) == len(right) == len(theirs):
        raise must_be(
            f"the outputs of {name}",
            "one score a pair",
            f"{len(theirs)} for {len(left)} pairs",
        )
    ways, is_number = np.stack(_ways(scored, left, right)), np.isfinite(theirs)
    allowed = TOLERANCE * max(1.0, float(np.abs(theirs[is_number]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        gaps = np.where(is_number, np.abs(ways - theirs), np.inf)
    if (gaps.max(axis=1) <= allowed).any():
        return
    # Deviations that differ by less than the allowed error count as equal.
    k = first_largest(gaps[0], tolerance=allowed)
    raise InputError(
        f"the scores read from {name} must be its own; got {ways[0, k]:.6g} where its "
        f"{own.method} says {theirs[k]:.6g} (row {left[k]} of the left side, row "
        f"{right[k]} of the right); it does more than multiply these factors: pass the "
        "tables it really multiplies to FactorModel.from_user_item, or its vectors "
        "alone to from_vectors."
    )


def _spread_pairs(model: FactorModel) -> tuple[Indices, Indices]:
    """Return all pairs of three left rows and five right rows.

    The rows are spread over all of their side.
    """
    left, right = (
        np.unique(np.linspace(0, n_rows - 1, n_drawn).astype(int))
        for n_rows, n_drawn in ((model.n_left, 3), (model.n_right, 5))
    )
    return np.repeat(left, len(right)), np.tile(right, len(left))


def _ways(model: FactorModel, left: Indices, right: Indices) -> list[Floats]:
    """Return what a library may give for pairs.

    These are scores, what the link makes of them, or logarithms of probabilities.
    """
    rows, place = np.unique(left, return_inverse=True)
    scores = model.scores(rows)[place, right]
    if model.link.name == "ranking":
        return [scores]
    predictions = np.asarray(model.predictions(rows))[place, right]
    if model.link.name != "softmax":
        return [scores, predictions]
    with np.errstate(divide="ignore"):
        return [predictions, scores, np.log(predictions)]


def softmax_head(
    weights: Any,
    bias: Any = None,
    labels: Any = None,
    *,
    link: str = "softmax",
    objective: str | None = None,
) -> FactorModel:
    """Make a head of labels.

    One row stands for two labels, whose probabilities are a softmax whatever `link` is.

    Examples
    --------
    >>> weights, bias = np.array([[2.0]]), np.array([0.5])
    >>> softmax_head(weights, bias, ["no", "yes"], link="identity").right
    array([[0.],
           [2.]])
    """
    if len(weights) == 1:
        weights, bias = two_labels(weights, np.zeros(1) if bias is None else bias)
        link = "softmax"
    return FactorModel.from_softmax(
        weights, bias, labels=labels, objective=objective, link=link
    )


def comes_from(
    model: object, packages: tuple[str, ...], classes: tuple[str, ...] = ()
) -> bool:
    """Return whether an object is of a class of a package.

    The class of the object or one that it inherits from counts.

    Parameters
    ----------
    model : object
        Anything; nothing is imported and no attribute looked at.
    packages : tuple of str
        The first parts of module names.
    classes : tuple of str
        Names of classes; any by default.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> comes_from(OrderedDict(), ("collections",))
    True
    >>> comes_from(OrderedDict(), ("collections",), ("Counter",))
    False
    """
    return any(
        kind.__module__.split(".")[0] in packages
        and (not classes or kind.__name__ in classes)
        for kind in type(model).__mro__
    )


def has(model: Any, *names: str) -> bool:
    """Return whether an object has all of some attributes, and none of them is None."""
    return all(getattr(model, name, None) is not None for name in names)


def require_fitted(model: Any, *names: str) -> None:
    """Refuse a model without what only training makes.

    Raises
    ------
    InputError
        If an attribute is missing.
    """
    missing = [name for name in names if not has(model, name)]
    if missing:
        raise must_be(
            "the object",
            "a fitted model",
            f"{type(model).__name__} without {missing[0]}",
            "fit it first",
        )


def needed(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that a function cannot be called without.

    Examples
    --------
    >>> needed(lambda user, item, scale=1.0, *rest: None)
    ['user', 'item']
    """
    parameters = inspect.signature(function).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        p.name for p in parameters if p.default is p.empty and p.kind not in variadic
    ]


def unwrapped(model: Any) -> Any:
    """Return the network inside the wrappers of torch.compile, of parallel training and of PEFT."""
    if comes_from(model, ("peft",), ("PeftModel",)):
        model = model.get_base_model()
    while comes_from(model, ("torch",), WRAPPERS):
        model = model._orig_mod if has(model, "_orig_mod") else model.module
    return model
