"""Progress of long work: the library announces its steps, and a terminal shows bars."""

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
    """The bars of all work of this process, in one display of rich.

    A terminal has room for one display, so threads share it. The first piece of work
    makes the display, a timer shows it after `DELAY` seconds, and the last piece of
    work removes it.
    """

    def __init__(self) -> None:
        # The garbage collector can end a generator, and so its bar, in a thread that
        # holds the lock.
        self.lock = RLock()
        self.n_running = 0
        self.display: Progress | None = None
        self.timer: Timer | None = None

    def __call__(
        self, steps: Iterable[T], description: str, total: int | None
    ) -> Iterator[T]:
        """Yield the steps and move a bar; without a terminal, only yield the steps."""
        if not _can_show_bars():
            yield from steps
            return
        with self.lock:
            self.n_running += 1
            if self.display is None:
                self.display = _new_display()
                self.timer = Timer(DELAY, self._show, [self.display])
                self.timer.daemon = True
                self.timer.start()
            display = self.display
            bar = display.add_task(description, total=total)
        try:
            for step in steps:
                yield step
                display.advance(bar)
        finally:
            with self.lock:
                display.remove_task(bar)
                self.n_running -= 1
                if self.n_running == 0:
                    self._remove(display)

    def _show(self, display: Progress) -> None:
        with self.lock:
            # When the timer goes off, its work may have ended and other work begun.
            if self.display is display:
                display.start()

    def _remove(self, display: Progress) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if display.live.is_started:
            # Stopping a display that was never shown would write an empty line.
            display.stop()
        self.display = None
        self.timer = None


def _can_show_bars() -> bool:
    """Return True on a terminal, and in a notebook that has widgets.

    Bars of several processes would overwrite each other, so only the main one has bars.
    """
    from multiprocessing import current_process

    if current_process().name != "MainProcess":
        return False
    if type(sys.stderr).__module__.startswith("ipykernel."):
        return find_spec("ipywidgets") is not None
    return sys.stderr is not None and sys.stderr.isatty()


def _new_display() -> Progress:
    """Return a display on stderr with description, bar, count and remaining time."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(10),  # with the longest description, a line has 80 characters
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # it may be a file
        speed_estimate_period=3600,  # a step may take minutes, and several end at once
    )


BARS = _Bars()
"""The bars of this process."""
_reporter: ContextVar[Reporter | None] = ContextVar("reporter", default=BARS)
"""The reporter in use. None shows nothing."""


@contextmanager
def reporting(reporter: Reporter | None) -> Iterator[None]:
    """Show the progress of all work inside the block with `reporter`, or nowhere.

    Examples
    --------
    >>> def print_total(steps, description, total):
    ...     print(f"{description}: {total} steps")
    ...     return iter(steps)
    >>> with reporting(print_total):
    ...     list(track("abc", "spelling", 3))
    spelling: 3 steps
    ['a', 'b', 'c']
    """
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def track(
    steps: Iterable[T], description: str, total: int | None = None
) -> Iterator[T]:
    """Yield `steps` and announce them to the reporter in use.

    By default, bars appear on a terminal or in a notebook once the work has taken a
    second.

    Examples
    --------
    >>> list(track("abc", "spelling"))
    ['a', 'b', 'c']
    """
    reporter = _reporter.get()
    if reporter is None:
        return iter(steps)
    return reporter(steps, description, total)


@contextmanager
def announced(description: str) -> Iterator[None]:
    """Announce work whose steps cannot be counted: a bar without the remaining time.

    Examples
    --------
    >>> with announced("reading"):
    ...     1 + 1
    2
    """
    for _ in track((None,), description):
        yield
