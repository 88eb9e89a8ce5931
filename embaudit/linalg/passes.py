"""Walks over the rows of a matrix: blocks in float64, the same by chunks for several threads, and ordered sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np

from embaudit.core.checked import Floats, Matrix
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.transformed_rows import Rows

T = TypeVar("T")
CACHE_BYTES = 2**20
"""A float64 block of this size stays in the second-level cache between conversion and product."""
A = TypeVar("A")


def float64_blocks(x: Rows) -> Iterator[tuple[slice, Floats]]:
    """Yield `(rows, block)` with every block in contiguous float64, whatever `x` is stored as."""
    for rows in row_blocks(*x.shape):
        yield rows, np.ascontiguousarray(x[rows], dtype=np.float64)


def each_chunk(x: Matrix, function: Callable[[slice], T]) -> Iterator[T]:
    """Apply `function`, which changes nothing, to consecutive slices of rows, in order, by all workers there are."""
    return parallel_map(function, row_blocks(*x.shape))


def cached_blocks(x: Matrix, chunk: slice, *, least: int = 1) -> Iterator[tuple[slice, Floats]]:
    """Yield `(rows, block)` of a chunk in float64, small enough to stay in the cache, of `least` rows where there are.

    The block is a buffer, overwritten by the next one.
    """
    buffer: Floats | None = None
    for local in row_blocks(chunk.stop - chunk.start, x.shape[1], budget=max(CACHE_BYTES, 8 * least * x.shape[1])):
        rows = slice(chunk.start + local.start, chunk.start + local.stop)
        buffer = np.empty((local.stop, x.shape[1])) if buffer is None else buffer
        block = buffer[: local.stop - local.start]
        block[...] = x[rows]
        yield rows, block


def in_order(terms: Iterable[A]) -> A:
    """Add terms up in the order they come, so that a sum does not depend on who was first ready.

    Examples
    --------
    >>> in_order(iter([1, 2, 3]))
    6
    """
    return reduce(add, terms)
