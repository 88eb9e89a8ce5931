"""Things that are done at the same time: single ones, and functions mapped over items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, TypeVar

from embaudit.foundation.executors import at_once, is_elsewhere, spread
from embaudit.foundation.progress import track

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True)
class Each(Generic[S, T]):
    """A function that changes nothing, and what it is to be mapped over."""

    function: Callable[[S], T]
    items: Sequence[S]
    is_chain: bool = False
    """Whether each of them is a chain of many small things, as what is no mapping is."""

    @property
    def works(self) -> list[Callable[[], T]]:
        """One for each item."""
        return [partial(self.function, item) for item in self.items]


def all_at_once(*parts: Each[Any, Any] | Callable[[], Any], description: str) -> tuple[Any, ...]:
    """Do things and mappings `at_once`, and return what each returns, of a mapping all results.

    An executor has all mappings as one, and then what other things give it, one after the other.

    Examples
    --------
    >>> all_at_once(Each(abs, [-3, 2]), lambda: "done", description="measuring")
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
    found = iter(list(track(spread(applied, jobs), description, len(jobs))))
    return [tuple(islice(found, len(each.items))) for each in several]
