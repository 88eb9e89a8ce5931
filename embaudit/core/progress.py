"""Progress of long work: the library announces its steps, and bars show them where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from threading import RLock, Timer
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

T = TypeVar("T")

DELAY = 1.0
"""Seconds after which bars appear."""


class Reporter(Protocol):
    """A display of progress, such as the bars on a terminal."""

    def __call__(
        self, steps: Iterable[T], description: str, total: int | None
    ) -> Iterator[T]:
        """Yield the steps unchanged and show how many are done."""
        ...


class _Bars:
    """Bars of everything under way in this process, which appear after a second and go when all is done.

    Threads share them: a terminal has room for one display. It is made with the first piece of work, shown by a timer,
    and taken away with the last.
    """

    def __init__(self) -> None:
        # Also a generator that is collected as garbage ends its bar, maybe in a thread that holds the lock.
        self.lock = RLock()
        self.n_under_way = 0
        self.progress: Progress | None = None
        self.timer: Timer | None = None

    def __call__(
        self, steps: Iterable[T], description: str, total: int | None
    ) -> Iterator[T]:
        """Yield the steps, and move a bar of their own; nothing is shown where nobody watches."""
        if not _is_watched():
            yield from steps
            return
        with self.lock:
            self.n_under_way += 1
            if self.progress is None:
                self.progress = _made_progress()
                self.timer = Timer(DELAY, self._appear, [self.progress])
                self.timer.daemon = True
                self.timer.start()
            progress = self.progress
            task = progress.add_task(description, total=total)
        try:
            for step in steps:
                yield step
                progress.advance(task)
        finally:
            with self.lock:
                progress.remove_task(task)
                self.n_under_way -= 1
                if self.n_under_way == 0:
                    self._disappear(progress)

    def _appear(self, progress: Progress) -> None:
        with self.lock:
            # The work may have ended while the timer went off, and other work have begun.
            if self.progress is progress:
                progress.start()

    def _disappear(self, progress: Progress) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if progress.live.is_started:  # else it would end a line that nobody began
            progress.stop()
        self.progress = self.timer = None


def _is_watched() -> bool:
    """Return whether the standard error is a terminal, or this is a notebook that can show bars."""
    from multiprocessing import current_process

    if current_process().name != "MainProcess":  # several would write over each other
        return False
    if type(sys.stderr).__module__.startswith("ipykernel."):
        return find_spec("ipywidgets") is not None
    return sys.stderr is not None and sys.stderr.isatty()


def _made_progress() -> Progress:
    """Build the display of rich on stderr: description, bar, count and time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    # A bar of ten leaves room for the words on a line of 80.
    columns = (
        TextColumn("{task.description}"),
        BarColumn(10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(
        *columns,
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # it may be a file
        speed_estimate_period=3600,  # a step may take minutes, and several end at once
    )


BARS = _Bars()
"""The bars of this process."""
_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=BARS)


@contextmanager
def reporting(reporter: Reporter | None) -> Iterator[None]:
    """Show the progress of everything that runs inside the block with `reporter`, or nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit import FactorModel, audit
    >>> head, steps = FactorModel.from_softmax(np.random.default_rng(0).normal(size=(12, 3))), []
    >>> with reporting(lambda each, description, total: steps.append(description) or iter(each)):
    ...     result = audit(head, n_gauges=1, n_pairs=5, n_starts=1, n_steps=0)
    >>> print(*dict.fromkeys(steps), sep=", ")
    finding the span of the rows, measuring heads, drawing equivalent models, sampling pairs and lists, visiting
    equivalent models, bounding cosines, certifying lists, visiting the worst, comparing neighbours
    """
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def track(
    steps: Iterable[T], description: str, total: int | None = None
) -> Iterator[T]:
    """Yield `steps`, announcing them to the reporter in force: bars on a terminal or in a notebook by default.

    Examples
    --------
    >>> list(track("abc", "spelling"))
    ['a', 'b', 'c']
    """
    reporter = _reporter.get()
    return iter(steps) if reporter is None else reporter(steps, description, total)


@contextmanager
def announced(description: str) -> Iterator[None]:
    """Announce work whose steps are not counted: a bar without the time left.

    Examples
    --------
    >>> with announced("reading"):
    ...     1 + 1
    2
    """
    for _ in track((None,), description):
        yield
