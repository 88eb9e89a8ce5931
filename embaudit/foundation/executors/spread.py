"""Map a function over blocks on the executor in force, in order; without one, in threads of this process."""

from __future__ import annotations

import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

from embaudit.errors import InputError, must_be
from embaudit.foundation.executors.named import named_executor
from embaudit.foundation.executors.task import Store
from embaudit.foundation.progress import track
from embaudit.foundation.workers import (
    is_busy,
    one_blas_thread,
    one_worker,
    ordered_map,
    share_in_force,
    some_workers,
    worker_count,
)

T = TypeVar("T")
S = TypeVar("S")
AHEAD = 32
"""Results that may wait for the one before them: more than most executors have workers, few enough for memory."""


@dataclass(frozen=True)
class _Workplace:
    executor: Executor
    store: Store


_chosen: ContextVar[_Workplace | None] = ContextVar("workplace", default=None)


def work_on(executor: Executor | str, *, shared: str | PathLike[str] | None = None) -> AbstractContextManager[None]:
    """Let an executor do the passes over rows of everything that runs inside the block.

    The answers are those of this process alone, bit for bit where processors are alike: blocks are cut by the size of
    the data, not by the number of workers, and their results are added up in order of the blocks.

    Parameters
    ----------
    executor : concurrent.futures.Executor or str
        Threads, processes, `loky`, `mpi4py.futures`, or Dask by `Client.get_executor()`; or a name: `threads:N`,
        `processes:N`, `dask://HOST:PORT`. Workers of other processes need the same packages, and open arrays
        themselves: those of a file by its path, others from the shared folder.
    shared : path, optional
        A folder that all workers reach, for arrays that lie in memory; by default one of this machine.

    Raises
    ------
    InputError
        If there is no such folder. Within the block: if a name is no executor's, a worker does not reach a file, or
        workers ended.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> rows = np.random.default_rng(0).normal(size=(30, 3))
    >>> with ea.work_on("threads:2"):
    ...     shared = ea.neighbours(rows, 3)
    >>> bool((shared.indices == ea.neighbours(rows, 3).indices).all())
    True
    """
    if not isinstance(executor, Executor | str):
        raise must_be("executor", "an Executor or the name of one, such as threads:4", repr(executor))
    if shared is not None and not (isinstance(shared, str | PathLike) and Path(shared).is_dir()):
        raise must_be("shared", "a folder that all workers reach", repr(shared))
    return _workplace(executor, shared)


@contextmanager
def _workplace(executor: Executor | str, shared: str | PathLike[str] | None) -> Iterator[None]:
    named = named_executor(executor) if isinstance(executor, str) else nullcontext(executor)
    spare = tempfile.TemporaryDirectory(prefix="embaudit-", dir=shared, ignore_cleanup_errors=True)
    with spare as folder, named as workers:
        token = _chosen.set(_Workplace(workers, Store(Path(folder))))
        try:
            yield
        finally:
            _chosen.reset(token)


def spread(function: Callable[[S], T], items: Iterable[S], *, ahead: int = AHEAD) -> Iterator[T]:
    """Map a function that changes nothing over items, in order, on the executor in force.

    At most `ahead` results, and the one before them, are there or on their way while nobody has taken them.

    Examples
    --------
    >>> list(spread(abs, [-3, 2]))
    [3, 2]
    """
    place = _chosen.get()
    if place is None or is_busy():
        return ordered_map(function, items)
    return _submitted(place, function, items, ahead)


def is_elsewhere() -> bool:
    """Whether an executor has the work."""
    return _chosen.get() is not None


@overload
def at_once(work: Callable[[], T], other: Callable[[], S], /) -> tuple[T, S]: ...
@overload
def at_once(*works: Callable[[], Any], description: str = ..., chains: int = ...) -> tuple[Any, ...]: ...
def at_once(*works: Callable[[], Any], description: str = "", chains: int = 0) -> tuple[Any, ...]:
    """Do things that do not need each other at the same time, begun in order, and return what they return.

    Workers are shared out among those that have not ended, so that no more threads compute than there are workers: two
    that take turns on a core need longer than one after the other. They are done one after the other where one worker
    does everything, or an executor has the work. The BLAS keeps to one thread all along: how many it has shows in last
    digits, which must not depend on what ends first. How many are done is told under a description, if there is one.
    Where one raises, or Ctrl-C is pressed, the others end as soon as they ask for workers or whether to go on.

    The first `chains` of them are chains of many small things, for which threads take turns at the interpreter: as long
    as anything else has not begun, one of them is done at a time.

    Examples
    --------
    >>> at_once(lambda: 1 + 1, lambda: "at once")
    (2, 'at once')
    """
    count = worker_count()
    with one_blas_thread():
        if is_elsewhere() or count == 1 or len(works) < 2:
            return tuple(_told((work() for work in works), description, len(works)))
        beside = _Beside(count, len(works), share_in_force(), deque(range(chains)), deque(range(chains, len(works))))
        pool = ThreadPoolExecutor(min(count, len(works)))
        try:
            begun = [pool.submit(copy_context().run, beside.do_next, works) for _ in works]
            found = dict(ended.result() for ended in _told(as_completed(begun), description, len(begun)))
            return tuple(found[number] for number in range(len(works)))
        finally:
            beside.is_over = True
            pool.shutdown(cancel_futures=True)


def _told(steps: Iterable[T], description: str, count: int) -> Iterator[T]:
    return track(steps, description, count) if description else iter(steps)


class _NobodyWaitsError(BaseException):
    """Ends what was begun beside a thing that failed, or for somebody who pressed Ctrl-C."""


@dataclass
class _Beside:
    """Shares workers out among things that are done at the same time."""

    workers: int
    left: int
    """Things that have not ended."""
    around: Callable[[], int]
    """The share of all of them, where they are done beside others."""
    chains: deque[int]
    """Which have not begun, of those of which one at a time is done as long as there are others."""
    others: deque[int]
    """Which of the others have not begun."""
    chained: int = 0
    """Chains that are being done."""
    is_over: bool = False
    """Whether nobody waits for any of them."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def share(self) -> int:
        if self.is_over:
            raise _NobodyWaitsError
        return max(1, min(self.workers, self.around()) // max(1, self.left))

    def do_next(self, works: Sequence[Callable[[], Any]]) -> tuple[int, Any]:
        with self.lock:
            chained = bool(self.chains) and not (self.chained and self.others)
            number = (self.chains if chained else self.others).popleft()
            self.chained += chained
        try:
            with some_workers(self.share):
                return number, works[number]()
        finally:
            with self.lock:
                self.left -= 1
                self.chained -= chained


def _submitted(place: _Workplace, function: Callable[[S], T], items: Iterable[S], ahead: int) -> Iterator[T]:
    here = isinstance(place.executor, ThreadPoolExecutor)
    waiting = deque[Future[T]]()
    with nullcontext(function) if here else place.store.task(function) as task:
        try:
            for item in items:
                waiting.append(place.executor.submit(_alone, task, item))
                if len(waiting) > ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenExecutor as error:
            raise InputError(f"the workers ended before their work was done: {error}") from error
        finally:
            for future in waiting:
                future.cancel()


def _alone(task: Callable[[Any], T], item: Any) -> T:
    """Run in a worker: maps within are plain loops, on a BLAS of one thread."""
    with one_worker():
        return task(item)
