"""Which library an object comes from: told by the modules and names of its classes, never by its attributes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from embaudit.errors import must_be


def comes_from(model: object, packages: tuple[str, ...], classes: tuple[str, ...] = ()) -> bool:
    """Whether a class of an object, or one it inherits from, lies in a package and has one of some names.

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
        kind.__module__.split(".")[0] in packages and (not classes or kind.__name__ in classes)
        for kind in type(model).__mro__
    )


def has(model: Any, *names: str) -> bool:
    """Whether an object has all of some attributes, and none of them is None."""
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
        raise must_be("the object", "a fitted model", f"{type(model).__name__} without {missing[0]}", "fit it first")


def needed(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that a function cannot be called without.

    Examples
    --------
    >>> needed(lambda user, item, scale=1.0, *rest: None)
    ['user', 'item']
    """
    parameters = inspect.signature(function).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variadic]
