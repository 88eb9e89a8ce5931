"""Pieces of long work that are kept as they are done, so that another run can go on where one was ended.

Work names its pieces; whoever called decides whether and where they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from embaudit.foundation.executors import at_once, is_elsewhere, spread
from embaudit.foundation.progress import track

T = TypeVar("T")
S = TypeVar("S")


class Keeper(Protocol):
    """Where pieces are kept."""

    def found(self, name: str, known: Sequence[NDArray[Any]]) -> tuple[Any, ...] | None:
        """Return what was kept under a name; None where nothing whole is."""
        ...

    def keep(self, name: str, value: tuple[Any, ...], known: Sequence[NDArray[Any]]) -> None:
        """Keep a value; arrays that whoever finds it will have at hand are only referred to."""
        ...


_keeper: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def keeping(keeper: Keeper) -> Iterator[None]:
    """Keep the pieces of everything that runs inside the block."""
    token = _keeper.set(keeper)
    try:
        yield
    finally:
        _keeper.reset(token)


def kept(
    name: str,
    work: Callable[[], T],
    *,
    draw: np.random.Generator | None = None,
    known: Sequence[NDArray[Any]] = (),
) -> T:
    """Do a piece of work, or take what was kept of it.

    Parameters
    ----------
    name : str
        Of this piece alone.
    work : callable
        What to do.
    draw : numpy Generator, optional
        What the work draws from: it goes on as if the work had been done.
    known : sequence of arrays
        What the result may refer to, which need not be kept beside it.

    Examples
    --------
    >>> kept("a sum", lambda: 1 + 1)
    2
    """
    keeper = _keeper.get()
    if keeper is None:
        return work()
    found = keeper.found(name, known)
    if found is None:
        found = work(), None if draw is None else draw.bit_generator.state
        keeper.keep(name, found, known)
    elif draw is not None:
        draw.bit_generator.state = found[1]
    value: T = found[0]
    return value


def each_kept(
    name: str, function: Callable[[S], T], items: Iterable[S], *, known: Sequence[NDArray[Any]] = ()
) -> Iterator[T]:
    """Map a function that changes nothing over items, as `spread` does; each result is a piece.

    Examples
    --------
    >>> list(each_kept("distances", abs, [-3, 2]))
    [3, 2]
    """
    keeper = _keeper.get()
    return spread(function, items) if keeper is None else _each(keeper, name, function, list(items), known)


def each_kept_among(
    name: str,
    function: Callable[[S], T],
    items: Sequence[S],
    others: Sequence[Callable[[], Any]],
    description: str,
    *,
    known: Sequence[NDArray[Any]] = (),
) -> tuple[Sequence[T], Sequence[Any]]:
    """Map as `each_kept` does, and do others `at_once`.

    Examples
    --------
    >>> each_kept_among("distances", abs, [-3, 2], [lambda: "done"], "measuring")
    ((3, 2), ('done',))
    """
    if is_elsewhere():
        mapped = track(each_kept(name, function, items, known=known), description, len(items))
        return tuple(mapped), tuple(other() for other in others)
    pieces = [
        partial(kept, f"{name} {number}", partial(function, item), known=known) for number, item in enumerate(items)
    ]
    found = at_once(*pieces, *others, description=description)
    return found[: len(pieces)], found[len(pieces) :]


def _each(
    keeper: Keeper, name: str, function: Callable[[S], T], items: Sequence[S], known: Sequence[NDArray[Any]]
) -> Iterator[T]:
    names = [f"{name} {number}" for number in range(len(items))]
    found = [keeper.found(one, known) for one in names]
    made = spread(function, [item for item, there in zip(items, found, strict=True) if there is None])
    for one, there in zip(names, found, strict=True):
        value = next(made) if there is None else there[0]
        if there is None:
            keeper.keep(one, (value,), known)
        yield value
