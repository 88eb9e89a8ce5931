"""Products of a dense or sparse matrix with a few vectors, on all cores.

A sparse product of SciPy uses one core and releases the interpreter lock, so blocks of
rows share the cores.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from embaudit.core.parallel import fill_in_threads, parallel_map
from embaudit.errors import must_be
from embaudit.linalg.rows import ordered_sum

Interactions: TypeAlias = Any
"""A dense matrix, or a sparse one in row order (CSR), in float32 or float64."""

N_PARTS = 16
"""Number of parts of the rows, whatever the number of workers, so that sums agree."""


def is_sparse(X: Any) -> bool:
    """Return True for a sparse array or matrix of SciPy."""
    return bool(sp.issparse(X))


def as_interactions(X: Any) -> Interactions:
    """Convert sparse formats to CSR, and numbers other than float32 to float64.

    Raises
    ------
    InputError
        If X is not a matrix of real numbers.
    """
    rows: Any
    if is_sparse(X):
        rows = sp.csr_array(X)
    else:
        rows = np.asarray(X)
        if rows.ndim != 2 or rows.dtype.kind not in "fiub":
            got = f"{rows.dtype} of shape {rows.shape}"
            raise must_be("X", "a matrix of real numbers, dense or sparse", got)
    if rows.dtype in (np.float32, np.float64):
        return rows
    return rows.astype(np.float64)


def with_dtype(X: Interactions, dtype: type[np.floating[Any]]) -> Interactions:
    """Return X in another precision; the index arrays of a sparse matrix are shared."""
    if is_sparse(X):
        values = np.asarray(X.data, dtype=dtype)
        return sp.csr_array((values, X.indices, X.indptr), X.shape)
    return np.asarray(X, dtype=dtype)


def row_view(X: Interactions, rows: slice) -> Interactions:
    """Return consecutive rows of X that share its memory.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> part = row_view(X, slice(1, 3))
    >>> part.toarray()
    array([[0., 2.],
           [3., 0.]])
    >>> np.shares_memory(part.data, X.data)
    True
    """
    if not is_sparse(X):
        return X[rows]
    start, stop = X.indptr[rows.start], X.indptr[rows.stop]
    part = sp.csr_array((rows.stop - rows.start, X.shape[1]), dtype=X.dtype)
    # `X[rows]` and the constructor from arrays copy the entries. These copies and that
    # of `part.T` would take half of the time of a product.
    part.data = X.data[start:stop]
    part.indices = X.indices[start:stop]
    part.indptr = X.indptr[rows.start : rows.stop + 1] - start
    return part


def transposed_view(part: Interactions) -> Interactions:
    """Return the transpose of some rows as a matrix that shares their memory.

    Examples
    --------
    >>> X = sp.csr_array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> transposed = transposed_view(row_view(X, slice(1, 3)))
    >>> transposed.toarray()
    array([[0., 3.],
           [2., 0.]])
    >>> np.shares_memory(transposed.data, X.data)
    True
    """
    if not is_sparse(part):
        return part.T
    # `part.T` copies the entries of a row view.
    transposed = sp.csc_array(part.shape[::-1], dtype=part.dtype)
    transposed.data = part.data
    transposed.indices = part.indices
    transposed.indptr = part.indptr
    return transposed


def row_parts(X: Interactions) -> list[slice]:
    """Cut the rows into parts with about the same number of stored entries each.

    Examples
    --------
    >>> row_parts(sp.csr_array(np.tril(np.ones((3, 3)))))
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    n = X.shape[0]
    edges = np.linspace(0, n, N_PARTS + 1).astype(int)
    if is_sparse(X):
        shares = np.linspace(0, X.nnz, N_PARTS + 1)[1:-1]
        edges[1:-1] = np.searchsorted(X.indptr, shares)
    return [slice(int(a), int(b)) for a, b in pairwise(np.unique(edges))]


def times(X: Interactions, V: NDArray[Any]) -> NDArray[Any]:
    """Compute `X V`.

    Examples
    --------
    >>> times(np.eye(3), np.ones((3, 1))).ravel()
    array([1., 1., 1.])
    """
    product = np.empty((X.shape[0], V.shape[1]), dtype=np.result_type(X.dtype, V))

    def fill(rows: slice) -> None:
        product[rows] = row_view(X, rows) @ V

    fill_in_threads(fill, row_parts(X))
    return product


def transposed_times(X: Interactions, W: NDArray[Any]) -> NDArray[Any]:
    """Compute `Xᵀ W`, the sum of `X_bᵀ W_b` over blocks b of rows.

    Examples
    --------
    >>> transposed_times(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 1))).ravel()
    array([4., 6.])
    """

    def term(rows: slice) -> NDArray[Any]:
        return np.asarray(transposed_view(row_view(X, rows)) @ W[rows])

    return ordered_sum(parallel_map(term, row_parts(X), in_threads=True))


def gram_times(X: Interactions, V: NDArray[Any]) -> NDArray[Any]:
    """Compute `G V` for the Gram matrix of the smaller side, `XᵀX` or `XXᵀ`.

    The nonzero eigenvalues of both are the squares of the singular values of X. For
    `XᵀX` the product is the sum of `X_bᵀ (X_b V)` over blocks b of rows.
    """
    n, p = X.shape
    if n < p:
        return times(X, transposed_times(X, V))

    def term(rows: slice) -> NDArray[Any]:
        part = row_view(X, rows)
        return np.asarray(transposed_view(part) @ (part @ V))

    return ordered_sum(parallel_map(term, row_parts(X), in_threads=True))
