"""A model inside a live object: its library, its fields, and the one check against scores of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import first_largest
from embaudit.errors import InputError, must_be
from embaudit.io.contents import Contents
from embaudit.io.layouts.reading import two_labels
from embaudit.model import FactorModel

Scores: TypeAlias = Callable[[Indices, Indices], Any]
"""Scores as an object itself gives them for pairs: left rows, equal ones side by side,
and right rows.
"""
TOLERANCE = 1e-4
"""Largest gap between two ways to one score in single precision, relative to the
largest score.
"""


@dataclass(frozen=True, eq=False)
class LiveModel:
    """The fields of a model that an object holds, and scores of its own to compare with those of the fields."""

    contents: Contents
    scores: Scores | None = None
    """None where the object cannot score by itself."""
    method: str = "predict"
    """Name of the method that scores."""
    probes: NDArray[Any] | None = None
    """(n, k) left rows to score where the model has none, or where they choose the
    rows.
    """
    inputs: NDArray[Any] | None = None
    """(n, k) the caller's inputs as they reach the factors."""
    pairs: tuple[Indices, Indices] | None = None
    """Left rows and right rows of examples, where these choose the pairs."""

    @classmethod
    def of(
        cls, model: FactorModel, sources: Mapping[str, str], *check: Any, **more: Any
    ) -> LiveModel:
        """Take a model, the place in the object of each of its fields, and what `LiveModel` has beside these."""
        return cls(Contents.of(model, sources), *check, **more)

    def require_agreement(self, model: FactorModel, name: str) -> None:
        """Refuse a model whose scores are not those of the object it was read from.

        Parameters
        ----------
        model : FactorModel
            The fields, with what the caller said beside them.
        name : str
            What to call the object.

        Raises
        ------
        InputError
            If one of a few scores, and the prediction made of it, differ by more than
            1e-4 of the largest.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0]], [[2.0]])
        >>> LiveModel.of(model, {}, lambda users, items: [2.0]).require_agreement(model, "MF")
        >>> LiveModel.of(model, {}, lambda users, items: [2.5]).require_agreement(model, "MF")
        Traceback (most recent call last):
            ...
        embaudit.errors.InputError: the scores read from MF must be its own; got 2 where its predict says 2.5 ...
        """
        scored = model if self.probes is None else model.replace(left=self.probes)
        if self.scores is None or scored.left_side is None:
            return
        # Three left rows and five right ones, spread over all of them.
        rows, columns = (
            np.unique(np.linspace(0, n - 1, k).astype(int))
            for n, k in ((scored.n_left, 3), (scored.n_right, 5))
        )
        left, right = self.pairs or (
            np.repeat(rows, len(columns)),
            np.tile(columns, len(rows)),
        )
        theirs = np.asarray(self.scores(left, right), dtype=float).ravel()
        if not len(left) == len(right) == len(theirs):
            raise must_be(
                f"the outputs of {name}",
                "one score a pair",
                f"{len(theirs)} for {len(left)} pairs",
            )
        ways, is_number = np.stack(_ways(scored, left, right)), np.isfinite(theirs)
        allowed = TOLERANCE * max(
            1.0, float(np.abs(theirs[is_number]).max(initial=0.0))
        )
        with np.errstate(invalid="ignore"):
            gaps = np.where(is_number, np.abs(ways - theirs), np.inf)
        if (gaps.max(axis=1) <= allowed).any():
            return
        # Deviations that differ by less than the allowed error count as equal.
        k = first_largest(gaps[0], tolerance=allowed)
        raise InputError(
            f"the scores read from {name} must be its own; got {ways[0, k]:.6g} where its {self.method} says "
            f"{theirs[k]:.6g} (row {left[k]} of the left side, row {right[k]} of the right); it does more than "
            "multiply these factors: pass the tables it really multiplies to FactorModel.from_user_item, or its "
            "vectors alone to from_vectors."
        )


def _ways(model: FactorModel, left: Indices, right: Indices) -> list[Floats]:
    """Return what a library may give for pairs: scores, what its link makes of them, logarithms of probabilities."""
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
    """Make a head of labels; one row stands for two of them, whose probabilities are a softmax whatever is said.

    Examples
    --------
    >>> softmax_head(np.array([[2.0]]), np.array([0.5]), ["no", "yes"], link="identity").right
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
    """Return whether a class of an object, or one it inherits from, lies in a package and has one of some names.

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
    >>> comes_from(OrderedDict(), ("collections",)), comes_from(OrderedDict(), ("collections",), ("Counter",))
    (True, False)
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
