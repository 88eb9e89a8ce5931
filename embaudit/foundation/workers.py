"""How much work at once and by how many: blocks of rows, threads, and the one limit on the threads of the BLAS."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")
S = TypeVar("S")
BLOCK_BYTES = 32 * 2**20
"""Working memory of one row block in float64."""
WORKERS = 2
"""Threads that share tiles; each runs its own single-threaded BLAS."""


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


def ordered_map(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """Map in `WORKERS` threads, in order, holding only a few results at a time.

    BLAS is limited to one thread meanwhile: nested thread pools spin against each other.
    """
    from collections import deque

    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(WORKERS) as pool:
        waiting = deque[Any]()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > 2 * WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
