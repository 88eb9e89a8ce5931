"""Products with a dense or sparse matrix, a block of its rows at a time, in threads or on the executor in force.

A sparse product uses one core and releases the lock, so blocks of rows share the cores; the transpose of
a block is taken as it lies in memory, never converted. Workers of other processes are sent no block: they open each
where it was written down once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import frozen
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.errors import must_be
from embaudit.linalg.passes import in_order

Interactions: TypeAlias = Any
"""A dense matrix or a sparse one in row order, float32 or float64."""

MIN_BLOCKS = 16
"""Minimum number of blocks, for an even load and sums that stay in the cache."""


def is_sparse(X: Any) -> bool:
    """Check for a sparse array or matrix of scipy."""
    return bool(sp.issparse(X))


def as_interactions(X: Any) -> Interactions:
    """Bring any sparse format to rows (CSR) without copying one that is; keep float32 and float64."""
    if not is_sparse(X):
        dense = np.asarray(X)
        if dense.ndim != 2 or dense.dtype.kind not in "fiub":
            got = f"{dense.dtype} of shape {dense.shape}"
            raise must_be("X", "a matrix of real numbers, dense or sparse", got)
        return dense if dense.dtype in (np.float32, np.float64) else dense.astype(np.float64)
    rows = sp.csr_array(X)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _csr_rows(X: sp.csr_array[Any], rows: slice) -> sp.csr_array[Any]:
    """Cut rows out of a CSR matrix without copying them."""
    pointers = X.indptr[rows.start : rows.stop + 1]
    inside = slice(pointers[0], pointers[-1])
    block = sp.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # Set one by one: slicing and the constructor both copy a small part of a large array.
    block.data, block.indices = frozen(X.data[inside]), frozen(X.indices[inside])
    block.indptr = frozen(pointers - pointers[0])
    return block


def _even_rows(X: Interactions, columns: int) -> Iterator[slice]:
    """Cut the rows so that blocks hold about as many entries each and their product stays small."""
    n = X.shape[0]
    limit = next(row_blocks(n, columns)).stop
    if not is_sparse(X):
        step = min(-(-n // MIN_BLOCKS), limit, next(row_blocks(n, X.shape[1])).stop)
        yield from (slice(start, min(start + step, n)) for start in range(0, n, step))
        return
    # Equal shares of the stored entries, and besides a cut wherever a block would have too many rows.
    pointers = X.indptr
    cuts = np.searchsorted(pointers, np.linspace(0, pointers[-1], MIN_BLOCKS + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], cuts, np.arange(0, n, limit), [n]]))
    yield from (slice(int(a), int(b)) for a, b in pairwise(edges))


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """A matrix cut into row blocks, ready to be multiplied in one precision.

    Parameters
    ----------
    slices : tuple of slice
        Where each block lies.
    parts : tuple of array or sparse array
        The blocks, read-only; views, unless the precision had to change.
    shape : pair of int
    dtype : dtype
        The precision of the products.
    """

    slices: tuple[slice, ...]
    parts: tuple[Any, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Interactions, columns: int, dtype: DTypeLike = np.float64) -> RowBlocks:
        """Cut `X` for products of `columns` columns."""
        slices = tuple(_even_rows(X, columns))
        if is_sparse(X):
            # One conversion of the values; the indices are shared with X.
            same = sp.csr_array((X.data.astype(dtype, copy=False), X.indices, X.indptr), X.shape)
            parts: tuple[Any, ...] = tuple(_csr_rows(same, rows) for rows in slices)
        else:
            parts = tuple(frozen(X[rows]) for rows in slices)
        return cls(slices, parts, (int(X.shape[0]), int(X.shape[1])), np.dtype(dtype))

    def _part(self, i: int) -> Any:
        block = self.parts[i]
        return block if is_sparse(block) else np.asarray(block, dtype=self.dtype)

    def _each(self, function: Callable[[int], NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Map over blocks, in order, in threads: each product would send the interactions on their way again."""
        return parallel_map(function, range(len(self.parts)), in_threads=True)

    def times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Compute `X V`, n×b.

        Examples
        --------
        >>> RowBlocks.of(np.eye(3), 1).times(np.ones((3, 1))).ravel()
        array([1., 1., 1.])
        """
        return np.concatenate(list(self._each(lambda i: self._part(i) @ V)))

    def transposed_times(self, W: NDArray[Any]) -> NDArray[Any]:
        """Compute `Xᵀ W`, p×b."""
        return in_order(self._each(lambda i: self._part(i).T @ W[self.slices[i]]))

    def normal_times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Compute `Xᵀ X V`, p×b, never holding `X V` as a whole."""

        def term(i: int) -> NDArray[Any]:
            block = self._part(i)
            return cast("NDArray[Any]", block.T @ (block @ V))

        return in_order(self._each(term))

    def smaller_times(self, V: NDArray[Any]) -> NDArray[Any]:
        """Multiply with the Gram matrix of the smaller side, `Xᵀ X` where p <= n, else `X Xᵀ`."""
        # Both have the same nonzero eigenvalues, the squares of the singular values.
        n, p = self.shape
        return self.normal_times(V) if p <= n else self.times(self.transposed_times(V))
