"""Arguments are of the types that a function declares, or are refused in the house's sentence.

What its annotations cannot say, such as the range of a number or the shape of an array, a function checks itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, wraps
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import RNG, is_integer, is_number

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Kind:
    """A set of values with its name."""

    words: str
    holds: Callable[[Any], bool]


PLAIN = {
    NoneType: Kind("None", lambda value: value is None),
    bool: Kind("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    int: Kind("an integer", is_integer),
    float: Kind(
        "a number", lambda value: is_number(value) or (isinstance(value, (float, np.floating)) and np.isinf(value))
    ),
    str: Kind("text", lambda value: isinstance(value, str)),
}

LISTS = (tuple, Sequence, Iterable)


def typed(function: Callable[P, T]) -> Callable[P, T]:
    """Check that arguments are what the annotations of a function say, wherever that is a type or a list of some.

    Arrays, paths, sources of randomness and what may be anything are left to the function.

    Raises
    ------
    InputError
        From the function that is returned, for an argument of another type.

    Examples
    --------
    >>> @typed
    ... def shout(word: str, times: int = 1) -> str:
    ...     return times * word.upper()
    >>> shout("a", times=2)
    'AA'
    >>> shout("a", times="b")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: times must be an integer; got 'b'.
    """
    signature = inspect.signature(function)

    @cache
    def kinds() -> dict[str, Kind]:
        written = {
            name: one.annotation for name, one in signature.parameters.items() if one.annotation is not one.empty
        }
        # What is returned may be known to type checkers only.
        hints = get_type_hints(SimpleNamespace(__annotations__=written), vars(inspect.getmodule(function)))
        found = {name: kind_of(hint) for name, hint in hints.items()}
        return {name: kind for name, kind in found.items() if kind is not None}

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        given = signature.bind(*args, **options).arguments
        for name, kind in kinds().items():
            if name in given and not kind.holds(given[name]):
                raise must_be(name, kind.words.rstrip(","), repr(given[name]))
        return function(*args, **options)

    return checked


def kind_of(hint: Any) -> Kind | None:
    """Return the values that an annotation admits, None where it takes more than types to say."""
    if hint in PLAIN:
        return PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if hint == RNG:
        return None
    if origin is Literal:
        return Kind(f"one of {', '.join(map(_quoted, inner))}", lambda value: _is_like(value, inner))
    if origin in (Union, UnionType):
        return _either(inner)
    if origin in LISTS:
        return _several(origin, inner)
    ours = (
        inspect.isclass(hint) and hint.__module__.startswith("embaudit.") and not getattr(hint, "_is_protocol", False)
    )
    return (
        Kind(f"{'an' if hint.__name__[0] in 'AEIO' else 'a'} {hint.__name__}", lambda value: isinstance(value, hint))
        if ours
        else None
    )


def _is_like(value: object, choices: tuple[Any, ...]) -> bool:
    """Whether a value may be a choice; a function that takes names says itself which it knows."""
    return isinstance(value, str) if isinstance(choices[0], str) else is_integer(value) and value in choices


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _either(hints: tuple[Any, ...]) -> Kind | None:
    # Where names beside those listed are taken, or one for several, the function knows which.
    if str in hints and any(get_origin(hint) in (Literal, *LISTS) for hint in hints):
        return None
    kinds = [kind_of(hint) for hint in hints]
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    return Kind(" or ".join(kind.words for kind in known), lambda value: any(kind.holds(value) for kind in known))


def _several(origin: Any, inner: tuple[Any, ...]) -> Kind | None:
    """Take lists, tuples and vectors for each other, and neither a text nor a dictionary for any."""
    each = kind_of(inner[0])
    size = len(inner) if origin is tuple and inner[-1] is not Ellipsis else None
    none = (str, bytes, Mapping) if origin is Iterable else (str, bytes, Mapping, Set)

    def holds(value: Any) -> bool:
        if isinstance(value, none) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
            return False
        if isinstance(value, Iterator):  # it can be walked through once
            return origin is Iterable
        members = list(value)
        return (size is None or len(members) == size) and (each is None or all(map(each.holds, members)))

    words = "a list" if size is None else f"{size} values"
    return Kind(words if each is None else f"{words}, each {each.words},", holds)
