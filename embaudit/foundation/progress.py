"""Progress of long work: the library announces steps, whoever called decides whether to show them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol, TypeVar

T = TypeVar("T")


class Reporter(Protocol):
    """What shows progress: the command line installs one made of rich bars."""

    def __call__(self, steps: Iterable[T], description: str, total: int | None) -> Iterator[T]:
        """Yield the steps unchanged and show how many are done."""
        ...


_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=None)


@contextmanager
def reporting(reporter: Reporter | None) -> Iterator[None]:
    """Show the progress of everything that runs inside the block with `reporter`."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


_teller: ContextVar[Callable[[str], None] | None] = ContextVar("teller", default=None)


@contextmanager
def told_to(teller: Callable[[str], None] | None) -> Iterator[None]:
    """Let `teller` show what the library has to say before long work inside the block."""
    token = _teller.set(teller)
    try:
        yield
    finally:
        _teller.reset(token)


def tell(sentence: Callable[[], str]) -> None:
    """Say something to whoever listens; nobody does by default, and then nothing is worked out.

    Examples
    --------
    >>> tell(lambda: "nobody hears this")
    >>> with told_to(print):
    ...     tell(lambda: "somebody hears this")
    somebody hears this
    """
    teller = _teller.get()
    if teller is not None and (said := sentence()):
        teller(said)


def track(steps: Iterable[T], description: str, total: int | None = None) -> Iterator[T]:
    """Yield `steps`, announcing them to the reporter in force (none by default).

    Examples
    --------
    >>> list(track("abc", "spelling"))
    ['a', 'b', 'c']
    """
    reporter = _reporter.get()
    return iter(steps) if reporter is None else reporter(steps, description, total)
