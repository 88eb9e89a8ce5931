"""Pieces of long work that are kept as they are done, so that another run can go on where one was ended.

Work names its pieces; whoever called decides whether and where they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, Protocol, TypeVar

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


@dataclass(frozen=True)
class Each(Generic[S, T]):
    """A function that changes nothing, and what it is to be mapped over; each result is a piece."""

    name: str
    function: Callable[[S], T]
    items: Sequence[S]
    known: Sequence[NDArray[Any]] = ()
    """Arrays that results may refer to."""

    @property
    def works(self) -> list[Callable[[], T]]:
        """One for each item."""
        return [
            partial(kept, f"{self.name} {number}", partial(self.function, item), known=self.known)
            for number, item in enumerate(self.items)
        ]


def all_at_once(*parts: Each[Any, Any] | Callable[[], Any], description: str) -> tuple[Any, ...]:
    """Do things and mappings `at_once`, and return what each returns, of a mapping all results.

    An executor has mappings alone, one after the other: what is in other things it may have, too.

    Examples
    --------
    >>> all_at_once(Each("distances", abs, [-3, 2]), lambda: "done", description="measuring")
    ((3, 2), 'done')
    """
    if is_elsewhere():
        return tuple(_elsewhere(part, description) if isinstance(part, Each) else part() for part in parts)
    works = [part.works if isinstance(part, Each) else [part] for part in parts]
    found = iter(at_once(*chain.from_iterable(works), description=description))
    several = [tuple(islice(found, len(some))) for some in works]
    return tuple(some if isinstance(part, Each) else some[0] for part, some in zip(parts, several, strict=True))


def _elsewhere(each: Each[S, T], description: str) -> tuple[T, ...]:
    mapped = each_kept(each.name, each.function, each.items, known=each.known)
    return tuple(track(mapped, description, len(each.items)))


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
