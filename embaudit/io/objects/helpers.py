"""Helpers for the readers of all libraries. None of them imports a library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.layouts.reading import two_labels
from embaudit.model import FactorModel

WRAPPERS = ("OptimizedModule", "DataParallel", "DistributedDataParallel")
"""Classes of torch that wrap another network."""


def softmax_head(
    weights: NDArray[Any],
    bias: NDArray[Any] | None = None,
    labels: Any = None,
    *,
    link: str = "softmax",
    objective: str | None = None,
) -> FactorModel:
    """Return a head of labels; one row of weights stands for two labels.

    The probabilities of two labels are a softmax, whatever `link` is.

    Examples
    --------
    >>> weights, bias = np.array([[2.0]]), np.array([0.5])
    >>> softmax_head(weights, bias, ["no", "yes"], link="identity").right
    array([[0.],
           [2.]])
    """
    if len(weights) == 1:
        if bias is None:
            bias = np.zeros(1)
        weights, bias = two_labels(weights, bias)
        link = "softmax"
    return FactorModel.from_softmax(
        weights, bias, labels=labels, objective=objective, link=link
    )


def comes_from(
    model: object, packages: tuple[str, ...], classes: tuple[str, ...] = ()
) -> bool:
    """Return True if a package defines the class of an object.

    The class itself or a class that it inherits from can be the one. No package is
    imported, and no attribute of the object is read.

    Parameters
    ----------
    model : object
        Any object.
    packages : tuple of str
        Names of top-level packages.
    classes : tuple of str
        Names of classes; any class by default.

    Examples
    --------
    >>> from collections import OrderedDict
    >>> comes_from(OrderedDict(), ("collections",))
    True
    >>> comes_from(OrderedDict(), ("collections",), ("Counter",))
    False
    """
    for ancestor in type(model).__mro__:
        package = ancestor.__module__.split(".")[0]
        if package in packages and (not classes or ancestor.__name__ in classes):
            return True
    return False


def has(model: Any, *names: str) -> bool:
    """Return True if an object has all these attributes, and none of them is None."""
    return all(getattr(model, name, None) is not None for name in names)


def require_fitted(model: Any, *names: str) -> None:
    """Refuse a model without the attributes that training sets.

    Raises
    ------
    InputError
        If an attribute is missing or None.
    """
    missing = [name for name in names if not has(model, name)]
    if missing:
        raise must_be(
            "the object",
            "a fitted model",
            f"{type(model).__name__} without {missing[0]}",
            "fit it first",
        )


def required_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that a function cannot be called without.

    Examples
    --------
    >>> required_parameters(lambda user, item, scale=1.0, *others: None)
    ['user', 'item']
    """
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind not in variadic
    ]


def unwrapped(model: Any) -> Any:
    """Return the network inside the wrappers of PEFT, torch.compile and DataParallel.

    Other objects are returned as they are.
    """
    if comes_from(model, ("peft",), ("PeftModel",)):
        model = model.get_base_model()
    while comes_from(model, ("torch",), WRAPPERS):
        model = model._orig_mod if has(model, "_orig_mod") else model.module
    return model
