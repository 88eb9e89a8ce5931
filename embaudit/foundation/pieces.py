"""Pieces of long work that are kept as they are done, so that another run can go on where one was ended.

Work names its pieces; whoever called decides whether and where they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


@dataclass(frozen=True)
class Each(Generic[S, T]):
    """A function that changes nothing, and what it is to be mapped over; each result is a piece."""

    name: str
    function: Callable[[S], T]
    items: Sequence[S]
    known: Sequence[NDArray[Any]] = ()
    """Arrays that results may refer to."""
    is_chain: bool = False
    """Whether each of them is a chain of many small things, as what is no mapping is."""

    @property
    def names(self) -> list[str]:
        """What each piece is called."""
        return [f"{self.name} {number}" for number in range(len(self.items))]

    @property
    def works(self) -> list[Callable[[], T]]:
        """One for each item."""
        return [
            partial(kept, name, partial(self.function, item), known=self.known)
            for name, item in zip(self.names, self.items, strict=True)
        ]


def all_at_once(*parts: Each[Any, Any] | Callable[[], Any], description: str) -> tuple[Any, ...]:
    """Do things and mappings `at_once`, and return what each returns, of a mapping all results.

    An executor has all mappings as one, and then what other things give it, one after the other.

    Examples
    --------
    >>> all_at_once(Each("distances", abs, [-3, 2]), lambda: "done", description="measuring")
    ((3, 2), 'done')
    """
    if is_elsewhere():
        mapped = iter(_mapped([part for part in parts if isinstance(part, Each)], description))
        return tuple(next(mapped) if isinstance(part, Each) else part() for part in parts)
    works = [part.works if isinstance(part, Each) else [part] for part in parts]
    are_chains = [not isinstance(part, Each) or part.is_chain for part in parts]
    order = sorted(range(len(parts)), key=lambda number: not are_chains[number])
    n_chains = sum(len(some) for some, are in zip(works, are_chains, strict=True) if are)
    in_order = chain.from_iterable(works[number] for number in order)
    found = iter(at_once(*in_order, description=description, chains=n_chains))
    several = {number: tuple(islice(found, len(works[number]))) for number in order}
    return tuple(several[number] if isinstance(part, Each) else several[number][0] for number, part in enumerate(parts))


def _mapped(several: Sequence[Each[Any, Any]], description: str) -> list[tuple[Any, ...]]:
    functions = [each.function for each in several]

    def applied(job: tuple[int, Any]) -> Any:
        number, item = job
        return functions[number](item)

    jobs = [(number, item) for number, each in enumerate(several) for item in each.items]
    names = [name for each in several for name in each.names]
    steps = _kept_each(names, applied, jobs, [each.known for each in several for _ in each.items])
    found = iter(list(track(steps, description, len(jobs))))
    return [tuple(islice(found, len(each.items))) for each in several]


def _kept_each(
    names: Sequence[str], function: Callable[[S], T], items: Sequence[S], known: Sequence[Sequence[NDArray[Any]]]
) -> Iterator[T]:
    keeper = _keeper.get()
    if keeper is None:
        yield from spread(function, items)
        return
    found = [keeper.found(*one) for one in zip(names, known, strict=True)]
    made = spread(function, [item for item, there in zip(items, found, strict=True) if there is None])
    for name, referred, there in zip(names, known, found, strict=True):
        value = next(made) if there is None else there[0]
        if there is None:
            keeper.keep(name, (value,), referred)
        yield value
