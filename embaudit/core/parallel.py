"""Use more than one core: map a function over row blocks with joblib, in order.

Blocks are cut by the size of the data and never by the number of workers, and the BLAS
runs on one thread while they are computed, so any number of workers gives the same
numbers. The host chooses workers with `joblib.parallel_config`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from embaudit.core.progress import track
from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

T = TypeVar("T")
S = TypeVar("S")
BLOCK_BYTES = 32 * 2**20
"""Working memory of one row block in float64."""
VARIABLE = "EMBAUDIT_WORKERS"
"""Environment variable with the number of workers, if joblib is not configured."""
BLOCKS_PER_WORKER = 4
"""Results for each worker that may wait for a slow reader."""

_thread = threading.local()
"""`_thread.is_worker` is True while this thread computes a block."""


def row_blocks(
    n_rows: int, n_columns: int, *, budget: int = BLOCK_BYTES
) -> Iterator[slice]:
    """Cut rows into consecutive slices.

    The block of a slice, `n_columns` wide in float64, has at most `budget` bytes, or is
    a single row.

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
    """Map a function over items on several workers and yield the results in order.

    Workers are threads of this process, or those of the backend that
    `joblib.parallel_config(backend="loky" | "dask" | ...)` sets. A map inside a block,
    a map with one worker, and a map over one item are plain loops.

    Parameters
    ----------
    function : callable
        Function of one item; for workers in other processes it is pickled.
    items : iterable
        Small objects such as slices and numbers.
    in_threads : bool
        Use threads of this process whatever the backend is, because the function writes
        into shared arrays, or because sending the results would take longer than
        computing them.

    Raises
    ------
    InputError
        If workers in other processes end before their work is done.

    Examples
    --------
    >>> list(parallel_map(abs, [-3, 2, -1]))
    [3, 2, 1]
    """
    items = list(items)
    if getattr(_thread, "is_worker", False):
        return map(function, items)
    if len(items) < 2:
        return _in_this_thread(function, items)

    from joblib.parallel import get_active_backend

    require = "sharedmem" if in_threads else None
    # With `prefer`, joblib does not return the number of jobs that the host configured.
    n_jobs = get_active_backend()[1]
    backend = get_active_backend(prefer="threads", require=require)[0]
    n_workers = backend.effective_n_jobs(_default_count() if n_jobs is None else n_jobs)
    if n_workers == 1:
        return _in_this_thread(function, items)
    has_threads = getattr(backend, "supports_sharedmem", False)
    return _on_workers(function, items, n_workers, require, has_threads=has_threads)


def fill_in_threads(fill: Callable[[S], None], items: Iterable[S]) -> None:
    """Call a function for each item, which writes a part of a shared array.

    Examples
    --------
    >>> import numpy as np
    >>> squares = np.zeros(3)
    >>> def fill(i):
    ...     squares[i] = i**2
    >>> fill_in_threads(fill, range(3))
    >>> squares
    array([0., 1., 4.])
    """
    for _ in parallel_map(fill, items, in_threads=True):
        pass


def _in_this_thread(function: Callable[[S], T], items: Sequence[S]) -> Iterator[T]:
    for item in items:
        with one_blas_thread():
            result = _block(function, item)
        yield result


def _on_workers(
    function: Callable[[S], T],
    items: Sequence[S],
    n_workers: int,
    require: str | None,
    *,
    has_threads: bool,
) -> Iterator[T]:
    """Yield results of several workers, and say in one sentence if they were lost."""
    from joblib import Parallel, delayed

    shared = _Shared(function)

    def job(item: S) -> Any:
        if has_threads:
            # Each block runs in the context of the caller, which has its progress bars.
            return delayed(copy_context().run)(_block, function, item)
        return delayed(_block_elsewhere)(shared, item)

    workers = Parallel(
        n_workers,
        return_as="generator",
        batch_size=1,
        prefer="threads",
        require=require,
    )
    try:
        # In threads of this process, the limit of the BLAS holds for all of them.
        with one_blas_thread(), workers:
            for batch in _batches(items, n_workers):
                yield from workers(map(job, batch))
    except Exception as error:
        if not _is_loss_of_workers(error):
            raise
        raise InputError(
            f"the workers ended before their work was done: {type(error).__name__}; "
            "check their logs, and run the command again."
        ) from error


def _batches(items: Sequence[S], n_workers: int) -> Iterator[Sequence[S]]:
    """Cut the items into batches: joblib would compute far ahead of its reader."""
    size = BLOCKS_PER_WORKER * n_workers
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _is_loss_of_workers(error: Exception) -> bool:
    """Return True if an exception tells that processes of loky or Dask went away."""
    from concurrent.futures import BrokenExecutor, CancelledError

    is_of_dask = type(error).__module__.startswith("distributed.")
    return is_of_dask or isinstance(error, BrokenExecutor | CancelledError)


class _Shared(Generic[S, T]):
    """A function with its data, which Dask sends to each worker once.

    joblib lets Dask scatter an argument whose size is above 1 kB; the size of a plain
    function does not count the arrays that it refers to.
    """

    def __init__(self, function: Callable[[S], T]) -> None:
        self.function = function

    def __sizeof__(self) -> int:
        return 2**20


def _block(function: Callable[[S], T], item: S) -> T:
    """Compute one block, with the BLAS limited and maps inside it as plain loops."""
    before = getattr(_thread, "is_worker", False)
    _thread.is_worker = True
    try:
        return function(item)
    finally:
        _thread.is_worker = before


def _block_elsewhere(shared: _Shared[S, T], item: S) -> T:
    with one_blas_thread():
        return _block(shared.function, item)


def results_of(jobs: Sequence[Callable[[], Any]], description: str) -> list[Any]:
    """Return the results of independent jobs, and show how many are done.

    Examples
    --------
    >>> results_of([lambda: 1 + 1, lambda: "two"], "counting")
    [2, 'two']
    """
    results = parallel_map(lambda job: job(), jobs)
    return list(track(results, description, len(jobs)))


def _default_count() -> int:
    """Return the number of workers in the environment, or of cores of this process.

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
    from joblib import cpu_count

    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return int(cpu_count())
    if not (text.isascii() and text.isdecimal() and int(text) >= 1):
        raise must_be(VARIABLE, "an integer >= 1", repr(text))
    return int(text)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep the BLAS at one thread.

    Its threads would compete with our workers, and the last digits of a product depend
    on their number.

    Examples
    --------
    >>> import numpy as np
    >>> with one_blas_thread():
    ...     product = np.eye(2) @ np.eye(2)
    """
    with _loaded_libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _loaded_libraries() -> ThreadpoolController:
    """Find libraries with threads once: it takes 5 ms, and an audit asks 50 times."""
    # A BLAS can only be limited once it is loaded, and SciPy has its own.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
