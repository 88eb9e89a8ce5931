"""Rows of a matrix, a block at a time in float64: lengths, directions and Gram matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.workers import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from embaudit.foundation.checked import Matrix


def float64_blocks(x: Matrix) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield `(rows, block)` with every block in contiguous float64, whatever `x` is stored as."""
    for rows in row_blocks(*x.shape):
        yield rows, np.ascontiguousarray(x[rows], dtype=np.float64)


def row_norms(x: Matrix) -> NDArray[np.float64]:
    """Euclidean norm of every row in float64, free of overflow and underflow.

    Examples
    --------
    >>> row_norms(np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    array([5.e+200, 5.e-200, 0.e+000])
    """
    norms = np.empty(len(x))
    for rows, block in float64_blocks(x):
        norms[rows] = _block_norms(block)
    return norms


def _block_norms(block: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore", under="ignore"):
        norms: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", block, block))
    extreme = (norms < 1e-140) | (norms > 1e140)
    if extreme.any():
        largest = np.abs(block[extreme]).max(axis=1, keepdims=True)
        scaled = np.divide(block[extreme], largest, out=np.zeros_like(block[extreme]), where=largest > 0)
        norms[extreme] = largest[:, 0] * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return norms


def unit_rows(x: Matrix) -> NDArray[np.float64]:
    """Divide every row by its norm, in float64; a zero row has no direction and becomes NaN.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8], [nan, nan]])
    """
    unit = np.empty(x.shape)
    for rows, block in float64_blocks(x):
        unit[rows] = _block_units(block)
    return unit


def _block_units(block: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = _block_norms(block)
    norms[norms == 0] = np.nan
    unit = block / norms[:, None]
    subnormal = np.flatnonzero(norms < 1e-290)
    if len(subnormal):
        # Division by the largest entry first: a subnormal norm has lost digits.
        scaled = block[subnormal] / np.abs(block[subnormal]).max(axis=1, keepdims=True)
        unit[subnormal] = scaled / np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return unit


def directions(x: Matrix) -> Matrix:
    """Compute `unit_rows`, stored as precisely as `x`: what many cosines are taken from at once."""
    unit = np.empty(x.shape, dtype=x.dtype)
    for rows, block in float64_blocks(x):
        unit[rows] = _block_units(block)
    return unit


def gram(x: Matrix, y: Matrix | None = None) -> NDArray[np.float64]:
    """Compute `xᵀy` (`xᵀx` without `y`), k×k, streamed over rows in float64."""
    y = x if y is None else y
    total = np.zeros((x.shape[1], y.shape[1]))
    for rows, block in float64_blocks(x):
        total += block.T @ (block if y is x else np.asarray(y[rows], dtype=np.float64))
    return total


def triangular_factor(x: Matrix) -> NDArray[np.float64]:
    """Compute R with `RᵀR = xᵀx` by streamed QR, which does not square the condition number as a Gram matrix does.

    Examples
    --------
    >>> np.abs(triangular_factor(np.array([[3.0], [4.0]])))
    array([[5.]])
    """
    factor: NDArray[np.float64] = np.zeros((0, x.shape[1]))
    for _, block in float64_blocks(x):
        factor = np.asarray(np.linalg.qr(np.vstack([factor, block]), mode="r"))
    return factor
