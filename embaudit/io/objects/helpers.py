"""Helpers for the readers of all libraries. None of them imports a library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from embaudit.errors import must_be
from embaudit.io.layouts.reading import two_labels
from embaudit.model import FactorModel

WRAPPERS = ("OptimizedModule", "DataParallel", "DistributedDataParallel")
"""Classes of torch that hold another network."""


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
    """Return the network inside wrappers.

    Wrappers are those of torch.compile, of parallel training and of PEFT.
    """
    if comes_from(model, ("peft",), ("PeftModel",)):
        model = model.get_base_model()
    while comes_from(model, ("torch",), WRAPPERS):
        model = model._orig_mod if has(model, "_orig_mod") else model.module
    return model
