"""The one way to use more than one core: a function mapped over blocks, in order, in threads or where joblib sends it.

Blocks are cut by the size of the data, never by the number of workers, each is computed on one BLAS thread, and results
come in order: any number of workers, anywhere, gives the same digits.
"""

from __future__ import annotations

import io
import mmap
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from embaudit.core.progress import track
from embaudit.errors import InputError, must_be

T = TypeVar("T")
S = TypeVar("S")
BLOCK_BYTES = 32 * 2**20
"""Working memory of one row block in float64."""
VARIABLE = "EMBAUDIT_WORKERS"
"""Environment variable with the number of threads, where no `joblib.parallel_config` names one."""
AHEAD = 2
"""Results for each worker that may wait for the one before them."""
SENT_ALONG = 2**20
"""Bytes of a pickled function from which on it is sent to each worker once, not with each block."""


class Cancelled(BaseException):
    """Raised in worker threads to cancel them after a sibling failed or on KeyboardInterrupt."""


class _Thread(threading.local):
    """The state of this thread."""

    is_worker = False
    """True while the thread computes a block: maps within are plain loops."""
    cancelled: threading.Event | None = None
    """Event that cancels the blocks of a map."""


_thread = _Thread()


def row_blocks(
    n_rows: int, n_columns: int, *, budget: int = BLOCK_BYTES
) -> Iterator[slice]:
    """Cut `n_rows` into consecutive slices whose float64 block of `n_columns` stays within `budget` bytes.

    Examples
    --------
    >>> list(row_blocks(5, 1, budget=16))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, budget // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def parallel_map(
    function: Callable[[S], T], items: Iterable[S], *, in_threads: bool = False
) -> Iterator[T]:
    """Map a function over items on several cores and yield the results in order, only a few of them ahead.

    Threads of this process by default; inside `joblib.parallel_config(backend="dask" | "loky" | ...)` the work goes
    there. Within a block, with one worker or for one item it is a plain loop. When the reader goes away, a block fails
    or Ctrl-C is pressed, the blocks that run are joined before anything else happens.

    Parameters
    ----------
    function : callable
        Of one item. Elsewhere it is pickled once with all it refers to, mapped arrays by their place in the file.
    items : iterable
        Small: blocks as slices, numbers. A block takes at most about a second, or calls `raise_if_cancelled`.
    in_threads : bool
        Keep to threads of this process: the function writes into shared arrays, or results outweigh their computation.

    Examples
    --------
    >>> list(parallel_map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """

    def block(item: S) -> T:
        raise_if_cancelled()
        with one_blas_thread():
            return function(item)

    rest = iter(items)
    first = list(islice(rest, 2))
    items = chain(first, rest)
    if _thread.is_worker or len(first) < 2:
        return map(block, items)
    backend, count = _backend_in_force()
    if backend is not None and not in_threads:
        return _elsewhere(backend, count, function, items)
    return map(block, items) if count == 1 else _in_threads(block, items, count)


def results_of(jobs: Sequence[Callable[[], Any]], description: str) -> list[Any]:
    """Return the results of several jobs that do not need each other, and show how many are done.

    Examples
    --------
    >>> results_of([lambda: 1 + 1, lambda: "two"], "counting")
    [2, 'two']
    """
    numbers = range(len(jobs))
    return list(
        track(
            parallel_map(lambda number: jobs[number](), numbers), description, len(jobs)
        )
    )


def raise_if_cancelled() -> None:
    """Return where somebody still waits for what this thread does: long loops that map nothing ask at each step.

    Raises
    ------
    Cancelled
        If a block beside this one failed, its reader went away or Ctrl-C was pressed.
    """
    if _thread.cancelled is not None and _thread.cancelled.is_set():
        raise Cancelled


def _backend_in_force() -> tuple[Any, int]:
    """Return the joblib backend that the work goes to, None for threads, and the number of workers."""
    # Nobody can have configured joblib before it was imported, which takes longer than many an audit waits.
    if parallel := sys.modules.get("joblib.parallel"):
        n_jobs = parallel.get_active_backend()[1]
        # With this preference the default is threads as well: what shares no memory has been asked for.
        backend = parallel.get_active_backend(prefer="threads")[0]
        if not getattr(backend, "supports_sharedmem", False):
            n_jobs = _default_count() if n_jobs is None else n_jobs
            return backend, max(1, backend.effective_n_jobs(n_jobs))
        if n_jobs is not None:
            return None, max(1, backend.effective_n_jobs(n_jobs))
    return None, _default_count()


def _default_count() -> int:
    """Return the number of workers that the environment names, else of the cores of this process.

    Examples
    --------
    >>> os.environ[VARIABLE] = "many"
    >>> _default_count()
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: EMBAUDIT_WORKERS must be an integer >= 1; got 'many'.
    >>> os.environ[VARIABLE] = "3"
    >>> _default_count(), os.environ.pop(VARIABLE)
    (3, '3')
    """
    if text := os.environ.get(VARIABLE, "").strip():
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise must_be(VARIABLE, "an integer >= 1", repr(text))
        return int(text)
    return (
        len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def _in_threads(block: Callable[[S], T], items: Iterable[S], count: int) -> Iterator[T]:
    # Not joblib's own threads: those are polled every 10 ms, and ended inside the BLAS when Ctrl-C is pressed.
    """Compute the blocks in threads and yield results in order; end all threads if one fails or the reader stops."""
    cancelled = threading.Event()

    def begin() -> None:
        _thread.is_worker, _thread.cancelled = True, cancelled

    pool, waiting = ThreadPoolExecutor(count, initializer=begin), deque[Future[T]]()
    try:
        for item in items:
            waiting.append(pool.submit(copy_context().run, block, item))
            # A few results ahead keep all threads busy; more would only fill the memory.
            if len(waiting) > AHEAD + count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except RuntimeError as error:
        # Ctrl-C between the release of a lock and its next use leaves Python's complaint about the lock on top.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        # Threads that compute look at this flag between blocks: all of them end before anything returns.
        cancelled.set()
        pool.shutdown(cancel_futures=True)


def _elsewhere(
    backend: Any, count: int, function: Callable[[S], T], items: Iterable[S]
) -> Iterator[T]:
    """Map in batches of a few blocks for each worker: not every backend can hand out results as they come."""
    from joblib import Parallel, delayed

    pickled: Any = _pickled(function)
    digest = blake2b(pickled).hexdigest()
    if len(pickled) > SENT_ALONG:
        client = getattr(backend, "client", None)
        # As an array joblib writes it down once for processes of this machine.
        pickled = (
            np.frombuffer(pickled, np.uint8)
            if client is None
            else _kept_by_dask(client, pickled)
        )
    rest = iter(items)
    try:
        with Parallel(n_jobs=count, batch_size=1) as workers:
            while batch := list(islice(rest, AHEAD * count)):
                # In a tuple, which joblib sends along as it is.
                yield from workers(
                    delayed(_block_elsewhere)(digest, pickled, (item,))
                    for item in batch
                )
    except BrokenExecutor as error:
        raise InputError(
            f"the workers ended before their work was done: {error}"
        ) from error


def _kept_by_dask(client: Any, pickled: bytes) -> Any:
    """Return a future of the bytes, as the result of a task, which the scheduler runs again when a worker dies.

    Scattered data would be lost with the worker that holds it; Dask's memory manager drops what was broadcast.
    """
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
        return client.submit(bytes, pickled, pure=False)


_functions: dict[str, Callable[[Any], Any]] = {}
"""Functions that this worker has unpickled, by the digest of their bytes; two at most, since maps may alternate."""


def _block_elsewhere(digest: str, pickled: Any, item: tuple[Any]) -> Any:
    """Compute one block in a worker, which unpickles the function with its first block."""
    import pickle

    function = _functions.get(digest)
    if function is None:
        # With one worker left joblib stays in this process, where a Dask future is still one.
        text = bytes(pickled.result() if hasattr(pickled, "result") else pickled)
        function = pickle.loads(text)  # noqa: S301  (made by this program)
        if len(_functions) > 1:
            _functions.clear()
        _functions[digest] = function
    before, _thread.is_worker = _thread.is_worker, True
    try:
        with one_blas_thread():
            return function(*item)
    finally:
        _thread.is_worker = before


def _pickled(function: Callable[[Any], Any]) -> bytes:
    """Pickle a function; arrays of mapped files travel as path, offset, dtype and shape."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            place = _place_in_file(value) if isinstance(value, np.ndarray) else None
            return (
                super().reducer_override(value) if place is None else (_mapped, place)
            )

    text = io.BytesIO()
    Pickler(text).dump(function)
    return text.getvalue()


def _place_in_file(array: NDArray[Any]) -> tuple[Any, ...] | None:
    """Return where the numbers of an array lie; None where they are in memory, or may differ there from the file's."""
    root: Any = array
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if (
        not isinstance(root, np.memmap)
        or root.mode != "r"
        or root.filename is None
        or min(array.strides) < 0
    ):
        return None
    path = Path(root.filename).resolve()
    if not path.exists():  # deleted; whoever has it open may still read it
        return None
    start = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    return (
        str(path),
        file_state(path),
        root.offset + start,
        array.shape,
        array.strides,
        array.dtype,
    )


def file_state(path: Path) -> tuple[int, int] | None:
    """Return the size of a file and the time it was last written to, in nanoseconds; None where it is not there."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def require_state(path: str, state: tuple[int, int] | None) -> None:
    """Refuse to read another file in the stead of one that was named to a worker.

    Raises
    ------
    InputError
        If it is not there, or was written to since.
    """
    if file_state(Path(path)) != state:
        raise InputError(
            f"every worker must reach {path!r} as it was; name a file on a disk that all of them share."
        )


def _mapped(
    path: str, state: Any, offset: int, shape: tuple[int, ...], strides: Any, dtype: Any
) -> NDArray[Any]:
    """Map the rows of a file that a worker reaches by the same name."""
    require_state(path, state)
    return np.ndarray(shape, dtype, np.memmap(path, np.uint8, "r"), offset, strides)


class _BlasLimit:
    """Count of those that need a BLAS of one thread: the first limits it, the last restores what the host had.

    threadpoolctl alone does not: there each restores what it found, so that overlapping limits leave 1 behind.
    Nothing is kept for a thread, since a generator that holds the limit may be closed by another one.
    """

    def __init__(self) -> None:
        self.lock, self.holders, self.modules = threading.Lock(), 0, (0, "")
        self.libraries: list[Any] = []
        self.before: list[int] = []

    def enter(self) -> list[int]:
        """Limit all libraries that are loaded by now, and return the numbers of threads found."""
        with self.lock:
            # A look takes a millisecond. A new library comes with new modules: the last one is new, or they are more.
            if self.modules != (
                modules := (len(sys.modules), next(reversed(sys.modules)))
            ):
                self._look()
                self.modules = modules
            n_threads = [library.num_threads for library in self.libraries]
            # A library that came while others are limited has no number yet.
            self.before = (
                n_threads
                if self.holders == 0
                else [*self.before, *n_threads[len(self.before) :]]
            )
            self.holders += 1
            for library in self.libraries:
                _set_threads(library, 1)
            return n_threads

    def _look(self) -> None:
        from threadpoolctl import ThreadpoolController

        paths = {library.filepath for library in self.libraries}
        loaded = ThreadpoolController().select(user_api="blas").lib_controllers
        self.libraries += [
            library for library in loaded if library.filepath not in paths
        ]

    def leave(self, n_threads: list[int]) -> None:
        """Restore what this thread found in libraries with a limit for each thread; in others once all have left."""
        with self.lock:
            self.holders -= 1
            for library, of_thread, of_process in zip(
                self.libraries, n_threads, self.before, strict=False
            ):
                # MKL and OpenMP have a limit for each thread. OpenBLAS over OpenMP tells that of the process, which
                # others may hold: the last to leave restores what was there before all of them.
                if self.holders == 0 and library.internal_api != "mkl":
                    _set_threads(library, of_process)
                elif (
                    library.internal_api == "mkl"
                    or getattr(library, "threading_layer", None) == "openmp"
                ):
                    _set_threads(library, of_thread)


def _set_threads(library: Any, number: int) -> None:
    # Asking is faster than setting; OpenBLAS over OpenMP tells the number of the process, not of this thread.
    if (
        library.num_threads != number
        or getattr(library, "threading_layer", None) == "openmp"
    ):
        # Newer versions of threadpoolctl ignore every thread but the one that set a limit first, until it lets go.
        release = getattr(library, "clear_controlling_thread", lambda **_: None)
        release(force=True)
        library.set_num_threads(number)
        release(force=True)


_blas_limit = _BlasLimit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the BLAS at one thread: its threads would spin against ours, and their number shows in last digits.

    It may be nested and held by several threads at once; the limit is one for the process, and goes when the last
    of them leaves.

    Examples
    --------
    >>> from threadpoolctl import threadpool_info
    >>> with one_blas_thread():
    ...     {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
    {1}
    """
    n_threads = _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave(n_threads)
