"""Sums of squares and products by block in float64, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats

Read: TypeAlias = Callable[[int, int], NDArray[Any]]
"""Return the entries of a tensor in C order from one number to another."""

PIECE = 2**18
"""Entries read and summed at a time: 2 MiB in float64."""


class NotFiniteError(ValueError):
    """An entry of a tensor is NaN or infinite. Its argument is the side, "x" or "y"."""


def require_finite(x: Floats, y: Floats) -> None:
    """Raise NotFiniteError if an entry is NaN or infinite."""
    for side, entries in (("x", x), ("y", y)):
        if not np.isfinite(entries).all():
            raise NotFiniteError(side)


def block_sums(read_x: Read, read_y: Read, n_blocks: int, block_size: int) -> Floats:
    """Compute `Σ x²`, `Σ y²` and `Σ x y` over the entries of each block.

    Parameters
    ----------
    read_x, read_y : callable
        Read the entries of both tensors, which have the same shape.
    n_blocks, block_size : int
        The blocks follow each other in C order and have `block_size` entries each.

    Returns
    -------
    array of shape (3, n_blocks)
        Sums of `x²`, `y²` and `x y`; not finite if they exceed float64.

    Raises
    ------
    NotFiniteError
        If an entry is NaN or infinite.

    Examples
    --------
    >>> x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
    >>> def read_x(start, stop):
    ...     return x[start:stop]
    >>> def read_y(start, stop):
    ...     return y[start:stop]
    >>> block_sums(read_x, read_y, n_blocks=2, block_size=2)
    array([[ 5., 25.],
           [ 2.,  2.],
           [ 3.,  7.]])
    """
    sums = np.zeros((3, n_blocks))
    for start, stop in _pieces(n_blocks, block_size):
        blocks = slice(start // block_size, -(-stop // block_size))
        n = blocks.stop - blocks.start
        x = np.asarray(read_x(start, stop), dtype=np.float64).reshape(n, -1)
        y = np.asarray(read_y(start, stop), dtype=np.float64).reshape(n, -1)
        # A sum that exceeds float64 becomes infinite or NaN.
        with np.errstate(over="ignore", invalid="ignore"):
            sums[0, blocks] += np.einsum("bi,bi->b", x, x)
            sums[1, blocks] += np.einsum("bi,bi->b", y, y)
            sums[2, blocks] += np.einsum("bi,bi->b", x, y)
        if not np.isfinite(sums[:, blocks]).all():
            require_finite(x, y)
    return sums


def _pieces(n_blocks: int, block_size: int) -> Iterator[tuple[int, int]]:
    """Yield the range of entries of each piece: several blocks, or a part of one."""
    n_entries = n_blocks * block_size
    if block_size <= PIECE:
        step = PIECE // block_size * block_size
        for start in range(0, n_entries, step):
            yield start, min(start + step, n_entries)
    else:
        for first in range(0, n_entries, block_size):
            for start in range(first, first + block_size, PIECE):
                yield start, min(start + PIECE, first + block_size)
