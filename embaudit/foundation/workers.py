"""How much work at once and by how many: blocks of rows, threads, and the one limit on the threads of the BLAS."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from embaudit.errors import must_be

T = TypeVar("T")
S = TypeVar("S")
BLOCK_BYTES = 32 * 2**20
"""Working memory of one row block in float64."""
TURN = 5e-4
"""Seconds after which a thread leaves the interpreter to one that waits for it: a tenth of what Python allows it."""
VARIABLE = "EMBAUDIT_WORKERS"
"""Environment variable that says how many threads share the work."""


def row_blocks(n_rows: int, n_columns: int, *, budget: int = BLOCK_BYTES) -> Iterator[slice]:
    """Cut `n_rows` into consecutive slices whose float64 block of `n_columns` stays within `budget` bytes.

    Examples
    --------
    >>> list(row_blocks(5, 1, budget=16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def worker_count(workers: int | None = None) -> int:
    """Decide how many threads share the work: as asked for, else `EMBAUDIT_WORKERS`, else one a core.

    What is done beside other work has its share of them at most.

    Raises
    ------
    InputError
        If either is no integer from 1 on.

    Examples
    --------
    >>> worker_count(3)
    3
    >>> worker_count(0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: workers must be an integer >= 1; got 0.
    """
    text = os.environ.get(VARIABLE, "").strip()
    given: Any = int(text) if text.isascii() and text.isdecimal() else text
    name, given = (VARIABLE, given) if workers is None else ("workers", workers)
    if given != "":
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise must_be(name, "an integer >= 1", repr(given))
        return min(given, _share())
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, _share())


class _OneThread:
    """Counts the threads that need a BLAS of one thread: the first limits it, the last restores what the host had.

    threadpoolctl alone does not: there each restores what it found, so that overlapping limits leave 1 behind. As long
    as there are such threads they take quick turns at the interpreter, too.
    """

    def __init__(self) -> None:
        self.lock, self.holders, self.mine = threading.Lock(), 0, threading.local()
        self.libraries: list[Any] = []
        self.modules = 0
        self.found: list[int] = []
        self.turn = TURN

    def look(self) -> None:
        """Find the BLAS libraries of the process: a look takes a millisecond, and a new one comes with new modules."""
        from threadpoolctl import ThreadpoolController

        if self.modules != len(sys.modules):
            self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            self.modules = len(sys.modules)

    def enter(self) -> None:
        self.mine.depth = getattr(self.mine, "depth", 0) + 1
        if self.mine.depth > 1:
            return
        with self.lock:
            if self.holders == 0:
                self.look()
                self.found = [library.num_threads for library in self.libraries]
                self.turn = sys.getswitchinterval()
                sys.setswitchinterval(min(self.turn, TURN))
            self.holders += 1
            for library in self.libraries:
                _set_threads(library, 1)

    def leave(self) -> None:
        self.mine.depth -= 1
        if self.mine.depth:
            return
        with self.lock:
            self.holders -= 1
            for library, number in zip(self.libraries, self.found, strict=True):
                if self.holders == 0 or _is_of_thread(library):
                    _set_threads(library, number)
            if self.holders == 0:
                sys.setswitchinterval(self.turn)


def _set_threads(library: Any, number: int) -> None:
    # Newer versions of threadpoolctl ignore every thread but the first that set a limit.
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def _is_of_thread(library: Any) -> bool:
    """Whether each thread has a limit of its own."""
    return library.internal_api == "mkl" or getattr(library, "threading_layer", None) == "openmp"


_one_thread = _OneThread()
_beside = threading.local()


def share_in_force() -> Callable[[], int]:
    """Return what says how many workers there are for this thread; it raises where nobody waits for its work."""
    share: Callable[[], int] = getattr(_beside, "share", _all)
    return share


def _share() -> int:
    return share_in_force()()


def _all() -> int:
    return sys.maxsize


def _one() -> int:
    return 1


def _within(around: Callable[[], int], share: Callable[[], int]) -> Callable[[], int]:
    # Also a share of one is asked for around it: there it is known whether anybody waits.
    return lambda: min(around(), share())


def go_on() -> None:
    """Return where somebody still waits for what this thread does: long loops that map nothing ask at each step."""
    _share()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the BLAS at one thread: its threads would spin against ours, or wait longer than small products take.

    It may be nested and held by several threads at once; the limit is one for the process, and goes when the last
    of them leaves.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    _one_thread.enter()
    try:
        yield
    finally:
        _one_thread.leave()


def is_busy() -> bool:
    """Whether this thread is one of several that share a piece of work.

    Examples
    --------
    >>> with one_worker():
    ...     is_busy()
    True
    """
    return _share() == 1


@contextmanager
def one_worker() -> Iterator[None]:
    """Keep what runs inside to one thread: the others have work of their own."""
    with some_workers(_one):
        yield


@contextmanager
def some_workers(share: Callable[[], int]) -> Iterator[None]:
    """Keep what runs inside to so many threads as there are for it when they are asked for, and the BLAS to one.

    Examples
    --------
    >>> with some_workers(lambda: 1):
    ...     worker_count(2)
    1
    """
    before = share_in_force()
    _beside.share = _within(before, share)
    try:
        with one_blas_thread():
            yield
    finally:
        _beside.share = before


def ordered_map(function: Callable[[S], T], items: Iterable[S], *, workers: int | None = None) -> Iterator[T]:
    """Map in several threads, in order, holding only a few results at a time, each on a BLAS of one thread.

    Neither threads nor values depend on who reads: nothing is limited while a result waits to be taken, and a reader
    who goes away early ends the threads. One item, or one worker, is a plain loop; so is a map within a map, whose
    cores are busy already.

    Parameters
    ----------
    function : callable
        Of one item.
    items : iterable
        Taken a few ahead of the reader.
    workers : int, optional
        How many threads; see `worker_count`.

    Examples
    --------
    >>> list(ordered_map(abs, [-3, 2, -1], workers=2))
    [3, 2, 1]
    """
    count, rest = worker_count(workers), iter(items)
    first = list(islice(rest, 2))

    def limited(item: S) -> T:
        go_on()
        with one_blas_thread():
            return function(item)

    if count == 1 or len(first) < 2:
        return map(limited, chain(first, rest))
    return _threaded(limited, chain(first, rest), count)


def each_done(function: Callable[[S], None], items: Iterable[S]) -> None:
    """Do something with each item, in several threads, and return when all is done.

    Examples
    --------
    >>> done = set()
    >>> each_done(done.add, [3, 1])
    >>> done
    {1, 3}
    """
    for _ in ordered_map(function, items):
        pass


def _threaded(function: Callable[[S], T], items: Iterator[S], count: int) -> Iterator[T]:
    pool = ThreadPoolExecutor(count, initializer=setattr, initargs=(_beside, "share", _within(share_in_force(), _one)))
    waiting = deque[Future[T]]()
    try:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > count + 2:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
